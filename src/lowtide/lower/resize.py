"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR: params of lt_gather.h, lt_resize.h and lt_resize_u8.h.

Which pixels an output pixel comes from depends on shapes alone, so it is all computed here, with the
reference's own arithmetic; a step reads one or two rows of the input.
"""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering, image_rows
from lowtide.lower.counts import Counted
from lowtide.lower.gather import copies
from lowtide.lower.move import MOVABLE, elements, port
from lowtide.lower.nodes import Array, Lowered, Params, Port

_ONE = 1 << 10


def _images(context: Context) -> tuple[Tensor, Tensor, int]:
    """(input, output, bytes per element), checked against the size operand."""
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    if len(source.shape) != 4 or len(out.shape) != 4:
        raise context.unsupported(
            "it resizes a tensor that is not a feature map of four dimensions"
        )
    wanted = tuple(int(n) for n in context.integers(1).reshape(-1))
    if (source.shape[0], *wanted, source.shape[3]) != out.shape or 0 in (*source.shape, *out.shape):
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(source.shape)}")
    if max(source.shape) > 32767:
        raise context.unsupported("a side is longer than 32767 pixels")
    return source, out, size


def _nearest(context: Context) -> Lowered:
    source, out, size = _images(context)
    batch, in_h, in_w, channels = source.shape
    _, out_h, out_w, _ = out.shape
    columns = _nearest_indices(context, in_w, out_w)
    rows = [b * in_h + y for b in range(batch) for y in _nearest_indices(context, in_h, out_h)]
    params = Params(
        "lt_gather",
        (
            ("index", Array("uint16_t", np.array(columns))),
            ("count", out_w),
            ("runs", 1),
            ("pitch", 0),
            ("bytes", channels * size),
            ("steps", len(rows)),
        ),
    )
    return _resized(
        *(context, "lt_gather_row", "lt_gather.h", params, port(source, batch * in_h, rows)),
        work=copies(out, len(rows) * out_w, channels * size, columns),
    )


def _nearest_indices(context: Context, size: int, wanted: int) -> list[int]:
    """The input pixel of each output pixel: GetNearestNeighbor, resize_nearest_neighbor.h."""
    corners = bool(context.option("align_corners"))
    half = bool(context.option("half_pixel_centers"))
    scale = np.float32(size) / np.float32(wanted)
    if corners and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    offset = np.float32(0.5 if half else 0.0)
    indices = []
    for i in range(wanted):
        position = float((np.float32(i) + offset) * scale)
        index = math.floor(position + 0.5) if corners else math.floor(position)
        indices.append(min(index, size - 1))
    return indices


def _bilinear(context: Context) -> Lowered:
    source, out, _ = _images(context)
    if context.option("align_corners") and context.option("half_pixel_centers"):
        raise context.unsupported("align_corners and half_pixel_centers exclude each other")
    if source.dtype is DType.UINT8:
        return _bilinear_float(context, source, out)
    batch, in_h, in_w, channels = source.shape
    _, out_h, out_w, _ = out.shape
    columns = _bilinear_indices(context, in_w, out_w)
    rows = _bilinear_indices(context, in_h, out_h)
    params = Params(
        "lt_resize_bilinear_s8",
        (
            ("left", Array("uint16_t", np.array([at for at, _ in columns]))),
            ("weight", Array("uint16_t", np.array([weight for _, weight in columns]))),
            ("lower", Array("uint16_t", np.array([weight for _, weight in rows] * batch))),
            ("width", out_w),
            ("channels", channels),
        ),
    )
    upper = tuple(b * in_h + at for b in range(batch) for at, _ in rows)
    count, row_bytes = image_rows(source)
    window = Port(source.id, count, row_bytes, count=2, table=upper)
    blended = sum(weight > 0 for _, weight in columns)
    work = Counted.of(
        out_w,
        pixels=batch * out_h * out_w,
        written=out.elements,
        blended=batch * out_h * blended * channels,
    )
    kernel = "lt_resize_bilinear_s8_row", "lt_resize.h"
    return _resized(context, *kernel, params, window, work=work)


def _bilinear_float(context: Context, source: Tensor, out: Tensor) -> Lowered:
    """uint8, which the reference computes with floats."""
    batch, in_h, in_w, channels = source.shape
    columns = _bilinear_floats(context, in_w, out.shape[2])
    rows = _bilinear_floats(context, in_h, out.shape[1])
    weights = np.array([weight for *_, weight in columns], np.float32)
    lower = np.array([weight for *_, weight in rows] * batch, np.float32)
    params = Params(
        "lt_resize_bilinear_u8",
        (
            ("left", Array("uint16_t", np.array([at for at, *_ in columns]))),
            ("right", Array("uint16_t", np.array([at for _, at, _ in columns]))),
            ("weight", Array("float", weights)),
            ("lower", Array("float", lower)),
            ("width", out.shape[2]),
            ("channels", channels),
            *context.flips,
        ),
    )
    upper = [b * in_h + at for b in range(batch) for at, *_ in rows]
    below = [b * in_h + at for b in range(batch) for _, at, _ in rows]
    count, _ = image_rows(source)
    both = port(source, count, upper), port(source, count, below)
    plain = int((weights == 0).sum()) * int((lower == 0).sum())
    pixels = len(weights) * len(lower)
    work = Counted.of(
        out.shape[2], pixels=pixels, plain=plain * channels, blended=(pixels - plain) * channels
    )
    return _resized(
        context, "lt_resize_bilinear_u8_row", "lt_resize_u8.h", params, *both, work=work
    )


def _bilinear_floats(context: Context, size: int, wanted: int) -> list[tuple[int, int, np.float32]]:
    """(pixel, next pixel, weight of that): ComputeInterpolationValues, resize_bilinear.h."""
    scale = np.float32(size) / np.float32(wanted)
    if context.option("align_corners") and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    half = np.float32(0.5)
    found = []
    for i in range(wanted):
        position = np.float32(i) * scale
        if context.option("half_pixel_centers"):
            position = (np.float32(i) + half) * scale - half
        pixel = max(math.floor(position), 0)
        if pixel >= size:
            raise context.unsupported(
                f"rounding makes the reference kernel read past its {size} pixels"
            )
        following = min(math.ceil(position), size - 1)
        found.append((pixel, following, position - np.float32(pixel)))
    return found


def _bilinear_indices(context: Context, size: int, wanted: int) -> list[tuple[int, int]]:
    """(pixel, weight of the next in 1/1024): ComputeInterpolationValuesInteger, resize_bilinear.h."""
    scale = (_ONE * size + wanted // 2) // wanted
    if context.option("align_corners") and wanted > 1:
        scale = (_ONE * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    shift = scale // 2 - _ONE // 2 if context.option("half_pixel_centers") else 0
    indices = []
    for i in range(wanted):
        position = max(i * scale + shift, 0)  # before the first pixel is at it
        pixel = position // _ONE
        if pixel >= size:
            raise context.unsupported(
                f"rounding makes the reference kernel read past its {size} pixels"
            )
        # At the last pixel the reference takes both neighbours to be that one.
        indices.append((pixel, position % _ONE if pixel + 1 < size else 0))
    return indices


def _resized(
    context: Context,
    kernel: str,
    header: str,
    params: Params,
    *sources: Port,
    work: Counted | None = None,
) -> Lowered:
    out = context.output()
    steps, _ = image_rows(out)
    target = port(out, steps, range(steps))
    return context.node(kernel, header, params, sources, (target,), steps, work=work)


LOWERINGS = {
    "RESIZE_NEAREST_NEIGHBOR": Lowering(_nearest, MOVABLE),
    "RESIZE_BILINEAR": Lowering(_bilinear, frozenset({DType.INT8, DType.UINT8})),
}

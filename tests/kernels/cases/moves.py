"""What only moves values: joins, parts, pads, transposes, slices, gathers, choices, casts.

The reference is NumPy's own function, but for CUMSUM and ADD_N of int8 (kernels/cumsum.cc, add_n.cc).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import RANGES, TYPES, Ints, quantize_multiplier, scaled
from .drawing import Case, Draw, RedrawError

_TYPES = ("INT8", "INT8", "UINT8", "INT16", "INT32", "INT64", "BOOL")
_NUMBERS = {
    "FLOAT32": 0,
    "INT32": 2,
    "UINT8": 3,
    "INT64": 4,
    "BOOL": 6,
    "INT16": 7,
    "INT8": 9,
    "UINT32": 15,
}


def _shape(draw: Draw, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(draw.within(1, 9) for _ in range(draw.within(least, most)))


def _typed(draw: Draw) -> tuple[str, float | None, int]:
    dtype = draw.one(*_TYPES)
    if dtype in ("INT32", "INT64", "BOOL"):
        return dtype, None, 0
    return dtype, draw.scale(), draw.zero(dtype)


def _ints(draw: Draw, values: Any) -> int:
    return draw.constant(np.array(values), "INT32")


def join(draw: Draw) -> Case:
    """CONCATENATION and PACK."""
    dtype, scale, zero = _typed(draw)
    shape = _shape(draw)
    axis = draw.within(0, len(shape) - 1)
    count = draw.within(1, 5)
    pack = draw.chance(0.3)
    if dtype == "BOOL":
        dtype = "INT32"
    made, parts = [], []
    for _ in range(count):
        size = shape[axis] if pack else draw.within(1, 6)
        x, values = draw.input((*shape[:axis], size, *shape[axis + 1 :]), dtype, scale, zero)
        made.append(x)
        parts.append(values)
    whole = np.stack(parts, axis + 1) if pack else np.concatenate(parts, axis + 1)
    out = draw.tensor(whole.shape[1:], dtype, scale, zero)
    if pack:
        return draw.case(
            *("PACK", made, (out,), (whole,)),
            ("PackOptions", {"values_count": count, "axis": axis}),
        )
    options = {"axis": axis, "fused_activation_function": 0}
    return draw.case("CONCATENATION", made, (out,), (whole,), ("ConcatenationOptions", options))


def scaled_join(draw: Draw) -> Case:
    """CONCATENATION of uint8 of several scales, in single precision: reference/concatenation.h."""
    shape = _shape(draw)
    axis = draw.within(0, len(shape) - 1)
    scale, zero = draw.scale(), draw.zero("UINT8")
    made, parts = [], []
    for _ in range(draw.within(2, 4)):
        size = draw.within(1, 6)
        own, at = draw.one((scale, zero), (draw.scale(), draw.zero("UINT8")))
        x, values = draw.input((*shape[:axis], size, *shape[axis + 1 :]), "UINT8", own, at)
        made.append(x)
        if (own, at) != (scale, zero):
            inverse = np.float32(1.0) / np.float32(scale)
            factor = np.float32(own) * inverse
            bias = np.float32(-at) * factor
            reals = values.astype(np.float32) * factor + bias
            away = np.sign(reals) * np.floor(np.abs(reals).astype(np.float64) + 0.5)
            values = np.clip(away.astype(np.int64) + zero, 0, 255)
        parts.append(values)
    whole = np.concatenate(parts, axis + 1)
    out = draw.tensor(whole.shape[1:], "UINT8", scale, zero)
    options = {"axis": axis, "fused_activation_function": 0}
    return draw.case("CONCATENATION", made, (out,), (whole,), ("ConcatenationOptions", options))


def part(draw: Draw) -> Case:
    """SPLIT and UNPACK."""
    dtype, scale, zero = _typed(draw)
    if dtype in ("BOOL", "INT64"):
        dtype, scale, zero = "INT8", draw.scale(), 0
    shape = _shape(draw)
    axis, count = draw.within(0, len(shape) - 1), draw.within(1, 4)
    unpack = draw.chance(0.4) and len(shape) > 1
    size = count if unpack else count * draw.within(1, 4)
    x, values = draw.input((*shape[:axis], size, *shape[axis + 1 :]), dtype, scale, zero)
    parts = np.split(values, count, axis + 1)
    if unpack:
        parts = [np.squeeze(values, axis + 1) for values in parts]
    outs = [draw.tensor(values.shape[1:], dtype, scale, zero) for values in parts]
    if unpack:
        named = ("UnpackOptions", {"num": count, "axis": axis})
        return draw.case("UNPACK", (x,), outs, parts, named)
    at = _ints(draw, axis)
    return draw.case("SPLIT", (at, x), outs, parts, ("SplitOptions", {"num_splits": count}))


def pad(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    sides = [(draw.within(0, 3), draw.within(0, 3)) for _ in shape]
    given = draw.tensors[draw.inputs[-1]]
    if given.dtype == "BOOL" or draw.chance(0.6):
        made = np.pad(x, [(0, 0), *sides], constant_values=zero)
        return "PAD", [_ints(draw, sides)], made, ("PadOptions", {})
    value = int(draw.rng.integers(*RANGES[given.dtype], endpoint=True))
    made = np.pad(x, [(0, 0), *sides], constant_values=value)
    scale = None if given.scales is None else given.scales[0]
    fill = draw.constant(np.array([value]), given.dtype, scale, zero=zero)
    return "PADV2", [_ints(draw, sides), fill], made, ("PadV2Options", {})


def mirror(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    reflect = draw.chance(0.5)
    sides = [tuple(draw.within(0, max(0, n - reflect)) for _ in range(2)) for n in shape]
    made = np.pad(x, [(0, 0), *sides], mode="reflect" if reflect else "symmetric")
    options = ("MirrorPadOptions", {"mode": 0 if reflect else 1})
    return "MIRROR_PAD", [_ints(draw, sides)], made, options


def transpose(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    order = draw.rng.permutation(len(shape))
    made = x.transpose(0, *(order + 1))
    return "TRANSPOSE", [_ints(draw, order)], made, ("TransposeOptions", {})


def _slice(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    begin = [draw.within(0, n - 1) for n in shape]
    size = [draw.within(1, n - b) for n, b in zip(shape, begin, strict=True)]
    cut = tuple(slice(b, b + n) for b, n in zip(begin, size, strict=True))
    made = x[(slice(None), *cut)]
    return "SLICE", [_ints(draw, begin), _ints(draw, size)], made, ("SliceOptions", {})


def _strided(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    wide = draw.chance(0.5)  # so that some are left, apart, in several dimensions
    begin = [draw.within(0, (n - 1) // (2 if wide else 1)) for n in shape]
    end = [n if wide else b + draw.within(1, n - b) for n, b in zip(shape, begin, strict=True)]
    steps = [draw.within(2 if wide else 1, 3) for _ in shape]
    cut = tuple(slice(*of) for of in zip(begin, end, steps, strict=True))
    inputs = [_ints(draw, values) for values in (begin, end, steps)]
    options: tuple[str, dict[str, int]] = ("StridedSliceOptions", {})
    return "STRIDED_SLICE", inputs, x[(slice(None), *cut)], options


def gather(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    axis = draw.within(0, len(shape) - 1)
    at = draw.rng.integers(0, shape[axis], draw.within(1, 6))
    options = ("GatherOptions", {"axis": axis, "batch_dims": 0})
    return "GATHER", [_ints(draw, at)], np.take(x, at, axis + 1), options


def blocks(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    if len(shape) != 4:
        raise RedrawError
    block = draw.within(1, 3)
    samples, n, h, w, c = x.shape
    if draw.chance(0.5):
        return _batches(draw, x, zero)
    if draw.chance(0.5):
        if h % block or w % block:
            raise RedrawError
        cut = x.reshape(samples, n, h // block, block, w // block, block, c)
        made = cut.transpose(0, 1, 2, 4, 3, 5, 6)
        made = made.reshape(samples, n, h // block, w // block, -1)
        return "SPACE_TO_DEPTH", [], made, ("SpaceToDepthOptions", {"block_size": block})
    only = draw.tensors[draw.inputs[-1]].dtype == "INT8"  # TFLM has no others
    if c % block**2 or not only:
        raise RedrawError
    cut = x.reshape(samples, n, h, w, block, block, -1).transpose(0, 1, 2, 4, 3, 5, 6)
    made = cut.reshape(samples, n, h * block, w * block, -1)
    return "DEPTH_TO_SPACE", [], made, ("DepthToSpaceOptions", {"block_size": block})


def _batches(draw: Draw, x: Ints, zero: int) -> Any:
    """SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: samples of a block are those at its places."""
    samples, n, h, w, c = x.shape
    high, wide = draw.within(1, 3), draw.within(1, 3)
    blocks = _ints(draw, [high, wide])
    if draw.chance(0.5):
        top, left = draw.within(0, 2), draw.within(0, 2)
        sides = [(top, -(h + top) % high), (left, -(w + left) % wide)]
        if draw.tensors[draw.inputs[-1]].dtype == "INT8" and np.any(sides):
            raise RedrawError  # TFLM pads with whatever is in memory
        wider = np.pad(x, [(0, 0), (0, 0), *sides, (0, 0)], constant_values=zero)
        h, w = wider.shape[2] // high, wider.shape[3] // wide
        cut = wider.reshape(samples, n, h, high, w, wide, c).transpose(0, 3, 5, 1, 2, 4, 6)
        made = cut.reshape(samples, -1, h, w, c)
        return (
            "SPACE_TO_BATCH_ND",
            [blocks, _ints(draw, sides)],
            made,
            ("SpaceToBatchNDOptions", {}),
        )
    if n % (high * wide):
        raise RedrawError
    cut = x.reshape(samples, high, wide, -1, h, w, c).transpose(0, 3, 4, 1, 5, 2, 6)
    made = cut.reshape(samples, -1, h * high, w * wide, c)
    crops = [(draw.within(0, 1), draw.within(0, 1)) for _ in range(2)]
    (top, bottom), (left, right) = crops
    made = made[:, :, top : made.shape[2] - bottom, left : made.shape[3] - right]
    if not made.size:
        raise RedrawError
    return "BATCH_TO_SPACE_ND", [blocks, _ints(draw, crops)], made, ("BatchToSpaceNDOptions", {})


def _reverse(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    axis = draw.within(0, len(shape) - 1)
    return "REVERSE_V2", [_ints(draw, [axis])], np.flip(x, axis + 1), ("ReverseV2Options", {})


def _tile(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    times = [draw.within(1, 3) for _ in shape]
    return "TILE", [_ints(draw, times)], np.tile(x, (1, *times)), ("TileOptions", {})


def _resize(draw: Draw, shape: tuple[int, ...], x: Ints, zero: int) -> Any:
    del zero
    if len(shape) != 4:
        raise RedrawError
    size = draw.within(1, 20), draw.within(1, 20)
    rows, columns = (
        np.minimum((np.arange(m) * (np.float32(n) / np.float32(m))).astype(np.int64), n - 1)
        for m, n in zip(size, shape[1:3], strict=True)
    )
    made = x[:, :, rows][:, :, :, columns]
    options = ("ResizeNearestNeighborOptions", {"align_corners": False})
    return "RESIZE_NEAREST_NEIGHBOR", [_ints(draw, size)], made, options


_MOVES: tuple[Callable[..., Any], ...] = (
    *(pad, mirror, transpose, transpose, _slice, _strided, gather, blocks, _reverse, _tile),
    _resize,
)


def move(draw: Draw) -> Case:
    """PAD, TRANSPOSE and the like: operators of one tensor and constants."""
    dtype, scale, zero = _typed(draw)
    shape = draw.wished("shape", lambda: _shape(draw))
    x, values = draw.input(shape, dtype, scale, zero)
    how = draw.wished("move", lambda: draw.one(*_MOVES))
    kind, more, made, options = how(draw, shape, values, zero)
    if math.prod(made.shape) > 200_000:
        raise RedrawError
    out = draw.tensor(made.shape[1:], dtype, scale, zero)
    return draw.case(kind, (x, *more), (out,), (made,), options, 2)


def _fewer(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is spread over this one."""
    return tuple(1 if draw.chance(0.3) else n for n in shape)


def choose(draw: Draw) -> Case:
    """SELECT_V2, DYNAMIC_UPDATE_SLICE, GATHER and GATHER_ND at places of the caller's."""
    dtype, scale, zero = _typed(draw)
    shape = _shape(draw)
    kind = draw.one("SELECT_V2", "DYNAMIC_UPDATE_SLICE", "GATHER", "GATHER_ND")
    x, a = draw.input(shape, dtype, scale, zero)
    if kind == "GATHER":
        made = draw.tensor((draw.within(1, 5),), "INT32")
        at = draw.rng.integers(0, shape[0], (draw.count, *draw.tensors[made].shape))
        draw.inputs.append(made)
        draw.samples[made] = at.astype(np.int32)
        wanted = np.stack([values[i] for values, i in zip(a, at, strict=True)])
        out = draw.tensor(wanted.shape[1:], dtype, scale, zero)
        options = ("GatherOptions", {"axis": 0, "batch_dims": 0})
        return draw.case(kind, (x, made), (out,), (wanted,), options, 2)
    if kind == "GATHER_ND":
        parts = draw.within(1, len(shape))
        made = draw.tensor((*_shape(draw)[:2], parts), "INT32")
        at = draw.rng.integers(0, shape[:parts], (draw.count, *draw.tensors[made].shape))
        draw.inputs.append(made)
        draw.samples[made] = at.astype(np.int32)
        each = zip(a, at, strict=True)
        wanted = np.stack([values[tuple(np.moveaxis(i, -1, 0))] for values, i in each])
        out = draw.tensor(wanted.shape[1:], dtype, scale, zero)
        return draw.case(kind, (x, made), (out,), (wanted,), ("GatherNdOptions", {}))
    if kind == "SELECT_V2":
        y, b = draw.input(_fewer(draw, shape), dtype, scale, zero)
        c, condition = draw.input(_fewer(draw, shape), "BOOL")
        if draw.chance(0.5):
            x, y, a, b = y, x, b, a
        wanted = np.where(condition != 0, a, b)
        out = draw.tensor(wanted.shape[1:], dtype, scale, zero)
        return draw.case(kind, (c, x, y), (out,), (wanted,), ("SelectV2Options", {}))
    fewer = tuple(draw.within(1, n) for n in shape)
    y, b = draw.input(fewer, dtype, scale, zero)
    whole = draw.often("INT32", "INT64", share=0.7)
    begin = draw.tensor((len(shape),), whole)
    at = draw.rng.integers(-2, 9, (draw.count, len(shape)))
    draw.inputs.append(begin)
    draw.samples[begin] = at.astype(TYPES[whole])
    wanted = a.copy()
    for sample, first in enumerate(at.tolist()):
        low = [min(max(0, f), n - m) for f, n, m in zip(first, shape, fewer, strict=True)]
        cut = tuple(slice(f, f + m) for f, m in zip(low, fewer, strict=True))
        wanted[sample][cut] = b[sample]
    out = draw.tensor(shape, dtype, scale, zero)
    options = ("DynamicUpdateSliceOptions", {})
    return draw.case(kind, (x, y, begin), (out,), (wanted,), options)


def cast(draw: Draw) -> Case:
    """CAST between integers, to float32 and from it: values that an integer holds lose what is behind
    the point, and of uint8 those beyond its ends become the ends."""
    if draw.chance(0.2):
        return _cast_from_float(draw)
    kinds = (*dict.fromkeys(_TYPES), "UINT32")
    source, target = draw.one(*kinds), draw.one(*kinds, "FLOAT32")
    x, values = draw.input(_shape(draw), source)
    made = values.astype(TYPES[target])
    made = made if target == "FLOAT32" else made.astype(np.int64)
    out = draw.tensor(made.shape[1:], target)
    options = {"in_data_type": _NUMBERS[source], "out_data_type": _NUMBERS[target]}
    return draw.case("CAST", (x,), (out,), (made,), ("CastOptions", options))


def _cast_from_float(draw: Draw) -> Case:
    target = draw.one("INT8", "UINT8", "INT16", "INT32")
    shape = _shape(draw)
    low, high = RANGES[target]
    beyond = 300 if target == "UINT8" else 0
    values = draw.rng.uniform(low - beyond, high + beyond, (draw.count, *shape))
    values = np.clip(values, -(2.0**31), 2.0**31 - 129).astype(np.float32)
    x = draw.tensor(shape, "FLOAT32")
    draw.inputs.append(x)
    draw.samples[x] = values
    whole = np.trunc(values.astype(np.float64)).astype(np.int64)
    made = np.clip(whole, low, high)
    out = draw.tensor(shape, target)
    options = {"in_data_type": _NUMBERS["FLOAT32"], "out_data_type": _NUMBERS[target]}
    return draw.case("CAST", (x,), (out,), (made,), ("CastOptions", options))


def total(draw: Draw) -> Case:
    """ADD_N and CUMSUM."""
    shape = _shape(draw)
    in_scale, zero, out_zero = draw.scale(), draw.zero("INT8"), draw.zero("INT8")
    out_scale = float(np.float32(in_scale * draw.one(1, 1.7, 3, 8)))
    factor = quantize_multiplier(2 * in_scale / ((1 << 20) * out_scale))
    half = quantize_multiplier(0.5)
    first = scaled(np.array(-zero << 20), *half)  # the reference begins with minus the zero point
    if draw.chance(0.5):
        given = [draw.input(shape, "INT8", in_scale, zero) for _ in range(draw.within(2, 5))]
        sums = sum(scaled((values - zero) << 20, *half) for _, values in given)
        made = np.clip(scaled(first + sums, *factor) + out_zero, *RANGES["INT8"])
        out = draw.tensor(shape, "INT8", out_scale, out_zero)
        return draw.case("ADD_N", [x for x, _ in given], (out,), (made,), ("AddNOptions", {}))
    x, values = draw.input(shape, "INT8", in_scale, zero)
    axis = draw.within(0, len(shape) - 1)
    exclusive, backwards = draw.chance(0.5), draw.chance(0.5)
    each = scaled((values - zero) << 20, *half)
    each = np.flip(each, axis + 1) if backwards else each
    sums = np.cumsum(each, axis + 1) - (each if exclusive else 0)
    sums = np.flip(sums, axis + 1) if backwards else sums
    made = np.clip(scaled(first + sums, *factor) + out_zero, *RANGES["INT8"])
    out = draw.tensor(shape, "INT8", out_scale, out_zero)
    options = ("CumsumOptions", {"exclusive": exclusive, "reverse": backwards})
    return draw.case("CUMSUM", (x, _ints(draw, axis)), (out,), (made,), options)

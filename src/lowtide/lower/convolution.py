"""What convolutions and dense layers share: shapes, factors, and their int8 nodes.

Why one place: a dense layer is a 1 x 1 convolution of one pixel, and a depthwise convolution of one
input channel is an ordinary one; all three become the same kernels, lt_conv_packed.h where its
conditions hold and lt_conv.h where they do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.ir.products import bias, clamp, factors, real_factors
from lowtide.ir.window import Axis
from lowtide.lower import conv_4x2, conv_scalar, conv_vector, images, nibbles, packed
from lowtide.lower.common import Context, image_rows, per_tensor
from lowtide.lower.convolution_work import (
    Convolution,
    ConvolutionBytes,
    ConvolutionDots,
    ConvolutionFours,
)
from lowtide.lower.nodes import Array, Lowered, Node, Params, Port, Value
from lowtide.lower.vector_work import ConvolutionLanes
from lowtide.lower.work import Work
from lowtide.target import DSP

__all__ = [
    "TYPES",
    "Footprint",
    "bias",
    "channels_s8",
    "clamp",
    "dense",
    "factors",
    "footprint",
    "lower_s8",
    "real_factors",
    "weights",
]

TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16})
_MAX_SIZE = (1 << 16) - 1
_MAX_PADDING = (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which pixels a convolution reads: of the input for each output row, of a row for each column.

    `flip` is the bit to flip in each byte that is gathered: what is read in place stays as it is.
    """

    source: Port
    target: Port
    in_w: int
    in_c: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_w: int
    dilation_w: int
    pad_left: int
    flip: int = 0

    @property
    def fields(self) -> tuple[tuple[str, Value], ...]:
        """The fields of that name that the params of all kernels have."""
        return (
            ("in_w", self.in_w),
            ("in_c", self.in_c),
            ("out_w", self.out_w),
            ("kernel_h", self.kernel_h),
            ("kernel_w", self.kernel_w),
            ("stride_w", self.stride_w),
            ("dilation_w", self.dilation_w),
            ("pad_left", self.pad_left),
        )

    @property
    def taps(self) -> int:
        """Number of pixels in the window."""
        return self.kernel_h * self.kernel_w

    @property
    def axis(self) -> Axis:
        """The window along a row."""
        return Axis(self.kernel_w, self.stride_w, self.dilation_w, self.pad_left)


def footprint(context: Context) -> Footprint:
    """That of a CONV_2D or DEPTHWISE_CONV_2D."""
    source, out, window = context.input(0), context.output(), context.op.window
    if len(source.shape) != 4 or len(out.shape) != 4:
        raise context.unsupported("its input and output must have four dimensions")
    if source.shape[0] != out.shape[0]:
        raise context.unsupported("its input and output must have the same batch size")
    if 0 in (*source.shape, *context.input(1).shape):
        raise context.unsupported("it has an empty tensor")
    if window is None:
        raise context.unsupported("its strides and dilations must be at least 1")
    rows, columns = window.rows, window.columns
    _, in_h, in_w, in_c = source.shape
    out_h, out_w = rows.made(in_h), columns.made(in_w)
    if (out_h, out_w) != out.shape[1:3]:
        raise context.unsupported(
            f"its output is {out.shape[1]} x {out.shape[2]}, but should be {out_h} x {out_w}"
        )
    strides = rows.kernel, rows.stride, rows.dilation, columns.kernel, columns.stride
    if max(*strides, columns.dilation, in_w, in_c, out.shape[3]) > _MAX_SIZE:
        raise context.unsupported(f"its sizes must be at most {_MAX_SIZE}")
    if max(rows.before, columns.before) > _MAX_PADDING:
        raise context.unsupported(f"its padding must be at most {_MAX_PADDING}")
    steps, out_bytes = image_rows(out)
    return Footprint(
        images.windows(source, rows, out_h),
        Port(out.id, steps, out_bytes),
        in_w,
        in_c,
        out_w,
        rows.kernel,
        columns.kernel,
        columns.stride,
        columns.dilation,
        columns.before,
        context.in_flip if rows.kernel * columns.kernel > 1 else 0,
    )


def weights(context: Context, rank: int | None = None) -> NDArray[Any]:
    """The constant weights: uint8 for uint8 activations, flipped or not, else int8. Checks also the
    output's type."""
    filters, out = context.input(1), context.output()
    if context.input(0).dtype not in TYPES or out.dtype != context.input(0).dtype:
        raise context.unsupported("its input and output must have the same type")
    wanted = DType.UINT8 if out.dtype == DType.UINT8 or out.flipped else DType.INT8
    if filters.dtype != wanted or filters.is_sparse:
        kind = "sparse" if filters.is_sparse else filters.dtype.name
        raise context.unsupported(f"its weights are {kind}; there are kernels for {wanted.name}")
    if rank is not None and len(filters.shape) != rank:
        raise context.unsupported(f"its weights must have {rank} dimensions")
    return context.constant(1)


def channels_s8(
    context: Context, filters: NDArray[Any], scaling: tuple[tuple[int, int], ...]
) -> packed.Channels:
    """Requantisation of int8 operators; `filters` is [channels, products], int8 or, flipped, wider."""
    _, input_zero = per_tensor(context, context.input(0))
    _, output_zero = per_tensor(context, context.output())
    sums = filters.astype(np.int64).sum(axis=1)
    folded = bias(context, len(filters), DType.INT32) - input_zero * sums
    return packed.Channels(filters, folded, scaling, output_zero, *clamp(context))


def lower_s8(context: Context, over: Footprint, channels: packed.Channels, groups: int) -> Lowered:
    """A convolution as one node; `channels.weights` is [out_c, kernel_h * kernel_w * in_c / groups]."""
    if nibbles.fits(context, channels.weights, groups):
        return _of_nibbles(context, over, channels)
    quick = packed.narrow(channels) if groups == 1 else None
    if quick is not None and context.target.has_helium:
        lanes = _by_lanes(context, over, channels, quick)
        if lanes is not None:
            return lanes
    if quick is not None and context.target.is_portable:
        bytes_ = _by_bytes(context, over, channels, quick)
        if bytes_ is not None:
            return bytes_
    words = None if quick is None else packed.pack_pairs(quick.weights)
    if quick is None or words is None:
        return _plain(context, over, channels, groups)
    quads = words.shape[1]
    direct = over.taps == 1
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int32_t", words, weights=True)),
        ("scales", Array("int32_t", packed.pair_scales(quick))),
        ("quads", quads),
        ("out_c", len(channels.weights)),
        ("centre", 2 * channels.zero + 1),
        ("direct", int(direct)),
    )
    pixel = 4 * quads
    pixels = [_pixels(context, over, direct, columns) for columns in (1, over.out_w)]
    one, scratch = (count * pixel for count in pixels)
    lean = 0 if direct else pixel
    fields += (("lean", 0),)
    if quads > _MAX_SIZE:
        return _plain(context, over, channels, groups)
    work = _work(over, channels, quads)
    fours = _by_fours(context, over, channels, quick, words, work)
    if fours is not None:
        return fours
    return _node(
        context,
        over,
        channels,
        "lt_conv_packed",
        fields,
        scratch,
        None if direct and DSP not in context.target.variants else lean,
        work,
        _narrow(over, one, scratch),
    )


def _work(over: Footprint, channels: packed.Channels, quads: int) -> Convolution:
    """What lt_conv_packed does, with `quads` fours of products."""
    rows, padding = over.source.touched(over.target.rows)
    return Convolution(
        steps=over.target.rows,
        rows=rows,
        padding=padding,
        axis=over.axis,
        kernel_h=over.kernel_h,
        in_w=over.in_w,
        in_c=over.in_c,
        columns=over.out_w,
        out_c=len(channels.weights),
        quads=quads,
        direct=over.taps == 1,
        clamps=channels.clamps,
    )


def _narrow(over: Footprint, one: int, scratch: int) -> tuple[int, ...]:
    """Scratch memory by columns, if one of them takes less than others."""
    return (0, one, *(scratch,) * (over.out_w - 1)) if one < scratch else ()


def _by_fours(
    context: Context,
    over: Footprint,
    channels: packed.Channels,
    quick: packed.Narrow,
    words: NDArray[np.int32],
    work: Convolution,
) -> Lowered | None:
    """The same by fours of channels, where that may and should be."""
    ready = over.in_c % 4 == 0
    if not context.target.has_dsp or (work.direct and over.out_w == 1 and not ready):
        return None
    made = conv_4x2.fields(quick, words, over.kernel_h, channels.zero)
    quads = conv_4x2.quads(over.kernel_h, over.kernel_w * over.in_c)
    if made is None or quads > _MAX_SIZE:
        return None
    direct = work.direct and ready
    fields = (
        *made,
        ("out_c", work.out_c),
        ("words", quads // over.kernel_h),
        ("last", conv_4x2.last(over.axis, over.in_w, over.in_c)),
        ("direct", int(direct)),
        ("lean", 0),
    )
    one = 0 if direct else 4 * quads
    scratch = one if over.out_w == 1 else 16 * quads
    return _node(
        context,
        over,
        channels,
        "lt_conv_4x2",
        fields,
        scratch,
        one,
        ConvolutionFours(work, quads, direct),
        _narrow(over, one, scratch),
    )


def _by_bytes(
    context: Context, over: Footprint, channels: packed.Channels, quick: packed.Narrow
) -> Lowered | None:
    """The same with bytes as weights, on a core without DSP instructions."""
    out_c, products = quick.weights.shape
    if products > _MAX_SIZE or not conv_scalar.fits(quick):
        return None
    work = _work(over, channels, -(-products // 4))
    one = 0 if work.direct else products
    scratch = one if over.out_w == 1 else 2 * one
    return _node(
        context,
        over,
        channels,
        "lt_conv_scalar",
        (
            *conv_scalar.fields(quick, channels.zero),
            ("products", products),
            ("out_c", out_c),
            ("direct", int(work.direct)),
            ("lean", 0),
        ),
        scratch,
        one if one < scratch else None,
        ConvolutionBytes(work),
        _narrow(over, one, scratch),
    )


def _by_lanes(
    context: Context, over: Footprint, channels: packed.Channels, quick: packed.Narrow
) -> Lowered | None:
    """The same by lanes, on a core with Helium."""
    out_c, products = quick.weights.shape
    if products > _MAX_SIZE:
        return None
    direct = over.taps == 1
    rows, padding = over.source.touched(over.target.rows)
    one = 0 if direct else products
    scratch = one if over.out_w == 1 else 2 * one
    return _node(
        context,
        over,
        channels,
        "lt_conv_vector",
        (
            ("records", Array("int32_t", conv_vector.records(quick), weights=True)),
            ("products", products),
            ("out_c", out_c),
            ("output_zero", channels.zero),
            ("direct", int(direct)),
            ("lean", 0),
        ),
        scratch,
        one if one < scratch else None,
        ConvolutionLanes(
            steps=over.target.rows,
            rows=rows,
            padding=padding,
            axis=over.axis,
            in_w=over.in_w,
            columns=over.out_w,
            out_c=out_c,
            chunks=conv_vector.chunks(products),
            run=over.kernel_w * over.in_c,
            direct=direct,
        ),
        _narrow(over, one, scratch),
    )


def _pixels(context: Context, over: Footprint, direct: bool, columns: int) -> int:
    """How many pixels of bytes lt_conv_packed needs for so many columns: see its header."""
    if columns == 1:
        return 0 if direct else 1
    if DSP in context.target.variants:
        return 4 if direct or (over.in_c % 4 == 0 and not over.flip) else 5
    return 0 if direct else 2


def _of_nibbles(context: Context, over: Footprint, channels: packed.Channels) -> Lowered:
    """The same with weights of four bits."""
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("uint8_t", nibbles.packed(channels.weights), weights=True)),
        ("bias", Array("int32_t", packed.int32(channels.bias), weights=True)),
        ("multiplier", Array("int32_t", packed.column(channels.factors, 0))),
        ("shift", Array("int8_t", packed.column(channels.factors, 1))),
        ("out_c", len(channels.weights)),
        ("output_zero", channels.zero),
        ("lean", 0),
    )
    one = 0 if over.taps == 1 else over.taps * over.in_c
    scratch = one if over.out_w == 1 else 2 * one
    lean = one if one < scratch else None
    narrow = _narrow(over, one, scratch)
    return _node(context, over, channels, "lt_conv_w4", fields, scratch, lean, None, narrow)


def _plain(context: Context, over: Footprint, channels: packed.Channels, groups: int) -> Lowered:
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int8_t", channels.weights, weights=True)),
        ("bias", Array("int32_t", packed.int32(channels.bias), weights=True)),
        ("multiplier", Array("int32_t", packed.column(channels.factors, 0))),
        ("shift", Array("int8_t", packed.column(channels.factors, 1))),
        ("out_c", len(channels.weights)),
        ("groups", groups),
        ("output_zero", channels.zero),
    )
    scratch = 0 if over.taps == 1 else over.taps * over.in_c
    rows, out_c = over.target.rows, len(channels.weights)
    work = ConvolutionDots(rows, over.out_w, over.taps, over.in_c, out_c, groups)
    return _node(context, over, channels, "lt_conv", fields, scratch, work=work)


def _node(
    context: Context,
    over: Footprint,
    channels: packed.Channels,
    family: str,
    fields: tuple[tuple[str, Value], ...],
    scratch: int,
    lean_scratch: int | None = None,
    work: Work | None = None,
    narrow_scratch: tuple[int, ...] = (),
) -> Lowered:
    fields += (
        *over.fields,
        ("input_zero", per_tensor(context, context.input(0))[1]),
        ("low", channels.low),
        ("high", channels.high),
        *((("flip", over.flip),) if family != "lt_conv_w4" else ()),
    )
    node = Node(
        op=context.op.id,
        kernel=f"{family}_s8_row",
        header=f"{family}.h",
        params=Params(f"{family}_s8", fields),
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
        scratch=scratch,
        scratch_lasts=False,
        work=work,
        narrow_scratch=narrow_scratch,
    )
    if lean_scratch is not None:
        in_detail = Convolution | ConvolutionBytes | ConvolutionFours | ConvolutionLanes
        leaner = work.leaner() if isinstance(work, in_detail) else work
        node = replace(node, forms=(_lean(node, lean_scratch, leaner),))
    return Lowered((node,))


def _lean(node: Node, scratch: int, work: Work | None) -> Node:
    """The form for one pixel after the other."""
    fields = tuple((name, 1 if name == "lean" else v) for name, v in node.params.fields)
    params = replace(node.params, fields=fields)
    return replace(node, params=params, scratch=scratch, work=work, narrow_scratch=())


def dense(context: Context, rows: int, depth: int, source: Tensor, out: Tensor) -> Footprint:
    """A dense layer as a 1 x 1 convolution of one pixel per row."""
    if depth > _MAX_SIZE or out.shape[-1] > _MAX_SIZE:
        raise context.unsupported(f"its sizes must be at most {_MAX_SIZE}")
    return Footprint(
        Port(source.id, rows, source.bytes // rows),
        Port(out.id, rows, out.bytes // rows),
        *(1, depth, 1, 1, 1, 1, 1, 0),
    )

"""DEPTHWISE_CONV_2D: lt_depthwise_3x3.h, lt_depthwise_mult1.h, lt_depthwise.h, ..._s16.h, lt_w9.h
in kernels/include.

With a single input channel it is an ordinary convolution, and lowered as one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType
from lowtide.lower import conv_scalar, convolution, legacy, packed, w9, wide
from lowtide.lower import depthwise_3x3 as columns
from lowtide.lower import depthwise_vector as lanes
from lowtide.lower.columns import of_a_window
from lowtide.lower.common import Context, Lowering, per_tensor
from lowtide.lower.depthwise_work import Depthwise, DepthwiseBytes, DepthwiseColumns
from lowtide.lower.nodes import Array, Lowered, Node, Params, Value
from lowtide.lower.vector_work import DepthwiseLanes
from lowtide.lower.work import Work
from lowtide.target import DSP


def _multiple(context: Context, filters: NDArray[Any]) -> int:
    """Output channels per input channel."""
    in_c, out_c = context.input(0).shape[-1], filters.shape[3]
    if filters.shape[0] != 1 or in_c < 1 or out_c % in_c or out_c != context.output().shape[-1]:
        raise context.unsupported("its weights do not match its input and output")
    said = context.option("depth_multiplier")
    if said not in (0, out_c // in_c):
        raise context.unsupported(
            f"its depth_multiplier is {said}, but it makes {out_c} channels of {in_c}"
        )
    return int(out_c // in_c)


def _depthwise(context: Context) -> Lowered:
    filters = convolution.weights(context, 4)
    out_c = filters.shape[3]
    over = convolution.footprint(context)
    multiple = _multiple(context, filters)
    if context.output().dtype is DType.UINT8:
        raise legacy.refusal(context)
    if context.input(1).dtype is DType.UINT8:
        channels = convolution.channels_s8(
            context, *legacy.without_zero(context, filters.reshape(-1, out_c).T)
        )
        lower = partial(_eight_bits, context, over, multiple=multiple)
        return w9.lowered(context, over, channels, lower, multiple=multiple)
    factors = convolution.factors(context, out_c)
    if context.activation_type == DType.INT16:
        return wide.depthwise(context, over, filters, factors, multiple)
    channels = convolution.channels_s8(context, filters.reshape(-1, out_c).T, factors)
    return _eight_bits(context, over, channels, multiple=multiple)


def _eight_bits(
    context: Context, over: convolution.Footprint, channels: packed.Channels, *, multiple: int
) -> Lowered:
    """The operator if its weights have eight bits."""
    if over.in_c == 1:  # every output channel reads all input channels, there being only one
        return convolution.lower_s8(context, over, channels, 1)
    quick = packed.narrow(channels) if multiple == 1 else None
    if quick is not None:
        return _quick(context, over, channels, quick)
    return _plain(context, over, channels, multiple)


def _unfolded(context: Context, bias: NDArray[Any], weights: NDArray[Any]) -> NDArray[np.int64]:
    """Biases without the input's zero point: these kernels subtract it from what they read."""
    _, zero = per_tensor(context, context.input(0))
    sums: NDArray[np.int64] = weights.astype(np.int64).sum(axis=1)
    return bias.astype(np.int64) + zero * sums


def _quick(
    context: Context, over: convolution.Footprint, channels: packed.Channels, quick: packed.Narrow
) -> Lowered:
    work = Depthwise(
        steps=over.target.rows,
        rows=over.source.touched(over.target.rows)[0],
        axis=over.axis,
        kernel_h=over.kernel_h,
        in_w=over.in_w,
        columns=over.out_w,
        channels=over.in_c,
        clamps=channels.clamps,
    )
    if context.target.is_portable:
        return Lowered((_by_bytes(context, over, channels, quick, work),))
    bias = packed.int32(_unfolded(context, quick.bias, 2 * quick.weights.astype(np.int64)))
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int8_t", quick.weights.T, weights=True)),
        ("bias", Array("int32_t", bias, weights=True)),
        ("multiplier", Array("int32_t", quick.multiplier)),
        ("shift", Array("int8_t", quick.shift)),
        ("channels", over.in_c),
        ("centre", 2 * channels.zero + 1),
        *(field for field in over.fields if field[0] != "in_c"),
    )
    scratch = 8 * over.taps if DSP in context.target.variants else 0
    node = _node(context, over, channels, "lt_depthwise_mult1", fields, scratch, work)
    if scratch:
        node = replace(
            node, forms=(replace(node, kernel="lt_depthwise_mult1_s8_plain", scratch=0),)
        )
    if context.target.has_dsp and columns.fits(over.axis, over.kernel_h, over.in_c):
        node = _by_columns(node, over, quick, bias)
    if context.target.has_helium and lanes.fits(over.axis, over.kernel_h, over.in_c):
        node = _by_lanes(node, quick, channels.zero)
    return Lowered((node,))


def _by_bytes(
    context: Context,
    over: convolution.Footprint,
    channels: packed.Channels,
    quick: packed.Narrow,
    work: Depthwise,
) -> Node:
    """The same with bytes as weights, on a core without DSP instructions."""
    fields = (
        *conv_scalar.fields(quick, channels.zero),
        ("channels", over.in_c),
        *(field for field in over.fields if field[0] != "in_c"),
    )
    return _node(context, over, channels, "lt_depthwise_scalar", fields, work=DepthwiseBytes(work))


def _by_lanes(node: Node, quick: packed.Narrow, zero: int) -> Node:
    """The same by lanes, which takes no scratch memory."""
    taken = "in_w", "channels", "out_w", "kernel_h", "kernel_w", "stride_w", "pad_left"
    more = "input_zero", "low", "high"
    fields = (
        *lanes.fields(quick),
        ("output_zero", zero),
        *(field for field in node.params.fields if field[0] in (*taken, *more)),
    )
    work = node.work
    assert isinstance(work, Depthwise)
    return replace(
        node,
        kernel="lt_depthwise_vector_s8_row",
        header="lt_depthwise_vector.h",
        params=Params("lt_depthwise_vector_s8", fields),
        scratch=0,
        forms=(),
        work=DepthwiseLanes(
            work.steps,
            work.rows,
            work.axis,
            work.kernel_h,
            work.in_w,
            work.columns,
            work.channels,
        ),
    )


def _by_columns(
    node: Node, over: convolution.Footprint, quick: packed.Narrow, bias: NDArray[np.int32]
) -> Node:
    """The same by columns, in pieces of any size; the forms of least scratch memory are `node`'s."""
    normal = columns.piece(over.axis, over.out_w, over.target.row_bytes)
    records = columns.fields(quick, bias)
    made = {
        piece: _in_pieces(node, over, records, piece)
        for piece in (normal, *columns.other_pieces(over.out_w, normal))
    }
    smaller = (replace(node, forms=()), *node.forms)
    forms = (*(of for piece, of in made.items() if piece != normal), *smaller)
    return replace(
        made[normal],
        forms=forms,
        narrow_scratch=tuple(columns.scratch(over.axis, n, normal) for n in range(over.out_w + 1)),
    )


def _in_pieces(
    node: Node,
    over: convolution.Footprint,
    records: tuple[tuple[str, Value], ...],
    piece: int,
) -> Node:
    """A node by columns, `piece` of them at a time."""
    taken = "in_w", "channels", "out_w", "stride_w", "pad_left"
    more = "centre", "input_zero", "low", "high"
    fields = (
        *records,
        ("piece", piece),
        *(field for field in node.params.fields if field[0] in (*taken, *more)),
    )
    work = node.work
    assert isinstance(work, Depthwise)
    return replace(
        node,
        kernel="lt_depthwise_3x3_s8_row",
        header="lt_depthwise_3x3.h",
        params=Params("lt_depthwise_3x3_s8", fields),
        scratch=columns.scratch(over.axis, over.out_w, piece),
        forms=(),
        work=DepthwiseColumns(work, piece),
    )


def _plain(
    context: Context, over: convolution.Footprint, channels: packed.Channels, multiple: int
) -> Lowered:
    bias = _unfolded(context, channels.bias, channels.weights)
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int8_t", channels.weights.T, weights=True)),
        ("bias", Array("int32_t", packed.int32(bias), weights=True)),
        ("multiplier", Array("int32_t", packed.column(channels.factors, 0))),
        ("shift", Array("int8_t", packed.column(channels.factors, 1))),
        ("filters", multiple),
        ("output_zero", channels.zero),
        *over.fields,
    )
    return Lowered((_node(context, over, channels, "lt_depthwise", fields),))


def _node(
    context: Context,
    over: convolution.Footprint,
    channels: packed.Channels,
    family: str,
    fields: tuple[tuple[str, Value], ...],
    scratch: int = 0,
    work: Work | None = None,
) -> Node:
    _, input_zero = per_tensor(context, context.input(0))
    fields += (("input_zero", input_zero), ("low", channels.low), ("high", channels.high))
    return Node(
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
    )


LOWERINGS = {"DEPTHWISE_CONV_2D": Lowering(_depthwise, convolution.TYPES, of_a_window)}

"""What an operator costs by how many channels it reads and makes, so that a count can be chosen.

Why: the quick kernels take channels two by two or four by four, and what is left over one by one, so one
constant channel more may be cheaper than one less. The features are those that lowering counts for the
same kernels (lower/work.py); what one of each costs is the caller's, for a core. The weights are not
looked at: that the quick kernels can take them is assumed. Convolutions of uint8 become those of int8
(passes/flipping.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lowtide.ir.byte_tables import BYTES
from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.operands import type_range
from lowtide.ir.window import Axis
from lowtide.lower import conv_4x2, conv_vector, depthwise_3x3, depthwise_vector
from lowtide.lower.block_work import CONVOLUTION, DEPTHWISE
from lowtide.lower.convolution_work import Convolution, ConvolutionBytes, ConvolutionFours
from lowtide.lower.counts import Features
from lowtide.lower.depthwise_work import Depthwise, DepthwiseBytes, DepthwiseColumns
from lowtide.lower.vector_work import ConvolutionLanes, DepthwiseLanes
from lowtide.passes.simplify.flow import Dense, Flow
from lowtide.target import ANY, Target


@dataclass(frozen=True, slots=True)
class Price:
    """What kernels cost on a core: `of` takes a kernel's name and how often it does what, and returns
    instructions (`CostModel.of` is one); `target` says which kernels there are."""

    of: Callable[[str, Features], float]
    target: Target = ANY


_OTHER = "other"


def instructions(price: Price, graph: Graph, op: Op, flow: Flow, read: int, made: int) -> float:
    """What `op`, which has its window, costs if it reads and makes so many channels."""
    out = graph.tensors[op.outputs[0]]
    elements = out.elements // max(1, out.shape[-1] if out.shape else 1) * made
    legacy = out.dtype is DType.UINT8 and op.type == "FULLY_CONNECTED"
    plain = legacy or out.dtype not in BYTES or op.type == "TRANSPOSE_CONV"
    if not isinstance(flow, Dense) or plain:
        products = 0
        if isinstance(flow, Dense):
            products = elements * flow.sums.weights.shape[1] * read // flow.sums.groups
        return price.of(_OTHER, {"written": elements, "work": products})
    sums = flow.sums
    clamps = sums.clamp != type_range(out.dtype)
    if op.type == "FULLY_CONNECTED":
        rows, columns, in_w = out.elements // out.shape[-1], 1, 1
        axes = Axis(), Axis()
    else:
        assert op.window is not None
        axes = op.window.rows, op.window.columns
        rows, columns, in_w = out.shape[1], out.shape[2], graph.tensors[op.inputs[0]].shape[2]
    taps = axes[0].kernel * axes[1].kernel
    if sums.groups > 1 and op.type == "DEPTHWISE_CONV_2D":
        work = Depthwise(
            steps=rows,
            rows=rows * axes[0].kernel,
            axis=axes[1],
            kernel_h=axes[0].kernel,
            in_w=in_w,
            columns=columns,
            channels=made,
            clamps=clamps,
        )
        return _depthwise(price, work)
    if sums.groups > 1:
        each = taps * read // sums.groups
        return price.of(_OTHER, {"written": elements, "work": elements * each})
    pointwise = Convolution(
        steps=rows,
        rows=rows * axes[0].kernel,
        padding=0,
        axis=axes[1],
        kernel_h=axes[0].kernel,
        in_w=in_w,
        in_c=read,
        columns=columns,
        out_c=made,
        quads=-(-taps * read // 4),
        direct=taps == 1,
        clamps=clamps,
    )
    return _convolution(price, pointwise, axes[1].kernel * read)


def _depthwise(price: Price, work: Depthwise) -> float:
    """By the kernel that the core has for so many channels."""
    sizes = work.axis, work.kernel_h, work.channels
    if price.target.is_portable:
        by_bytes = DepthwiseBytes(work)
        return price.of("lt_depthwise_scalar_s8_row", by_bytes.features(work.columns, 0))
    if price.target.has_helium and depthwise_vector.fits(*sizes):
        axis, rows = work.axis, work.rows
        shape = axis, work.kernel_h, work.in_w, work.columns, work.channels
        lanes = DepthwiseLanes(work.steps, rows, *shape)
        return price.of("lt_depthwise_vector_s8_row", lanes.features(work.columns, 0))
    if price.target.has_dsp and depthwise_3x3.fits(*sizes):
        piece = depthwise_3x3.piece(work.axis, work.columns, work.columns * work.channels)
        by_columns = DepthwiseColumns(work, piece)
        return price.of("lt_depthwise_3x3_s8_row", by_columns.features(work.columns, 0))
    return price.of(DEPTHWISE, work.features(work.columns, 0))


def _convolution(price: Price, work: Convolution, run: int) -> float:
    """The same; rows of its windows have `run` bytes."""
    if price.target.is_portable:
        by_bytes = ConvolutionBytes(work)
        return price.of("lt_conv_scalar_s8_row", by_bytes.features(work.columns, 0))
    if price.target.has_helium:
        lanes = ConvolutionLanes(
            steps=work.steps,
            rows=work.rows,
            padding=0,
            axis=work.axis,
            in_w=work.in_w,
            columns=work.columns,
            out_c=work.out_c,
            chunks=conv_vector.chunks(work.kernel_h * run),
            run=run,
            direct=work.direct,
        )
        return price.of("lt_conv_vector_s8_row", lanes.features(work.columns, 0))
    ready = work.in_c % 4 == 0
    if price.target.has_dsp and not (work.direct and work.columns == 1 and not ready):
        quads = conv_4x2.quads(work.kernel_h, run)
        fours = ConvolutionFours(work, quads, work.direct and ready)
        return price.of("lt_conv_4x2_s8_row", fours.features(work.columns, 0))
    return price.of(CONVOLUTION, work.features(work.columns, 0))

"""What an operator costs by how many channels it reads and makes, so that a count can be chosen.

Why: the quick kernels take channels two by two or four by four, and what is left over one by one, so one
constant channel more may be cheaper than one less. The features are those that lowering counts for the
same kernels (lower/work.py); what one of each costs is the caller's, for a core. The weights are not
looked at: that the quick kernels can take them is assumed.
"""

from __future__ import annotations

from collections.abc import Callable

from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.window import Axis
from lowtide.lower.work import CONVOLUTION, DEPTHWISE, Convolution, Depthwise, Features
from lowtide.passes.simplify.flow import Dense, Flow

Price = Callable[[str, Features], float]
"""From a kernel's name and what it does to instructions; `CostModel.of` is one."""

_OTHER = "other"


def instructions(price: Price, graph: Graph, op: Op, flow: Flow, read: int, made: int) -> float:
    """What `op`, which has its window, costs if it reads and makes so many channels."""
    out = graph.tensors[op.outputs[0]]
    elements = out.elements // max(1, out.shape[-1] if out.shape else 1) * made
    if not isinstance(flow, Dense) or out.dtype is not DType.INT8 or op.type == "TRANSPOSE_CONV":
        products = 0
        if isinstance(flow, Dense):
            products = elements * flow.sums.weights.shape[1] * read // flow.sums.groups
        return price(_OTHER, {"written": elements, "work": products})
    sums = flow.sums
    low, high = sums.clamp
    clamps = (low, high) != (-128, 127)
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
        return price(DEPTHWISE, work.features(columns, 0))
    if sums.groups > 1:
        return price(_OTHER, {"written": elements, "work": elements * taps * read // sums.groups})
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
    return price(CONVOLUTION, pointwise.features(columns, 0))

"""What an operator costs by how many channels it reads and makes, so that a count can be chosen.

Why: the quick kernels take channels two by two or four by four, and what is left over one by one, so one
constant channel more may be cheaper than one less. The features are those that lowering counts for the
same kernels (lower/counts.py); what one of each costs is the caller's, for a core. The weights are not
looked at: that the quick kernels can take them is assumed. Convolutions of uint8 become those of int8
(passes/flipping.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lowtide.ir.byte_tables import BYTES
from lowtide.ir.graph import DType, Graph, Op
from lowtide.ir.operands import Operands, per_tensor, type_range
from lowtide.ir.products import clamp
from lowtide.ir.window import Axis, Window
from lowtide.lower.counts import Features
from lowtide.lower.families import family_of
from lowtide.lower.layer import Footprint, Layer
from lowtide.lower.nodes import Port
from lowtide.target import ANY, Target


@dataclass(frozen=True, slots=True)
class Price:
    """What kernels cost on a core: `of` takes a kernel's name and how often it does what, and returns
    instructions (`CostModel.of` is one); `target` says which kernels there are."""

    of: Callable[[str, Features], float]
    target: Target = ANY


_OTHER = "other"


def instructions(price: Price, graph: Graph, op: Op, read: int | None, made: int) -> float:
    """What `op`, which has its window, costs if it makes so many channels, each of all those that it
    reads; None: of one."""
    out = graph.tensors[op.outputs[0]]
    elements = out.elements // max(1, out.shape[-1] if out.shape else 1) * made
    legacy = out.dtype is DType.UINT8 and op.type == "FULLY_CONNECTED"
    plain = legacy or out.dtype not in BYTES or op.type == "TRANSPOSE_CONV"
    if read is None:
        return price.of(_OTHER, {"written": elements, "work": 0})
    weights = graph.tensors[op.inputs[1]].shape
    taps, groups = 1, 1
    if op.type != "FULLY_CONNECTED":
        source = graph.tensors[op.inputs[2 if op.type == "TRANSPOSE_CONV" else 0]].shape
        taps = weights[1] * weights[2]
        groups = source[-1] // (1 if op.type == "DEPTHWISE_CONV_2D" else weights[-1])
    if plain or (groups > 1 and op.type != "DEPTHWISE_CONV_2D"):
        products = elements * taps * read // groups
        return price.of(_OTHER, {"written": elements, "work": products})
    operands = Operands(graph, op)
    low, high = clamp(operands)
    clamps = (low, high) != type_range(out.dtype)
    above = low >= per_tensor(operands, out)[1]
    if op.type == "FULLY_CONNECTED":
        rows, columns, in_w = out.elements // out.shape[-1], 1, 1
        window = Window(Axis(), Axis())
    else:
        assert op.window is not None
        window = op.window
        rows, columns, in_w = out.shape[1], out.shape[2], graph.tensors[op.inputs[0]].shape[2]
    high, across = window.rows.kernel, window.columns
    over = Footprint(
        Port(op.inputs[0], rows + high - 1, 0, count=high),  # as if there were no padding
        Port(out.id, rows, 0),
        *(in_w, read if groups == 1 else made, columns),
        *(high, across.kernel, across.stride, across.dilation, across.before),
    )
    filters = 1 if groups > 1 else 0
    layer = Layer(over, price.target, made, filters=filters, clamps=clamps, above=above)
    family = family_of(layer)
    return price.of(family.kernel, family.work(layer.windows).features(columns, 0))

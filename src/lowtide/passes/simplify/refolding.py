"""Convolutions and dense layers with fewer channels: weights cut, and what is gone in their biases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.graph import DType, Graph, Op, Quant, Tensor
from lowtide.ir.operands import Operands, constant
from lowtide.passes.simplify.cutting import Constants, cut_quant
from lowtide.passes.simplify.needed import Channels, Kept, Mask, folded
from lowtide.passes.simplify.sums import Sums

_BIAS_TYPES: Mapping[DType, np.dtype[Any]] = {
    DType.INT32: np.dtype("<i4"),
    DType.INT64: np.dtype("<i8"),
}


def refolded(
    graph: Graph, channels: Channels, op: Op, sums: Sums, kept: Kept, constants: Constants
) -> Op:
    """`op` of `graph` for the channels that are stored; itself if none that it touches is gone."""
    source, out = op.inputs[sums.source], op.outputs[0]
    outputs, _, depth = sums.weights.shape
    made = kept[out]
    read = np.ones(sums.reads, np.bool_)
    if channels.followed(source):
        read = np.tile(kept[source], sums.reads // len(kept[source]))
    if read.all() and made.all():
        return op
    by_group = read.reshape(sums.groups, depth)
    columns: Mask = np.logical_or.reduce(by_group)
    operands = Operands(graph, op)
    old = operands.input(1)
    weights = constant(old)
    chosen = np.flatnonzero(made)
    bias, still = _biases(channels, op, sums, read)
    new = _cut_weights(op, weights, made, columns)
    axis = _output_axis(op, weights)
    silent = still[chosen]
    if silent.any():
        new = new.copy()
        np.moveaxis(new, axis, 0)[silent] = _nought(old)
    inputs = list(op.inputs)
    inputs[1] = constants.add(old, new, cut_quant(old.quant, axis, outputs, chosen))
    if bias[chosen].any() or operands.optional(sums.bias_at) is not None:
        while len(inputs) <= sums.bias_at:
            inputs.append(-1)
        like = operands.optional(sums.bias_at) or _new_bias(operands, sums, outputs)
        values = bias[chosen].astype(_BIAS_TYPES[sums.bias_type])
        inputs[sums.bias_at] = constants.add(
            like, values, cut_quant(like.quant, 0, outputs, chosen)
        )
    if op.type == "TRANSPOSE_CONV" and not made.all():
        shape = operands.input(0)
        if shape.is_constant:
            wanted = [*constant(shape).reshape(-1)[:-1].tolist(), len(chosen)]
            inputs[0] = constants.integers(shape, wanted)
    options = op.options
    if op.type == "DEPTHWISE_CONV_2D" and options.get("depth_multiplier"):
        options = {**options, "depth_multiplier": len(chosen) // int(by_group.any(axis=1).sum())}
    return replace(op, inputs=tuple(inputs), options=options)


def _biases(channels: Channels, op: Op, sums: Sums, read: Mask) -> tuple[NDArray[np.int64], Mask]:
    """(biases with what is no longer read, the outputs that now need weights of 0).

    An output that is constant need not be able to do without what is gone: any sum that it can have
    gives its one value.
    """
    outputs, taps, depth = sums.weights.shape
    _, values = folded(channels, op, sums)
    gone = ~read
    weights = sums.weights.reshape(sums.groups, outputs // sums.groups, taps, depth)
    inside = np.einsum("t,gftd->gfd", sums.patterns[0], weights)
    each = inside * np.where(gone, values, 0).reshape(sums.groups, 1, depth)
    bias = sums.bias + each.sum(axis=2).reshape(outputs).astype(np.int64)
    still = channels.constant(op.outputs[0])
    lost = (weights != 0).any(axis=2) & gone.reshape(sums.groups, 1, depth)
    still = still & lost.any(axis=2).reshape(outputs)
    if still.any():
        source = channels.known[op.inputs[sums.source]]
        least = sums.accumulated(source.viewed(sums.reads)).low
        limits = np.iinfo(_BIAS_TYPES[sums.bias_type])
        bias = np.where(still, np.clip(least, limits.min, limits.max), bias)
    return bias, still


def _output_axis(op: Op, weights: NDArray[Any]) -> int:
    """The axis of the weights that numbers outputs."""
    if op.type == "DEPTHWISE_CONV_2D":
        return 3
    return len(weights.shape) - 2 if op.type == "FULLY_CONNECTED" else 0


def _cut_weights(op: Op, weights: NDArray[Any], made: Mask, columns: Mask) -> NDArray[Any]:
    """Stored weights for some outputs, and some channels of a group."""
    if op.type == "DEPTHWISE_CONV_2D":
        return weights[..., made]
    if op.type == "FULLY_CONNECTED":
        return weights[..., made, :][..., columns]
    return weights[made][..., columns]


def _nought(weights: Tensor) -> int:
    """What stands for a weight of 0: only uint8 has another than 0."""
    quant = weights.quant if weights.dtype is DType.UINT8 else None
    return quant.zero_point[0] if quant is not None and quant.zero_point else 0


def _new_bias(operands: Operands, sums: Sums, outputs: int) -> Tensor:
    """A bias for an operator without one."""
    weights, source = operands.input(1), operands.input(sums.source)
    quant = None
    if weights.quant is not None and source.quant is not None:
        scales = tuple(source.quant.scale[0] * scale for scale in weights.quant.scale)
        quant = Quant(scales, (0,) * len(scales), 0)
    name = f"{operands.output().name}/bias"
    return Tensor(-1, name, (outputs,), sums.bias_type, quant)

"""Operators and constants with fewer channels: what each operator's operands say once some are gone.

Why apart from the choice: which channels go is decided once for the whole graph; here every operator is
written anew for those that stay, with new constants beside the old ones, which others may still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.graph import Graph, Op, Quant, Tensor
from lowtide.ir.operands import Operands, axis_of, constant
from lowtide.ir.slices import sliced
from lowtide.passes.rewriting import next_buffer
from lowtide.passes.simplify.bounding import channels_of
from lowtide.passes.simplify.needed import Kept, Mask


class Constants:
    """New constants, behind the tensors of a graph; of the same contents there is one.

    Not a frozen value: it is filled while one graph is written, and read once that is done.
    """

    def __init__(self, graph: Graph) -> None:
        self.added: list[Tensor] = []
        self._count = len(graph.tensors)
        self._buffer = next_buffer(graph.tensors)
        self._known: dict[tuple[object, ...], int] = {}

    def add(self, like: Tensor, values: NDArray[Any], quant: Quant | None) -> int:
        """The id of a constant as `like`, but for its values, shape and quantisation."""
        data = np.ascontiguousarray(values).tobytes()
        key = (like.name, like.dtype, values.shape, data, quant)
        if key not in self._known:
            number = len(self.added)
            self._known[key] = self._count + number
            self.added.append(
                replace(
                    like,
                    id=self._count + number,
                    shape=tuple(values.shape),
                    data=data,
                    quant=quant,
                    buffer=self._buffer + number,
                )
            )
        return self._known[key]

    def integers(self, like: Tensor, values: Sequence[int]) -> int:
        """The id of a constant as `like`, of the same shape if it has as many values."""
        array = np.array(values, constant(like).dtype)
        return self.add(
            like, array.reshape(like.shape) if array.size == like.elements else array, like.quant
        )


def cut_quant(quant: Quant | None, axis: int, size: int, chosen: NDArray[np.int64]) -> Quant | None:
    """The quantisation of a tensor that keeps those `chosen` of the `size` slices along `axis`."""
    if quant is None or quant.dimension != axis:
        return quant

    def part(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[i] for i in chosen) if len(values) == size > 1 else values

    return replace(quant, scale=part(quant.scale), zero_point=part(quant.zero_point))


def cut_tensor(tensor: Tensor, kept: Kept) -> Tensor:
    """A tensor that is given or made, with the channels that are stored; as it is if there are none."""
    mask = kept.get(tensor.id)
    if mask is None or mask.all() or not mask.any():
        return tensor
    axis = len(tensor.shape) - 1
    quant = cut_quant(tensor.quant, axis, len(mask), np.flatnonzero(mask))
    return replace(tensor, shape=(*tensor.shape[:-1], int(mask.sum())), quant=quant)


def cut_linked(graph: Graph, op: Op, kept: Kept, constants: Constants) -> Op:
    """An operator whose channels are linked, for those that are stored."""
    rule = _RULES.get(op.type)
    return op if rule is None else rule(Operands(graph, op), kept, constants)


def _elementwise(operands: Operands, kept: Kept, constants: Constants) -> Op:
    op, mask = operands.op, kept[operands.op.outputs[0]]
    inputs = (_cut_constant(operands.graph, t, mask, constants) for t in op.inputs)
    return replace(op, inputs=tuple(inputs))


def _cut_constant(graph: Graph, tensor: int, mask: Mask, constants: Constants) -> int:
    """The channels of a constant that meet those of `mask`; others are as they are."""
    old = graph.tensors[tensor]
    if not old.is_constant or channels_of(old) != len(mask) or mask.all():
        return tensor
    chosen = np.flatnonzero(mask)
    quant = cut_quant(old.quant, len(old.shape) - 1, len(mask), chosen)
    return constants.add(old, constant(old)[..., chosen], quant)


def _view(operands: Operands, kept: Kept, constants: Constants) -> Op:
    """SQUEEZE and EXPAND_DIMS become a RESHAPE, in case that a dimension is now 1 or no longer."""
    op, out = operands.op, operands.output()
    if kept[out.id].all():
        return op
    shape = (*out.shape[:-1], int(kept[out.id].sum()))
    options = {"new_shape": shape} if op.options or op.type != "RESHAPE" else op.options
    inputs = op.inputs[:1]
    wanted = operands.optional(1) if op.type == "RESHAPE" else None
    if wanted is not None and wanted.is_constant:
        inputs += (constants.integers(wanted, shape),)
    return replace(op, type="RESHAPE", inputs=inputs, options=options)


def _concatenation(operands: Operands, kept: Kept, constants: Constants) -> Op:
    op, out, graph = operands.op, operands.output(), operands.graph
    mask = kept[out.id]
    along = axis_of(operands, operands.option("axis"), len(out.shape)) == len(out.shape) - 1
    inputs, at = [], 0
    for tensor in op.inputs:
        count = channels_of(graph.tensors[tensor])
        part = mask[at : at + count] if along else mask
        at += count
        if part.any():
            inputs.append(_cut_constant(graph, tensor, part, constants))
    return replace(op, inputs=tuple(inputs))


def _split(operands: Operands, kept: Kept, constants: Constants) -> Op:
    """Parts that are gone are no outputs; parts of different sizes are those of a SPLIT_V."""
    op, graph = operands.op, operands.graph
    at, named = (0, 2) if op.type == "SPLIT_V" else (1, 0)
    source = operands.input(at)
    axis = axis_of(operands, int(operands.integers(named).reshape(-1)[0]), len(source.shape))
    if axis != len(source.shape) - 1:
        return op
    outs = tuple(t for t in op.outputs if kept[t].any())
    sizes = [int(kept[t].sum()) for t in outs]
    options = {**op.options, "num_splits": len(outs)}
    if op.type == "SPLIT" and len(set(sizes)) == 1:
        return replace(op, outputs=outs, options=options)
    like = operands.input(1) if op.type == "SPLIT_V" else graph.tensors[op.inputs[0]]
    values = np.array(sizes, constant(like).dtype)
    inputs = (source.id, constants.add(like, values, None), op.inputs[named])
    return replace(op, type="SPLIT_V", version=1, inputs=inputs, outputs=outs, options=options)


def _slice(operands: Operands, kept: Kept, constants: Constants) -> Op:
    op, out = operands.op, operands.output()
    taken, source = sliced(operands)[-1], operands.input(0)
    last = len(source.shape) - 1
    mask = kept[out.id] if source.is_constant else kept[source.id]
    if mask.all():
        return op
    first, begin, size = source.id, int(mask[: taken.start].sum()), int(kept[out.id].sum())
    if source.is_constant:  # it is cut to what is needed of it
        chosen = np.array(taken)[mask]
        quant = cut_quant(source.quant, last, channels_of(source), chosen)
        first, begin = constants.add(source, constant(source)[..., chosen], quant), 0
    given = [operands.integers(i).reshape(-1).tolist() for i in range(1, len(op.inputs))]
    if len(given[0]) <= last:
        return replace(op, inputs=(first, *op.inputs[1:]))
    given[0][last] = begin
    given[1][last] = begin + size if op.type == "STRIDED_SLICE" else size
    options = op.options
    if op.type == "STRIDED_SLICE":
        clear = ~(1 << last)
        given[2][last] = 1
        masks = {name: operands.option(name) & clear for name in ("begin_mask", "end_mask")}
        options = {**op.options, **masks}
    named = (constants.integers(operands.input(i), v) for i, v in enumerate(given, start=1))
    return replace(op, inputs=(first, *named), options=options)


def _pad(operands: Operands, kept: Kept, constants: Constants) -> Op:
    op = operands.op
    sides = operands.integers(1)
    before, mask = int(sides[-1, 0]), kept[op.outputs[0]]
    count = channels_of(operands.input(0))
    new = sides.copy()
    new[-1] = mask[:before].sum(), mask[before + count :].sum()
    if (new == sides).all():
        return op
    changed = constants.add(operands.input(1), new, operands.input(1).quant)
    return replace(op, inputs=(op.inputs[0], changed, *op.inputs[2:]))


def _gather(operands: Operands, kept: Kept, constants: Constants) -> Op:
    op, source = operands.op, operands.input(0)
    if axis_of(operands, operands.option("axis"), len(source.shape)) != len(source.shape) - 1:
        return op
    if source.is_constant:
        return op
    mask = kept[source.id]
    index = operands.integers(1)
    left = (np.cumsum(mask) - 1)[index[kept[op.outputs[0]]]]
    return replace(
        op, inputs=(source.id, constants.add(operands.input(1), left.astype(index.dtype), None))
    )


_RULES: Mapping[str, Callable[[Operands, Kept, Constants], Op]] = MappingProxyType(
    {
        **dict.fromkeys(("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM", "PRELU"), _elementwise),
        **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _view),
        **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _slice),
        **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
        **dict.fromkeys(("PAD", "PADV2"), _pad),
        "CONCATENATION": _concatenation,
        "GATHER": _gather,
    }
)
"""What becomes of an operator, by type; all others stay."""

"""A network whose time runs along columns, with rows and columns swapped.

Why: rows are what all stages behind this one stream, make and keep. So the caller gives columns as rows,
and operators that treat rows and columns alike compute maps that are turned, with their windows and
constants turned, too: the same sums of the same numbers. A dense layer on the whole map has its weights
in another order. What another operator reads is turned back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.operands import Operands, contents, integers_of
from lowtide.ir.slices import sliced
from lowtide.ir.window import Window
from lowtide.passes.hop.flows import ONES, PAIRS
from lowtide.passes.hop.rows import in_rows, strided
from lowtide.passes.rewriting import next_buffer, readers_of, with_ops

_RANK: Final = 4
_SWAPPED: Final = (0, 2, 1, 3)
_SUMMED: Final = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)
"""Sums of these are the same in every order."""


def turned(graph: Graph, time: int | None, ring: bool = False) -> Graph:
    """`graph`, of `check_slides`, with its input turned if axis `time` of it is that of several columns,
    or if it has columns alone that are to lie in a `ring`, row by row; itself if not.

    Raises ModelError if the input has no rows.
    """
    shaped, axis = in_rows(graph)
    (given,) = shaped.inputs
    shape = shaped.tensors[given].shape
    columns = len(shape) == _RANK and (axis, time) == (1, 2) and shape[2] > 1
    columns = columns or (ring and len(shape) == _RANK and axis == 2)
    if not columns or given in shaped.outputs:
        return graph
    return _Turning(shaped).graph()


@dataclass(slots=True)
class _Turning:
    """The new graph, operator by operator. A tensor that is turned has its id, but an output, which is
    turned back for the caller. `there` says which tensor is one turned, or, of what is `flat`, in the
    order of the map that it was; and `back` which has it as it was."""

    old: Graph
    readers: Mapping[int, list[Op]] = field(init=False)
    tensors: list[Tensor] = field(init=False)
    ops: list[Op] = field(default_factory=list)
    there: dict[int, int] = field(default_factory=dict)
    flat: dict[int, int] = field(default_factory=dict)
    back: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = list(self.old.tensors)
        self.readers = readers_of(self.old)

    def graph(self) -> Graph:
        """All of it."""
        self.turn(self.old.inputs[0])
        for op in self.old.ops:
            made = self.operator(op)
            if made is None:
                self.ops.append(replace(op, inputs=tuple(map(self.straight, op.inputs))))
                continue
            (out,) = op.outputs
            if len(self.old.tensors[out].shape) == _RANK:
                self.turn(out)
                made = replace(made, outputs=(self.there[out],))
            self.ops.append(made)
            if out in self.old.outputs:
                self.give_back(out)
        maps = frozenset(t for t in self.there.values() if len(self.tensors[t].shape) == _RANK)
        return with_ops(replace(self.old, tensors=tuple(self.tensors), turned=maps), self.ops)

    def operator(self, op: Op) -> Op | None:
        """`op` as it reads what is turned; None if it has to read that as it was."""
        rule, moving = _RULES.get(op.type), [t for t in op.inputs if t in self.there]
        if rule is None or not moving or len(op.outputs) != 1:
            return None
        rest = (self.old.tensors[t] for t in op.inputs if t >= 0 and t not in self.there)
        return rule(self, op) if all(tensor.is_constant for tensor in rest) else None

    def add(self, tensor: Tensor) -> int:
        """A new tensor; its id."""
        self.tensors.append(replace(tensor, id=len(self.tensors)))
        return len(self.tensors) - 1

    def turn(self, tensor: int) -> None:
        """Have a tensor turned from here on."""
        of = self.tensors[tensor]
        new = replace(of, shape=tuple(of.shape[axis] for axis in _SWAPPED))
        if tensor in self.old.outputs:
            self.there[tensor] = self.add(new)
        else:
            self.there[tensor], self.tensors[tensor] = tensor, new

    def straight(self, tensor: int) -> int:
        """The tensor with `tensor` as it was."""
        if tensor not in self.there:
            return tensor
        if tensor not in self.back:
            self.back[tensor] = self.add(self.old.tensors[tensor])
            self.turn_back(tensor)
        return self.back[tensor]

    def give_back(self, tensor: int) -> None:
        """Make an output as callers know it."""
        if tensor in self.there:
            self.back[tensor] = tensor
            self.turn_back(tensor)

    def turn_back(self, tensor: int) -> None:
        """Of one row or column, it is the same bytes."""
        source, made = self.there[tensor], self.back[tensor]
        if 1 in self.old.tensors[tensor].shape[1:3]:
            self.ops.append(Op(-1, "RESHAPE", (source,), (made,)))
        else:
            self.ops.append(Op(-1, "TRANSPOSE", (source, self.integers(_SWAPPED)), (made,)))

    def integers(self, values: Sequence[int]) -> int:
        """A new tensor of integers."""
        data, buffer = np.array(values, "<i4").tobytes(), next_buffer(self.tensors)
        return self.add(Tensor(0, "turned", (len(values),), DType.INT32, None, data, buffer))

    def constant(self, tensor: int) -> int | None:
        """A constant of up to four axes, turned; None if it cannot be read."""
        of = self.old.tensors[tensor]
        shape = (*(1,) * (_RANK - len(of.shape)), *of.shape)
        if len(shape) == _RANK and shape[1:3] == (1, 1):
            return tensor
        values = contents(of)
        if values is None or len(shape) > _RANK:
            return None
        data = values.reshape(shape).transpose(_SWAPPED)
        buffer = next_buffer(self.tensors)
        return self.add(replace(of, shape=data.shape, data=data.tobytes(), buffer=buffer))

    def reading(self, op: Op) -> Op:
        """`op`, reading what is turned."""
        return replace(op, inputs=tuple(self.there.get(t, t) for t in op.inputs))

    def sums(self, op: Op) -> bool:
        """Whether it may sum in any order."""
        return self.old.tensors[op.outputs[0]].dtype in _SUMMED


def _window(of: _Turning, op: Op) -> Op | None:
    window, new = op.window, of.reading(op)
    if window is None or not of.sums(op) or op.inputs[0] not in of.there:
        return None
    if op.type in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        weights = of.constant(op.inputs[1])
        if weights is None:
            return None
        new = replace(new, inputs=(new.inputs[0], weights, *new.inputs[2:]))
    return replace(new, window=Window(window.columns, window.rows))


def _alike(of: _Turning, op: Op) -> Op | None:
    """Functions of one variable, whatever else they are given, and of what lies along the last axis."""
    source, out = of.old.tensors[op.inputs[0]], of.old.tensors[op.outputs[0]]
    fits = op.inputs[0] in of.there and out.shape == source.shape
    return of.reading(op) if fits else None


def _pair(of: _Turning, op: Op) -> Op | None:
    inputs = [of.there.get(t, of.constant(t)) if t >= 0 else t for t in op.inputs]
    known = [t for t in inputs if t is not None]
    return replace(op, inputs=tuple(known)) if len(known) == len(inputs) else None


def _joined(of: _Turning, op: Op) -> Op | None:
    axis = op.options.get("axis", 0)
    if not isinstance(axis, int) or not all(t in of.there for t in op.inputs):
        return None
    return replace(of.reading(op), options={**op.options, "axis": _SWAPPED[axis % _RANK]})


def _dense(of: _Turning, op: Op) -> Op | None:
    """By pixel, or of the whole map, whose pixels come in another order."""
    source, out = of.old.tensors[op.inputs[0]], of.old.tensors[op.outputs[0]]
    if op.inputs[0] not in of.there or not of.sums(op):
        return None
    weights = of.old.tensors[op.inputs[1]]
    if len(source.shape) == _RANK and out.shape[:-1] == source.shape[:-1]:
        return of.reading(op) if weights.shape[-1] == source.shape[-1] else None
    values = _of_all(of, op)
    if values is None:
        return None
    of_map = of.old.tensors[of.flat.get(op.inputs[0], op.inputs[0])]
    data = values.reshape(-1, *of_map.shape[1:]).transpose(_SWAPPED).tobytes()
    new, buffer = of.reading(op), next_buffer(of.tensors)
    ordered = of.add(replace(weights, data=data, buffer=buffer))
    return replace(new, inputs=(new.inputs[0], ordered, *new.inputs[2:]))


def _of_all(of: _Turning, op: Op) -> NDArray[Any] | None:
    """The weights of a dense layer that reads all of its input at once; None for others."""
    source, weights = of.old.tensors[op.inputs[0]], of.old.tensor(op, 1)
    if op.type != "FULLY_CONNECTED" or weights is None or not of.sums(op):
        return None
    return contents(weights) if weights.shape[1:] == (source.elements,) else None


def _flat(of: _Turning, op: Op) -> Op | None:
    """A map as one row, for dense layers."""
    (made,), source = op.outputs, of.old.tensors[op.inputs[0]]
    readers = of.readers.get(made, [])
    alike = all(r.inputs[0] == made and _of_all(of, r) is not None for r in readers)
    constant = all(of.old.tensors[t].is_constant for r in readers for t in r.inputs[1:] if t >= 0)
    row = of.old.tensors[made].shape == (1, source.elements) and made not in of.old.outputs
    if not (alike and constant and row):
        return None
    of.flat[made] = op.inputs[0]
    of.there[made] = of.add(of.old.tensors[made])
    return replace(op, inputs=(of.there[op.inputs[0]],), outputs=(of.there[made],), options={})


def _reduced(of: _Turning, op: Op) -> Op | None:
    axes = of.old.tensor(op, 1)
    given = None if axes is None else integers_of(axes)
    if given is None or not of.sums(op):
        return None
    gone = [_SWAPPED[axis % _RANK] for axis in given]
    if not op.options.get("keep_dims") and not {1, 2} & {*gone}:
        return None
    return replace(op, inputs=(of.there[op.inputs[0]], of.integers(gone)))


def _taken(of: _Turning, op: Op) -> Op | None:
    try:
        taken = sliced(Operands(of.old, op))
    except ModelError:
        return None
    shrunk = len(of.old.tensors[op.outputs[0]].shape) != _RANK
    if shrunk or not all(along and along.step > 0 for along in taken):
        return None
    source = of.there[op.inputs[0]]
    return strided(source, op.outputs[0], [taken[axis] for axis in _SWAPPED], of.integers)


def _padded(of: _Turning, op: Op) -> Op | None:
    given = of.old.tensor(op, 1)
    values = None if given is None else contents(given)
    if given is None or values is None or values.shape != (_RANK, 2):
        return None
    data, buffer = values[list(_SWAPPED)].tobytes(), next_buffer(of.tensors)
    new, sides = of.reading(op), of.add(replace(given, data=data, buffer=buffer))
    return replace(new, inputs=(new.inputs[0], sides, *new.inputs[2:]))


_RULES: Final[Mapping[str, Callable[[_Turning, Op], Op | None]]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"), _window),
    **dict.fromkeys(PAIRS, _pair),
    **dict.fromkeys((*ONES, "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), _alike),
    "CONCATENATION": _joined,
    "FULLY_CONNECTED": _dense,
    "RESHAPE": _flat,
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"), _reduced),
    **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _taken),
    **dict.fromkeys(("PAD", "PADV2"), _padded),
}
"""By operator; those of no rule read what is turned back."""

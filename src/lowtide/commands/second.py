"""What the other reference engine says where a program differs from the first one.

Why: the two engines do not always agree (LSTM, SVDF, sums that leave 32 bits). A program that follows
one of them is not wrong if it differs from the other, even where only the other runs the whole network.
So before a difference counts as a fault, the other engine is asked: for the whole network, or, if it
lacks an operator elsewhere, for the operator alone, given what the first engine gave it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from lowtide.commands.cutting import alone, part_of
from lowtide.errors import LowtideError
from lowtide.ir import Model, Op
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import Difference, Reference, reference_tensors

Array = NDArray[Any]
Sides = Literal["program", "first", "neither"]


@dataclass(frozen=True, slots=True)
class Second:
    """What `engine`, asked second, has where the program differs: the same as the `program`, as
    the `first` engine, or as `neither`. It ran the whole network, or the operator `alone`."""

    engine: EngineName
    sides: Sides
    value: bool | int | float | complex | str
    alone: bool


def second_opinion(
    model: Model,
    samples: Sequence[Mapping[int, Array]],
    fresh: Sequence[int] | None,
    first: EngineName,
    difference: Difference,
) -> Second | None:
    """The other engine's word on `difference`, which is in terms of the file of `model`; None if it has
    none, because it is not installed or runs neither the network nor the operator."""
    if difference.index < 0 or not 0 <= difference.tensor < len(model.file_graph.tensors):
        return None
    engine: EngineName = "litert" if first == "tflm" else "tflm"
    number, tensor = difference.sample, difference.tensor
    for by_itself in (False, True):
        try:
            made = (
                _of_operator(model, samples, fresh, first, engine, tensor)
                if by_itself
                else reference_tensors(model.source, samples, [tensor], engine=engine, fresh=fresh)
            )
        except LowtideError:
            continue
        if made is None:
            continue
        values = made.samples[number][tensor].reshape(-1)
        if difference.index >= len(values):
            continue
        value = values[difference.index].item()
        sides: Sides = (
            "program"
            if value == difference.left
            else "first"
            if value == difference.right
            else "neither"
        )
        if by_itself or sides != "neither":  # what came before may have differed already
            return Second(engine, sides, value, by_itself)
    return None


def _of_operator(
    model: Model,
    samples: Sequence[Mapping[int, Array]],
    fresh: Sequence[int] | None,
    first: EngineName,
    engine: EngineName,
    tensor: int,
) -> Reference | None:
    """`tensor` as `engine` makes it by the one operator that does, which is given what `first` has."""
    graph = model.file_graph
    op = next((op for op in graph.ops if tensor in _makes(model, op)), None)
    if op is None:
        return None
    tensors = graph.tensors
    given = [
        t
        for t in dict.fromkeys(op.inputs)
        if t >= 0 and not tensors[t].is_constant and not tensors[t].is_variable
    ]
    found = reference_tensors(model.source, samples, given, engine=first, fresh=fresh)
    part = alone(part_of(model, given, op.outputs))
    inputs = [{t: sample[t] for t in part.graph.inputs} for sample in found.samples]
    return reference_tensors(part.source, inputs, [tensor], engine=engine, fresh=fresh)


def _makes(model: Model, op: Op) -> set[int]:
    """The tensors that `op` writes, variables among its inputs too."""
    tensors = model.file_graph.tensors
    return {*op.outputs, *(t for t in op.inputs if t >= 0 and tensors[t].is_variable)}

"""What the contracts of kernels share: an operator, its values, the params of its kernel.

A contract holds a kernel, as its header describes it, against the operator's definition: the rows that
it is given must be those that the definition asks for, and padding where it asks for padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lowtide.ir import Graph, Op, Tensor
from lowtide.prove.bundle_reader import Bundle, Field, Params
from lowtide.prove.machine import CONSTANTS, Shares, Slot, Step
from lowtide.prove.memory import Labels, NotProvedError, Value, part, position_in
from lowtide.prove.values import Values

Judge = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Judged:
    """A contract: what judges a step, and what `Contract` of the machine asks for besides."""

    judge: Judge
    shares: Shares = "never"
    lasts: bool = False

    def __call__(self, step: Step) -> None:
        self.judge(step)


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A node's operators, the last of which makes what the node makes, and its params.

    `windows` and `targets` are how many rows each of its ports reads and writes, `traced` the tensors
    that the latter are said to be of, `scratch` bytes of scratch memory. `starts` are, for one that
    makes some columns of a map, the first of them that it is said to make in each round.

    """

    graph: Graph
    bundle: Bundle
    values: Values
    ops: tuple[Op, ...]
    params: Params
    windows: tuple[int, ...]
    targets: tuple[int, ...]
    traced: tuple[int, ...]
    scratch: int
    starts: tuple[int, ...]

    @property
    def op(self) -> Op:
        """The only operator."""
        return self.ops[-1]

    @property
    def fields(self) -> Mapping[str, Field]:
        """The params' fields, those of a struct within them without its name."""
        return {name.rpartition(".")[2]: value for name, value in self.params.fields.items()}

    def number(self, name: str, default: int | None = None) -> int:
        """A field that is a number."""
        found = self.fields.get(name, default)
        if not isinstance(found, int):
            raise NotProvedError(f"its params have no number {name}")
        return found

    def numbers(self, name: str) -> Labels | None:
        """A field that is an array; None if it is null."""
        found = self.fields.get(name)
        return None if found is None else self.bundle.array(found)

    def input(self, index: int) -> tuple[Tensor, Value]:
        """Input `index` of the first operator."""
        op = self.ops[0]
        value = self.values.inputs[op.id][index]
        if value is None:
            raise NotProvedError(f"it has no input {index}")
        return self.graph.tensors[op.inputs[index]], value

    def output(self, index: int = 0) -> tuple[Tensor, Value]:
        """Output `index` of the last operator."""
        op = self.ops[-1]
        return self.graph.tensors[op.outputs[index]], self.values.outputs[op.id][index]

    def expect_array(self, name: str, wanted: Labels) -> None:
        """An array of the params is the operator's."""
        found = self.numbers(name)
        if found is None or not np.array_equal(found, wanted):
            raise NotProvedError(f"its {name} are not those of its operator")

    def with_params(self, params: Params) -> Call:
        """The same of other params."""
        return replace(self, params=params)

    def expect(self, what: str, found: int, wanted: int) -> None:
        """A number of the params is the operator's."""
        if found != wanted:
            raise NotProvedError(f"its {what} is {found}, and its operator's {wanted}")


def size_of(tensor: Tensor) -> int:
    """Bytes of an element."""
    return tensor.dtype.bits // 8


def target(step: Step, port: int = 0) -> Slot:
    """The one row that a port writes."""
    (slot,) = step.outputs[port]
    if slot is None:
        raise NotProvedError("it is given no row to write to")
    return slot


def source(step: Step, port: int = 0) -> Slot:
    """The one row that a port reads."""
    (slot,) = step.inputs[port]
    if slot is None:
        raise NotProvedError("a row is padding, and should not be")
    return slot


def column(step: Step, slot: Slot, value: Value, row: range, pixel: int) -> int:
    """Which pixel of the bytes `row` of a value a row in memory begins with."""
    if slot.memory == CONSTANTS:  # of which only all columns are read
        return 0
    at = position_in(value, step.label(slot), row)
    if at is None or (at - row.start) % pixel:
        told = step.machine.told(value, row.start)
        found = step.machine.symbols.told(step.label(slot))
        raise NotProvedError(
            f"a row should begin with a pixel of the row that begins with {told}, and begins with "
            f"{found}"
        )
    return (at - row.start) // pixel


def whole(step: Step, port: int, tensor: Tensor, value: Value) -> None:
    """A port reads all of a tensor, as one row."""
    if tensor.bytes:
        step.expects(source(step, port), value, 0, tensor.bytes)


def reads_elements(
    step: Step,
    slot: Slot,
    index: Labels,
    size: int,
    wanted: Labels,
    contiguous: Value | None = None,
) -> None:
    """A kernel reads the elements `index` of a row, of `size` bytes each: those labelled `wanted`.

    `contiguous` is the value's first label where both are just elements that follow each other.
    """
    if contiguous is not None and isinstance(contiguous, int):
        step.expects(slot, contiguous, 0, size * len(index))
        return
    symbols = step.machine.symbols
    for byte in range(size):
        found, need = step.gathers(slot, index * size + byte), wanted + byte
        if slot.memory == CONSTANTS:
            need = symbols.resolved(need)
        wrong = np.flatnonzero(found != need)
        if len(wrong):
            first = int(wrong[0])
            told, there = (symbols.told(int(labels[first])) for labels in (need, found))
            raise NotProvedError(
                f"element {int(index[first])} of a row should be {told}, and is {there}"
            )


def elements_in_row(value: Value, first: int, count: int, size: int) -> Labels:
    """The labels of some elements of a value, from byte `first` on."""
    return part(value, first, count * size)[::size]

"""What a plan costs in instructions: a model per core, linear in what kernels do, fitted from runs.

Why not MACs alone: a strip runs every row again, however narrow it is, and each row costs the
interpreter and the kernel something before the first product; a depthwise product costs several times
that of a convolution; odd columns and lean forms fetch weights for one pixel instead of two.

What a kernel does its lowering counts (lower/counts.py): rows, columns, blocks of channels, products. A
`CostModel` has what one of each costs. For the search, an operator is `Linear` in the columns it makes,
so that a strip is priced without looking at its kernels.

`bench/run cliffs --fit` writes costs.json, from half of the operators on a grid of shapes, and
errors.json, from the others; `bench/run instructions` checks the models on plans of real networks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import UsageError
from lowtide.ir.window import Axis
from lowtide.lower.counts import Features, padded_taps
from lowtide.lower.nodes import AnyNode, Node

_FILE = Path(__file__).with_name("costs.json")
_ERRORS = Path(__file__).with_name("errors.json")
Ints = NDArray[np.int64]
OTHER = "other"
"""Stands for kernels that the model has no costs of."""
STEP_PROGRAM = "lt_run"
"""Does what is done between the steps of kernels."""


class Strips:
    """Strips of an operator: of each its `columns`, and the `first` column of the first window; `sides`
    are those whose windows, along `axis`, reach beyond the `width` of what is read."""

    def __init__(self, columns: Ints, low: Ints, axis: Axis, width: int) -> None:
        self.columns, self.width = columns, width
        first = low * axis.stride - axis.before
        last = first + (columns - 1) * axis.stride + axis.size
        self.sides = np.flatnonzero((first < 0) | (last > width))
        self._first = first[self.sides]
        self._outside: dict[Axis, Ints] = {}

    @cached_property
    def widths(self) -> tuple[list[int], Ints]:
        """The numbers of columns there are, and which of them each strip has."""
        different, which = np.unique(self.columns, return_inverse=True)
        return different.tolist(), which

    def outside(self, window: Axis) -> Ints:
        """As `padded_taps`, of each of the `sides`."""
        if window not in self._outside:
            of_each = zip(self.columns[self.sides].tolist(), self._first.tolist(), strict=True)
            taps = [padded_taps(columns, at, self.width, window) for columns, at in of_each]
            self._outside[window] = np.array(taps, np.int64)
        return self._outside[window]


@dataclass(frozen=True, slots=True)
class Linear:
    """Cost of a node that makes some columns, as whole numbers.

    `per_strip` is paid for all rows whatever their width; `per_odd` once more if the number of columns
    is odd; `per_outside`, which may be below 0, for each column of a window that is padding. `window` is
    that of a row.
    """

    per_strip: int
    per_column: int
    per_odd: int = 0
    per_outside: int = 0
    window: Axis = field(default_factory=Axis)

    def at(self, columns: int, first: int = 0, width: int = 0) -> int:
        """The cost of `columns` columns, whose windows begin in column `first` of `width`."""
        cost = self.per_strip + self.per_column * columns + self.per_odd * (columns & 1)
        if self.per_outside:
            cost += self.per_outside * padded_taps(columns, first, width, self.window)
        return cost

    def each(self, strips: Strips) -> Ints:
        """The cost of each strip."""
        columns = strips.columns
        cost = self.per_strip + self.per_column * columns + self.per_odd * (columns & 1)
        if self.per_outside and len(strips.sides):
            cost[strips.sides] += self.per_outside * strips.outside(self.window)
        return np.asarray(cost)


@dataclass(frozen=True, slots=True)
class Exact:
    """Cost of a node that makes some columns, which is not linear in them: `cost` takes how many, and
    how many taps of their windows are padding. `window` is that of a row."""

    cost: Callable[[int, int], int]
    window: Axis = field(default_factory=Axis)
    _known: dict[tuple[int, int], int] = field(default_factory=dict)

    def at(self, columns: int, first: int = 0, width: int = 0) -> int:
        """The cost of `columns` columns, whose windows begin in column `first` of `width`."""
        return self._made(columns, padded_taps(columns, first, width, self.window) if width else 0)

    def _made(self, columns: int, padded: int) -> int:
        key = columns, padded
        if key not in self._known:
            self._known[key] = self.cost(columns, padded)
        return self._known[key]

    def each(self, strips: Strips) -> Ints:
        """The cost of each strip."""
        different, which = strips.widths
        cost = np.array([self._made(columns, 0) for columns in different], np.int64)[which]
        if len(strips.sides):
            padded = strips.outside(self.window).tolist()
            columns = strips.columns[strips.sides].tolist()
            cost[strips.sides] = [self._made(*of) for of in zip(columns, padded, strict=True)]
        return cost


@dataclass(frozen=True, slots=True)
class FormCost:
    """Cost of an operator in one form: by its nodes, and all at full width. `scratch` is what it needs
    in bytes, and `narrow[n]` for n columns, if that depends on them (see `Node.narrow_scratch`)."""

    nodes: tuple[Linear | Exact, ...]
    whole: int
    scratch: int = 0
    narrow: tuple[int, ...] = ()
    normal: bool = True

    def each(self, strips: Strips) -> Ints:
        """The cost of each strip."""
        first, *others = self.nodes
        cost = first.each(strips)
        for node in others:
            cost = cost + node.each(strips)
        return cost


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Cost of an operator in each form worth having: that of least scratch memory first, each next one
    costs less at full width. One of several nodes has one form."""

    forms: tuple[FormCost, ...]

    @property
    def whole(self) -> int:
        """At full width, in the quickest form."""
        return self.forms[-1].whole


OperatorCosts = Mapping[int, OperatorCost]
"""Operator -> what it costs."""


class Executed(Protocol):
    """A program, or what becomes one."""

    @property
    def executed(self) -> Sequence[tuple[Node, int]]:
        """The nodes that run kernels, and how often each runs through all its steps."""

    @property
    def between(self) -> Features:
        """What the step program does between their steps."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Instructions per feature and kernel, on one core. `worst_error` is what 95 % of predictions keep
    to, of the operators of `bench/run cliffs` that were not fitted, relative to what was measured."""

    core: str
    board: str
    worst_error: float
    kernels: Mapping[str, Mapping[str, float]]

    def of(self, kernel: str, features: Features) -> float:
        """The cost of what a node of `kernel` does."""
        cost = 0.0
        for name, count in features.items():
            called, _, own = name.rpartition("/")
            each = self.kernels.get(called or kernel) or self.kernels.get(OTHER, {})
            cost += each.get(own, 0.0) * count
        return cost

    def _made(self, node: Node, columns: int, padded: int = 0) -> float:
        """The cost of so many columns of what a node makes."""
        return self.of(node.works.name, features(node, columns, padded))

    def linear(self, node: Node) -> Linear | Exact:
        """The cost of a node by the number of columns it makes."""
        if node.work is not None and not node.work.is_linear:
            made = partial(self._made, node)
            return Exact(lambda columns, padded: round(made(columns, padded)), node.work.axis)
        none, one, two = (self._made(node, columns) for columns in (0, 1, 2))
        padded = self._made(node, 1, 1)
        column = (two - none) / 2
        return Linear(
            round(none),
            round(column),
            round(one - none - column),
            round(padded - one),
            Axis() if node.work is None else node.work.axis,
        )

    def node(self, node: Node) -> int:
        """The cost of all steps of a node as it is; of a part of one its share, so that those of all
        parts are together what the whole costs."""
        if node.of is not None:
            return share(self.node(node.of), node.first, node.first + node.steps, node.of.steps)
        work = node.work
        if work is None:
            return self.linear(node).at(1)
        return self.linear(node).at(work.columns, -work.axis.before, work.in_w)

    def prices(self, nodes: Iterable[AnyNode]) -> OperatorCosts:
        """The cost of every operator that has nodes."""
        by_operator: dict[int, list[Node]] = {}
        for node in nodes:
            if isinstance(node, Node):
                by_operator.setdefault(node.op, []).append(node)
        return {op: self._operator(mine) for op, mine in by_operator.items()}

    def _operator(self, nodes: Sequence[Node]) -> OperatorCost:
        if len(nodes) > 1:
            whole = sum(map(self.node, nodes))
            return OperatorCost((FormCost(tuple(map(self.linear, nodes)), whole),))
        # Of forms that need as much, a limit picks the last (`Node.within`).
        reached = {form.scratch: form for form in nodes[0].forms if not form.is_spare}
        found: list[FormCost] = []
        each = [(form.scratch, self.node(form), form) for form in (nodes[0], *reached.values())]
        for scratch, whole, form in sorted(each, key=lambda of: of[:2]):
            if not found or whole < found[-1].whole:
                cost = (self.linear(form),), whole, scratch, form.narrow_scratch
                found.append(FormCost(*cost, normal=form is nodes[0]))
        return OperatorCost(tuple(found))

    def run(self, program: Executed) -> int:
        """The cost of one run of a program: of its kernels, of the step program between their steps, and
        of a caller that copies rows byte by byte."""
        return self.program(program.executed) + self.between(program.between)

    @property
    def again(self) -> int:
        """What each run of a node's steps but the first costs the step program. It is a whole number, so
        that what stages cost is together what a plan costs."""
        return round(self.of(STEP_PROGRAM, {"again": 1}))

    def between(self, done: Features) -> int:
        """The cost of what the step program does between the steps of kernels."""
        return int(done["again"]) * self.again + round(self.of(STEP_PROGRAM, {**done, "again": 0}))

    def program(self, executed: Iterable[tuple[Node, int]]) -> int:
        """The cost of a program's kernels: of nodes, and how often each runs through all its steps."""
        return sum(times * self.node(node) for node, times in executed)


def share(cost: int, first: int, stop: int, steps: int) -> int:
    """What steps [first, stop) of so many cost, which cost so much together."""
    return cost * stop // steps - cost * first // steps


def features(node: Node, columns: int | None = None, padded: int | None = None) -> Features:
    """What `node` does if it makes `columns` columns, `padded` taps of their windows being padding
    (None: as many as for the node as it is)."""
    work, steps = node.work, node.steps
    pointers = sum(port.count for port in (*node.inputs, *node.outputs))
    own = {"step": steps, "pointer": steps * pointers}
    if node.works.name != node.kernel:
        own |= {f"{node.kernel}/step": steps, f"{node.kernel}/pointer": steps * pointers}
    if work is None:
        return own
    many = work.columns if columns is None else columns
    if padded is None:
        padded = padded_taps(many, -work.axis.before, work.in_w, work.axis)
    return {**own, **work.features(many, padded)}


def _models() -> dict[str, Any]:
    return _read(_FILE)


@cache
def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def priced_cores() -> tuple[str, ...]:
    """The cores that there are models of."""
    return tuple(sorted(_models()))


def known_model(core: str) -> CostModel | None:
    """The model of a core, if there is one."""
    return load_model(core) if core in _models() else None


@cache
def load_model(core: str) -> CostModel:
    """The model of a core. Raises UsageError, which names those there are, if there is none."""
    known = _models()
    found = known.get(core)
    if found is None:
        raise UsageError(
            f"there is no cost model of the core {core!r}",
            f"use one of: {', '.join(sorted(known))}",
        )
    return CostModel(core, found["board"], _read(_ERRORS)[core], found["kernels"])

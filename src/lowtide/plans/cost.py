"""What a plan costs in instructions: a model per core, linear in what kernels do, fitted from runs.

Why not MACs alone: a strip runs every row again, however narrow it is, and each row costs the
interpreter and the kernel something before the first product; a depthwise product costs several times
that of a convolution; odd columns and lean forms fetch weights for one pixel instead of two.

What a kernel does is counted in `features`: rows, pointers, columns, blocks of channels, products, ... A
`CostModel` has what one of each costs. For the search, an operator is `Linear` in the columns it makes,
so that a strip is priced without looking at its kernels.

`bench/run instructions --fit` writes costs.toml; without --fit it checks the models on plans of real
networks.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lowtide.errors import UsageError
from lowtide.ir import Graph, Op
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import Node
from lowtide.plans.block_cost import BLOCKS, block_features
from lowtide.plans.kernel_features import CONVOLUTION, DEPTHWISE, convolution, depthwise, numbers
from lowtide.program.turns import Loop, Turn
from lowtide.rows.columns import Stripes, outside, runs

if TYPE_CHECKING:  # emit.assemble uses rows
    from lowtide.program.assemble import Assembly

_FILE = Path(__file__).with_name("costs.toml")
DETAILED = DEPTHWISE | BLOCKS | {CONVOLUTION}
"""Kernels with features of their own."""
_READ_LITTLE = frozenset({"CONCATENATION", "ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"})
OTHER = "other"
"""Stands for kernels that the model has no costs of."""

Features = Mapping[str, float]
"""What a node does in all its steps: how many of each thing that costs something. `kernel/name` is a
feature of a kernel that the node's own calls."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Cost of a node that makes some columns, as whole numbers.

    `per_strip` is paid for all rows whatever their width; `per_odd` once more if the number of columns
    is odd; `per_outside`, which may be below 0, for each column of a window that is padding. `window`
    is its stride, dilation and kernel width.
    """

    per_strip: int
    per_column: int
    per_odd: int = 0
    per_outside: int = 0
    window: tuple[int, int, int] = (1, 1, 1)

    def at(self, columns: int, first: int = 0, width: int = 0) -> int:
        """The cost of `columns` columns, whose windows begin in column `first` of `width`."""
        cost = self.per_strip + self.per_column * columns + self.per_odd * (columns & 1)
        if self.per_outside:
            cost += self.per_outside * outside(columns, first, width, *self.window)
        return cost


@dataclass(frozen=True, slots=True)
class Exact:
    """Cost of a node that makes some columns, which is not linear in them."""

    cost: Callable[[int], int]
    _known: dict[int, int] = field(default_factory=dict)

    def at(self, columns: int, first: int = 0, width: int = 0) -> int:
        """The cost of `columns` columns, wherever they are."""
        del first, width
        if columns not in self._known:
            self._known[columns] = self.cost(columns)
        return self._known[columns]


@dataclass(frozen=True, slots=True)
class Price:
    """Cost of an operator: its nodes in their normal and in their lean form, and all at full width."""

    normal: tuple[Linear | Exact, ...]
    lean: tuple[Linear | Exact, ...]
    whole: int
    whole_lean: int


Prices = Mapping[int, Price]
"""Operator -> what it costs."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Instructions per feature and kernel, on one core. `worst_error` is that of the ten plans of
    `bench/run instructions`, relative to what was measured."""

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

    def linear(self, graph: Graph, node: Node) -> Linear | Exact:
        """The cost of a node by the number of columns it makes."""
        if node.kernel in BLOCKS:
            return Exact(
                lambda columns: round(self.of(node.kernel, features(graph, node, columns)))
            )
        none, one, two = (
            self.of(node.kernel, features(graph, node, columns, 0)) for columns in (0, 1, 2)
        )
        padded = self.of(node.kernel, features(graph, node, 1, 1))
        column = (two - none) / 2
        fields = dict(node.params.fields)
        window = [fields.get(name, 1) for name in ("stride_w", "dilation_w", "kernel_w")]
        return Linear(
            round(none),
            round(column),
            round(one - none - column),
            round(padded - one),
            (_whole(window[0]), _whole(window[1]), _whole(window[2])),
        )

    def node(self, graph: Graph, node: Node) -> int:
        """The cost of all steps of a node as it is."""
        fields = dict(node.params.fields)
        first, width = -_whole(fields.get("pad_left", 0)), _whole(fields.get("in_w", 0))
        return self.linear(graph, node).at(columns_of(graph, node), first, width)

    def prices(self, graph: Graph, nodes: Iterable[Node]) -> Prices:
        """The cost of every operator that has nodes."""
        by_operator: dict[int, list[Node]] = {}
        for node in nodes:
            if node.exchange is None:
                by_operator.setdefault(node.op, []).append(node)
        return {
            op: Price(
                tuple(self.linear(graph, node) for node in mine),
                tuple(self.linear(graph, node.leaner) for node in mine),
                sum(self.node(graph, node) for node in mine),
                sum(self.node(graph, node.leaner) for node in mine),
            )
            for op, mine in by_operator.items()
        }

    def program(self, assembly: Assembly) -> int:
        """The cost of one run of a program."""
        graph = assembly.program_graph
        return sum(times * self.node(graph, node) for node, times in executed(assembly))


def executed(assembly: Assembly) -> list[tuple[Node, int]]:
    """The program's nodes that run kernels, and how often each runs through all its steps."""
    steps: Counter[int] = Counter()

    def walk(turns: Sequence[Turn | Loop], times: int) -> None:
        for turn in turns:
            if isinstance(turn, Loop):
                walk(turn.body, times * turn.times)
            else:
                steps[turn.node] += times * turn.steps

    walk(assembly.turns, 1)
    entries = [(entry, steps[number]) for number, entry in enumerate(assembly.nodes)]
    return [
        (entry.node, count // entry.node.steps)
        for entry, count in entries
        if entry.strip is None and entry.node.exchange is None and entry.node.kernel
    ]


def striped(graph: Graph, prices: Prices, cut: Stripes, *, lean: bool) -> int:
    """The cost of a stage in strips."""
    cost = 0
    for run in runs(cut):
        strip = cut.strips[run.first]
        for op, windows, columns in zip(cut.operators, cut.windows, strip.made, strict=True):
            price = prices.get(op)
            if price is None:
                continue
            window = windows[0]
            first = columns.start * window.stride - window.pad
            width = graph.tensors[window.tensor].shape[2]
            for linear in price.lean if lean else price.normal:
                cost += run.times * linear.at(len(columns), first, width)
    return cost


def columns_of(graph: Graph, node: Node) -> int:
    """How many columns a node makes: the width of its output, 1 if that is no map."""
    width = dict(node.params.fields).get("out_w")
    if isinstance(width, int):
        return width
    shape = graph.tensors[graph.ops[node.op].outputs[0]].shape if node.op >= 0 else ()
    return shape[2] if len(shape) == 4 else 1


def features(graph: Graph, node: Node, columns: int, padded: int | None = None) -> Features:
    """What `node` does if it makes `columns` columns, `padded` columns of their windows being padding
    (None: as many as they are for the node as it is)."""
    if node.kernel in BLOCKS:
        steps, ports = node.steps, (*node.inputs, *node.outputs)
        own = {"step": steps, "pointer": steps * sum(port.count for port in ports)}
        return {**own, **block_features(graph, node, columns)}
    fields = numbers(node.params)
    if padded is None:
        window = fields.get("stride_w", 1), fields.get("dilation_w", 1), fields.get("kernel_w", 1)
        padded = outside(columns, -fields.get("pad_left", 0), fields.get("in_w", 0), *window)
    steps = node.steps
    pointers = sum(port.count for port in (*node.inputs, *node.outputs))
    found: dict[str, float] = {"step": steps, "pointer": steps * pointers}
    if node.kernel == CONVOLUTION:
        found |= convolution(steps, fields, columns, _rows(node, out=False), padded)
    elif node.kernel in DEPTHWISE:
        found |= depthwise(steps, _rows(node, out=False)[0], fields, columns, padded)
    else:
        part = columns / columns_of(graph, node)
        op = graph.ops[node.op]
        written = sum(_rows(node, out=True)[0] * port.row_bytes for port in node.outputs)
        found["written"] = written * part
        found["work"] = _work(graph, op, node, fields) * part
    return found


def _rows(node: Node, *, out: bool) -> tuple[int, int]:
    """Rows of the first port's window over all steps: those that exist, and padding."""
    port = (node.outputs if out else node.inputs)[0]
    inside = 0
    for step in range(node.steps):
        at = port.first + step * port.stride if port.table is None else port.table[step]
        inside += sum(0 <= at + i * port.dilation < port.rows for i in range(port.count))
    return inside, node.steps * port.count - inside


def _work(graph: Graph, op: Op, node: Node, fields: Mapping[str, int]) -> float:
    """Products, or elements looked at, beyond one per element written."""
    macs = op_macs(graph, op)
    if macs:
        return macs
    if "kernel_h" in fields and "channels" in fields:  # pools
        height = 1 if node.kernel.endswith("_eat") else fields["kernel_h"]
        return node.steps * fields["out_w"] * fields["channels"] * fields["kernel_w"] * height
    if op.type in _READ_LITTLE:
        return 0
    sizes = (graph.tensors[port.tensor].bytes for port in node.inputs)
    return max(0, sum(sizes) - graph.tensors[op.outputs[0]].bytes)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


@cache
def load_model(core: str) -> CostModel:
    """The model of a core. Raises UsageError, which names those there are, if there is none."""
    known = tomllib.loads(_FILE.read_text("utf-8")) if _FILE.exists() else {}
    found = known.get(core)
    if found is None:
        raise UsageError(
            f"there is no cost model of the core {core!r}",
            f"use one of: {', '.join(sorted(known))}; or plan by MACs (--cost macs)",
        )
    return CostModel(core, found["board"], found["worst_error"], found["kernels"])

"""What the step program does between the steps of kernels, measured: it goes from node to node, and
exchanges rows with the caller.

A network of pools runs with its rows interleaved. What its kernels take more than one after the other is
what going back to them costs; what there is besides is the exchange of rows.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.cliffs.grid import Point
from lowtide.modes import InputMode, OutputMode
from lowtide.plans.changes import Worth
from lowtide.plans.cost import STEP_PROGRAM
from lowtide.plans.placed import placed
from lowtide.program.assemble import Assembly, assemble_placed, assemble_tensors
from lowtide.program.tables import ExchangeEntry, KernelEntry
from lowtide.rows.prepare import Prepared
from lowtide.rows.scheduled import scheduled
from lowtide.zoo.builder import NetBuilder

STEPPED = "stepped"
_KINDS: dict[str, tuple[InputMode, OutputMode]] = {
    "again": ("resident", "resident"),
    "given": ("streamed", "resident"),
    "taken": ("resident", "streamed"),
}
_SIZES = (
    (4, 5, 3, 2),
    (9, 12, 4, 2),
    (16, 3, 8, 3),
    (24, 16, 3, 2),
    (32, 40, 1, 4),
    (40, 7, 16, 3),
)
"""Rows, columns, channels, pools."""


def stepped_points() -> list[Point]:
    """Networks of each kind: they are fitted, not compared."""
    names = "rows", "columns", "channels", "pools"
    return [
        Point(f"{STEPPED} {kind}", tuple(zip(names, size, strict=True)))
        for kind in _KINDS
        for size in _SIZES
    ]


def stepped_network(point: Point) -> bytes:
    """The .tflite file of the network of a point."""
    net = NetBuilder(str(point))
    x = net.input((1, point.size("rows"), point.size("columns"), point.size("channels")))
    for number in range(point.size("pools")):
        x = net.max_pool(x, f"pool_{number}", (3, 1), 1)
    return net.finish(x)


def modes_of(point: Point) -> tuple[InputMode, OutputMode]:
    """Where inputs and outputs of a point's network are."""
    return _KINDS[point.family.partition(" ")[2]]


def stepped_counts(
    ready: Prepared, run: Callable[[Assembly], dict[int, int]]
) -> tuple[dict[tuple[str, str], float], int]:
    """What the step program does in a network of a point, and the instructions that it takes: `run` says
    how many each node of a program takes."""
    operators = [op for op in ready.order if ready.lowered[op].nodes]
    rows = scheduled(ready, [ready.choice(operators, None)])
    by_rows = assemble_placed(ready, placed(rows, Worth(lambda _: 0, 0.0)))
    taken = run(by_rows)
    done = by_rows.between
    if done["given"] or done["taken"]:
        exchanges = (n for n, of in enumerate(by_rows.nodes) if isinstance(of, ExchangeEntry))
        instructions = sum(taken[number] for number in exchanges)
        done = {name: count for name, count in done.items() if name != "again"}
    else:
        instructions = _kernels(by_rows, taken)
        alone = assemble_tensors(ready, "greedy")
        instructions -= _kernels(alone, run(alone))
    return {(STEP_PROGRAM, name): count for name, count in done.items()}, instructions


def _kernels(assembly: Assembly, taken: dict[int, int]) -> int:
    numbers = (n for n, of in enumerate(assembly.nodes) if isinstance(of, KernelEntry))
    return sum(taken[number] for number in numbers)

"""Points of the grid measured: many in one start of an emulated board, by node of one program.

Operators stand beside each other in a program, one run after the other. They are lowered as the compiler
lowers them, so that its choice of kernel is measured, too; how many instructions each takes the
emulator's plugin counts, the step program's among them.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from bench.cliffs.grid import Point
from bench.cliffs.networks import network
from bench.cliffs.points import SHARED
from bench.cliffs.signal_networks import KINDS, signal_network
from bench.cliffs.stepped import STEPPED, modes_of, stepped_counts, stepped_network
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.emit.bundle import bundle
from lowtide.errors import ModelError
from lowtide.ir import DType
from lowtide.ir.graph import Graph, Op
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import Node
from lowtide.machines.board import find_target, load_boards
from lowtide.machines.failures import DoesNotFitError
from lowtide.machines.glue import read_interface
from lowtide.machines.parts import Board
from lowtide.machines.profiled import Profiled
from lowtide.machines.qemu import run_on_board
from lowtide.modes import InputMode, OutputMode
from lowtide.passes.flipping import FLIP
from lowtide.plans.cost import STEP_PROGRAM, features
from lowtide.program.assemble import Assembly, assemble_tensors
from lowtide.program.tables import KernelEntry
from lowtide.rows.prepare import Prepared, prepare, with_blocks
from lowtide.target import Target
from lowtide.tflite.read import parse

Key = tuple[str, str]
"""Kernel and feature."""

_NAME, _SIGNAL = "grid", "signal"
_EACH, _SLIDES = 4, 24
"""Networks of each kind of signal operator, and of windows that move on, which are copied otherwise by
where they lie."""


BOARDS = {
    "cortex-m0": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m55": "mps3-an547",
    "rv32imac": "rv32-virt",
}
"""Core -> the board on which it is measured; the roomy machine in its place, if there is one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A point on a core: the kernels that run, what they do, how many MACs or elements it is, and the
    instructions it takes."""

    point: Point
    kernels: tuple[str, ...]
    counts: Mapping[Key, float]
    units: int
    instructions: int

    @property
    def each(self) -> float:
        """Instructions per MAC or element."""
        return self.instructions / self.units

    @property
    def is_fitted(self) -> bool:
        """Whether prices are fitted on it: all that is not on the grid is."""
        return self.point.is_fitted or self.point.family.startswith((_SIGNAL, STEPPED))


def measure(points: Sequence[Point], core: str) -> tuple[list[Measured], list[str], float]:
    """The points that the compiler takes, in one start of the core's board; why not the others; and how
    many CPU seconds that took."""
    begin = _cpu()
    found = load_boards()[BOARDS[core]]
    found = found if found.roomy == found.machine else found.with_plenty
    found = replace(found, core=replace(found.core, manual=None))  # instructions alone
    kept, refused = _taken(points, core)
    return list(_ran(kept, core, found)), refused, _cpu() - begin


def _cpu() -> float:
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _ran(points: Sequence[Point], core: str, board: Board) -> Iterator[Measured]:
    """The points in one program, or in several where that does not fit the board, or its tables."""
    if not points:
        return
    if points[0].family.startswith(STEPPED):
        yield from (_between(point, core, board) for point in points)
        return
    assembly = _assembled(points, core)
    try:
        yield from _by_point(points, assembly, _run(assembly, board))
    except (DoesNotFitError, ModelError):
        middle = len(points) // 2
        if middle == 0:
            raise
        yield from _ran(points[:middle], core, board)
        yield from _ran(points[middle:], core, board)


def signal_points() -> list[Point]:
    """Operators of signals, of drawn size, each a network of its own: they are fitted, not compared."""
    return [
        Point(f"{_SIGNAL} {kind}", (("number", number),))
        for kind in KINDS
        for number in range(_SLIDES if kind == "slide" else _EACH)
    ]


def _file(points: Sequence[Point]) -> bytes:
    family, at = points[0].family, points[0].axes
    kind, _, name = family.partition(" ")
    if kind == STEPPED:
        return stepped_network(points[0])
    if kind == _SIGNAL:
        return signal_network(name, Random(f"{name} {at['number']}"))
    return network(points)


def _target(points: Sequence[Point], core: str) -> Target:
    return find_target("any" if points[0].family.startswith(SHARED) else core)


def _graph(points: Sequence[Point], core: str) -> Graph:
    options = Options(name=_NAME, target=_target(points, core), simplify=False)
    return passed(parse(_file(points), path=_NAME), options).graph


def _taken(points: Sequence[Point], core: str) -> tuple[list[Point], list[str]]:
    """Those that can be compiled; and why the others cannot."""
    try:
        _prepared(_graph(points, core), _target(points, core))
    except ModelError as error:
        if len(points) == 1:
            return [], [f"{points[0]}: {error}"]
        middle = len(points) // 2
        first, second = (_taken(half, core) for half in (points[:middle], points[middle:]))
        return [*first[0], *second[0]], [*first[1], *second[1]]
    return list(points), []


def _prepared(
    graph: Graph,
    target: Target,
    input_mode: InputMode = "const",
    output_mode: OutputMode = "resident",
) -> Prepared:
    return prepare(
        graph,
        tuple(range(len(graph.ops))),
        input_mode=input_mode,
        output_mode=output_mode,
        preserve_input=False,
        align=16,
        join=False,
        target=target,
    )


def _assembled(points: Sequence[Point], core: str) -> Assembly:
    ready = _prepared(_graph(points, core), _target(points, core))
    if points[0].family.removeprefix(SHARED).startswith("block"):
        ready = _blocks(ready, points)
    lean = {
        op.id
        for op, number in _numbered(ready.graph, ready.order)
        if points[number].axes.get("form") == "lean"
    }
    lowered = {
        op: replace(of, nodes=tuple(node.leaner for node in of.nodes)) if op in lean else of
        for op, of in ready.lowered.items()
    }
    return assemble_tensors(replace(ready, lowered=lowered), "greedy")


def _blocks(ready: Prepared, points: Sequence[Point]) -> Prepared:
    """The blocks of the points in place of their operators."""
    ready = with_blocks(ready)
    ends = (block.op for block in ready.blocks)
    numbers = {op.id: number for op, number in _numbered(ready.wide, tuple(ends))}
    kinds = {(True, True): "all", (True, False): "expand", (False, True): "project"}
    chosen: dict[int, int] = {}
    for block in ready.blocks:
        at = points[numbers[block.op]].axes if block.op in numbers else {}
        kept = not block.expands or block.again == (at.get("kept") == "again")
        if kept and kinds.get((block.expands, block.projects)) == at.get("parts"):
            chosen[numbers[block.op]] = block.op
    return replace(ready, graph=ready.wide, blocks=(), order=tuple(chosen.values()))


def _numbered(graph: Graph, order: Sequence[int]) -> Iterator[tuple[Op, int]]:
    """The operators that are of a point, and its number; what flips bytes at the network's ends is not,
    unless it is all that a point is."""
    found: dict[int, list[Op]] = defaultdict(list)
    for op in (graph.ops[number] for number in order):
        named = (*op.outputs, *op.inputs)[0]  # what moves a variable's rows has no outputs
        name, _, number = graph.tensors[named].name.partition("_")
        if name == "point":
            found[int(number)].append(op)
    found = found or {0: [graph.ops[number] for number in order]}
    for of, ops in found.items():
        mine = [op for op in ops if op.type != FLIP] or ops
        yield from ((op, of) for op in mine)


def _run(assembly: Assembly, board: Board) -> Profiled:
    files = bundle(assembly, _NAME)
    values = np.random.default_rng(1)
    graph, sizes = assembly.program_graph, read_interface(files, _NAME).input_bytes
    sample = [
        values.normal(0, 3, size // 4).astype(np.float32).tobytes()
        if graph.tensors[tensor].dtype is DType.FLOAT32
        else values.integers(0, 256, size, np.uint8).tobytes()
        for tensor, size in zip(graph.inputs, sizes, strict=True)
    ]
    ran = run_on_board(board, files, _NAME, [sample], profile=True)
    assert isinstance(ran.profile, Profiled), ran.profile
    return ran.profile


def _between(point: Point, core: str, board: Board) -> Measured:
    """What the step program does between the steps of the kernels of a network."""
    ready = _prepared(_graph([point], core), _target([point], core), *modes_of(point))

    def run(assembly: Assembly) -> dict[int, int]:
        taken: dict[int, int] = defaultdict(int)
        for part in _run(assembly, board).parts:
            taken[part.node] += part.instructions
        return taken

    counts, instructions = stepped_counts(ready, run)
    return Measured(point, (STEP_PROGRAM,), counts, 1, instructions)


def _by_point(points: Sequence[Point], assembly: Assembly, counted: Profiled) -> Iterator[Measured]:
    graph = assembly.program_graph
    instructions: dict[int, int] = defaultdict(int)
    for part in counted.parts:
        if part.node >= 0:
            instructions[part.node] += part.instructions
    numbers = {op.id: number for op, number in _numbered(graph, assembly.order)}
    ops = {number: graph.ops[op] for op, number in numbers.items() if graph.ops[op].outputs}
    for number, entries in _nodes(assembly, numbers).items():
        counts: dict[Key, float] = defaultdict(float)
        mine = [*entries.values()]
        taken = sum(instructions[index] for index in entries)
        for node in mine:
            for name, count in features(node).items():
                called, _, own = name.rpartition("/")
                counts[called or node.works.name, own] += count
        kernels = tuple(dict.fromkeys(node.works.name for node in mine))
        yield Measured(points[number], kernels, dict(counts), _units(graph, ops[number]), taken)


def _nodes(assembly: Assembly, numbers: Mapping[int, int]) -> dict[int, dict[int, Node]]:
    """The nodes of each point, by their index in the program's table."""
    found: dict[int, dict[int, Node]] = defaultdict(dict)
    for index, entry in enumerate(assembly.nodes):
        if isinstance(entry, KernelEntry) and entry.node.op in numbers:
            found[numbers[entry.node.op]][index] = entry.node
    return found


def nodes_of(points: Sequence[Point], core: str) -> list[list[Node]]:
    """What runs for each point."""
    assembly = _assembled(points, core)
    numbers = {op.id: number for op, number in _numbered(assembly.program_graph, assembly.order)}
    found = _nodes(assembly, numbers)
    return [[*found[number].values()] for number in range(len(points))]


def _units(graph: Graph, op: Op) -> int:
    """MACs, or what windows of pools look at, or the elements that are read or made, whichever are
    more."""
    made = graph.tensors[op.outputs[0]].elements
    if op.window is not None and not op_macs(graph, op):
        return made * op.window.rows.kernel * op.window.columns.kernel
    return op_macs(graph, op) or max(made, graph.tensors[op.inputs[0]].elements)

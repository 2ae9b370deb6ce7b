"""Memory over time in several ways of running one network, for the page that shows them side by side.

Why the same form for all: TFLM's whole tensors and our rows are boxes of bytes and steps alike, and a
reader who switches between them sees what became smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby

from lowtide.commands.compiling import Compiled
from lowtide.commands.reporting import TIGHT, Reported
from lowtide.ir import Graph
from lowtide.place import Placement
from lowtide.report.plan_boxes import (
    SCRATCH,
    Box,
    PlanBoxes,
    Run,
    colours_of,
    plan_boxes,
    step_name,
    tensor_name,
)
from lowtide.report.planned import network_tensor
from lowtide.report.text import plain

COLOURS = 8


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor in memory at the peak: its bytes there, in how many pieces, and what it is there for."""

    name: str
    bytes: int
    pieces: int
    why: str


@dataclass(frozen=True, slots=True)
class View:
    """One way of running a network. `boxes` are what lies in the arena, slot by slot, `steps` what runs
    in each slot, `names` (tensor, its origin) of all tensors, `colours` their colours' numbers.

    `ram_bytes` is the arena and the state; `peak_slot` the first slot with `peak_bytes` live, and
    `peak` what these are.
    """

    key: str
    title: str
    caption: str
    ram_bytes: int
    arena_bytes: int
    state_bytes: int
    peak_slot: int
    peak_bytes: int
    peak: tuple[Held, ...]
    steps: tuple[str, ...] = field(repr=False)
    boxes: tuple[Box, ...] = field(repr=False)
    runs: tuple[Run, ...] = field(repr=False)
    names: dict[int, tuple[str, str]] = field(repr=False)
    colours: dict[int, int] = field(repr=False)


def views_of(reported: Reported) -> tuple[View, ...]:
    """TFLM's memory, that of the best order, and that of the plans: those there are, and differ."""
    compiled = reported.compiled
    variables = compiled.tflm_bytes.variables
    whole = reported.analysis.graph
    found = [
        _whole(
            "tflm",
            "TensorFlow Lite Micro",
            "Whole tensors, the operators as the file has them. While an operator runs, all of its "
            "input and all of its output are in memory, and whatever a later one needs.",
            whole,
            reported.analysis.file.order,
            reported.tflm,
            variables,
        )
    ]
    if reported.analysis.best.order != reported.analysis.file.order:
        found.append(
            _whole(
                "order",
                "Best operator order",
                "Still whole tensors, but the operators run in the order that needs the least memory: "
                "what is large is used up before the next large tensor is made.",
                whole,
                reported.analysis.best.order,
                reported.ordered,
                variables,
            )
        )
    mode = compiled.options.input_mode
    rows = (
        "An operator makes a row as soon as the rows it reads are there, and a row makes room as soon "
        "as nobody reads it any more. Nothing is computed twice."
    )
    if compiled.options.max_overhead is not None or compiled.options.max_ram is not None:
        rows = (
            "Operators run row by row, some of them in strips of columns, with what overlaps "
            "computed again, as far as the limits that were given allow."
        )
    found.append(_plan("rows", f"Rows, input {mode}", rows, compiled))
    if reported.streamed is not None:
        found.append(
            _plan(
                "streamed",
                "Rows, input streamed",
                "The same, and the caller gives the input row by row, as a camera does: it is never "
                "in memory as a whole.",
                reported.streamed.compiled,
            )
        )
    if reported.tight is not None:
        found.append(
            _plan(
                "tight",
                f"Rows, at most {TIGHT:g} times the MACs",
                "Stages run in strips, some columns at a time: what lies in two strips is computed "
                "twice, and less of each tensor is in memory at once.",
                reported.tight,
            )
        )
    return tuple(found)


def _plan(key: str, title: str, caption: str, compiled: Compiled) -> View:
    shown = plan_boxes(compiled)
    everything = (*shown.boxes, *shown.variables)
    return View(
        key=key,
        title=title,
        caption=caption,
        ram_bytes=compiled.ram_bytes,
        arena_bytes=shown.arena_bytes,
        state_bytes=shown.state_bytes,
        peak_slot=shown.peak_slot,
        peak_bytes=shown.peak_bytes,
        peak=_peak(shown, lambda t: _held_for(compiled, t), lambda t: tensor_name(compiled, t)),
        steps=tuple(_short(step_name(compiled, slot)) for slot in range(shown.slots)),
        boxes=everything,
        runs=shown.runs,
        names={b.tensor: tensor_name(compiled, b.tensor) for b in everything if b.tensor >= 0},
        colours=colours_of(everything, COLOURS),
    )


def _short(step: str) -> str:
    """What runs, without the number of the step."""
    return step.partition(": ")[2] or step


def _whole(
    key: str,
    title: str,
    caption: str,
    graph: Graph,
    order: Sequence[int],
    placement: Placement,
    variables: int,
) -> View:
    boxes = tuple(
        Box(b.item, max(0, b.start), b.end, b.offset, b.size) for b in placement.blocks if b.size
    )
    slots = len(order) + 1
    change = [0] * (slots + 1)
    for box in boxes:
        change[box.start] += box.size
        change[min(box.end, slots)] -= box.size
    live = tuple(accumulate(change[:-1]))
    shown = PlanBoxes(boxes, (), (), live, placement.arena_bytes, variables)

    def name(tensor: int) -> tuple[str, str]:
        maker = next((op for op in graph.ops if tensor in op.outputs), None)
        origin = "input" if maker is None else plain(f"{maker.id} {maker.label}")
        return f"t{tensor}", origin

    labels = [plain(f"{op} {graph.ops[op].label}") for op in order]
    return View(
        key=key,
        title=title,
        caption=caption,
        ram_bytes=placement.arena_bytes + variables,
        arena_bytes=placement.arena_bytes,
        state_bytes=variables,
        peak_slot=shown.peak_slot,
        peak_bytes=shown.peak_bytes,
        peak=_peak(shown, lambda t: _readers(graph, t), name),
        steps=("before the first step", *labels),
        boxes=boxes,
        runs=(),
        names={box.tensor: name(box.tensor) for box in boxes},
        colours=colours_of(boxes, COLOURS),
    )


def _peak(
    shown: PlanBoxes, why: Callable[[int], str], name: Callable[[int], tuple[str, str]]
) -> tuple[Held, ...]:
    """What is in memory at the peak, the largest first."""
    slot = shown.peak_slot
    live = sorted((b for b in shown.boxes if b.start <= slot < b.end), key=lambda b: b.tensor)
    held = []
    for tensor, group in groupby(live, key=lambda b: b.tensor):
        sizes = [box.size for box in group]
        label = "scratch memory of a kernel" if tensor == SCRATCH else ", ".join(name(tensor))
        reason = "" if tensor == SCRATCH else why(tensor)
        held.append(Held(label, sum(sizes), len(sizes), reason))
    return tuple(sorted(held, key=lambda h: (-h.bytes, h.name)))


def _held_for(compiled: Compiled, tensor: int) -> str:
    """Who reads a tensor of the program, in the network's terms."""
    return _readers(compiled.graph, network_tensor(compiled.assembly, tensor)[0])


def _readers(graph: Graph, tensor: int) -> str:
    """Who reads a tensor of the network."""
    readers = [plain(f"{op.id} {op.label}") for op in graph.ops if tensor in op.inputs]
    if tensor in graph.outputs:
        readers.append("the caller")
    return _and(readers)


def _and(names: Iterable[str]) -> str:
    *most, last = [*names] or [""]
    text = f"{', '.join(most)} and {last}" if most else last
    return f"read by {text}" if text else ""

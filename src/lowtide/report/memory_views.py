"""Memory over time in several ways of running one network, for the page that shows them side by side.

Why the same form for all: TFLM's whole tensors and our rows are boxes of bytes and steps alike, and a
reader who switches between them sees what became smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from lowtide.advice.reporting import TIGHT, Reported
from lowtide.commands.compiling import Compiled
from lowtide.ir import Graph
from lowtide.place import Placement
from lowtide.report.plan_boxes import (
    SCRATCH,
    Box,
    PlanBoxes,
    live_in,
    most_held,
    origin_of,
    plan_boxes,
    step_name,
    tensor_name,
)
from lowtide.report.planned import network_tensor
from lowtide.report.text import plain

_FILLING = 2
"""So many of the tensors that fill TFLM's peak are followed through the other ways."""


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor in memory at the peak: its bytes there, `of` how many it has in all (0: it is scratch
    memory), in how many pieces, and what it is there for."""

    name: str
    bytes: int
    of: int
    pieces: int
    why: str


@dataclass(frozen=True, slots=True)
class View:
    """One way of running a network. `shown` is what lies in the arena, slot by slot, `steps` what runs
    in each slot, `names` (tensor, its origin) of all tensors.

    `peak` is what is live in the first slot of the peak. `why` says for this network why it takes less
    than the first way.
    """

    key: str
    title: str
    caption: str
    why: str
    shown: PlanBoxes = field(repr=False)
    peak: tuple[Held, ...]
    steps: tuple[str, ...] = field(repr=False)
    names: dict[int, tuple[str, str]] = field(repr=False)

    @property
    def ram_bytes(self) -> int:
        """The arena and the state."""
        return self.shown.ram_bytes


def views_of(reported: Reported) -> tuple[View, ...]:
    """TFLM's memory, that of the best order, and that of the plans: those there are, and differ."""
    compiled = reported.compiled
    variables = compiled.tflm_bytes.variables
    whole = reported.analysis.graph
    caption = (
        "Whole tensors, the operators as the file has them. While an operator runs, all of its "
        "input and all of its output are in memory, and whatever a later one needs."
    )
    if compiled.state_bytes and not variables:
        caption += " What its signal operators remember from run to run is not counted here."
    first = _whole(
        "tflm",
        "TensorFlow Lite Micro",
        caption,
        whole,
        reported.analysis.file.order,
        reported.tflm,
        variables,
    )
    found = [first]
    if reported.analysis.best.order != reported.analysis.file.order:
        best = _whole(
            "order",
            "Best operator order",
            "Still whole tensors, but the operators run in the order that needs the least memory: "
            "what is large is used up before the next large tensor is made.",
            whole,
            reported.analysis.best.order,
            reported.ordered,
            variables,
        )
        found.append(replace(best, why=_why_order(first, best)))
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
    found.append(_plan("rows", f"Rows, input {mode}", rows, compiled, first))
    if reported.streams_for_less:
        assert reported.streamed is not None
        streamed = (
            "The same, and the caller gives the input row by row, as a camera does: it is never "
            "in memory as a whole."
        )
        made = reported.streamed.compiled
        found.append(_plan("streamed", "Rows, input streamed", streamed, made, first))
    if reported.tight is not None:
        strips = (
            "Stages run in strips, some columns at a time: what lies in two strips is computed "
            "twice, and less of each tensor is in memory at once."
        )
        also = reported.tight.options.input_mode == "streamed" != mode
        title = f"Rows, {'streamed, ' * also}at most {TIGHT:g} times the MACs"
        found.append(_plan("tight", title, strips, reported.tight, first))
    return tuple(found)


def _plan(key: str, title: str, caption: str, compiled: Compiled, first: View) -> View:
    shown = plan_boxes(compiled)
    return View(
        key,
        title,
        caption,
        _why_rows(first, compiled, shown.everything),
        shown,
        _peak(
            shown,
            lambda t: _held_for(compiled, t),
            lambda t: tensor_name(compiled, t),
            lambda t: compiled.graph.tensors[network_tensor(compiled.assembly, t)[0]].bytes,
        ),
        tuple(_short(step_name(compiled, slot)) for slot in range(shown.slots)),
        {b.tensor: tensor_name(compiled, b.tensor) for b in shown.everything if b.tensor >= 0},
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
        Box(b.item, max(0, b.start), b.end, b.offset, b.size)
        for b in placement.rectangles
        if b.size
    )
    live = live_in(boxes, len(order) + 1)
    shown = PlanBoxes(boxes, (), (), live, placement.arena_bytes, variables)

    def name(tensor: int) -> tuple[str, str]:
        return f"t{tensor}", origin_of(graph, tensor)

    labels = [plain(f"{op} {graph.ops[op].label}") for op in order]
    return View(
        key,
        title,
        caption,
        "",
        shown,
        _peak(shown, lambda t: _readers(graph, t), name, lambda t: graph.tensors[t].bytes),
        ("before the first step", *labels),
        {box.tensor: name(box.tensor) for box in boxes},
    )


def _peak(
    shown: PlanBoxes,
    why: Callable[[int], str],
    name: Callable[[int], tuple[str, str]],
    whole: Callable[[int], int],
) -> tuple[Held, ...]:
    """What is in memory at the peak, the largest first."""
    slot = shown.peak_slot
    live = sorted((b for b in shown.boxes if b.start <= slot < b.end), key=lambda b: b.tensor)
    held = []
    for tensor, group in groupby(live, key=lambda b: b.tensor):
        sizes = [box.size for box in group]
        if tensor == SCRATCH:
            held.append(Held("scratch memory of a kernel", sum(sizes), 0, len(sizes), ""))
            continue
        label = ", ".join(filter(None, name(tensor)))
        held.append(Held(label, sum(sizes), whole(tensor), len(sizes), why(tensor)))
    return tuple(sorted(held, key=lambda h: (-h.bytes, h.name)))


def _why_order(first: View, view: View) -> str:
    """What the operator of TFLM's peak has beside it in another order."""
    step = first.steps[first.shown.peak_slot]
    live = sum(b.size for b in view.shown.boxes if b.start <= view.steps.index(step) < b.end)
    most = first.shown.peak_bytes
    return (
        f"{first.title}'s peak is while {step} runs, with {most:,} B in memory; in this order "
        f"{live:,} B are there when it does."
    )


def _why_rows(first: View, compiled: Compiled, boxes: Iterable[Box]) -> str:
    """What becomes of the tensors that fill TFLM's peak."""
    slot = first.shown.peak_slot
    filled = [b for b in first.shown.boxes if b.start <= slot < b.end and b.tensor != SCRATCH]
    filled.sort(key=lambda b: (-b.size, b.tensor))
    ours = [
        replace(b, tensor=network_tensor(compiled.assembly, b.tensor)[0])
        for b in boxes
        if b.tensor != SCRATCH
    ]
    most = most_held(ours)
    had = [
        f"{b.size:,} B of {first.names[b.tensor][0]} ({first.names[b.tensor][1]})"
        for b in filled[:_FILLING]
    ]
    have = [
        f"at most {most[b.tensor]:,} B of t{b.tensor}"
        if b.tensor in most
        else f"nothing of t{b.tensor}"
        for b in filled[:_FILLING]
    ]
    if not had:
        return ""
    return (
        f"{first.title} has {_listed(had)} in memory at its peak; here there is "
        f"{_listed(have)} at any time."
    )


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
    text = _listed([*names])
    return f"read by {text}" if text else ""


def _listed(names: Sequence[str]) -> str:
    *most, last = names or [""]
    return f"{', '.join(most)} and {last}" if most else last

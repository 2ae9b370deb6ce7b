"""Memory over time in several ways of running one network, for the page that shows them side by side.

Why the same form for all: TFLM's whole tensors and our rows are boxes of bytes and steps alike, and a
reader who switches between them sees what became smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from zlib import crc32

from lowtide.advice.reporting import Reported
from lowtide.commands.compiling import Compiled
from lowtide.commands.planned import Planned
from lowtide.ir import Graph
from lowtide.ir.macs import graph_macs
from lowtide.place import Placement
from lowtide.plans.placer import Point
from lowtide.program.assemble import assemble_placed
from lowtide.report.numbers import Numbers, listed, read_by
from lowtide.report.plan_boxes import (
    SCRATCH,
    Box,
    PlanBoxes,
    colours_in,
    live_in,
    most_held,
    origin_of,
    plan_boxes,
)
from lowtide.report.planned import network_tensor
from lowtide.report.predicted import work_of
from lowtide.report.text import amount, plain

_LEAST = 0.03
"""A plan with so little less RAM than the one before shows nothing."""
_MOST = 6
"""So many plans of a front are shown at most, beside the program's."""
_CULPRITS = 2
"""So many of the tensors that fill a peak are named."""
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
    than the first way. `way` is the key of the view whose plan may be exchanged for this one; `work` are
    the instructions that are predicted of each slot.
    """

    key: str
    way: str
    title: str
    caption: str
    why: str
    shown: PlanBoxes = field(repr=False)
    peak: tuple[Held, ...]
    steps: tuple[str, ...] = field(repr=False)
    names: dict[int, tuple[str, str]] = field(repr=False)
    work: tuple[int, ...] = field(repr=False)

    @property
    def ram_bytes(self) -> int:
        """The arena and the state."""
        return self.shown.ram_bytes

    @property
    def instructions(self) -> int:
        """Of one run, as predicted."""
        return sum(self.work)

    @property
    def tensors(self) -> list[Box]:
        """The boxes by the network's tensors, whatever part of one the program holds there."""
        boxes = self.shown.everything
        return [replace(b, tensor=int(self.names[b.tensor][0][1:])) for b in boxes if b.tensor >= 0]

    @property
    def culprits(self) -> str:
        """What fills the peak, in a sentence."""
        sure = [held for held in self.peak if held.of] or list(self.peak)
        named = [f"{amount(held.bytes)} of {_called(held)}" for held in sure[:_CULPRITS]]
        if len(self.peak) > len(named):
            rest = sum(h.bytes for h in self.peak) - sum(h.bytes for h in sure[:_CULPRITS])
            named.append(f"{amount(rest)} of {len(self.peak) - len(named)} more")
        state = self.shown.state_bytes
        stays = f"; state, kept between runs, {amount(state)}" if state else ""
        return f"peak {self.at_peak}: {listed(named)}{stays}" if named else ""

    @property
    def at_peak(self) -> str:
        """When the peak is."""
        slot = self.shown.peak_slot
        return f"while {self.steps[slot]} runs" if slot else self.steps[slot]


def _called(held: Held) -> str:
    """As "t3 (0 CONV_2D)"."""
    short, _, origin = held.name.partition(", ")
    return f"{short} ({origin})" if origin else short


def views_of(reported: Reported) -> tuple[View, ...]:
    """TFLM's memory, that of the best order, and that of the plans: those there are, and differ.

    After each plan stand others of its front, by RAM, with its key as their way.
    """
    compiled = reported.compiled
    variables = compiled.tflm_bytes.variables
    whole = reported.analysis.graph
    numbers = Numbers(compiled.graph, whole)
    work = numbers.work(reported.work)
    caption = (
        "Whole tensors, with the operators in the file's order. While an operator runs, its whole "
        "input and output are in memory, and so is everything that a later operator needs."
    )
    if reported.tflm.allocator == "offline":
        caption += " Tensors are where the offline plan in the file has them."
    if compiled.state_bytes and not variables:
        caption += " The state that its signal operators keep from run to run is not counted here."
    file, best = reported.analysis.file.order, reported.analysis.best.order
    title = "TensorFlow Lite Micro"
    state = _state(compiled, variables)
    first = _whole("tflm", title, caption, whole, file, reported.tflm, state, variables, work)
    found = [first]
    if best != file:
        title, caption = (
            "Best operator order",
            "Still whole tensors, but the operators run in the order that needs the least memory: "
            "large tensors are freed before the next large tensor is made.",
        )
        other = _whole(
            "order", title, caption, whole, best, reported.ordered, state, variables, work
        )
        found.append(replace(other, why=_why_order(first, other)))
    mode = compiled.options.input_mode
    rows = (
        "An operator computes a row as soon as the rows that it reads are ready. A row is freed as soon "
        "as no operator needs it any more. Nothing is computed twice."
    )
    if compiled.options.max_overhead is not None or compiled.options.max_ram is not None:
        rows = (
            "Operators run row by row, some of them in strips of columns. Where strips overlap, "
            "operators compute twice, within the limits that you gave."
        )
    found += _plans("rows", f"Rows, input {mode}", rows, reported.planned, first, numbers)
    if reported.streams_for_less:
        assert reported.streamed is not None
        streamed = (
            "The same, but you give the input row by row, as a camera does, so that it's never "
            "in memory as a whole."
        )
        title = "Rows, input streamed"
        found += _plans("streamed", title, streamed, reported.streamed, first, numbers)
    return tuple(found)


def colours_of_views(views: Sequence[View], graph: Graph, colours: int) -> dict[int, int]:
    """Tensor of the network -> its colour in all views: that of its name's hash, or the next that no
    tensor beside it has. The same network gets the same, as does what changed little."""
    boxes = [view.tensors for view in views]
    found = {box.tensor for each in boxes for box in each}
    names = {t: graph.tensors[t].name if t < len(graph.tensors) else "" for t in found}
    wanted = {t: crc32((name or f"t{t}").encode()) for t, name in names.items()}
    return colours_in(boxes, colours, wanted)


def _plans(
    key: str, title: str, caption: str, planned: Planned, first: View, numbers: Numbers
) -> list[View]:
    """The program's plan, and others of its front that take another amount of RAM."""
    compiled = planned.compiled
    views = [_plan(key, key, title, caption, compiled, first, numbers)]
    strips = (
        "Stages run in strips, some columns at a time. Columns that two strips share are computed "
        "twice, but less of each tensor is in memory at once."
    )
    lean = (
        "Other operators run interleaved, or kernels take less scratch memory. Nothing is computed "
        "twice, but it takes more instructions"
        + (", or waits longer for flash." if planned.refills is not None else ".")
    )
    own = max(1, planned.cost)
    for number, point in enumerate(_shown(planned), start=1):
        other = replace(compiled, assembly=assemble_placed(point.ready, point.placed))
        times, unit = point.overhead, "MACs"
        again = point.macs > graph_macs(compiled.graph)
        if not again:
            times, unit = point.cost / own, work_of(compiled)
        name = f"{title}, {times:.2f} times the {unit}"
        said = strips if again else lean
        views.append(_plan(f"{key}-{number}", key, name, said, other, first, numbers))
    return views


def _shown(planned: Planned) -> list[Point]:
    """Some plans of the front with less RAM than the program's, evenly chosen, the most RAM first: none
    that takes hardly less than the one before."""
    compiled = planned.compiled
    found: list[Point] = []
    last = compiled.ram_bytes
    for point in sorted(planned.points or (), key=lambda p: (-p.ram_bytes, p.cost)):
        if point.ready.graph is compiled.graph and point.ram_bytes <= (1 - _LEAST) * last:
            found.append(point)
            last = point.ram_bytes
    if len(found) <= _MOST:
        return found
    return [found[round(n * (len(found) - 1) / (_MOST - 1))] for n in range(_MOST)]


def _plan(
    key: str,
    way: str,
    title: str,
    caption: str,
    compiled: Compiled,
    first: View,
    numbers: Numbers,
) -> View:
    shown = plan_boxes(compiled)
    assembly = compiled.assembly

    def name(tensor: int) -> tuple[str, str]:
        tensor, what = network_tensor(assembly, tensor)
        origin = numbers.origin(tensor)
        return f"t{tensor}", f"{origin}, {what}" if what else origin

    return View(
        key,
        way,
        title,
        caption,
        _why_rows(first, compiled, shown.everything),
        shown,
        _peak(
            shown,
            lambda t: numbers.readers(network_tensor(assembly, t)[0]),
            name,
            lambda t: compiled.graph.tensors[network_tensor(assembly, t)[0]].bytes,
        ),
        tuple(numbers.step(assembly, slot) for slot in range(shown.slots)),
        {b.tensor: name(b.tensor) for b in shown.everything if b.tensor >= 0},
        numbers.slots(compiled, shown.slots),
    )


def _state(compiled: Compiled, variables: int) -> list[tuple[int, int]]:
    """Tensor and bytes of the state that TFLM has, too, which keeps no state of signal operators."""
    found = [
        (network_tensor(compiled.assembly, v.tensor)[0], v.size)
        for v in compiled.assembly.variables
    ]
    return found if sum(size for _, size in found) <= variables else []


def _whole(
    key: str,
    title: str,
    caption: str,
    graph: Graph,
    order: Sequence[int],
    placement: Placement,
    state: Sequence[tuple[int, int]],
    variables: int,
    work: Mapping[int, int],
) -> View:
    boxes = tuple(
        Box(b.item, max(0, b.start), b.end, b.offset, b.size)
        for b in placement.rectangles
        if b.size
    )
    live = live_in(boxes, len(order) + 1)
    ends = accumulate((size for _, size in state), initial=placement.arena_bytes)
    kept = tuple(Box(t, 0, len(live), at, size) for (t, size), at in zip(state, ends, strict=False))
    shown = PlanBoxes(boxes, kept, (), live, placement.arena_bytes, variables)
    stays = {tensor for tensor, _ in state}

    def name(tensor: int) -> tuple[str, str]:
        return f"t{tensor}", "variable" if tensor in stays else origin_of(graph, tensor)

    labels = [plain(f"{op} {graph.ops[op].label}") for op in order]
    return View(
        key,
        key,
        title,
        caption,
        "",
        shown,
        _peak(shown, lambda t: read_by(graph, t), name, lambda t: graph.tensors[t].bytes),
        ("before the first step", *labels),
        {box.tensor: name(box.tensor) for box in shown.everything},
        (0, *(work[op] for op in order)),
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
        f"{first.title} peaks while {step} runs, with {most:,} B in memory. In this order, {live:,} B "
        "are in memory at that step."
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
        f"keeps at most {most[b.tensor]:,} B of t{b.tensor}"
        if b.tensor in most
        else f"never stores t{b.tensor}"
        for b in filled[:_FILLING]
    ]
    if not had:
        return ""
    return f"{first.title} has {listed(had)} in memory at its peak; lowtide {listed(have)}."

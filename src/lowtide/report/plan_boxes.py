"""What a compiled program's memory holds in each step, as plain boxes: tensor, steps, bytes.

Why apart from the picture: what a picture looks like no test can judge, but which boxes it shows,
where its peak is and where its stages end are values. Nothing here draws, or needs matplotlib.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lowtide.commands.compiling import Compiled
from lowtide.ir import Graph
from lowtide.report.planned import network_tensor
from lowtide.report.text import plain

SCRATCH = -1
"""The tensor of a box that is a kernel's scratch memory."""


@dataclass(frozen=True, slots=True)
class Box:
    """Bytes [offset, offset + size) of the arena, held for `tensor` in the slots [start, end)."""

    tensor: int
    start: int
    end: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Run:
    """Stage number `stage` runs in the slots [start, end)."""

    stage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PlanBoxes:
    """What the picture shows. Slot 0 is before the first step, slot k + 1 is the k-th step.

    `boxes` are the blocks of the placement that hold anything, `variables` the state, which is held
    all the time, as if it lay past the arena. `live[slot]` is the sum of the boxes' bytes, each rounded
    up to the placement's alignment, variables left out. It is more than the plan counts if rows must
    stay in one piece with others that are still needed.
    """

    boxes: tuple[Box, ...]
    variables: tuple[Box, ...]
    runs: tuple[Run, ...]
    live: tuple[int, ...]
    arena_bytes: int
    state_bytes: int

    @property
    def everything(self) -> tuple[Box, ...]:
        """The boxes of the arena and the state."""
        return (*self.boxes, *self.variables)

    @property
    def ram_bytes(self) -> int:
        """The arena and the state."""
        return self.arena_bytes + self.state_bytes

    @property
    def slots(self) -> int:
        """Number of slots: one more than there are steps."""
        return len(self.live)

    @property
    def peak_bytes(self) -> int:
        """The largest sum of live bytes: the placement's lower bound."""
        return max(self.live)

    @property
    def peak_slot(self) -> int:
        """The first slot with that sum."""
        return self.live.index(self.peak_bytes)


def plan_boxes(compiled: Compiled) -> PlanBoxes:
    """The boxes of every tensor, for either schedule, with the stages and the sums of live bytes."""
    assembly = compiled.assembly
    blocks = [b for b in assembly.placement.rectangles if b.size and b.start < b.end]
    steps = len(assembly.plan.steps) if assembly.plan is not None else len(assembly.order)
    slots = max([steps + 1, *(b.end for b in blocks)])
    # Items are rows, and past the last cut scratch; or tensors, and past the last tensor scratch.
    cuts = sorted(assembly.cuts, key=lambda cut: cut.first)
    firsts = [cut.first for cut in cuts]
    rows = sum(cut.count for cut in cuts)

    def tensor_of(item: int) -> int:
        if assembly.plan is None:
            return item if item < len(compiled.graph.tensors) else SCRATCH
        return cuts[bisect_right(firsts, item) - 1].tensor if item < rows else SCRATCH

    boxes = tuple(Box(tensor_of(b.item), b.start, b.end, b.offset, b.size) for b in blocks)
    return PlanBoxes(
        boxes=boxes,
        variables=tuple(
            Box(v.tensor, 0, slots, assembly.arena_bytes + v.offset, v.size)
            for v in assembly.variables
        ),
        runs=_runs(compiled),
        live=live_in(boxes, slots, assembly.placement.align),
        arena_bytes=assembly.arena_bytes,
        state_bytes=assembly.state_bytes,
    )


def live_in(boxes: Iterable[Box], slots: int, align: int = 1) -> tuple[int, ...]:
    """In each slot the bytes of all boxes that are there, each rounded up to `align`."""
    change = [0] * (slots + 1)
    for box in boxes:
        size = -(-box.size // align) * align
        change[box.start] += size
        change[min(box.end, slots)] -= size
    return tuple(accumulate(change[:-1]))


def _runs(compiled: Compiled) -> tuple[Run, ...]:
    """The stages in the order they run; none if operators run one after the other."""
    plan = compiled.assembly.plan
    if plan is None:
        return ()
    stage_of = {
        node: number
        for number, stage in enumerate(plan.stages)
        for node in range(stage.first, stage.last)
    }
    runs: list[Run] = []
    for slot, (node, _) in enumerate(plan.steps, start=1):
        stage = stage_of[node]
        if runs and runs[-1].stage == stage:
            runs[-1] = Run(stage, runs[-1].start, slot + 1)
        else:
            runs.append(Run(stage, slot, slot + 1))
    return tuple(runs)


def spans_of(boxes: Iterable[Box]) -> dict[int, tuple[int, int]]:
    """Tensor -> the slots [start, end) from its first byte's birth to its last one's death."""
    spans: dict[int, tuple[int, int]] = {}
    for box in boxes:
        if box.tensor != SCRATCH:
            start, end = spans.get(box.tensor, (box.start, box.end))
            spans[box.tensor] = min(start, box.start), max(end, box.end)
    return spans


def colours_of(boxes: Iterable[Box], colours: int) -> dict[int, int]:
    """Tensor -> number of its colour; tensors live at one time share none, as far as they last.

    In the order of birth, so that neighbours differ also where `colours` do not last.
    """
    return colours_in((boxes,), colours)


def colours_in(
    pictures: Sequence[Iterable[Box]], colours: int, wanted: Mapping[int, int] | None = None
) -> dict[int, int]:
    """The same for pictures that stand side by side: a tensor has one colour in all of them.

    It is that which is `wanted` for it, or the next one that is free.
    """
    spans = [spans_of(boxes) for boxes in pictures]
    born = {t: number for number, t in enumerate(_by_birth(spans))}
    chosen: dict[int, int] = {}
    turn = 0
    for tensor in born:
        taken = {
            colour
            for other, colour in chosen.items()
            for span in spans
            if tensor in span and other in span and _touch(span[tensor], span[other])
        }
        first = turn if wanted is None else wanted[tensor] % colours
        ways = [(first + k) % colours for k in range(colours)]
        chosen[tensor] = next((way for way in ways if way not in taken), first)
        turn = (chosen[tensor] + 1) % colours
    return chosen


def _by_birth(spans: Sequence[Mapping[int, tuple[int, int]]]) -> list[int]:
    first = {tensor: span[tensor] for span in reversed(spans) for tensor in span}
    return sorted(first, key=lambda t: (first[t], t))


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def largest(boxes: Iterable[Box], most: int) -> list[int]:
    """The tensors that cover most of a picture, at most so many, the largest first."""
    area: dict[int, int] = {}
    for box in boxes:
        if box.tensor != SCRATCH:
            area[box.tensor] = area.get(box.tensor, 0) + box.size * (box.end - box.start)
    return sorted(area, key=lambda t: (-area[t], t))[:most]


def most_held(boxes: Iterable[Box]) -> dict[int, int]:
    """Tensor -> the most bytes that it holds in one slot."""
    changes: dict[int, dict[int, int]] = {}
    for box in boxes:
        change = changes.setdefault(box.tensor, {})
        change[box.start] = change.get(box.start, 0) + box.size
        change[box.end] = change.get(box.end, 0) - box.size
    return {t: max(accumulate(c[s] for s in sorted(c))) for t, c in changes.items()}


def origin_of(graph: Graph, tensor: int) -> str:
    """Where a tensor of a network comes from: its maker, "input" or "variable"; "" of none."""
    if tensor in graph.inputs:
        return "input"
    if graph.tensors[tensor].is_variable:
        return "variable"
    maker = next((op for op in graph.ops if tensor in op.outputs), None)
    return "" if maker is None else plain(f"{maker.id} {maker.label}")


def tensor_name(compiled: Compiled, tensor: int) -> tuple[str, str]:
    """A tensor's short name, and where it comes from."""
    tensor, what = network_tensor(compiled.assembly, tensor)
    origin = origin_of(compiled.graph, tensor)
    return f"t{tensor}", f"{origin}, {what}" if what else origin


def step_name(compiled: Compiled, slot: int) -> str:
    """What runs in a slot."""
    assembly = compiled.assembly
    if slot == 0:
        return "before the first step"
    if assembly.plan is None:
        op = assembly.order[slot - 1]
    else:
        op = assembly.plan.operators[assembly.plan.steps[slot - 1][0]]
    if op < 0:
        return f"step {slot}: rows exchanged with the caller"
    return plain(f"step {slot}: {assembly.operators(op)}")

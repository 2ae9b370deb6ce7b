"""What to try next: the options that would make a program smaller or quicker, and by how much.

Why computed and not told: an option that saves a megabyte of one network saves nothing of another. What
is said here comes from estimates, which take milliseconds, and is called so: to plan a program for each
option would take several times what the command itself does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from lowtide.commands.compiling import Compiled
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.commands.planned import Planned
from lowtide.commands.savings import Savings
from lowtide.errors import LowtideError
from lowtide.estimates.network import Need, Network
from lowtide.ir import Graph, Model
from lowtide.ir.liveness import peak_bytes
from lowtide.lower.lowerings import Lowerings
from lowtide.machines.board import find_target
from lowtide.modes import InputMode
from lowtide.order import OrderResult, best_order
from lowtide.passes import drop_boundary_quantization, resolve_variables
from lowtide.place.tensors import tflm_head_bytes, tflm_variable_bytes
from lowtide.plans.placer import Point
from lowtide.plans.worth import RATE
from lowtide.target import ANY, Target

Kind = Literal[
    "quantized-io", "streamed", "strips", "core", "rows", "simplify", "compile", "reorder"
]

CORES: Final = ("cortex-m0", "cortex-m4")
"""Those of which a program for any core is told what it would save, where its core is not known."""

MORE_WORK: Final = 1.25
"""How many times the network's MACs an advised plan may take."""

MOST: Final = 3
"""So many hints are given at a time, those that save the most."""

WORTH: Final = 0.03
"""A saving of less than this part is not worth a line."""

_MORE_COST: Final = 1.5
"""How many times the program's cost a plan of the front may have that is pointed to, as predicted; its
MACs are at most `MORE_WORK` times the network's."""


@dataclass(frozen=True, slots=True)
class Hint:
    """With `flags` added to the command, or by the command of its kind (compile, simplify), so many
    bytes less of RAM (arena and state) and of weights in flash are needed, of those before; `faster` is
    the part of the instructions that falls away, as predicted, or, if it is `slow`, of these and of
    cycles of waiting for flash. If not `estimated`, RAM is as planned."""

    kind: Kind
    flags: tuple[str, ...] = ()
    ram_saved: int = 0
    ram_before: int = 0
    flash_saved: int = 0
    flash_before: int = 0
    faster: float = 0.0
    estimated: bool = True
    slow: bool = False

    @property
    def less_ram(self) -> float:
        """The part of the RAM that is saved; below 0: it takes more."""
        return self.ram_saved / self.ram_before if self.ram_before else 0.0

    @property
    def less_flash(self) -> float:
        """The part of the weights that is saved."""
        return self.flash_saved / self.flash_before if self.flash_before else 0.0

    @property
    def worth(self) -> bool:
        """Whether it saves enough to be told, and takes no more RAM than that is worth."""
        best = max(self.less_ram, self.less_flash, self.faster)
        return best >= WORTH and -self.less_ram < max(WORTH, self.faster / RATE)


def hints(
    program: Compiled | Planned,
    points: Sequence[Point] = (),
    known: Known | None = None,
    *,
    cores: Sequence[str] = CORES,
    streamed: Planned | None = None,
) -> tuple[Hint, ...]:
    """What would make `program` smaller, the largest saving first; `points` is its front, if known, and
    `known` what it was compiled with. `cores` may be advised to a program for any. `streamed` is the
    program with its input streamed, if there is one: of that no estimate is made. A front, or a program
    to compare with, takes a program that was `Planned`: its cost is known.

    Nothing else for a program with limits, of a plan that was given, or of a part of its file: what
    these would need no estimate tells.
    """
    planned = program if isinstance(program, Planned) else None
    compiled = program.compiled if isinstance(program, Planned) else program
    options = compiled.options
    if compiled.model.whole is not None or options.stages is not None:
        return ()
    found: list[Hint] = []
    if planned is not None and streamed is not None and not options.preserve_input:
        found.append(_streamed(planned, streamed))
    if options.max_ram is None and options.max_overhead is None:
        estimated = _by_estimates(compiled, known or Known(compiled.model), cores)
        found += [hint for hint in estimated if streamed is None or hint.kind != "streamed"]
        if planned is not None and not options.smallest:
            found += _of_front(planned, points)
    return _best(found)


def _planned_hint(
    kind: Kind, flags: tuple[str, ...], planned: Planned, other: Planned | Point
) -> Hint:
    """What `other`, another plan of the network, saves."""
    ram = other.compiled.ram_bytes if isinstance(other, Planned) else other.ram_bytes
    before, slow = planned.compiled.ram_bytes, planned.refills is not None
    faster = 1 - other.cost / max(1, planned.cost)
    return Hint(kind, flags, before - ram, before, faster=faster, estimated=False, slow=slow)


def _streamed(planned: Planned, other: Planned) -> Hint:
    """What the program with its input streamed saves."""
    return _planned_hint("streamed", ("--input", "streamed"), planned, other)


def _best(found: Iterable[Hint]) -> tuple[Hint, ...]:
    """RAM first: it is what decides whether a program fits."""
    worth = [hint for hint in found if hint.worth]
    return tuple(
        sorted(
            worth,
            key=lambda h: (h.less_ram < WORTH, -max(h.less_ram, h.less_flash, h.faster), h.flags),
        )[:MOST]
    )


class _Found:
    """What estimates tell of a graph for a core, by input mode."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[int],
        target: Target,
        lowerings: Lowerings | None = None,
    ) -> None:
        self.target = target
        self._network = Network(graph, order, target, lowerings)
        self._needs: dict[InputMode, Need] = {}

    def _need(self, mode: InputMode) -> Need:
        if mode not in self._needs:
            self._needs[mode] = self._network.need(mode)
        return self._needs[mode]

    def ram(self, mode: InputMode) -> int:
        """Arena and state, in bytes."""
        return (self._need(mode).peak_bytes or 0) + self._network.state_bytes

    def instructions(self, mode: InputMode) -> int | None:
        """Of one inference, if there is a model of the core's."""
        return self._need(mode).instructions


def estimated_of(graph: Graph, options: Options) -> _Found:
    """What estimates tell of a graph, in its best order, with these options."""
    return _Found(graph, best_order(graph, effort=options.effort).order, options.target)


def _by_estimates(compiled: Compiled, known: Known, cores: Sequence[str]) -> Iterator[Hint]:
    options, graph, mode = compiled.options, compiled.simplified.graph, compiled.options.input_mode
    lowerings = known.lowerings(graph)
    now = _Found(graph, compiled.order.order, options.target, lowerings)
    ram = compiled.ram_bytes

    def hint(kind: Kind, flags: Sequence[str], after: _Found, new: InputMode = mode) -> Hint:
        # In the measure of what the program takes: placed, it is a little more than estimated.
        saved = round(ram * (1 - after.ram(new) / max(1, now.ram(mode))))
        counts = now.instructions(mode), after.instructions(new)
        faster = 0.0
        if counts[0] and counts[1] and after.target.priced_as == now.target.priced_as:
            faster = 1 - counts[1] / counts[0]
        return Hint(kind, tuple(flags), saved, ram, faster=faster)

    if options.schedule != "rows":
        saved = ram - now.ram(mode)
        yield Hint("rows", by_rows(options), saved, ram)
        return
    if not options.quantized_io:
        inner = drop_boundary_quantization(graph)
        if (inner.inputs, inner.outputs) != (graph.inputs, graph.outputs):
            yield hint("quantized-io", ("--quantized-io",), estimated_of(inner, options))
    if mode == "resident" and not options.preserve_input:
        yield hint("streamed", ("--input", "streamed"), now, "streamed")
    if not options.simplify:
        other = passed(compiled.model, replace(options, simplify=True)).graph
        less = hint("simplify", ("--simplify",), estimated_of(other, options))
        weights = graph.weights_bytes
        yield replace(less, flash_saved=weights - other.weights_bytes, flash_before=weights)
    if options.target == ANY:
        for core in cores:
            after = _Found(graph, compiled.order.order, find_target(core), lowerings)
            yield hint("core", ("--core", core), after)


def _of_front(planned: Planned, points: Sequence[Point]) -> Iterator[Hint]:
    """The plan of least RAM for not too much work."""
    within = [p for p in points if p.overhead <= MORE_WORK]
    if not within or planned.compiled.graph.hop is not None:  # of which each has work of its own
        return
    best = min(within, key=lambda p: (p.arena_bytes, p.cost))
    hint = _planned_hint("strips", ("--max-overhead", f"{MORE_WORK:g}"), planned, best)
    if hint.faster >= 1 - _MORE_COST:
        yield hint


def file_hints(
    model: Model, *, simplified: Savings | None = None, ordered: OrderResult | None = None
) -> tuple[Hint, ...]:
    """For those who stay with a .tflite: what a compiled program would need, and what a file with its
    constant channels removed, or with its operators in another order, would save.

    `simplified` are the savings of a file that is not simplified yet, `ordered` the best order of one
    that has another. Nothing for a network that cannot be compiled.
    """
    found = []
    options = Options()
    try:
        needed = estimated_of(passed(model, options).graph, options).ram("resident")
    except LowtideError:
        needed = None
    tflm = tflm_head_bytes(model) + tflm_variable_bytes(resolve_variables(model.graph))
    if needed is not None:
        found.append(Hint("compile", (), tflm - needed, tflm))
    if simplified is not None and simplified.anything:
        weights, macs = simplified.weights, simplified.macs
        less = macs.saved / macs.before if macs.before else 0.0
        found.append(Hint("simplify", (), 0, 0, weights.saved, weights.before, less))
    if ordered is not None:
        peak = peak_bytes(model.graph, range(len(model.graph.ops)))
        found.append(Hint("reorder", ("--reorder",), peak - ordered.peak_bytes, peak))
    return _best(found)


def by_rows(options: Options) -> tuple[str, ...]:
    """What has a program run by rows that was asked for by whole operators."""
    if options.schedule == "rows":
        return ()
    placed = () if options.allocator == "planned" else ("--allocator", "planned")
    return ("--schedule", "rows", *placed)

"""Which plan: the least RAM at a cost (P1), the least cost in some RAM (P2), or all that are best.

All three come from one front of peak against MACs (`rows.search`), which is exact over its stages. A
plan's arena is known once its rows are placed, which may take a little more than the peak; so a point
is only said to fit when it was placed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from lowtide.emit.assemble import Assembly, Prepared, assemble_rows
from lowtide.errors import InfeasibleError
from lowtide.ir.macs import graph_macs
from lowtide.rows.search import Choice, Path, Space, cheapest, choices_of, front

Tell = Callable[[str], None]
"""Is told what is going on."""

_TRIED = 4
"""How many points next to the best one are placed as well: their arenas may be smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A plan that was placed. `overhead` is its MACs over the network's own."""

    macs: int
    overhead: float
    peak_bytes: int
    choices: tuple[Choice, ...]
    assembly: Assembly = field(repr=False)

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena."""
        return self.assembly.arena_bytes


@dataclass(slots=True, eq=False)
class Planner:
    """Plans of one network. `seconds` limits the search; past it only some stages are looked at."""

    ready: Prepared
    strips: bool
    seconds: float = 60.0
    tell: Tell = lambda _: None
    complete: bool = True
    _paths: list[Path] | None = None
    _placed: dict[tuple[Choice, ...], Point] = field(default_factory=dict)

    def least(self) -> Point:
        """The plan of least peak that computes nothing twice, without strips."""
        path = cheapest(self._space(strips=False))
        assert path is not None
        return self.place(choices_of(path, self.ready.groups))

    def place(self, choices: tuple[Choice, ...]) -> Point:
        """The plan of these stages, placed."""
        if choices not in self._placed:
            assembly = assemble_rows(self.ready, choices)
            assert assembly.plan is not None
            own = graph_macs(self.ready.graph)
            macs = assembly.plan.macs
            self._placed[choices] = Point(
                macs, macs / own if own else 1.0, assembly.plan.peak_bytes, choices, assembly
            )
        return self._placed[choices]

    def within_cost(self, most: float) -> Point:
        """P1: the least arena of the plans that compute at most `most` times the network's MACs.

        Raises InfeasibleError if `most` is below 1.
        """
        own = graph_macs(self.ready.graph)
        paths = [p for p in self.paths() if p.macs <= most * own]
        if not paths:
            raise InfeasibleError(
                f"no plan computes less than the network itself: {most:g} times its MACs is too little",
                "allow an overhead of 1 or more",
            )
        return min(map(self._place, paths[-_TRIED:]), key=lambda p: (p.arena_bytes, p.macs))

    def within_ram(self, most: int, max_overhead: float = float("inf")) -> Point:
        """P2: the fewest MACs of the plans whose arena is at most `most` bytes.

        Raises InfeasibleError, which names the nearest plans on both sides, if there is none.
        """
        own = graph_macs(self.ready.graph)
        for path in self.paths():
            if path.peak <= most and path.macs <= max_overhead * own:
                point = self._place(path)
                if point.arena_bytes <= most:
                    return point
        raise self._too_little(most, max_overhead)

    def _too_little(self, most: int, max_overhead: float) -> InfeasibleError:
        own = graph_macs(self.ready.graph)
        allowed = [p for p in self.paths() if p.macs <= max_overhead * own]
        points = [self._place(p) for p in (allowed or self.paths()[:1])[-_TRIED:]]
        nearest = min(points, key=lambda p: p.arena_bytes)
        assert nearest.assembly.plan is not None
        worst = max(nearest.assembly.plan.stages, key=lambda s: s.peak_bytes)
        operators = f"operators {worst.operators[0]} to {worst.operators[-1]}"
        if len(worst.operators) == 1:
            operators = f"operator {worst.operators[0]}"
        cause = (
            f"no plan of this network fits an arena of {most:,} bytes"
            + (f" at {max_overhead:g} times its MACs" if max_overhead != float("inf") else "")
            + f"; the nearest needs {nearest.arena_bytes:,} at {nearest.overhead:.3f} times "
            f"(in the way: {operators}, {worst.peak_bytes:,} bytes)"
        )
        beyond = [p for p in self.paths() if p.macs > max_overhead * own and p.peak <= most]
        more = next((p for p in map(self._place, beyond) if p.arena_bytes <= most), None)
        if more is not None:
            cause += f"; {more.arena_bytes:,} bytes take {more.overhead:.3f} times"
        return InfeasibleError(
            cause, "allow more RAM or a larger overhead, or let the input be const or streamed"
        )

    def points(self) -> list[Point]:
        """The front: plans that no other beats in both arena and MACs, the cheapest first."""
        found: list[Point] = []
        paths = self.paths()
        for number, path in enumerate(paths, start=1):
            self.tell(f"placing plan {number} of {len(paths)}")
            point = self._place(path)
            if not found or point.arena_bytes < found[-1].arena_bytes:
                found.append(point)
        return found

    def paths(self) -> list[Path]:
        """The front of peaks and MACs, the cheapest first."""
        if self._paths is None:
            self.tell("looking at all stages")
            self._paths = front(self._space(strips=self.strips))
        return self._paths

    def _place(self, path: Path) -> Point:
        return self.place(choices_of(path, self.ready.groups))

    def _space(self, *, strips: bool) -> Space:
        until = monotonic() + self.seconds
        ready = self.ready
        space = Space(ready.graph, ready.table, ready.groups, strips, lambda: monotonic() < until)
        self.complete = space.complete
        return space

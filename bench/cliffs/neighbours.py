"""Neighbours of the grid compared: a cliff is a step along one axis at which the price of a MAC or an
element more than doubles, or falls below half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.cliffs.grid import Grid, Value
from bench.cliffs.measured import Measured

MOST = 2.0
"""How many times what its neighbour takes a point may take, per MAC or element."""


Step = tuple[Value, Value]
"""From where to where on an axis."""


@dataclass(frozen=True, slots=True)
class Cliff:
    """Two neighbours along an axis, of which the first takes more than MOST times as much."""

    core: str
    axis: str
    dear: Measured
    cheap: Measured

    @property
    def ratio(self) -> float:
        """How many times more."""
        return self.dear.each / self.cheap.each

    @property
    def step(self) -> Step:
        """From where to where on the axis."""
        return self.cheap.point.axes[self.axis], self.dear.point.axes[self.axis]


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of cliff that stays, and why: of families that begin so, whatever the type, at some steps;
    on any core and in any form if none is named, at any place of the other axes."""

    families: tuple[str, ...]
    steps: tuple[tuple[str, Step], ...]
    why: str
    core: str = ""
    form: str = ""

    def is_of(self, cliff: Cliff) -> bool:
        """Whether it is this one."""
        point = cliff.dear.point
        here = self.core in ("", cliff.core) and self.form in ("", point.axes.get("form"))
        family = point.family.partition(" ")[0]
        return here and family in self.families and (cliff.axis, cliff.step) in self.steps


_ONE = (2, 1)
KNOWN: tuple[Known, ...] = (
    Known(
        ("pointwise", "grouped", "transposed"),
        (("in_c", _ONE), ("depth", _ONE)),
        "an output is scaled once, whatever it sums: with one product that is the whole price",
    ),
    Known(
        ("transposed",),
        (("stride", (1, 2)),),
        "with a stride of 2 a result sums a fourth of the products, and is scaled all the same",
    ),
    Known(
        ("depthwise", "global"),
        (("channels", _ONE), ("channels", (4, 3))),
        "channels go by fours: fewer of them take as long, or are made one by one",
    ),
    Known(
        ("depthwise",),
        (("kw", _ONE),),
        "windows go by columns of three taps and more: half of what is done is for the second column",
    ),
    Known(
        ("depthwise",),
        (("kw", (3, 4)),),
        "windows of up to three columns have a kernel of their own",
    ),
    Known(
        ("conv",),
        (("in_c", _ONE), ("kw", _ONE)),
        "products go by fours, which each row of the window begins anew",
    ),
    Known(
        ("concat", "global", "flip", "update"),
        (("channels", _ONE), ("height", (8, 20))),
        "a step costs more than the few bytes of its rows; the rows of a tall map are eaten one by one",
    ),
    Known(
        ("depthwise",),
        (("kh", (3, 2)), ("kw", (3, 2)), ("filters", (1, 2)), ("kw", (6, 5))),
        "without scratch memory, windows of 3 x 3 that make one channel of each have assembly of their "
        "own, for two pixels at once; with a little, wider windows go by parts of a row",
        core="cortex-m55",
        form="lean",
    ),
    Known(
        ("conv",),
        (("nine", ("none", "one")),),
        "of few channels of few products, one that is made anew by itself costs more than all others",
        core="cortex-m55",
    ),
    Known(
        ("conv",),
        (("dilation", (1, 2)),),
        "columns of a dilated window lie apart: less than four channels of each go byte by byte",
        core="cortex-m4",
    ),
)
"""At most ten."""


def cliffs(grid: Grid, core: str, measured: Iterable[Measured]) -> list[Cliff]:
    """Those among the points of a grid, the highest first."""
    known = {one.point: one for one in measured if one.point.family == grid.family}
    found = []
    for first, second, axis in grid.pairs(tuple(known)):
        one, two = known[first], known[second]
        dear, cheap = (one, two) if one.each > two.each else (two, one)
        if dear.each > MOST * cheap.each:
            found.append(Cliff(core, axis, dear, cheap))
    return sorted(found, key=lambda cliff: -cliff.ratio)


def unknown(found: Sequence[Cliff]) -> list[Cliff]:
    """Those that do not stand in the table."""
    return [cliff for cliff in found if not any(known.is_of(cliff) for known in KNOWN)]

"""Neighbours of the grid compared: a cliff is a step along one axis at which the price of a MAC or an
element more than doubles, or falls below half."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.cliffs.measured import Measured
from bench.cliffs.points import Grid, Value

MOST = 2.0
"""How many times what its neighbour takes a point may take, per MAC or element."""


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
    def step(self) -> tuple[Value, Value]:
        """From where to where on the axis."""
        return self.cheap.point.axes[self.axis], self.dear.point.axes[self.axis]


@dataclass(frozen=True, slots=True)
class Known:
    """A cliff that stays, and why: of families of this kind, whatever the type; on any core if none is
    named, at any place of the other axes."""

    kind: str
    axis: str
    step: tuple[Value, Value]
    why: str
    core: str = ""

    def is_of(self, cliff: Cliff) -> bool:
        """Whether it is this one."""
        where = cliff.dear.point.family.partition(" ")[0], cliff.axis, cliff.step
        return self.core in ("", cliff.core) and where == (self.kind, self.axis, self.step)


_SCALING = "an output is scaled once, whatever it sums: with one product that is the whole price"
_FOURS = "channels go by fours: fewer of them take as long, or are made one by one"
_ONE_COLUMN = (
    "windows go by columns of three taps and more: half of what is done is for the second column"
)
_FOURS_OF_PRODUCTS = "products go by fours, which each row of the window begins anew"
_OWN_KERNEL = "windows of up to three columns have a kernel of their own"
_STRIDES = "with a stride of 2 a result sums a fourth of the products, and is scaled all the same"
KNOWN: tuple[Known, ...] = (
    Known("pointwise", "in_c", (2, 1), _SCALING),
    Known("grouped", "depth", (2, 1), _SCALING),
    Known("transposed", "in_c", (2, 1), _SCALING),
    Known("transposed", "stride", (1, 2), _STRIDES),
    Known("depthwise", "channels", (2, 1), _FOURS),
    Known("depthwise", "channels", (4, 3), _FOURS),
    Known("depthwise", "kw", (2, 1), _ONE_COLUMN),
    Known("depthwise", "kw", (3, 4), _OWN_KERNEL),
    Known("conv", "in_c", (2, 1), _FOURS_OF_PRODUCTS),
    Known("conv", "kw", (2, 1), _FOURS_OF_PRODUCTS),
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

"""What a grid is: a family of operators, the axes along which each varies, and its points.

A product of all axes would be millions of points. A grid is lines through some centres, along each axis
alone, and planes of two axes. Along an axis of sizes, a step doubles the size at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

Value = int | str
Axes = Mapping[str, Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Point:
    """An operator of a family at one place of its grid."""

    family: str
    at: tuple[tuple[str, Value], ...]

    def __str__(self) -> str:
        return f"{self.family}: " + " ".join(f"{name}={value}" for name, value in self.at)

    @property
    def axes(self) -> dict[str, Value]:
        """Where it is, by axis."""
        return dict(self.at)

    def size(self, name: str) -> int:
        """Where it is on an axis of sizes."""
        return int(dict(self.at)[name])

    @property
    def is_fitted(self) -> bool:
        """Whether prices are fitted on it, or checked: a hash says so, the same one on every core."""
        return hashlib.sha256(str(self).encode()).digest()[0] % 2 == 0


@dataclass(frozen=True, slots=True)
class Grid:
    """A family of operators: its axes in their order, a base, and the centres and planes of its grid.

    `centres` are what differs there from the base; a plane is two axes, and what differs in it."""

    family: str
    axes: Axes
    base: Mapping[str, Value]
    centres: Sequence[Mapping[str, Value]] = ({},)
    planes: Sequence[tuple[str, str, Mapping[str, Value]]] = field(default=())

    def points(self) -> Iterator[Point]:
        """All points, each once."""
        found: dict[Point, None] = {}
        for centre in self.centres:
            for name, values in self.axes.items():
                for value in values:
                    found[self._at({**self.base, **centre, name: value})] = None
        for first, second, more in self.planes:
            for one, two in product(self.axes[first], self.axes[second]):
                found[self._at({**self.base, **more, first: one, second: two})] = None
        yield from found

    def _at(self, where: Mapping[str, Value]) -> Point:
        return Point(self.family, tuple((name, where[name]) for name in self.axes))

    def pairs(self, points: Sequence[Point]) -> Iterator[tuple[Point, Point, str]]:
        """Neighbours among some points, and the axis along which they are one step apart."""
        known = set(points)
        for point in points:
            where = point.axes
            for name, values in self.axes.items():
                after = list(values).index(where[name]) + 1
                if name not in _OF_PLANS and after < len(values):
                    other = self._at({**where, name: values[after]})
                    if other in known:
                        yield point, other, name


_OF_PLANS = {"form", "parts", "kept"}
"""Axes along which there are no neighbours: plans choose there, by RAM."""
CHANNELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 48, 63, 64, 96, 128, 256)
WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 40)

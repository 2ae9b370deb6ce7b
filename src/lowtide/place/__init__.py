"""Where in the arena each tensor goes: allocators, and the validator that checks them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from lowtide.place.compacting import compacting
from lowtide.place.greedy import greedy
from lowtide.place.planned import planned
from lowtide.place.problem import Item, Move, Placement, Problem, Rectangle
from lowtide.place.validate import PlacementError, validate

ALLOCATORS: Mapping[str, Callable[[Problem], Placement]] = MappingProxyType(
    {"greedy": greedy, "planned": planned, "compacting": compacting}
)
"""Name -> allocator, in the order in which they are to be shown."""

__all__ = [
    "ALLOCATORS",
    "Item",
    "Move",
    "Placement",
    "PlacementError",
    "Problem",
    "Rectangle",
    "compacting",
    "greedy",
    "planned",
    "validate",
]

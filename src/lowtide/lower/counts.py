"""What all counts of a kernel's work have in common.

Why here: kernels that do the same in another way look at the same windows, so that what has the price
of a node asks all of them for the same three things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, Protocol, TypeVar

from lowtide.ir.window import Axis

Features = Mapping[str, float]
"""How many of each thing; `kernel/name` is one that a kernel does which the node's own kernel calls."""


@cache
def padded_taps(columns: int, first: int, width: int, axis: Axis) -> int:
    """How many taps of the windows of `columns` outputs lie outside of [0, width), if the first window
    begins at `first`."""
    inside = 0
    for tap in range(axis.kernel):
        at = first + tap * axis.dilation  # of the first output
        start = max(0, -(at // axis.stride))
        inside += max(0, min(columns, (width - 1 - at) // axis.stride + 1) - start)
    return columns * axis.kernel - inside


class Windows(Protocol):
    """Windows that go over a row of `in_w` columns and make `columns` of them."""

    @property
    def axis(self) -> Axis:
        """The window along a row."""

    @property
    def in_w(self) -> int:
        """Columns of the input."""

    @property
    def columns(self) -> int:
        """Columns that it makes."""


Of = TypeVar("Of", bound=Windows, covariant=True)


@dataclass(frozen=True, slots=True)
class Otherwise(Generic[Of]):
    """What `of` does, done by another kernel."""

    of: Of

    @property
    def axis(self) -> Axis:
        """The window along a row."""
        return self.of.axis

    @property
    def in_w(self) -> int:
        """Columns of the input."""
        return self.of.in_w

    @property
    def columns(self) -> int:
        """Columns that it makes."""
        return self.of.columns

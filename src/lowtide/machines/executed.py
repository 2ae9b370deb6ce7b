"""What was executed, as values: how often an instruction ran, and a count between two limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """How often an instruction ran; how often another one than that before it came before; how often
    another one than that after it came after."""

    executed: int
    entered: int = 0
    left: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.executed + other.executed, self.entered + other.entered, self.left + other.left
        )


@dataclass(frozen=True, slots=True)
class Span:
    """A count of which only a range is known, and what it is under the usual assumptions."""

    least: int
    usual: int
    most: int

    @staticmethod
    def of(count: int) -> Span:
        """A count that is known."""
        return Span(count, count, count)

    def __add__(self, other: Span) -> Span:
        return Span(self.least + other.least, self.usual + other.usual, self.most + other.most)

    def __mul__(self, times: int) -> Span:
        return Span(self.least * times, self.usual * times, self.most * times)


NOTHING = Span(0, 0, 0)

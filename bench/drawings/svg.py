"""A drawing as SVG text: boxes, lines and words at places in pixels, the same bytes each time.

Why not matplotlib: a few hundred boxes are 10 KB by hand, and the text stays text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#9a8c00", "#7f7f7f"),
)
"""Told apart without colour vision, too (Okabe and Ito's, the yellow darker)."""

INK, PALE = "#222222", "#8a8a8a"


class Drawing:
    """Grows by one element a call; `text` is the file. It has its own white ground, for dark pages."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="13" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        ]

    def box(
        self, x: float, y: float, wide: float, high: float, colour: str, *, edge: str = "none"
    ) -> None:
        """A filled box, its upper left corner at (x, y)."""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(high)}"'
        self._parts.append(f'<rect {place} fill="{colour}" stroke="{edge}" stroke-width="0.6"/>')

    def line(
        self, points: Iterable[tuple[float, float]], colour: str = INK, dash: str = ""
    ) -> None:
        """A line through points."""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>'
        )

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        at: str = "start",
        colour: str = INK,
        bold: bool = False,
        size: int = 13,
    ) -> None:
        """Words whose base line begins, ends or has its middle at (x, y)."""
        weight = ' font-weight="bold"' if bold else ""
        letters = f' font-size="{size}"' if size != 13 else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{at}" fill="{colour}"{weight}{letters}>'
            f"{escape(text)}</text>"
        )

    def axes(
        self, left: float, top: float, right: float, bottom: float, across: str, up: str
    ) -> None:
        """A corner with the names of both axes."""
        self.line([(left, top), (left, bottom), (right, bottom)], PALE)
        self.words(right, bottom + 32, across, at="end", colour=PALE)
        self.words(left, top - 8, up, colour=PALE)

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join([*self._parts, "</svg>", ""])


def levels(most: float, steps: Sequence[int] = (1, 2, 5)) -> list[int]:
    """Some round numbers up to `most`."""
    unit = next(s * 10**p for p in range(12) for s in steps if most / (s * 10**p) <= 5)
    return list(range(0, int(most) + 1, unit))


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

"""The RAM that many microcontrollers have, as lines across pictures of memory.

Why from the table of parts: a line that is drawn is a size that can be bought, and names who has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lowtide.machines.mcus import Mcu, load_mcus

_COMMON: Final = 2
"""A size is common if so many parts have it."""
_NAMED: Final = 2
_MAKER: Final = 5
"""Parts whose names begin with so many of the same letters are of one maker."""
_SHORT: Final = 12
"""Names of more letters have no room."""


@dataclass(frozen=True, slots=True)
class PartLine:
    """A size of RAM in bytes, how many parts of the table have it, and what it is called."""

    ram_bytes: int
    parts: int
    label: str


def part_lines(mcu: Mcu | None = None) -> tuple[PartLine, ...]:
    """The common sizes, smallest first; with `mcu`, its own too, by its name."""
    by_size: dict[int, list[str]] = {}
    for part in load_mcus().values():
        if part.confirmed:
            by_size.setdefault(part.ram_bytes, []).append(part.name)
    found = {
        size: PartLine(size, len(names), f"{_size(size)}: {', '.join(_named(names))}")
        for size, names in by_size.items()
        if len(names) >= _COMMON
    }
    if mcu is not None:
        label = f"{_size(mcu.ram_bytes)}: {mcu.name}"
        found[mcu.ram_bytes] = PartLine(mcu.ram_bytes, len(load_mcus()), label)
    return tuple(found[size] for size in sorted(found))


def spaced(lines: Iterable[PartLine], low: float, high: float, gap: float) -> tuple[PartLine, ...]:
    """Those from `low` to `high` bytes that are `gap` apart; of two that are not, the more common."""
    kept: list[PartLine] = []
    for line in sorted(lines, key=lambda line: (-line.parts, line.ram_bytes)):
        near = any(abs(line.ram_bytes - other.ram_bytes) < gap for other in kept)
        if low <= line.ram_bytes <= high and not near:
            kept.append(line)
    return tuple(sorted(kept, key=lambda line: line.ram_bytes))


def _named(names: list[str]) -> list[str]:
    """The first part of each of some makers."""
    firsts: dict[str, str] = {}
    for name in names:
        if len(name) <= _SHORT:
            firsts.setdefault(name[:_MAKER], name)
    return list(firsts.values())[:_NAMED]


def _size(count: int) -> str:
    return f"{count // 1024:,} KiB"

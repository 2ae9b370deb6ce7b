"""How parts read their flash, from boards/flash.toml, and what a program read of it.

Why counted by a model of the cache: the emulator's memory answers at once, whatever it stands for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from lowtide.machines.executed import Span

KINDS: Final = ("code", "weights", "tables")
"""What is read, in the order in which the plugin numbers it; constants in code count as code."""


@dataclass(frozen=True, slots=True)
class XipCache:
    """A cache for code and data: `bytes` in `ways` of lines of `line_bytes`, the least recently used
    line of a set replaced. An access takes `hit_cycles`, or `miss_cycles` (least, most) where its line
    is missing; `source` says so, `uncertain` what is not known."""

    bytes: int
    ways: int
    line_bytes: int
    hit_cycles: int
    miss_cycles: tuple[int, int]
    source: str
    uncertain: str


@dataclass(frozen=True, slots=True)
class FlashReads:
    """What one inference reads of flash, its cache empty at the start: `bytes` and missed lines, each
    as KINDS."""

    cache: XipCache
    bytes: tuple[int, ...]
    misses: tuple[int, ...]

    @property
    def refilled_bytes(self) -> int:
        """Bytes of the lines that were missed."""
        return sum(self.misses) * self.cache.line_bytes

    @property
    def waits(self) -> tuple[int, int]:
        """Cycles more than if every line were found: least, most."""
        least, most = (
            sum(self.misses) * (c - self.cache.hit_cycles) for c in self.cache.miss_cycles
        )
        return least, most

    def cycles(self, manual: Span) -> tuple[int, int]:
        """Cycles by the manual with this flash, of those at zero wait states: least, most."""
        return manual.least + self.waits[0], manual.most + self.waits[1]


@cache
def load_flash() -> dict[str, XipCache]:
    """The descriptions there are, by part."""
    text = (resources.files("lowtide.machines") / "boards/flash.toml").read_text("utf-8")
    found = {}
    for name, fields in tomllib.loads(text).items():
        least, most = fields.pop("miss_cycles")
        found[name] = XipCache(**fields, miss_cycles=(least, most))
    return found


def read_counts(lines: Sequence[str], described: XipCache) -> FlashReads:
    """What the plugin's lines "flash BYTES MISSES" say, one of each of KINDS. Raises ValueError."""
    counts = [[int(n) for n in line.split()[1:]] for line in lines]
    if len(counts) != len(KINDS) or any(len(count) != 2 for count in counts):
        raise ValueError("they are of another form")
    return FlashReads(described, tuple(b for b, _ in counts), tuple(m for _, m in counts))

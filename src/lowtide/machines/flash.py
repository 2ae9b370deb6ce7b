"""How parts read their flash, from boards/flash.toml, and what a program read of it.

Why counted by a model of the cache: the emulator's memory answers at once, whatever it stands for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final

from lowtide.machines.executed import Span
from lowtide.target import FlashCache, Target

KINDS: Final = ("code", "weights", "tables")
"""What is read, in the order in which the plugin numbers it; constants in code count as code."""


@dataclass(frozen=True, slots=True)
class Cache:
    """`bytes` in `ways` of lines of `line_bytes`, the least recently used line of a set replaced."""

    bytes: int
    ways: int
    line_bytes: int


@dataclass(frozen=True, slots=True)
class Flash:
    """Flash behind a cache for instructions, and for data if there is no `data_cache` for them.

    An access takes `hit_cycles`, or `miss_cycles` (least, most) where its line is missing. With
    `prefetch`, the line behind the one that instructions run from is read ahead, into a buffer and not
    into the cache: it takes from `hit_cycles` to the most. `source` says so, `uncertain` what is not
    known.
    """

    cache: Cache
    data_cache: Cache | None
    prefetch: bool
    hit_cycles: int
    miss_cycles: tuple[int, int]
    source: str
    uncertain: str

    def planned(self, part: str) -> FlashCache | None:
        """What plans for a part weigh: None for line buffers, which no plan makes find what they did
        not."""
        if self.data_cache is not None:
            return None
        wait = sum(self.miss_cycles) // 2 - self.hit_cycles
        return FlashCache(part, self.cache.bytes, self.cache.ways, self.cache.line_bytes, wait)


@dataclass(frozen=True, slots=True)
class FlashReads:
    """What one inference reads of flash, its caches empty at the start: `bytes`, missed lines, and those
    of them that were read `ahead`, each as KINDS."""

    flash: Flash
    bytes: tuple[int, ...]
    misses: tuple[int, ...]
    ahead: tuple[int, ...]

    @property
    def refilled_bytes(self) -> int:
        """Bytes of the lines that were missed."""
        caches = (self.flash.cache, *(self.flash.data_cache or self.flash.cache,) * 2)
        return sum(m * c.line_bytes for m, c in zip(self.misses, caches, strict=True))

    @property
    def waits(self) -> tuple[int, int]:
        """Cycles more than if every line were found: least, most."""
        missed = sum(self.misses)
        least, most = (c - self.flash.hit_cycles for c in self.flash.miss_cycles)
        return (missed - sum(self.ahead)) * least, missed * most

    def cycles(self, manual: Span) -> tuple[int, int]:
        """Cycles by the manual with this flash, of those at zero wait states: least, most."""
        return manual.least + self.waits[0], manual.most + self.waits[1]


@cache
def load_flash() -> dict[str, Flash]:
    """The descriptions there are, by part."""
    text = (resources.files("lowtide.machines") / "boards/flash.toml").read_text("utf-8")
    found = {}
    for name, fields in tomllib.loads(text).items():
        least, most = fields.pop("miss_cycles")
        data = fields.pop("data_cache", None)
        found[name] = Flash(
            cache=Cache(**fields.pop("cache")),
            data_cache=None if data is None else Cache(**data),
            prefetch=fields.pop("prefetch", False),
            miss_cycles=(least, most),
            **fields,
        )
    return found


def target_of(target: Target, part: str, reads: Flash | None) -> Target:
    """The target of a core, for a part that reads its flash so, if that is known."""
    return target if reads is None else replace(target, flash=reads.planned(part))


def read_counts(lines: Sequence[str], described: Flash) -> FlashReads:
    """What the lines "flash BYTES MISSES AHEAD" say, one of each of KINDS. Raises ValueError."""
    counts = [[int(n) for n in line.split()[1:]] for line in lines]
    if [len(count) for count in counts] != [3 for _ in KINDS]:
        raise ValueError("they are of another form")
    read, missed, ahead = zip(*counts, strict=True)
    return FlashReads(described, read, missed, ahead)

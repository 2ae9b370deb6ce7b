"""What kernels do that copy runs of bytes (lt_copy.h), which costs more or less by where these begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.lower.counts import Features, NoWindows

Places = NDArray[np.int64]
"""Bytes from where a tensor begins, which is at a multiple of four."""

_PAIR, _WORD, _BLOCK = 2, 4, 16
_FEWEST = 8
"""Bytes from which on a run is copied by words, or by halves of them, if both of its ends allow it."""


def copied(runs: float, size: int, to: Places, source: Places) -> dict[str, float]:
    """What is done to copy so many runs of `size` bytes, of which some go `to` these places from those
    of `source`, and the others as they do."""
    apart = (to ^ source) & 3
    by_words = (apart == 0) & (size >= _FEWEST)
    by_halves = (apart == 2) & (size >= _FEWEST)
    head = np.where(by_words | by_halves, -source & (3 - apart), 0)
    rest = size - head
    left = np.where(by_words, rest % 4, np.where(by_halves, rest % 8, rest))
    found = {
        "word_runs": by_words,
        "word_fours": np.where(by_words, rest // 16, 0),
        "word_rests": np.where(by_words, rest % 16 // 4, 0),
        "half_runs": by_halves,
        "half_fours": np.where(by_halves, rest // 8, 0),
        "byte_eights": left // 8,
        "byte_fours": left % 8 // 4,
        "byte_rests": left % 4,
        "byte_heads": head,
    }
    return {f"copied_{name}": runs * float(each.mean()) for name, each in found.items()}


def called(runs: float, size: int, to: Places, source: Places) -> dict[str, float]:
    """What memcpy does to copy so many runs of `size` bytes: on cores that load words from anywhere
    (`any_`), on those that load them from multiples of four alone (`even_`), and on those whose library
    also looks for words that lie alike (`like_`)."""
    odd = ((to | source) & 3) != 0
    few = odd & (size < _FEWEST)
    head = np.where(odd & ~few & (source & 3 != 0), -to & 3, 0)
    rest = np.where(few, 0, size - head)
    even = ~odd & (size >= _BLOCK)
    alike = ((to ^ source) & 3 == 0) & (size >= _WORD)
    first = np.where(alike, -to & 3, 0)
    found = {
        "any_few": few,
        "any_bytes": few * size,
        "any_odd": odd,
        "any_heads": head > 0,
        "any_blocks": rest // (4 * _BLOCK),
        "any_fours": rest % (4 * _BLOCK) // _BLOCK,
        "any_words": rest % _BLOCK // _WORD,
        "any_rests": rest % _WORD > 0,
        "even_runs": even,
        "even_fours": np.where(even, size // _BLOCK, 0),
        "even_words": np.where(even, size % _BLOCK // _WORD, 0),
        "even_bytes": np.where(even, size % _WORD, size),
        "like_runs": alike,
        "like_words": np.where(alike, (size - first) // _WORD, 0),
        "like_bytes": np.where(alike, first + (size - first) % _WORD, size),
    }
    counts = {name: runs * float(each.mean()) for name, each in found.items()}
    return {"memcpy_runs": runs, **{f"memcpy_{name}": count for name, count in counts.items()}}


def pieced(runs: float, size: int, to: Places, source: Places) -> dict[str, float]:
    """What is done to copy so many runs of `size` bytes where a few bytes are no call: as lt_copy_piece
    and lt_copy_runs do."""
    if size <= _PAIR:
        return {"singles" if size == 1 else "pairs": runs}
    found = {"pieces": runs, **copied(runs, size, to, source)}
    if size == _FEWEST:  # a call on some cores
        odd = ((to | source) & 3) != 0
        return found | {"eights": runs, "eights_odd": runs * float(odd.mean())}
    if size > _FEWEST:
        return found | called(runs, size, to, source)
    few = {"few": 1, "few_words": size // _WORD, "few_pairs": size // 2 % 2, "few_ones": size % 2}
    return found | {name: runs * many for name, many in few.items()}


def pitched(runs: float, pitch: int, first: int = 0) -> Places:
    """Where so many runs begin that are `pitch` bytes apart: as many of them as there are until all is
    the same again."""
    return first + pitch * np.arange(max(1, min(4, int(runs))), dtype=np.int64)


def joins(
    steps: float, runs: int, sizes: Sequence[int], *, splits: bool = False
) -> dict[str, float]:
    """What is done in so many steps that each copy `runs` runs of each size, in bytes, to where they are
    joined, or from it."""
    whole = sum(sizes)
    found: dict[str, float] = {
        "written": steps * runs * whole,
        "alone" if runs == 1 else "parts": steps * len(sizes),
    }
    at = 0
    for size in sizes:
        many = steps * runs
        places = pitched(many, whole, at), pitched(many, size)
        done = pieced(many, size, *(reversed(places) if splits else places))
        found |= {name: found.get(name, 0) + count for name, count in done.items()}
        at += size
    return found


@dataclass(frozen=True, slots=True)
class Joins(NoWindows):
    """What `joins` counts, for a node that makes `columns` columns. If each of them has runs of its own,
    fewer columns are fewer runs; else there is less of everything."""

    columns: int
    steps: int
    runs: int
    sizes: tuple[int, ...]
    splits: bool = False
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        if self.runs % self.columns == 0:
            runs = self.runs // self.columns * columns
            return joins(self.steps, runs, self.sizes, splits=self.splits)
        part = columns / self.columns
        done = joins(self.steps, self.runs, self.sizes, splits=self.splits)
        return {name: count * part for name, count in done.items()}

"""What kernels do that copy runs of bytes (lt_copy.h), which costs more or less by where these begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""Bytes from where a tensor begins, which is at a multiple of four."""

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


def pitched(runs: float, pitch: int, first: int = 0) -> Places:
    """Where so many runs begin that are `pitch` bytes apart: as many of them as there are until all is
    the same again."""
    return first + pitch * np.arange(max(1, min(4, int(runs))), dtype=np.int64)

"""Memory whose bytes hold labels: which byte of which value was last written there.

A label is a number: the value's own, times 2^40, and the byte within it. Bytes that lie as they do in
their value have a constant difference between label and address, so that is what is stored: to compare
a row is to compare one number with all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Value = int | Labels
"""The labels of a tensor's bytes: an array, or the first of them where they follow each other."""

NOTHING, PADDING = -1, -2
"""The labels of a byte that nobody needs, and of one that is made of no other: padding, or what shapes
say."""

_HELD = -1000
_SHIFT = 40
_EMPTY = -(1 << 60)
"""The difference where nothing was written: no label comes out of it."""


def held(data: NDArray[np.uint8]) -> Labels:
    """The labels of bytes of constants: what they hold."""
    return _HELD - data.astype(np.int64)


class NotProvedError(Exception):
    """What was found is not what should be there."""


@dataclass(slots=True)
class Symbols:
    """The values that there are; `names[i]` says what value i is. Of constants the `contents` are
    known, by the label of the first byte."""

    names: list[str] = field(default_factory=list)
    contents: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def new(self, name: str) -> int:
        """The label of the first byte of a new value."""
        self.names.append(name)
        return len(self.names) << _SHIFT

    def constant(self, name: str, data: bytes) -> int:
        """The label of the first byte of a new value whose bytes are known."""
        label = self.new(name)
        self.contents[label] = np.frombuffer(data, np.uint8)
        return label

    def resolved(self, labels: Labels) -> Labels:
        """Labels, those of constants by what they hold: equal bytes are equal there."""
        owners = np.unique(labels[labels > 0] >> _SHIFT << _SHIFT)
        known = [int(owner) for owner in owners if int(owner) in self.contents]
        found = labels.copy() if known else labels
        for owner in known:
            here = labels >> _SHIFT << _SHIFT == owner
            found[here] = held(self.contents[owner][labels[here] - owner])
        return found

    def told(self, label: int) -> str:
        """What a label says, for a reader of an error."""
        if label < 1 << _SHIFT:
            if _HELD >= label > _HELD - 256:
                return f"a constant {_HELD - label}"
            return "padding" if label == PADDING else "nothing"
        number, byte = divmod(label, 1 << _SHIFT)
        return f"byte {byte} of {self.names[number - 1]}"


@dataclass(slots=True, eq=False)
class Memory:
    """One piece of memory; the labels of bytes `a` and on are difference[a] + a, ..."""

    name: str
    difference: Labels

    @classmethod
    def empty(cls, name: str, size: int) -> Memory:
        """`size` bytes that hold nothing."""
        return cls(name, np.full(size, _EMPTY, np.int64))

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.difference)

    def clear(self, at: int = 0, size: int | None = None) -> None:
        """Nothing is there now."""
        self.difference[at : None if size is None else at + size] = _EMPTY

    def write(self, at: int, size: int, value: Value, position: int = 0) -> None:
        """Write `size` bytes of `value`, from its byte `position` on."""
        if isinstance(value, int):
            self.difference[at : at + size] = value + position - at
        else:
            part = value[position : position + size]
            self.difference[at : at + size] = np.where(
                part == NOTHING, _EMPTY, part - np.arange(at, at + size, dtype=np.int64)
            )

    def labels(self, at: int, size: int) -> Labels:
        """The labels of `size` bytes."""
        found: Labels = self.difference[at : at + size] + np.arange(at, at + size, dtype=np.int64)
        return found

    def holds(self, at: int, size: int, value: Value, position: int = 0) -> bool:
        """Whether `size` bytes of `value` are there, from its byte `position` on."""
        if isinstance(value, int):
            return bool((self.difference[at : at + size] == value + position - at).all())
        return bool((self.labels(at, size) == value[position : position + size]).all())


def part(value: Value, position: int, size: int) -> Labels:
    """The labels of some bytes of a value."""
    if isinstance(value, int):
        return np.arange(value + position, value + position + size, dtype=np.int64)
    return value[position : position + size]


def as_value(labels: Labels) -> Value:
    """Labels as the first of them, where they follow each other."""
    if len(labels) and bool((labels == labels[0] + np.arange(len(labels), dtype=np.int64)).all()):
        return int(labels[0])
    return labels


def elements(value: Value, count: int, size: int) -> Labels:
    """The label of the first byte of each of `count` elements of `size` bytes."""
    if isinstance(value, int):
        return value + size * np.arange(count, dtype=np.int64)
    return value[::size]


def of_elements(labels: Labels, size: int) -> Labels:
    """The labels of all bytes of elements, in one row; padding is padding in all of its bytes."""
    flat = labels.reshape(-1)
    if size == 1:
        return flat
    every = flat[:, None] + np.arange(size, dtype=np.int64)
    every[flat == PADDING] = PADDING
    return every.reshape(-1)


def position_in(value: Value, label: int, within: range) -> int | None:
    """Which of the bytes `within` of a value has this label."""
    if isinstance(value, int):
        at = label - value
        return at if at in within else None
    found = np.flatnonzero(value[within.start : within.stop] == label)
    return within.start + int(found[0]) if len(found) else None


Piece = tuple[int, int, int]
"""Bytes that a step touches: (number of the memory, first byte, size)."""


def overlap(a: Piece, b: Piece) -> bool:
    """Whether two pieces share bytes."""
    return a[0] == b[0] and a[1] < b[1] + b[2] and b[1] < a[1] + a[2]


def apart(pieces: Sequence[Piece]) -> bool:
    """Whether no two of them share bytes."""
    if len(pieces) < 2:
        return True
    ordered = sorted(pieces)
    return all(not overlap(a, b) for a, b in pairwise(ordered))

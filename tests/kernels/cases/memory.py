"""Memory of this process in which every buffer has a guard page on one side.

Why two ends: a buffer that ends at a guard page shows what is read after it, one that begins there what
is read before it. Bytes on the other side are set, and looked at again afterwards.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .built import Library

PAGE = mmap.PAGESIZE
_SLOTS = ((1, 1200), (4, 160), (32, 40), (512, 6))
"""Pages of a slot, and how many slots of that size there are."""

End = Literal["end", "start"]
Addresses = NDArray[np.uint64]


class FullError(Exception):
    """A drawn operator needs more slots than there are."""


@dataclass(frozen=True, slots=True)
class Slots:
    """Slots of one size: the first one's address, bytes of one, from one to the next."""

    first: int
    size: int
    pitch: int
    count: int


class Guarded:
    """Slots between guard pages, handed out one after the other until they are given back as a whole."""

    def __init__(self, of: Library) -> None:
        self._library = of
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        total = sum((pages + 1) * count + 1 for pages, count in _SLOTS) * PAGE
        self._map = mmap.mmap(-1, total)
        at = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._slots = []
        for pages, count in _SLOTS:
            size = pages * PAGE
            self._slots.append(Slots(at + PAGE, size, size + PAGE, count))
            for number in range(count + 1):
                if libc.mprotect(at + number * (size + PAGE), PAGE, 0):
                    raise OSError(ctypes.get_errno(), "mprotect")
            at += count * (size + PAGE) + PAGE
        self.end: End = "end"
        self.clear()

    def clear(self) -> None:
        """Give everything back."""
        self._used = [0] * len(self._slots)
        self._placed: list[tuple[NDArray[Any], ...]] = []

    def rows(self, size: int, count: int, align: int) -> Addresses:
        """Addresses of `count` buffers of `size` bytes."""
        for number, slots in enumerate(self._slots):
            used = self._used[number]
            if size <= slots.size and used + count <= slots.count:
                break
        else:
            raise FullError(f"{count} buffers of {size} bytes")
        self._used[number] += count
        low = slots.first + slots.pitch * np.arange(used, used + count, dtype=np.uint64)
        at = low if self.end == "start" else low + np.uint64((slots.size - size) // align * align)
        sizes = np.full(count, size, np.uint64)
        self._placed.append((at, sizes, low, low + np.uint64(slots.size)))
        return at

    def place(self, data: bytes, align: int) -> int:
        """A buffer that holds `data`."""
        address = int(self.rows(len(data), 1, align)[0])
        ctypes.memmove(address, data, len(data))
        return address

    def fence(self) -> None:
        """Set the bytes around all buffers."""
        self._fences = tuple(
            np.concatenate([placed[i] for placed in self._placed]) for i in range(4)
        )
        self._fence(0)

    def broken(self) -> str | None:
        """Where bytes around a buffer have changed since."""
        at = self._fence(1)
        return None if at < 0 else f"bytes around a buffer of {self._fences[1][at]} bytes changed"

    def _fence(self, check: int) -> int:
        fences = self._fences
        call = self._library.calls.cases_fence
        return int(call(*(f.ctypes.data for f in fences), len(fences[0]), check))

    def where(self, address: int) -> str:
        """An address in words: which buffer it is next to."""
        near = None
        for placed in self._placed:
            for at, size, low, high in zip(*(p.tolist() for p in placed), strict=True):
                if low - PAGE <= address < high + PAGE:
                    beyond = address - at - size
                    text = (
                        f"{beyond} bytes after the end" if beyond >= 0 else f"{at - address} before"
                    )
                    if near is None or abs(beyond) < near[0]:
                        near = abs(beyond), f"{text} of a buffer of {size} bytes"
        return "at no buffer" if near is None else near[1]


def pointers(addresses: Sequence[Addresses]) -> Addresses:
    """The pointer tables of several ports side by side: [steps, pointers]."""
    return np.ascontiguousarray(np.concatenate(addresses, axis=1))

"""Maps of numbers as FlexBuffers: how a file holds the options of TFLM's signal operators.

Why our own: only maps of plain numbers are ever needed, and nothing in a file is believed. Numbers are
read as TFLM reads them, as signed ones, whatever integer type the map calls them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_INT, _UINT, _MAP, _BOOL = 1, 2, 9, 26
_MOST: Final = 1 << 10  # names in a map


def unpack_map(data: bytes) -> dict[str, int] | None:
    """The integers and booleans that the map `data` holds, in its order; None if it is no such map."""
    try:
        return _Reader(data).map()
    except (IndexError, UnicodeDecodeError):
        return None


class _Reader:
    """Reads what is inside of `data`, and raises IndexError for anything else."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def number(self, at: int, width: int, *, signed: bool = False) -> int:
        if width not in (1, 2, 4, 8) or at < 0 or at + width > len(self.data):
            raise IndexError
        return int.from_bytes(self.data[at : at + width], "little", signed=signed)

    def back(self, at: int, width: int) -> int:
        """Where the offset at `at` leads: offsets lead back."""
        return at - self.number(at, width)

    def text(self, at: int) -> str:
        end = self.data.find(b"\0", at) if at >= 0 else -1
        if end < 0:
            raise IndexError
        return self.data[at:end].decode()

    def map(self) -> dict[str, int] | None:
        end = len(self.data)
        root, kind = self.number(end - 1, 1), self.number(end - 2, 1)
        if kind >> 2 != _MAP:
            return None
        width = 1 << (kind & 3)
        values = self.back(end - 2 - root, root)
        count = self.number(values - width, width)
        names, name_width = (
            self.back(values - 3 * width, width),
            self.number(values - 2 * width, width),
        )
        if count > _MOST:
            return None
        found = {}
        for i in range(count):
            name = self.text(self.back(names + i * name_width, name_width))
            if self.number(values + count * width + i, 1) >> 2 not in (_INT, _UINT, _BOOL):
                return None
            found[name] = self.number(values + i * width, width, signed=True)
        return found


def pack_map(values: Mapping[str, int]) -> bytes:
    """The map as a FlexBuffer; booleans stay such. Raises OverflowError beyond 64 bits."""
    for width in (1, 2, 4):
        try:
            return _packed(values, width)
        except OverflowError:
            continue
    return _packed(values, 8)


def _packed(values: Mapping[str, int], width: int) -> bytes:
    out = bytearray()
    names = sorted(values)
    places = []

    def add(number: int, *, signed: bool = False) -> None:
        out.extend(number.to_bytes(width, "little", signed=signed))

    for name in names:
        places.append(len(out))
        out += name.encode() + b"\0"
    out += bytes(-len(out) % width)
    add(len(names))
    first = len(out)
    for place in places:
        add(len(out) - place)
    add(len(out) - first)
    add(width)
    add(len(names))
    start = len(out)
    for name in names:
        add(int(values[name]), signed=True)
    log = width.bit_length() - 1
    kinds = [_BOOL if isinstance(values[name], bool) else _INT for name in names]
    out += bytes(kind << 2 | log for kind in kinds)
    out += bytes(-len(out) % width)
    add(len(out) - start)
    out += bytes((_MAP << 2 | log, width))
    return bytes(out)

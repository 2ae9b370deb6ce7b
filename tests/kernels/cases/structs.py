"""The structs of the kernels' headers as bytes, with pointers of the host's size or of a board's.

Why read from the headers: no binding is written by hand, so none can be wrong, and a new kernel's params
are known the day its header is there. Members are aligned naturally, as both ABIs have it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from lowtide.lower.nodes import Array, Kernel, Params, Value

_FORMATS = {
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "float": "f",
    "int": "i",
    "lt_elem": "i",
    "char": "b",
}
_NUMPY = {"float": np.dtype("<f4")} | {
    f"{sign}int{bits}_t": np.dtype(f"<{'u' if sign else 'i'}{bits // 8}")
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
_POINTERS = frozenset({"lt_kernel", "lt_block_core", "lt_element", "lt_pull", "lt_take"})
_STRUCT = re.compile(r"typedef struct\s*\w*\s*\{(.*?)\}\s*(\w+);", re.S)
_FUNCTION = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")


@dataclass(frozen=True, slots=True)
class Layout:
    """A struct: name -> (offset, format), with "*" as the format of a pointer; sizes in bytes."""

    fields: dict[str, tuple[int, str]]
    size: int
    align: int


Place = Callable[[bytes, int], int]
"""Puts bytes somewhere, at a multiple of the alignment, and returns their address."""


@cache
def _sources() -> dict[str, str]:
    folder = resources.files("lowtide.kernels") / "include"
    found = dict[str, str]()
    for header in sorted(folder.iterdir(), key=lambda file: file.name):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        found |= {name: body for body, name in _STRUCT.findall(text)}
    return found


def _members(body: str) -> Iterator[tuple[str, str, int]]:
    """(name, type, count) of each member; the type of a pointer is "*"."""
    for line in body.split(";"):
        text = re.sub(r"\b(const|struct|volatile)\b", " ", line).strip()
        if not text:
            continue
        function = _FUNCTION.search(text)
        if function:
            yield function[1], "*", 1
            continue
        kind, names = text.split(None, 1) if "*" not in text.split(None, 1)[0] else ("", text)
        if not kind:
            kind, names = text.split("*", 1)[0], "*" + text.split("*", 1)[1]
        for name in names.split(","):
            bare = re.sub(r"\[.*?\]|[\s*]", "", name)
            counts = [int(n) for n in re.findall(r"\[(\d+)\]", name)]
            yield (
                bare,
                "*" if "*" in name or kind in _POINTERS else kind,
                int(np.prod(counts or [1])),
            )


@cache
def layout(name: str, pointer: int) -> Layout:
    """The struct `name`, with pointers of so many bytes."""
    fields: dict[str, tuple[int, str]] = {}
    at, most = 0, 1
    for member, kind, count in _members(_sources()[name]):
        if kind in _sources():
            inner = layout(kind, pointer)
            at = -(-at // inner.align) * inner.align
            fields |= {f"{member}.{n}": (at + o, f) for n, (o, f) in inner.fields.items()}
            size, align = inner.size, inner.align
        else:
            size = align = pointer if kind == "*" else struct.calcsize("=" + _FORMATS[kind])
            at = -(-at // align) * align
            fields[member] = (at, "*" if kind == "*" else _FORMATS[kind])
        at += size * count
        most = max(most, align)
    return Layout(fields, -(-at // most) * most, most)


@dataclass(frozen=True, slots=True)
class Packer:
    """Params as bytes: `place` puts what they point to, `kernel` says where a function is."""

    pointer: int
    place: Place
    kernel: Callable[[str], int]

    def params(self, params: Params) -> int:
        """Place a struct and all that it points to; returns its address."""
        of = layout(params.ctype, self.pointer)
        data = bytearray(of.size)
        for name, value in params.fields:
            at, kind = of.fields[name]
            if kind == "*":
                struct.pack_into(
                    "<Q" if self.pointer == 8 else "<I", data, at, self._address(value)
                )
            else:
                assert isinstance(value, int | float), (params.ctype, name)
                struct.pack_into(f"<{kind}", data, at, value if kind == "f" else int(value))
        return self.place(bytes(data), of.align)

    def _address(self, value: Value) -> int:
        match value:
            case None:
                return 0
            case Kernel():
                return self.kernel(value.name)
            case Params():
                return self.params(value)
            case Array():
                kind = _NUMPY[value.ctype]
                values = value.values.reshape(-1)
                stored = (values if values.size else np.zeros(1)).astype(kind)
                assert kind.kind == "f" or np.array_equal(stored, values) or not values.size
                return self.place(stored.tobytes(), kind.itemsize)
            case _:
                raise TypeError(f"a pointer to {value!r}")

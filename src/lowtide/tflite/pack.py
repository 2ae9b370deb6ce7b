"""Values to the bytes of a .tflite file, laid out front to back.

Why so: a flatbuffer's offsets lead forward, so a table comes before what it refers to, and the offset is
filled in when that is written. Constants begin at multiples of 16 bytes, as kernels expect of them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from lowtide.tflite.schema import SCALARS, Field, schema

Values: TypeAlias = Mapping[str, Any]
"""A table: {name of the field: value}. A table within it is such a mapping, too; a union a pair (name of
its table, mapping); a list any sequence; a list of bytes `bytes`. None is as good as absent."""

_IDENTIFIER: Final = b"TFL3"


def pack(values: Values, kind: str = "Model") -> bytes:
    """The file whose root table, of type `kind`, has these values.

    Raises KeyError for a field or a union's type that the schema does not have.
    """
    writer = _Writer()
    writer.data += struct.pack("<I4s", 0, _IDENTIFIER)
    writer.refer(0, writer.table(kind, values))
    return bytes(writer.data)


class _Writer:
    """The file so far, and the position of each vtable in it: equal ones are written once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.vtables: dict[bytes, int] = {}

    def align(self, to: int, after: int = 0) -> None:
        """Add zeros until what comes `after` bytes later lies at a multiple of `to`."""
        self.data += bytes(-(len(self.data) + after) % to)

    def refer(self, slot: int, target: int) -> None:
        """Fill in the offset at `slot`."""
        struct.pack_into("<I", self.data, slot, target - slot)

    def table(self, kind: str, values: Values) -> int:
        """Write a table and all that it refers to; return its position."""
        fields = schema().tables[kind]
        written = [
            (fields[name], value)
            for name, value in _flat(fields, values).items()
            if value is not None
        ]
        written = [
            (f, v) for f, v in written if f.is_vector or f.type not in SCALARS or v != f.default
        ]
        written.sort(key=lambda entry: (-_size(entry[0]), entry[0].slot))
        offsets, end = {}, 4
        for field, _ in written:
            end += -end % _size(field)
            offsets[field.slot] = end
            end += _size(field)
        slots = [offsets.get(slot, 0) for slot in range(max(offsets, default=-1) + 1)]
        vtable = self._vtable(struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), end, *slots))
        self.align(8 if any(_size(field) == 8 for field, _ in written) else 4)
        at = len(self.data)
        self.data += bytes(end)
        struct.pack_into("<i", self.data, at, at - vtable)
        for field, value in written:
            slot = at + offsets[field.slot]
            if field.is_vector:
                self.refer(slot, self._vector(field, value))
            elif field.type in SCALARS:
                struct.pack_into("<" + SCALARS[field.type], self.data, slot, value)
            elif field.type == "string":
                self.refer(slot, self._text(value))
            elif field.type in schema().unions:
                self.refer(slot, self.table(*value))
            else:
                self.refer(slot, self.table(field.type, value))
        return at

    def _vtable(self, content: bytes) -> int:
        if content not in self.vtables:
            self.align(2)
            self.vtables[content] = len(self.data)
            self.data += content
        return self.vtables[content]

    def _vector(self, field: Field, value: Sequence[Any]) -> int:
        size = _size(Field("", 0, field.type))
        self.align(max(size, 4, field.align), after=4)  # its length comes first
        at = len(self.data)
        self.data += struct.pack("<I", len(value))
        if isinstance(value, bytes):
            self.data += value
        elif field.type in SCALARS:
            self.data += struct.pack(f"<{len(value)}{SCALARS[field.type]}", *value)
        else:
            self.data += bytes(4 * len(value))
            for slot, entry in enumerate(value):
                made = (
                    self._text(entry) if field.type == "string" else self.table(field.type, entry)
                )
                self.refer(at + 4 + 4 * slot, made)
        return at

    def _text(self, value: str) -> int:
        self.align(4)
        at = len(self.data)
        text = value.encode()
        self.data += struct.pack("<I", len(text)) + text + b"\0"
        return at


def _flat(fields: Mapping[str, Field], values: Values) -> dict[str, Any]:
    """The values, and the type of each union."""
    flat = dict(values)
    for name, value in values.items():
        if value is not None and fields[name].type in schema().unions:
            numbers = {kind: number for number, kind in schema().unions[fields[name].type].items()}
            flat[f"{name}_type"] = numbers[value[0]]
    return flat


def _size(field: Field) -> int:
    """Bytes of the field in its table; 4 for an offset."""
    return 4 if field.is_vector else struct.calcsize("<" + SCALARS.get(field.type, "I"))

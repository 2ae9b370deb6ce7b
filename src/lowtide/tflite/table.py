"""Reading tables of a .tflite file by the names of their fields, and believing nothing of what they say.

Why strict: a flatbuffer is a web of offsets and lengths. One that is damaged leads out of the file or
claims a billion elements; one made with malice names one part of itself from everywhere. So each
position is checked before it is read, and all lists together may have no more elements than an honest
file's.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Final, TypeAlias

from lowtide.errors import ModelError
from lowtide.tflite.schema import SCALARS, Field, schema

Number: TypeAlias = bool | int | float

REMEDY: Final = "pass a .tflite file as a converter wrote it; this one may be cut off or damaged"
_OFFSET: Final = "I"


class DamagedError(ModelError):
    """The file contradicts itself: `what` says how."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the file is damaged: {what}", REMEDY)
        self.what = what


class File:
    """The bytes of a file, and how many more elements its lists may have.

    Parts of a file may be shared, so each byte may be read several times, but not without end.
    """

    __slots__ = ("budget", "source")

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.budget = 4 * len(source) + 65536

    @property
    def root(self) -> Table:
        """The model."""
        return Table(self, self.target(0), "Model")

    def number(self, form: str, at: int) -> Number:
        """The number at `at`; `form` as in SCALARS."""
        packed = _struct("<" + form)
        if not 0 <= at <= len(self.source) - packed.size:
            raise DamagedError("an offset leads out of the file")
        (value,) = packed.unpack_from(self.source, at)
        found: Number = value
        return found

    def integer(self, form: str, at: int) -> int:
        """The integer at `at`."""
        return int(self.number(form, at))

    def target(self, at: int) -> int:
        """Where the offset at `at` leads. What offsets lead to has 4 bytes or more."""
        distance = self.integer(_OFFSET, at)
        if distance == 0 or at + distance + 4 > len(self.source):
            raise DamagedError("an offset leads nowhere")
        return at + distance

    def elements(self, at: int, size: int, what: str = "list") -> range:
        """Where the elements are, of `size` bytes each, of the list that the offset at `at` leads to."""
        start = self.target(at)
        length = self.integer(_OFFSET, start)
        first = start + 4
        if first + length * size > len(self.source):
            shown = f"list of {length} elements" if what == "list" else what
            raise DamagedError(f"a {shown} runs past the end of the file")
        self.budget -= length
        if self.budget < 0:
            raise DamagedError("its lists overlap each other")
        return range(first, first + length * size, size)


class Table:
    """The table of type `kind` at `at` in a file. Fields go by their names in schema.fbs."""

    __slots__ = ("at", "fields", "file", "kind", "slots")

    def __init__(self, file: File, at: int, kind: str) -> None:
        self.file, self.at, self.kind = file, at, kind
        self.fields = schema().tables[kind]
        vtable = at - file.integer("i", at)
        size = file.integer("H", vtable)
        if size < 4 or size % 2:
            raise DamagedError("a table has no list of fields")
        self.slots = range(vtable + 4, vtable + size, 2)

    def position(self, slot: int) -> int | None:
        """Where in the file the field with number `slot` is; None if it is absent."""
        if slot >= len(self.slots):
            return None
        offset = self.file.integer("H", self.slots[slot])
        return self.at + offset if offset else None

    def get(self, name: str) -> Any:
        """The field's value: a number, its default where it is absent; a text, a table, or a tuple of
        one of these, None where it is absent. A list of unsigned bytes is `bytes`.
        """
        field = self.fields[name]
        at = self.position(field.slot)
        if at is None:
            return None if field.is_vector or field.type not in SCALARS else _default(field)
        if field.is_vector:
            return self._vector(field, at)
        if field.type in SCALARS:
            return self.file.number(SCALARS[field.type], at)
        if field.type == "string":
            return self._text(at)
        kind = field.type
        if kind in schema().unions:
            kind = schema().unions[kind].get(self.integer(f"{name}_type"), "NONE")
            if kind == "NONE":  # or newer than the schema
                return None
        return Table(self.file, self.file.target(at), kind)

    def _vector(self, field: Field, at: int) -> Any:
        if field.type not in SCALARS:
            slots = self.file.elements(at, 4)
            if field.type == "string":
                return tuple(self._text(slot) for slot in slots)
            return tuple(Table(self.file, self.file.target(slot), field.type) for slot in slots)
        form = SCALARS[field.type]
        found = self.file.elements(at, _struct("<" + form).size)
        data = self.file.source[found.start : found.stop]
        return data if form == "B" else struct.unpack(f"<{len(found)}{form}", data)

    def _text(self, at: int) -> str:
        found = self.file.elements(at, 1, "text")
        return self.file.source[found.start : found.stop].decode("utf-8", "replace")

    def integer(self, name: str) -> int:
        """The integer field `name`."""
        return int(self.get(name))

    def text(self, name: str) -> str:
        """The text field `name`; "" where it is absent."""
        return str(self.get(name) or "")

    def data(self, name: str) -> bytes | None:
        """The list of unsigned bytes `name`; None where it is absent or empty."""
        return self.get(name) or None

    def integers(self, name: str) -> tuple[int, ...]:
        """The list of integers `name`; () where it is absent."""
        return self.get(name) or ()

    def floats(self, name: str) -> tuple[float, ...]:
        """The list of numbers `name`; () where it is absent."""
        return self.get(name) or ()

    def table(self, name: str) -> Table | None:
        """The table or union `name`; None where it is absent, or of a type that is not in the schema."""
        found: Table | None = self.get(name)
        return found

    def tables(self, name: str) -> tuple[Table, ...]:
        """The list of tables `name`; () where it is absent."""
        return self.get(name) or ()

    def count(self, name: str) -> int:
        """How many elements the list of tables `name` has."""
        return len(self.slots_of(name))

    def slots_of(self, name: str) -> range:
        """Positions in the file of the offsets to the tables that the list `name` has."""
        at = self.position(self.fields[name].slot)
        return range(0) if at is None else self.file.elements(at, 4)


def _default(field: Field) -> Number:
    if field.type == "bool":
        return bool(field.default)
    return float(field.default) if field.type in ("float", "double") else field.default


@lru_cache
def _struct(form: str) -> struct.Struct:
    return struct.Struct(form)

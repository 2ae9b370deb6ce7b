"""The schema of .tflite files as values: tables, unions and enumerations, from schema.fbs.

Why a schema of our own: the generated modules of other packages are large, exist for few platforms, and
believe every file. Reading and writing need no more than each field's slot and type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

SCALARS: Final[Mapping[str, str]] = {
    "bool": "?",
    "byte": "b",
    "ubyte": "B",
    "short": "h",
    "ushort": "H",
    "int": "i",
    "uint": "I",
    "long": "q",
    "ulong": "Q",
    "float": "f",
    "double": "d",
}
"""The numbers of the schema, and what `struct` calls them."""

_ENTRY: Final = re.compile(r"(enum|union|table) (\w+)[^{]*\{([^}]*)\}")
_FIELD: Final = re.compile(
    r"(?P<name>\w+):(?P<vector>\[)?(?P<type>\w+)\]?"
    r"(?:=(?P<default>[-\w]+))?(?: \((?P<attribute>\w+)(?:: (?P<value>\d+))?\))?$"
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table: `type` is a number of SCALARS, "string", or the name of a table or union.

    A vector's `type` is that of its elements; its first one lies at a multiple of `align` bytes if that
    is not 0. A union's type is the field before it, `name`_type.
    """

    name: str
    slot: int
    type: str
    is_vector: bool = False
    default: int = 0
    align: int = 0


@dataclass(frozen=True, slots=True)
class Schema:
    """Enumerations and unions as {value: name}, tables as {name of the field: field}, all by name."""

    enums: Mapping[str, Mapping[int, str]]
    unions: Mapping[str, Mapping[int, str]]
    tables: Mapping[str, Mapping[str, Field]]


@cache
def schema() -> Schema:
    """The schema, read when it is first needed."""
    text = (resources.files("lowtide.tflite") / "schema.fbs").read_text(encoding="utf-8")
    entries = _ENTRY.findall(re.sub(r"//.*", "", text))
    unions = {
        name: dict(enumerate(("NONE", *(part.strip() for part in body.split(",")))))
        for kind, name, body in entries
        if kind == "union"
    }
    return Schema(
        {name: _enum(body) for kind, name, body in entries if kind == "enum"},
        unions,
        {name: _table(body, unions) for kind, name, body in entries if kind == "table"},
    )


def _enum(body: str) -> dict[int, str]:
    values: dict[int, str] = {}
    for entry in body.split(","):
        name, _, value = entry.partition("=")
        values[int(value) if value else max(values, default=-1) + 1] = name.strip()
    return values


def _table(body: str, unions: Mapping[str, object]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    slot = 0
    for entry in body.replace("\n", " ").split(";")[:-1]:
        found = _FIELD.match(entry.strip())
        assert found is not None, entry
        name, kind = found["name"], found["type"]
        if kind in unions:
            fields[f"{name}_type"] = Field(f"{name}_type", slot, "ubyte")
            slot += 1
        if found["attribute"] != "deprecated":
            default = {None: 0, "false": 0, "true": 1}.get(found["default"])
            fields[name] = Field(
                *(name, slot, kind, found["vector"] is not None),
                int(found["default"]) if default is None else default,
                int(found["value"] or 0),
            )
        slot += 1
    return fields

"""A table of a file as plain values, to be changed and packed again: tflite/pack.py the other way."""

from __future__ import annotations

from typing import Any

from lowtide.errors import ModelError
from lowtide.tflite.schema import schema
from lowtide.tflite.table import Table


def unpack(table: Table) -> dict[str, Any]:
    """The fields that are there, by name: see `tflite.pack.Values`.

    Raises ModelError for a field or a union's type that is not in the schema, and would be lost.
    """
    values: dict[str, Any] = {}
    last = max((field.slot for field in table.fields.values()), default=-1)
    if any(table.position(slot) is not None for slot in range(last + 1, len(table.slots))):
        raise _unknown(table.kind)
    for name, field in table.fields.items():
        if table.position(field.slot) is None or _follows(table, name):
            continue
        value = table.get(name)
        if field.type in schema().unions:
            if value is None and table.integer(f"{name}_type"):
                raise _unknown(field.type)
            value = None if value is None else (value.kind, unpack(value))
        elif isinstance(value, Table):
            value = unpack(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Table):
            value = [unpack(entry) for entry in value]
        values[name] = value
    return values


def _follows(table: Table, name: str) -> bool:
    """Whether the field is the type of a union, which follows from what the union is."""
    of = table.fields.get(name.removesuffix("_type"))
    return name.endswith("_type") and of is not None and of.type in schema().unions


def _unknown(kind: str) -> ModelError:
    return ModelError(
        f"the file has a field of {kind} that this version of lowtide does not know",
        "update lowtide, or convert the model with an older converter",
    )

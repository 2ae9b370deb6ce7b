"""Write an operator order or a metadata entry into a .tflite file, leaving all other bytes alone.

Why not unpack and pack again through the schema's object API: that drops the alignment of buffers
and every field this package's schema does not know. Here a file is patched instead.

An operator order: a subgraph's `operators` is a vector of 32-bit offsets, each counted from its own
slot. Permuting the operators means rewriting those slots; the tables they lead to stay in place.

A metadata entry: offsets only lead forward, so new tables that refer to old ones go in front:

    offset
       0   offset of the new root table, "TFL3"
       8   new Model vtable, new Model table     its fields lead to the old file's, except two:
           new `buffers` vector                  the old tables, then the new one
           new `metadata` vector                 the old tables, with the new one added or replacing
           new Metadata vtable, table, name
           new Buffer vtable, table, data        data on a multiple of 16
           zeros up to a multiple of 64          so that every old table keeps its alignment
   shift   the old file, first to last byte, with whatever was appended to it

The old root table and its two vectors stay behind, unreferenced.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from lowtide.errors import ModelError, UsageError

_IDENTIFIER: Final = b"TFL3"
_DAMAGED: Final = "pass a .tflite file as a converter wrote it; this one may be cut off or damaged"
_LIMIT: Final = 2**31 - 1  # flatbuffers offsets reach no further

# Field numbers (vtable slots) of the schema's tables.
_MODEL_VERSION: Final = 0
_MODEL_SUBGRAPHS: Final = 2
_MODEL_BUFFERS: Final = 4
_MODEL_METADATA: Final = 6
_MODEL_FIELDS: Final = 10  # known ones: `version` is a number, all others are offsets
_SUBGRAPH_OPERATORS: Final = 3
_BUFFER_OUTSIDE: Final = (1, 2)  # offset, size: 64-bit numbers
_OPERATOR_OUTSIDE: Final = (9, 10)  # large_custom_options_offset, ..._size
_METADATA_NAME: Final = 0


def permute_operators(source: bytes, order: Sequence[int], subgraph: int = 0) -> bytes:
    """Return the file with operator `order[i]` of `subgraph` at position i.

    Same length, and the same bytes outside the subgraph's list of operators. Metadata that names
    operators by their position is not adjusted.

    Raises UsageError if `order` is no permutation of the operators or there is no such subgraph;
    ModelError if the file is damaged, or keeps an operator in front of the list (no known writer
    does), which an unsigned offset cannot express.
    """
    _check_identifier(source)
    subgraphs = _field_vector(source, _root(source), _MODEL_SUBGRAPHS)
    if not 0 <= subgraph < len(subgraphs):
        raise UsageError(
            f"there is no subgraph {subgraph}: the file has {len(subgraphs)}",
            f"give a subgraph from 0 to {len(subgraphs) - 1}",
        )
    table = _target(source, subgraphs[subgraph])
    slots = _field_vector(source, table, _SUBGRAPH_OPERATORS)
    if sorted(order) != list(range(len(slots))):
        raise UsageError(
            f"the order does not name each of the {len(slots)} operators once",
            f"give a permutation of 0 to {len(slots) - 1}",
        )
    targets = [_target(source, slot) for slot in slots]
    patched = bytearray(source)
    for slot, index in zip(slots, order, strict=True):
        if targets[index] <= slot:
            raise ModelError(
                f"operator {index} is stored in front of the list of operators",
                "convert the model again, or pack it with a current flatbuffers writer",
            )
        struct.pack_into("<I", patched, slot, targets[index] - slot)
    return bytes(patched)


def set_metadata(source: bytes, name: str, data: bytes) -> bytes:
    """Return the file with exactly one metadata entry `name`, holding `data`, 16-byte aligned.

    The old file's bytes follow unchanged behind new ones, at a multiple of 64. An entry that is
    replaced leaves its old contents behind, so that a file grows with every call. Contents appended
    to the file stay at its end; a zip archive there can still be read, as zip readers allow for
    bytes in front of it.

    Raises ModelError if the file is damaged, has no buffers, has a field in its root table that
    this code does not know (it cannot tell whether that needs shifting), or keeps data outside the
    flatbuffer (at positions counted from the start of the file, which would shift).
    """
    _check_identifier(source)
    root = _root(source)
    fields = _fields(source, root)
    if any(fields[_MODEL_FIELDS:]):
        raise ModelError(
            "the file's root table has a field that this version of lowtide does not know",
            "update lowtide, or leave the metadata out",
        )
    buffers = [_target(source, slot) for slot in _field_vector(source, root, _MODEL_BUFFERS)]
    if not buffers:
        raise ModelError("the file has no buffers, not even the empty first one", _DAMAGED)
    _refuse_outside_data(source, root, buffers)

    entries: list[int | None] = []  # old Metadata tables; None stands for the new one
    for slot in _field_vector(source, root, _MODEL_METADATA):
        entry = _target(source, slot)
        if _name(source, entry) != name.encode():
            entries.append(entry)
        elif None not in entries:
            entries.append(None)
    if None not in entries:
        entries.append(None)

    return _front(source, fields, buffers, entries, name.encode(), data) + source


def _front(
    source: bytes,
    fields: Sequence[int],
    buffers: Sequence[int],
    entries: Sequence[int | None],
    name: bytes,
    data: bytes,
) -> bytes:
    """The new bytes in front of the old file, as drawn in the module's docstring."""
    model_vtable = 8
    model = model_vtable + 4 + 2 * _MODEL_FIELDS
    buffer_vector = model + 4 + 4 * _MODEL_FIELDS
    metadata_vector = buffer_vector + 4 + 4 * (len(buffers) + 1)
    metadata_vtable = metadata_vector + 4 + 4 * len(entries)
    metadata = metadata_vtable + 8
    name_string = metadata + 12
    buffer_vtable = _align(name_string + 4 + len(name) + 1, 4)
    buffer = buffer_vtable + 8
    contents = _align(buffer + 8 + 4, 16)  # a vector's length stands in the 4 bytes before it
    shift = _align(contents + len(data), 64)
    if shift + len(source) > _LIMIT:
        raise ModelError("the file would exceed 2 GiB", "leave the metadata out")
    front = bytearray(shift)

    def put(at: int, form: str, *values: int) -> None:
        struct.pack_into("<" + form, front, at, *values)

    def refer(slot: int, target: int) -> None:
        put(slot, "I", target - slot)

    refer(0, model)
    front[4:8] = _IDENTIFIER
    put(model_vtable, "HH", 4 + 2 * _MODEL_FIELDS, 4 + 4 * _MODEL_FIELDS)
    put(model, "i", model - model_vtable)
    replaced = {_MODEL_BUFFERS: buffer_vector, _MODEL_METADATA: metadata_vector}
    for field in range(_MODEL_FIELDS):
        old = fields[field] if field < len(fields) else 0
        if not old and field not in replaced:
            continue  # absent: its vtable slot stays 0
        slot = model + 4 + 4 * field
        put(model_vtable + 4 + 2 * field, "H", slot - model)
        if field == _MODEL_VERSION:
            put(slot, "I", _read(source, "I", old))
        else:
            refer(slot, replaced[field] if field in replaced else shift + _target(source, old))

    put(buffer_vector, "I", len(buffers) + 1)
    for i, table in enumerate([*(shift + table for table in buffers), buffer]):
        refer(buffer_vector + 4 + 4 * i, table)
    put(metadata_vector, "I", len(entries))
    for i, entry in enumerate(entries):
        refer(metadata_vector + 4 + 4 * i, metadata if entry is None else shift + entry)

    put(metadata_vtable, "HHHH", 8, 12, 4, 8)  # name at 4, buffer at 8
    put(metadata, "iII", metadata - metadata_vtable, 0, len(buffers))
    refer(metadata + 4, name_string)
    put(name_string, "I", len(name))
    front[name_string + 4 : name_string + 4 + len(name)] = name

    put(buffer_vtable, "HHH", 6, 8, 4)  # data at 4
    put(buffer, "i", buffer - buffer_vtable)
    refer(buffer + 4, contents - 4)
    put(contents - 4, "I", len(data))
    front[contents : contents + len(data)] = data
    return bytes(front)


def _refuse_outside_data(source: bytes, root: int, buffers: Sequence[int]) -> None:
    """Raise ModelError if a buffer or an operator says where in the file its data is."""
    operators = [
        _target(source, slot)
        for subgraph in _field_vector(source, root, _MODEL_SUBGRAPHS)
        for slot in _field_vector(source, _target(source, subgraph), _SUBGRAPH_OPERATORS)
    ]
    for tables, numbers in ((buffers, _BUFFER_OUTSIDE), (operators, _OPERATOR_OUTSIDE)):
        for table in tables:
            fields = _fields(source, table)
            present = [fields[n] for n in numbers if n < len(fields) and fields[n]]
            if any(_read(source, "Q", at) for at in present):
                raise ModelError(
                    "the file keeps data behind the flatbuffer, as files over 2 GiB do",
                    "convert the model without that option, or leave the metadata out",
                )


def _check_identifier(source: bytes) -> None:
    if source[4:8] != _IDENTIFIER:
        raise ModelError("this is no .tflite file: it lacks the identifier TFL3", _DAMAGED)


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def _read(source: bytes, form: str, at: int) -> int:
    """One little-endian number; a negative or too large position raises ModelError."""
    if not 0 <= at <= len(source) - struct.calcsize("<" + form):
        raise ModelError("the file is damaged: an offset leads out of it", _DAMAGED)
    (value,) = struct.unpack_from("<" + form, source, at)
    return int(value)


def _target(source: bytes, slot: int) -> int:
    """Where the offset in `slot` leads."""
    target = slot + _read(source, "I", slot)
    if target == slot or target + 4 > len(source):  # all that offsets lead to is 4 bytes or more
        raise ModelError("the file is damaged: an offset leads nowhere", _DAMAGED)
    return target


def _root(source: bytes) -> int:
    return _target(source, 0)


def _fields(source: bytes, table: int) -> list[int]:
    """Position of each field of a table by its number; 0 where it is absent."""
    vtable = table - _read(source, "i", table)
    size = _read(source, "H", vtable)
    if size < 4 or size % 2:
        raise ModelError("the file is damaged: a table has no list of fields", _DAMAGED)
    relative = [_read(source, "H", vtable + at) for at in range(4, size, 2)]
    return [table + offset if offset else 0 for offset in relative]


def _field_vector(source: bytes, table: int, field: int) -> range:
    """Positions of the elements (offsets) of a table's vector field; none if it is absent."""
    fields = _fields(source, table)
    if field >= len(fields) or not fields[field]:
        return range(0)
    vector = _target(source, fields[field])
    end = vector + 4 + 4 * _read(source, "I", vector)
    if end > len(source):
        raise ModelError("the file is damaged: a list is longer than the file", _DAMAGED)
    return range(vector + 4, end, 4)


def _name(source: bytes, metadata: int) -> bytes | None:
    """The name of a Metadata table."""
    fields = _fields(source, metadata)
    if len(fields) <= _METADATA_NAME or not fields[_METADATA_NAME]:
        return None
    string = _target(source, fields[_METADATA_NAME])
    end = string + 4 + _read(source, "I", string)
    if end > len(source):
        raise ModelError("the file is damaged: a name is longer than the file", _DAMAGED)
    return source[string + 4 : end]

"""Write an operator order or a metadata entry into a .tflite file, leaving all other bytes alone.

Why not unpack and pack again: that drops every field that this package's schema does not know. Here a
file is patched instead.

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
from lowtide.tflite.schema import SCALARS
from lowtide.tflite.table import REMEDY, File, Table

_IDENTIFIER: Final = b"TFL3"
_LIMIT: Final = 2**31 - 1  # flatbuffers offsets reach no further


def permute_operators(source: bytes, order: Sequence[int], subgraph: int = 0) -> bytes:
    """Return the file with operator `order[i]` of `subgraph` at position i.

    Same length, and the same bytes outside the subgraph's list of operators. Metadata that names
    operators by their position is not adjusted.

    Raises UsageError if `order` is no permutation of the operators or there is no such subgraph;
    ModelError if the file is damaged, or keeps an operator in front of the list (no known writer
    does), which an unsigned offset cannot express.
    """
    root = _root(source)
    subgraphs = root.slots_of("subgraphs")
    if not 0 <= subgraph < len(subgraphs):
        raise UsageError(
            f"there is no subgraph {subgraph}: the file has {len(subgraphs)}",
            f"give a subgraph from 0 to {len(subgraphs) - 1}",
        )
    file = root.file
    slots = Table(file, file.target(subgraphs[subgraph]), "SubGraph").slots_of("operators")
    if sorted(order) != list(range(len(slots))):
        raise UsageError(
            f"the order does not name each of the {len(slots)} operators once",
            f"give a permutation of 0 to {len(slots) - 1}",
        )
    targets = [file.target(slot) for slot in slots]
    patched = bytearray(source)
    for slot, index in zip(slots, order, strict=True):
        if targets[index] <= slot:
            raise ModelError(
                f"operator {index} is stored before the list of operators",
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
    root = _root(source)
    fields = [root.position(slot) for slot in range(len(root.slots))]
    if any(fields[len(root.fields) :]):
        raise ModelError(
            "the file's root table has a field that this version of lowtide does not know",
            "update lowtide, or leave the metadata out",
        )
    buffers = root.tables("buffers")
    if not buffers:
        raise ModelError("the file has no buffers, not even the empty first one", REMEDY)
    _refuse_outside_data(root, buffers)

    entries: list[int | None] = []  # old Metadata tables; None stands for the new one
    for entry in root.tables("metadata"):
        if entry.text("name") != name:
            entries.append(entry.at)
        elif None not in entries:
            entries.append(None)
    if None not in entries:
        entries.append(None)

    return _front(root, [buffer.at for buffer in buffers], entries, name.encode(), data) + source


def _front(
    root: Table,
    buffers: Sequence[int],
    entries: Sequence[int | None],
    name: bytes,
    data: bytes,
) -> bytes:
    """The new bytes in front of the old file, as drawn in the module's docstring."""
    file, count = root.file, len(root.fields)
    model_vtable = 8
    model = model_vtable + 4 + 2 * count
    buffer_vector = model + 4 + 4 * count
    metadata_vector = buffer_vector + 4 + 4 * (len(buffers) + 1)
    metadata_vtable = metadata_vector + 4 + 4 * len(entries)
    metadata = metadata_vtable + 8
    name_string = metadata + 12
    buffer_vtable = _align(name_string + 4 + len(name) + 1, 4)
    buffer = buffer_vtable + 8
    contents = _align(buffer + 8 + 4, 16)  # a vector's length stands in the 4 bytes before it
    shift = _align(contents + len(data), 64)
    if shift + len(file.source) > _LIMIT:
        raise ModelError("the file would exceed 2 GiB", "leave the metadata out")
    front = bytearray(shift)

    def put(at: int, form: str, *values: int) -> None:
        struct.pack_into("<" + form, front, at, *values)

    def refer(slot: int, target: int) -> None:
        put(slot, "I", target - slot)

    refer(0, model)
    front[4:8] = _IDENTIFIER
    put(model_vtable, "HH", 4 + 2 * count, 4 + 4 * count)
    put(model, "i", model - model_vtable)
    replaced = {"buffers": buffer_vector, "metadata": metadata_vector}
    for field in root.fields.values():
        old = root.position(field.slot)
        if old is None and field.name not in replaced:
            continue  # absent: its vtable slot stays 0
        slot = model + 4 + 4 * field.slot
        put(model_vtable + 4 + 2 * field.slot, "H", slot - model)
        if field.name in replaced:
            refer(slot, replaced[field.name])
        elif old is not None and (field.is_vector or field.type not in SCALARS):
            refer(slot, shift + file.target(old))
        else:
            put(slot, "I", root.integer(field.name))

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


def _refuse_outside_data(root: Table, buffers: Sequence[Table]) -> None:
    """Raise ModelError if a buffer or an operator says where in the file its data is."""
    operators = [op for subgraph in root.tables("subgraphs") for op in subgraph.tables("operators")]
    said = [table.integer(name) for table in buffers for name in ("offset", "size")]
    said += [
        table.integer(f"large_custom_options_{n}")
        for table in operators
        for n in ("offset", "size")
    ]
    if any(said):
        raise ModelError(
            "the file stores data after the flatbuffer, as files over 2 GiB do",
            "convert the model without that option, or leave the metadata out",
        )


def _root(source: bytes) -> Table:
    if source[4:8] != _IDENTIFIER:
        raise ModelError("this is not a .tflite file: it lacks the identifier TFL3", REMEDY)
    return File(source).root


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment

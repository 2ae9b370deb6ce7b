"""An assembled program as C text: one source and one header, deterministic to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lowtide.emit import interface
from lowtide.emit.assemble import Assembly
from lowtide.emit.literals import Arrays, value_literal, values_text
from lowtide.emit.program import Array, CType, Params
from lowtide.emit.tables import NodeEntry, PortEntry, Rows, Strip
from lowtide.emit.turns import flatten
from lowtide.errors import ModelError, UsageError

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline
int long main register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while
"""
_RESERVED = frozenset(_KEYWORDS.split())


# name_t must not be a type of stddef.h, stdint.h, wchar.h or POSIX.
_WIDTHS = [f"{kind}{bits}" for kind in ("int", "int_least", "int_fast") for bits in (8, 16, 32, 64)]
_LIBRARY = (
    "intptr intmax size ssize ptrdiff wchar wint max_align time clock off pid uid gid mode dev"
)
_TYPES = frozenset([*_WIDTHS, *(f"u{name}" for name in _WIDTHS), "uintptr", "uintmax"])
_TAKEN = _RESERVED | _TYPES | frozenset(_LIBRARY.split())


def c_name(text: str) -> str:
    """`text` made a C identifier in lower case."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "model"
    return f"m_{name}" if name[0].isdigit() or name in _TAKEN or _runtime(name) else name


def check_name(name: str) -> str:
    """`name` itself if it is a C identifier that is free; else raises UsageError."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name in _RESERVED:
        raise UsageError(
            f"{name!r} cannot be a C identifier",
            f"use letters, digits and _, such as {c_name(name)}",
        )
    if _runtime(name):
        raise UsageError(f"{name!r} is a name of the runtime's", "choose another name")
    if name in _TAKEN:
        raise UsageError(f"{name!r} would make the C type {name}_t anew", "choose another name")
    return name


def _runtime(name: str) -> bool:
    """True where a name, or a file of that name, would meet one of lowtide's own."""
    low = name.lower()
    return low in ("lt", "lowtide") or low.startswith(("lt_", "lowtide_"))


@dataclass(frozen=True, slots=True)
class Source:
    """The two generated files, and the kernel headers they include."""

    header: str
    code: str
    kernel_headers: tuple[str, ...]


def write(assembly: Assembly, name: str) -> Source:
    """C for `assembly`, all names prefixed with `name`."""
    counts = len(flatten(assembly.turns)), 2 * len(assembly.nodes), len(assembly.ports)
    if max(*counts, len(assembly.rows)) >= _NONE:
        raise _too_many("entries")
    headers = tuple(sorted({e.node.header for e in assembly.nodes if e.node.header}))
    return Source(interface.header(assembly, name), _code(assembly, name, headers), headers)


_NONE = 0xFFFF
"""LT_NONE in lowtide.h."""


def _too_many(what: str) -> ModelError:
    return ModelError(
        f"the step program has more {what} than its 16-bit tables can count",
        "compile with --schedule operators",
    )


def _code(assembly: Assembly, name: str, headers: Sequence[str]) -> str:
    arrays = Arrays(name)
    params, described = _params(assembly, name, arrays)
    kinds = sorted({_kind(e) for e in assembly.nodes if e.node.kernel})
    shift = _place_shift(assembly)
    places = _Runs([tuple(p >> shift for p in r.places) for r in assembly.rows if r.places])
    tables = _Runs([p.table for p in assembly.ports if p.table])
    if len(tables.values) >= _NONE:
        raise _too_many("table entries")
    initial = {
        v.tensor: arrays.name(Array("uint8_t", np.frombuffer(v.initial, np.uint8), weights=True))
        for v in assembly.variables
        if v.initial is not None
    }
    constants = "NULL"
    if assembly.constants:
        blob = Array("uint8_t", np.frombuffer(assembly.constants, np.uint8), weights=True)
        constants = f"(uint8_t *)(uintptr_t){arrays.name(blob)}"

    def row(r: Rows) -> tuple[int, ...]:
        if r.places is None:
            return r.offset, r.pitch, r.count, r.base, 0
        return r.offset, places.start[tuple(p >> shift for p in r.places)], r.count, r.base, 1

    def port(p: PortEntry) -> tuple[int | str, ...]:
        table = "LT_NONE" if p.table is None else tables.start[p.table]
        return p.rows, p.first, p.count, table, p.stride, p.dilation

    def node(e: NodeEntry, struct: str) -> tuple[int | str, ...]:
        if e.strip is not None:
            return struct, 0, 0, 0, "LT_STRIP"
        if e.node.exchange is not None:
            what = "LT_TAKE" if e.node.inputs else "LT_GIVE"
            return "NULL", e.node.exchange, e.ports, e.counter, what
        return struct, e.scratch, e.ports, e.counter, kinds.index(_kind(e))

    includes = [*(["<string.h>"] if _copies(assembly) else []), *(f'"{h}"' for h in headers)]
    sections = [
        f"/* {name}.c: generated by lowtide; constants and the step program. */",
        f'#include "{name}.h"',
        "\n".join(
            f"#include {h}" + "\n" * (h.startswith("<") and len(includes) > 1) for h in includes
        ),
        "\n".join(arrays.definitions),
        "\n\n".join(described),
        _table(f"static const lt_kind {name}_kinds[]", "run, inputs, outputs", kinds),
        _table(
            f"static const lt_rows {name}_rows[]",
            "offset, pitch, count, base, apart",
            map(row, assembly.rows),
        ),
        _table(
            f"static const lt_port {name}_ports[]",
            "rows, first, count, table, stride, dilation",
            map(port, assembly.ports),
        ),
        _table(
            f"static const lt_node {name}_nodes[]",
            "params, scratch, ports, counter, kind",
            map(node, assembly.nodes, params),
        ),
        _table(f"static const lt_turn {name}_turns[]", "node, steps", flatten(assembly.turns)),
        *_numbers(f"static const uint16_t {name}_places[]", "uint16_t", places.values),
        *_numbers(f"static const int16_t {name}_tables[]", "int16_t", tables.values),
        "\n".join(
            [
                "#ifdef LT_TRACE",
                _table(
                    f"static const struct lt_traced {name}_traced[]",
                    "bytes, tensor",
                    ((r.size, r.tensor) for r in assembly.rows),
                ),
                "#endif",
            ]
        ),
        "\n".join(
            [
                f"static const lt_program {name}_program = {{",
                f"    {name}_kinds, {name}_rows, {name}_ports, {name}_nodes, {name}_turns,",
                f"    {f'{name}_places' if places.values else 'NULL'},"
                f" {f'{name}_tables' if tables.values else 'NULL'},",
                f"    {len(flatten(assembly.turns))}, {assembly.counters}, {shift},",
                "#ifdef LT_TRACE",
                f"    {name}_traced,",
                "#endif",
                "};",
            ]
        ),
        interface.functions(assembly, name, constants, initial),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _copies(assembly: Assembly) -> bool:
    """Whether the functions use string.h."""
    return bool(assembly.variables) or interface.modes(assembly).pushes


def _params(assembly: Assembly, name: str, arrays: Arrays) -> tuple[list[str], list[str]]:
    """Each node's params as an expression, and the definitions: equal ones are written once."""
    names: dict[str, str] = {}
    expressions, definitions = [], []
    for i, entry in enumerate(assembly.nodes):
        if entry.node.exchange is not None:
            expressions.append("NULL")
            continue
        if entry.strip is not None:
            expressions.append(f"&{name}_strip_{i}")
            definitions.append(_strip(name, i, entry.strip))
            continue
        ctype, struct = entry.node.params.ctype, _struct(entry.node.params, arrays)
        if ctype + struct not in names:
            names[ctype + struct] = f"{name}_params_{i}"
            definitions.append(
                f"/* Node {i}: {_about(assembly, entry)} */\n"
                f"static const {ctype} {name}_params_{i} = {struct};"
            )
        expressions.append(f"&{names[ctype + struct]}")
    return expressions, definitions


def _kind(entry: NodeEntry) -> tuple[str, int, int]:
    """lt_kind."""
    return entry.node.kernel, len(entry.node.inputs), len(entry.node.outputs)


def _strip(name: str, number: int, strip: Strip) -> str:
    """The lt_strip of node `number`."""
    shifts = f"{name}_shifts_{number}"
    counters = strip.counters
    return "\n".join(
        [
            f"/* Node {number}: a strip begins. */",
            _table(f"static const lt_shift {shifts}[]", "base, from, offset", strip.shifts),
            f"static const lt_strip {name}_strip_{number} = "
            f"{{{shifts}, {len(strip.shifts)}, {counters.start}, {len(counters)}}};",
        ]
    )


class _Runs:
    """Runs of numbers in one array: where each starts; equal ones are there once."""

    def __init__(self, runs: Iterable[tuple[int, ...]]) -> None:
        self.start: dict[tuple[int, ...], int] = {}
        self.values: list[int] = []
        for run in runs:
            if run not in self.start:
                self.start[run] = len(self.values)
                self.values += run


def _place_shift(assembly: Assembly) -> int:
    """The shift that makes every place in a table fit 16 bits: rows are aligned to it."""
    top = max((p for r in assembly.rows if r.places for p in r.places), default=0)
    shift = (top >> 16).bit_length()
    assert all(p % (1 << shift) == 0 for r in assembly.rows if r.places for p in r.places)
    return shift


def _struct(params: Params, arrays: Arrays) -> str:
    fields = [f"    .{field} = {value_literal(value, arrays)},\n" for field, value in params.fields]
    return f"{{\n{''.join(fields)}}}"


def _about(assembly: Assembly, entry: NodeEntry) -> str:
    """Which operator a node belongs to, for the reader of the C; safe inside a comment."""
    if entry.node.op < 0:
        return "a move of the compacting allocator"
    op = assembly.graph.ops[entry.node.op]
    made = assembly.graph.tensors[op.outputs[0]] if op.outputs else None
    shape = f", makes {list(made.shape)}" if made is not None else ""
    text = f"operator {op.id}, {op.label}{shape}: {made.name if made else ''}"
    text = "".join(c if " " <= c <= "~" and c != "?" else "_" for c in text).rstrip(" :")
    return text.replace("*/", "* /").replace("/*", "/ *")


def _table(
    declaration: str, columns: str, rows: Iterable[Sequence[object]], empty: str = "{0}"
) -> str:
    """An array of structs, or of plain values where there is no name of columns."""
    texts = [", ".join(map(str, row)) for row in rows]
    lines = [f"    {{ {text} }}," if columns else f"    {text}," for text in texts]
    note = f" /* {columns} */" if columns else ""
    return "\n".join([f"{declaration} = {{{note}", *(lines or [f"    {empty},"]), "};"])


def _numbers(declaration: str, ctype: CType, values: Sequence[int]) -> list[str]:
    """An array of numbers, or nothing."""
    if not values:
        return []
    return [f"{declaration} = {{\n{values_text(Array(ctype, np.array(values)))}\n}};"]

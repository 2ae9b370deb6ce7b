"""An assembled program as C text: one source and one header, deterministic to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from lowtide.emit import interface
from lowtide.emit.header import header, modes
from lowtide.emit.literals import Arrays, comment, struct_text, values_text
from lowtide.errors import UsageError
from lowtide.lower.nodes import Array, CType, Node
from lowtide.program.assemble import Assembly
from lowtide.program.limits import check
from lowtide.program.tables import (
    NO_TENSOR,
    Entry,
    ExchangeEntry,
    KernelEntry,
    MoveEntry,
    PortEntry,
    Rows,
    StripEntry,
    called,
)
from lowtide.program.turns import flatten
from lowtide.target import DSP, Target

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
    """The two generated files, and the headers of the runtime they include."""

    header: str
    code: str
    runtime_headers: tuple[str, ...]


def write(assembly: Assembly, name: str) -> Source:
    """C for `assembly`, all names prefixed with `name`. Raises ModelError if it is too large."""
    check(assembly)
    headers = tuple(sorted({node.header for _, node in _calls(assembly)}))
    code = _code(assembly, name, headers)
    return Source(header(assembly, name), code, (modes(assembly).header, *headers))


def _code(assembly: Assembly, name: str, headers: Sequence[str]) -> str:
    arrays = Arrays(name)
    params, described = _params(assembly, name, arrays)
    kinds = sorted({_kind(node) for _, node in _calls(assembly)})
    shift = _place_shift(assembly)
    places = _Runs([tuple(p >> shift for p in r.places) for r in assembly.rows if r.places])
    tables = _Runs([p.table for p in assembly.ports if p.table])
    initial = {
        v.tensor: arrays.name(Array("uint8_t", np.frombuffer(v.initial, np.uint8), weights=True))
        for v in assembly.variables
        if v.initial is not None
    }
    constants = f"(uint8_t *)(uintptr_t){name}_weights.bytes" if assembly.constants else "NULL"

    def row(r: Rows) -> tuple[int, ...]:
        if r.places is None:
            return r.offset, r.pitch, r.count, r.base, 0
        return r.offset, places.start[tuple(p >> shift for p in r.places)], r.count, r.base, 1

    def port(p: PortEntry) -> tuple[int | str, ...]:
        table = "LT_NONE" if p.table is None else tables.start[p.table]
        return p.rows, p.first, p.count, table, p.stride, p.dilation

    def entry(e: Entry, struct: str) -> tuple[int | str, ...]:
        match e:
            case StripEntry():
                return struct, 0, 0, 0, "LT_STRIP"
            case ExchangeEntry(exchange):
                what = "LT_GIVE" if exchange.given else "LT_TAKE"
                return "NULL", exchange.number, e.ports, e.counter, what
            case KernelEntry(node) | MoveEntry(node):
                return struct, e.scratch, e.ports, e.counter, kinds.index(_kind(node))
            case _:
                assert_never(e)

    includes = [*(["<string.h>"] if assembly.variables else []), *(f'"{h}"' for h in headers)]
    sections = [
        f"/* {name}.c: generated by lowtide; constants and the step program. */",
        f'#include "{name}.h"',
        "\n".join(
            f"#include {h}" + "\n" * (h.startswith("<") and len(includes) > 1) for h in includes
        ),
        _guard(assembly.target),
        "\n".join(arrays.definitions),
        _operands(name, assembly.constants),
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
            map(entry, assembly.nodes, params),
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
                _table(
                    f"static const uint16_t {name}_inner[][2]",
                    "tensors inside of a block",
                    (_inner(assembly, e) for e in assembly.nodes),
                ),
                "#endif",
            ]
        ),
        _program(
            name,
            {
                **{
                    table: f"{name}_{table}"
                    for table in ("kinds", "rows", "ports", "nodes", "turns")
                },
                "places": f"{name}_places" if places.values else "NULL",
                "tables": f"{name}_tables" if tables.values else "NULL",
                "turn_count": f"{len(flatten(assembly.turns))}",
                "counter_count": f"{assembly.counters}",
                **interface.program_fields(assembly, name),
                "place_shift": f"{shift}",
            },
        ),
        interface.functions(assembly, name, constants, initial),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _program(name: str, fields: Mapping[str, str]) -> str:
    """The lt_program."""
    lines = [f"    .{field} = {value}," for field, value in fields.items()]
    traced = [f"    .{field} = {name}_{field}," for field in ("traced", "inner")]
    return "\n".join(
        [
            f"static const lt_program {name}_program = {{",
            *lines,
            "#ifdef LT_TRACE",
            *traced,
            "#endif",
            "};",
        ]
    )


def _guard(target: Target) -> str:
    """A program without the DSP kernels is refused by compilers for cores that would run them."""
    if DSP in target.variants:
        return ""
    return "\n".join(
        [
            "#if defined(__ARM_FEATURE_DSP)",
            f'#error "generated for {target.core}: for this core, generate it with --core any"',
            "#endif",
        ]
    )


def _operands(name: str, constants: bytes) -> str:
    """Constants that are operands, aligned for every type that they may have."""
    if not constants:
        return ""
    values = values_text(Array("uint8_t", np.frombuffer(constants, np.uint8)))
    return (
        f"/* Operands that are constant; the union aligns them. */\n"
        f"static const union {{\n    uint8_t bytes[{len(constants)}];\n    int64_t align;\n}} "
        f"{name}_weights = {{{{\n{values}\n}}}};"
    )


def _params(assembly: Assembly, name: str, arrays: Arrays) -> tuple[list[str], list[str]]:
    """Each node's params as an expression, and the definitions: equal ones are written once."""
    names: dict[str, str] = {}
    expressions, definitions = [], []
    for i, entry in enumerate(assembly.nodes):
        match entry:
            case ExchangeEntry():
                expressions.append("NULL")
            case StripEntry():
                expressions.append(f"&{name}_strip_{i}")
                definitions.append(_strip(name, i, entry))
            case KernelEntry(node) | MoveEntry(node):
                ctype, struct = node.params.ctype, struct_text(node.params, arrays)
                if ctype + struct not in names:
                    names[ctype + struct] = f"{name}_params_{i}"
                    definitions.append(
                        f"/* Node {i}: {_about(assembly, entry)} */\n"
                        f"static const {ctype} {name}_params_{i} = {struct};"
                    )
                expressions.append(f"&{names[ctype + struct]}")
            case _:
                assert_never(entry)
    return expressions, definitions


def _calls(assembly: Assembly) -> list[tuple[Entry, Node]]:
    """The entries that run a kernel."""
    found = ((entry, called(entry)) for entry in assembly.nodes)
    return [(entry, node) for entry, node in found if node is not None]


def _inner(assembly: Assembly, entry: Entry) -> list[int]:
    op = entry.node.op if isinstance(entry, KernelEntry) else -1
    return [t if t >= 0 else NO_TENSOR for t in assembly.inner.get(op, (-1, -1))]


def _kind(node: Node) -> tuple[str, int, int]:
    """lt_kind."""
    return node.kernel, len(node.inputs), len(node.outputs)


def _strip(name: str, number: int, strip: StripEntry) -> str:
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


def _about(assembly: Assembly, entry: KernelEntry | MoveEntry) -> str:
    """Which operator a node belongs to, for the reader of the C; safe inside a comment."""
    if isinstance(entry, MoveEntry):
        return "a move of the compacting allocator"
    op = assembly.program_graph.ops[entry.node.op]
    made = assembly.program_graph.tensors[op.outputs[0]] if op.outputs else None
    shape = f", makes {list(made.shape)}" if made is not None else ""
    text = f"operator {assembly.operators(op.id)}{shape}: {made.name if made else ''}"
    return comment(text).rstrip(" :")


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

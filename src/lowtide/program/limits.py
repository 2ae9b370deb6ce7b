"""What the fields of the step program in lowtide.h can hold, checked in one place.

Why: the tables are written as numbers, and where one is cut down to its field a compiler only warns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from lowtide.errors import ModelError
from lowtide.program.assemble import Assembly
from lowtide.program.tables import (
    NO_TENSOR,
    Entry,
    ExchangeEntry,
    KernelEntry,
    MoveEntry,
    StripEntry,
    called,
    ports_of,
)
from lowtide.program.turns import flatten

_U8, _U16, _U32 = (1 << 8) - 1, (1 << 16) - 1, (1 << 32) - 1
_I16 = (1 << 15) - 1
_I32 = (1 << 31) - 1
_LOOP = 0x8000  # LT_LOOP
_STRIP = 0xFD  # the first value of lt_node.kind that is no kernel: LT_STRIP


def check(assembly: Assembly) -> None:
    """Raise ModelError if a number of the program does not fit its field."""
    for entry in assembly.nodes:
        for what, least, most, values in _of_node(assembly, entry):
            for value in values:
                if not least <= value <= most:
                    raise ModelError(
                        f"{_name(assembly, entry)}: its {what} is {value}, and the step program "
                        f"holds {least} to {most}",
                        "split it, or its tensors, before the conversion",
                    )
    for what, most, value, fewer in _of_program(assembly):
        if value > most:
            raise ModelError(
                f"the step program needs {value} {what}, but its tables hold only {most}",
                "compile with --schedule operators, and without options that need rows"
                if fewer and assembly.plan is not None
                else "split the network into several models before the conversion",
            )


def _of_node(assembly: Assembly, entry: Entry) -> Iterable[tuple[str, int, int, Iterable[int]]]:
    """(what, least, most, values) of each field that is the node's own."""
    if isinstance(entry, StripEntry):
        yield "shift in bytes", -_I32 - 1, _I32, [offset for _, _, offset in entry.shifts]
        return
    inputs, outputs = ports_of(entry)
    ports = assembly.ports[entry.ports :][: len(inputs) + len(outputs)]
    rows = [assembly.rows[port.rows] for port in ports]
    firsts = [first for port in ports for first in port.table or (port.first,)]
    yield "number of inputs", 0, _U8, [len(inputs)]
    yield "number of outputs", 0, _U8, [len(outputs)]
    yield "number of steps", 0, _U16, [_steps(entry)]
    yield "tensor's number of rows", 0, _U16, [r.count for r in rows]
    yield "tensor's size in bytes", 0, _U32, [r.count * r.size for r in rows]
    yield "window's first row", -_I16 - 1, _I16, firsts
    yield "window's number of rows", 0, _U16, [port.count for port in ports]
    yield "stride in rows", 0, _U8, [port.stride for port in ports]
    yield "dilation in rows", 0, _U8, [port.dilation for port in ports]


def _steps(entry: KernelEntry | ExchangeEntry | MoveEntry) -> int:
    run = called(entry) if not isinstance(entry, ExchangeEntry) else entry.exchange
    assert run is not None
    return run.steps


def _of_program(assembly: Assembly) -> Iterable[tuple[str, int, int, bool]]:
    """(what, most, value, whether whole operators need fewer) of the program as a whole."""
    turns = flatten(assembly.turns)
    kernels = [node for entry in assembly.nodes if (node := called(entry)) is not None]
    kinds = {(node.kernel, len(node.inputs), len(node.outputs)) for node in kernels}
    places = {rows.places for rows in assembly.rows if rows.places is not None}
    tables = {port.table for port in assembly.ports if port.table is not None}
    yield "turns", _U16, len(turns), True
    yield "steps in one turn", _U16, max((steps for _, steps in turns), default=0), True
    yield "nodes", _LOOP, len(assembly.nodes), True
    yield "counters", _U16, assembly.counters, True
    yield "cut tensors", _U16, len(assembly.rows), True
    yield "ports", _U16, len(assembly.ports), True
    yield "bases", _U8, assembly.bases, True
    yield "kinds of nodes", _STRIP, len(kinds), False
    yield "numbers of rows", _U16 - 1, sum(map(len, tables)), True
    yield "rows at places of their own", _U16, sum(map(len, places)), True
    yield "pointers to rows at once", _U16, assembly.pointers, False
    yield "tensors", NO_TENSOR, len(assembly.program_graph.tensors), True
    yield "bytes of RAM", _U32, assembly.arena_bytes + assembly.state_bytes, False
    yield "bytes of constants", _U32, len(assembly.constants), False


def _name(assembly: Assembly, entry: Entry) -> str:
    """What a node is, for the user."""
    match entry:
        case ExchangeEntry(exchange):
            return f"{'input' if exchange.given else 'output'} {exchange.number}"
        case StripEntry():
            return "a strip"
        case MoveEntry():
            return "a move"
        case KernelEntry(node):
            op = assembly.graph.ops[assembly.members[node.op][-1]]
            return f"operator {op.id} ({op.label})"
        case _:
            assert_never(entry)

"""What a program takes in memory on a 32-bit core, as far as that is known without a compiler.

Constants, tables and the instance are known: their types are C's own. Code is not, and is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from lowtide.emit.header import modes
from lowtide.lower.nodes import Node, Params
from lowtide.program.assemble import Assembly
from lowtide.program.tables import called
from lowtide.program.turns import flatten

CODE_PER_SOURCE: Final = 1280
"""Bytes of code that are assumed for each source file; see docs/continuous-integration.md."""
STACK: Final = 1024
"""Bytes of stack that are assumed."""
_POINTER: Final = 4
_STREAM: Final = 44
"""Bytes of lt_stream."""
_HOP: Final = 56
"""Bytes of lt_hop."""
_RING: Final = 76
"""Bytes of lt_hop_ring."""
_POSITION: Final = 28
"""Bytes of lt_position, and what aligns what follows."""


def constants(assembly: Assembly) -> list[tuple[bool, int]]:
    """(is weights, bytes) of each constant array, equal ones once."""
    return [*_arrays(_called(assembly)), (True, len(assembly.constants))]


def bytes_of(nodes: Iterable[Node]) -> int:
    """Bytes of the constant arrays of `nodes`, equal ones once."""
    return sum(size for _, size in _arrays(node.params for node in nodes))


def _arrays(params: Iterable[Params]) -> list[tuple[bool, int]]:
    seen: dict[tuple[str, bytes], tuple[bool, int]] = {}
    for array in chain.from_iterable(one.arrays() for one in params):
        seen[array.ctype, array.values.tobytes()] = (array.weights, array.bytes)
    return list(seen.values())


def _called(assembly: Assembly) -> list[Params]:
    return [node.params for node in filter(None, map(called, assembly.nodes))]


def _all(params: Iterable[Params]) -> Iterator[Params]:
    """`params`, and those that they point to: a block has its operators'."""
    pending = list(params)
    while pending:
        one = pending.pop()
        yield one
        pending += [value for _, value in one.fields if isinstance(value, Params)]


def instance_bytes(assembly: Assembly) -> int:
    """Bytes of NAME_t."""
    counters = -(-2 * max(1, assembly.counters) // _POINTER) * _POINTER
    how = modes(assembly)
    stream = (
        _RING
        if how.ring
        else _HOP
        if how.hops
        else _STREAM
        if how.stops
        else _POSITION
        if how.slices
        else 0
    )
    return stream + _POINTER * (assembly.bases + assembly.pointers) + counters


def flash_bytes(assembly: Assembly, files: Iterable[str]) -> int:
    """Bytes of constants, tables and code; the code of each source among `files` is assumed."""
    places = {row.places for row in assembly.rows if row.places}
    tables = {port.table for port in assembly.ports if port.table}
    params = {id(params): params for params in _all(_called(assembly))}
    program = (
        12 * (len(assembly.rows) + len(assembly.nodes))
        + 10 * len(assembly.ports)
        + 4 * len(flatten(assembly.turns))
        + 2 * (sum(map(len, places)) + sum(map(len, tables)))
        + sum(_POINTER * len(p.fields) for p in params.values())
    )
    sources = sum(name.endswith(".c") for name in files)
    return sum(size for _, size in constants(assembly)) + program + CODE_PER_SOURCE * sources

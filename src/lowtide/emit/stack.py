"""The stack that a program takes, as a bound: what its functions and its neediest kernel take.

`stack.json` has the frames that `bench/run stack --store` read from objects, per core.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from lowtide.lower.nodes import Kernel, Node, Params
from lowtide.program.assemble import Assembly
from lowtide.program.tables import called

FILE: Final = Path(__file__).with_name("stack.json")
_ALIGNED: Final = 8
"""A stack pointer is a multiple of this many bytes where a function is called."""


@cache
def _read() -> Mapping[str, Any]:
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"compiler": "", "cores": {}}


@cache
def tables() -> Mapping[str, Mapping[str, int]]:
    """Core -> kernel, or header of the runtime for the functions of programs that include it, -> the
    bytes of stack that it takes with all that it calls."""
    found: Mapping[str, Mapping[str, int]] = _read()["cores"]
    return found


@cache
def compiler() -> str:
    """The compiler, and its options, that the bounds hold for."""
    return str(_read()["compiler"])


def stack_bytes(assembly: Assembly, header: str) -> int:
    """Bytes of stack that the functions of a program that includes `header` of the runtime take at most,
    callbacks and interrupts not counted; for any core, what the neediest takes."""
    core = assembly.target.core
    of = [tables()[core]] if core in tables() else list(tables().values())
    return max((_on(assembly, header, table) for table in of), default=0)


def _on(assembly: Assembly, header: str, table: Mapping[str, int]) -> int:
    most = max(table.values())
    nodes = [node for node in map(called, assembly.nodes) if node is not None]
    kernels = max((_of(node, table, most) for node in nodes), default=0)
    total = table.get(header, most) + kernels
    return -(-total // _ALIGNED) * _ALIGNED


def _of(node: Node, table: Mapping[str, int], most: int) -> int:
    """What a kernel takes, and below it the neediest of those that it calls."""
    return table.get(node.kernel, most) + _below(node.params, table, most)


def _below(params: Params, table: Mapping[str, int], most: int) -> int:
    """What the kernels take that a kernel of `params` calls: the one that they name, and below it what
    that calls in turn; or, if that needs more, what runs after it, of the params `next`."""
    kernels, called, after = [0], [0], [0]
    for name, value in params.fields:
        if isinstance(value, Kernel) and not value.within:
            kernels.append(table.get(value.name, most))
        elif isinstance(value, Params):
            (after if name == "next" else called).append(_below(value, table, most))
    return max(max(kernels) + max(called), *after)

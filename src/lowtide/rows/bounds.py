"""How many steps and rows a network may have, looked at before tables of them are made.

Why here: what the step program cannot hold is refused in any case (`program/limits.py`), but only once
there is a program. Tables of rows and searches over them grow with what a file claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.lower.nodes import Lowered

_MOST: Final = (1 << 16) - 1
"""Of a node's steps and a tensor's rows: the fields of the step program."""
_MOST_READ: Final = 1 << 22
"""Rows that all steps read together; networks of today read some ten thousand."""


def check_rows(graph: Graph, lowered: Mapping[int, Lowered]) -> None:
    """Raises ModelError for an operator of more steps or rows than a program holds, and for a network
    whose steps read more rows than can be scheduled."""
    read = 0
    for op in graph.ops:
        for node in lowered[op.id].nodes:
            ports = (*node.inputs, *node.outputs)
            told = [("number of steps", node.steps)]
            told += [("tensor's number of rows", port.rows) for port in ports]
            told += [("window's number of rows", port.count) for port in ports]
            for what, value in told:
                if value > _MOST:
                    raise ModelError(
                        f"operator {op.id} ({op.label}): its {what} is {value}, and the step program "
                        f"holds 0 to {_MOST}",
                        "split it, or its tensors, before the conversion",
                    )
            read += node.steps * sum(min(port.count, port.rows) for port in ports)
    if read > _MOST_READ:
        raise ModelError(
            f"its operators read {read} rows, and at most {_MOST_READ} can be scheduled",
            "split the network into several models before the conversion",
        )

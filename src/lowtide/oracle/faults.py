"""What the reference engines are known to compute wrong, so that nobody else is blamed for it.

Why a list: where one engine alone runs a network, and the other is not there to be asked (its wheels are
for some platforms only), nothing else tells whose fault a difference is. Each entry was seen to be wrong
beside the other engine and beside the operator's definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from lowtide.ir import DType, Graph, Op
from lowtide.modes import EngineName

_FAULTS: Final[Mapping[tuple[EngineName, str, DType], str]] = MappingProxyType(
    {
        ("litert", "SUM", DType.INT16): (
            "LiteRT's SUM of int16 returns what memory holds, another value in each process (seen in "
            "ai-edge-litert 2.3.0)"
        )
    }
)
"""Engine, operator and the type that it takes -> what is wrong."""


def known_fault(engine: EngineName, graph: Graph, op: Op) -> str:
    """What `engine` is known to compute wrong where it runs `op`, as a sentence without its full stop;
    "" if nothing is known."""
    if not op.inputs:
        return ""
    return _FAULTS.get((engine, op.type, graph.tensors[op.inputs[0]].dtype), "")

"""A graph's operators as they are lowered, each once for all targets that it is lowered alike for.

Why: one compilation lowers a network for the core it is for, for what all programs have, and for each
core that it could be for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lowtide.ir import Graph, Op
from lowtide.lower import lower_op
from lowtide.lower.nodes import Lowered, Node
from lowtide.target import Target

_Key = tuple[int, tuple[str, ...], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Lowerings:
    """The operators of `graph`, lowered when they are asked for."""

    graph: Graph
    _made: dict[_Key, Lowered] = field(default_factory=dict, repr=False)

    def of(self, op: Op, target: Target) -> Lowered:
        """An operator for `target`, of which lowering reads variants alone. Raises as `lower_op`."""
        key = op.id, target.variants, target.shared
        if key not in self._made:
            self._made[key] = lower_op(self.graph, op, target=target)
        return self._made[key]

    def nodes(self, target: Target) -> Iterator[Node]:
        """The kernels of all operators for `target`."""
        for op in self.graph.ops:
            yield from (node for node in self.of(op, target).nodes if isinstance(node, Node))

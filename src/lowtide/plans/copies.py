"""Weights that a plan stores in more than one layout.

Why: where a window slides, an operator is several, one for each run of rows that it makes. Kernels of
different families lay the same weights out in different ways, so that pieces of one operator that run in
different forms take flash for each of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lowtide.lower.nodes import NORMAL, Node
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice


def copied_bytes(ready: Prepared, choices: Sequence[Choice]) -> int:
    """Bytes of flash that a plan takes for the weights of all operators that run in several kernel
    families, beyond those of the largest layout of each; 0 where no window slides. (Blocks have a layout
    of their own in any case.)"""
    hop = ready.graph.hop
    if hop is None:
        return 0
    limits: dict[int, list[int]] = defaultdict(list)
    for limit in (limit for choice in choices for limit in choice.limits):
        limits[limit.operator].append(limit.bytes)
    fused = {op for choice in choices for block in choice.blocks for op in block.operators}
    layouts: dict[int, dict[str, int]] = defaultdict(dict)
    for op in ready.graph.ops:
        piece = hop.pieces.get(op.outputs[0]) if op.outputs else None
        if piece is None or op.id in fused:
            continue
        for node in ready.lowered[op.id].nodes:
            if isinstance(node, Node):
                for most in limits.get(op.id, [NORMAL]):
                    form = node.within(most)
                    layouts[piece.tensor][form.header] = sum(a.bytes for a in form.params.arrays())
    return sum(sum(of.values()) - max(of.values()) for of in layouts.values())

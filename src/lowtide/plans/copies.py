"""Weights that a plan stores in more than one layout.

Why: kernels of different families lay the same weights out in different ways, so that an operator of
which some steps run in one and others in another takes flash for both. Where a window slides, an
operator is several, one for each run of rows that it makes: what counts are the layouts of all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from lowtide.lower.nodes import NORMAL, Node
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Choice


def copied_bytes(ready: Prepared, choices: Sequence[Choice]) -> int:
    """Bytes of flash that a plan takes for the weights of all operators that run in several kernel
    families, beyond those of the largest layout of each."""
    hop = ready.graph.hop
    fused = {op for choice in choices for block in choice.blocks for op in block.operators}
    pieces: dict[int, dict[str, int]] = defaultdict(dict)
    found = 0
    for choice in choices:
        for operator in ready.chosen(choice):
            nodes = ready.lowered[operator].nodes
            limits = [limit.bytes for limit in choice.limits_of(ready.members(operator))]
            forms = [node.within(most) for node in nodes for most in limits or [NORMAL]]
            op = ready.wide.ops[operator]
            piece = None if hop is None or not op.outputs else hop.pieces.get(op.outputs[0])
            if piece is not None and operator not in fused and operator < len(ready.graph.ops):
                for form in forms:
                    pieces[piece.tensor][form.header] = _weights([form])
            elif len(limits) > 1:
                found += _weights(forms) - max(_weights([form]) for form in forms)
    return found + sum(sum(of.values()) - max(of.values()) for of in pieces.values())


def weights_of(forms: Iterable[Node]) -> dict[int, int]:
    """The bytes of each array that they have, by its identity."""
    return {id(array): array.bytes for of in forms for array in of.params.arrays()}


def _weights(forms: Iterable[Node]) -> int:
    """Bytes of all arrays that they have."""
    return sum(weights_of(forms).values())

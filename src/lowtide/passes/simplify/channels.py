"""Channels that need not be computed: those that never change, and those that nobody reads.

Why in one pass: both are what is left when all that must be stored is known (`needed`). What a constant
channel adds to the sums that read it goes into their biases; a constant that must be stored all the
same is made by weights of 0, so that it needs nothing itself.
"""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir.graph import Graph
from lowtide.passes.rewriting import with_ops
from lowtide.passes.simplify.cutting import Constants
from lowtide.passes.simplify.flow import flow
from lowtide.passes.simplify.needed import Channels, Kept, is_needed, needed
from lowtide.passes.simplify.ranges import ranges
from lowtide.passes.simplify.result import (
    Simplified,
    changed,
    unchanged,
)
from lowtide.passes.windows import normalise_windows


def drop_channels(graph: Graph, *, both_roundings: bool = False) -> Simplified:
    """Leave out channels that are the same for every input, or that nobody reads.

    With `both_roundings`, what is left gives the same with FULLY_CONNECTED rounded as by TFLM and as by
    LiteRT. What must stay: all channels of inputs and outputs, of variables, and of operators that are
    not understood.
    """
    seen = normalise_windows(graph)
    channels = Channels(
        seen,
        ranges(seen, both_roundings=both_roundings),
        tuple(flow(seen, op, both_roundings=both_roundings) for op in seen.ops),
    )
    return _without(graph, channels, needed(channels))


def _without(graph: Graph, channels: Channels, kept: Kept) -> Simplified:
    """`graph` with no more than what is kept."""
    ops = [op for op in graph.ops if is_needed(op, kept)]
    made = [t for op in graph.ops for t in op.outputs]
    if len(ops) == len(graph.ops) and all(kept[t].all() for t in made):
        return unchanged(graph)
    constants = Constants(graph)
    new = [_cut(graph, channels, op, kept, constants) for op in ops]
    tensors = [_cut_tensor(t, kept) for t in graph.tensors]
    result = with_ops(replace(graph, tensors=(*tensors, *constants.added)), new)
    lost = {t: mask for t, mask in kept.items() if t in set(made) and not mask.all()}
    return changed(
        graph,
        result,
        kept={t: _positions(mask) for t, mask in lost.items()},
        dropped=_dropped(channels, lost),
        saved=_saved(graph, channels, kept, len(graph.ops) - len(ops)),
    )

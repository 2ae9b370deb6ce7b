"""Where the values of a network are, and where they are said to be."""

from __future__ import annotations

import numpy as np

from lowtide.ir import Graph
from lowtide.oracle.interpreters import Reference
from lowtide.passes.simplify.ranges import ranges


def outside(graph: Graph, wanted: Reference) -> list[str]:
    """Every tensor that leaves the interval it is said to be in, as one line each."""
    known, lines = ranges(graph, both_roundings=True), []
    for sample, tensors in enumerate(wanted.samples):
        for tensor, values in tensors.items():
            interval = known.get(tensor)
            if interval is not None:
                by_channel = values.reshape(-1, interval.channels).astype(np.int64)
                if (by_channel < interval.low).any() or (by_channel > interval.high).any():
                    lines.append(f"sample {sample}, tensor {tensor} leaves its interval")
    return lines

"""All widths that a stage can run in, weighed at once.

Why not `columns.stripes` for each: the search weighs thousands of stages, and needs of every strip only
how many columns each tensor has in it. Here the strips of all widths are one array, and an operator is a
few operations on it. What comes out is what `stripes` and `runs` would say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lowtide.ir import Graph
from lowtide.lower.nodes import Reads
from lowtide.plans.cost import OperatorCosts, Strips
from lowtide.rows.columns import column_macs, kept_rows, widths
from lowtide.rows.table import Ints


@dataclass(frozen=True, slots=True, eq=False)
class InStrips:
    """A stage in `count` strips of `width` columns. `costs` are those of each operator, form by form
    (see `OperatorCost`). `held[i, r]` is how many columns of tensor i exist in the strips of run r;
    `first_alone` says that the first run is a single strip, `last_alone` the last."""

    width: int
    count: int
    macs: int
    costs: Mapping[int, Ints]
    held: Ints
    first_alone: bool
    last_alone: bool


def in_strips(
    graph: Graph,
    operators: Sequence[int],
    of: Sequence[tuple[Reads, ...]],
    output: int,
    tensors: Sequence[int],
    prices: OperatorCosts | None = None,
) -> list[InStrips]:
    """The stage in strips of every width worth trying, narrowest first, without those in which a strip
    would read nothing. `of` and `output` are those of `stage_windows`; `tensors` are to be told of.
    Strips cost what `prices` say."""
    whole = graph.tensors[output].shape[2]
    tried = widths(whole)
    counts = [-(-whole // width) for width in tried]
    begins = np.cumsum([0, *counts])
    low = np.concatenate([np.arange(0, whole, width, dtype=np.int64) for width in tried])
    high = np.minimum(whole, low + np.repeat(np.array(tried, np.int64), counts))
    held: dict[int, tuple[Ints, Ints]] = {output: (low, high)}
    lines: dict[int, Ints] = {}
    macs = np.zeros(len(low), np.int64)
    costs: dict[int, Ints] = {}
    empty = np.zeros(len(low), np.bool_)
    made = {graph.ops[op].outputs[0] for op in operators}
    outer = {output}
    shapes: list[Ints] = []
    reads: list[tuple[int, Ints]] = []
    for number, windows in zip(reversed(operators), reversed(of), strict=True):
        op = graph.ops[number]
        low, high = held[op.outputs[0]]
        each = column_macs(graph, op)
        macs += (high - low) * each[0]
        shapes.append(high - low)
        if prices is not None and number in prices:
            width = graph.tensors[windows[0].tensor].shape[2]
            strips = Strips(high - low, low, windows[0].axis, width)
            each_form = np.array([form.each(strips) for form in prices[number].forms])
            costs[number] = np.add.reduceat(each_form, begins[:-1], axis=1)
        for at, window in enumerate(windows):
            first = low * window.axis.stride - window.axis.before
            start = np.maximum(first, 0)
            last = (high - 1) * window.axis.stride - window.axis.before + window.axis.size
            stop = np.minimum(last, graph.tensors[window.tensor].shape[2])
            empty |= start >= stop
            shapes += [stop - start, first - start]
            reads.append((window.tensor, start))
            if at == 0:
                macs += (stop - start) * each[1]
                lines |= dict.fromkeys(kept_rows(op), stop - start)
            if window.tensor in held:
                old = held[window.tensor]
                start, stop = np.minimum(old[0], start), np.maximum(old[1], stop)
            held[window.tensor] = start, stop
            if window.tensor not in made:
                outer.add(window.tensor)
    shapes += [start - held[tensor][0] for tensor, start in reads]
    shapes += [stop - start for tensor, (start, stop) in held.items() if tensor not in outer]
    shape = np.array(shapes)
    starts = np.array([held[tensor][0] for tensor in outer])
    alike = (shape[:, 1:] == shape[:, :-1]).all(axis=0).tolist()
    shifts = np.diff(starts, axis=1)
    even = (shifts[:, 1:] == shifts[:, :-1]).all(axis=0).tolist()
    sizes = np.array([lines[t] if t in lines else held[t][1] - held[t][0] for t in tensors])
    found = []
    borders = begins.tolist()
    for at, (width, begin, end) in enumerate(zip(tried, borders[:-1], borders[1:], strict=True)):
        if empty[begin:end].any():
            continue
        firsts = [begin]
        for strip in range(begin + 1, end):
            if not alike[strip - 1] or (firsts[-1] < strip - 1 and not even[strip - 2]):
                firsts.append(strip)
        found.append(
            InStrips(
                width,
                end - begin,
                int(macs[begin:end].sum()),
                {op: of_op[:, at] for op, of_op in costs.items()},
                sizes[:, firsts],
                [*firsts, end][1] == begin + 1,
                firsts[-1] == end - 1,
            )
        )
    return found

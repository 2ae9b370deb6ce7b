"""What rows will take beyond what is live at the peak, as they do not fill each other's places.

Why guessed: to place all rows takes longer than all else of an estimate. Where first fit finds places
for the rows of the steps near the peak without a gap, placing will; where it leaves gaps, placing closes
about half of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lowtide.estimates.running import Timeline
from lowtide.place import Item, Problem
from lowtide.place.firstfit import boxes_of, first_fit, height
from lowtide.rows.table import RowTable

_NEAR: Final = 0.93
"""Steps count in which more than this part of the peak is live."""

_MOST: Final = 400
"""No gaps are looked for in networks of more rows: that would take too long."""

_LEFT: Final = 0.45
"""What part of the gaps of first fit are left in the end."""

_WORD: Final = 4


def gap_bytes(table: RowTable, run: Timeline) -> int:
    """Bytes between the rows that are live about the peak, as they will be placed."""
    if int((run.end > 0).sum()) > _MOST:
        return 0
    peak = int(run.live.max(initial=0))
    hot = np.flatnonzero(run.live > _NEAR * peak)
    begin, end = int(hot[0]), int(hot[-1]) + 1
    here = np.flatnonzero((run.start < end) & (run.end > begin))
    born, dies = np.maximum(run.start[here], begin), np.minimum(run.end[here], end)
    spans = zip(table.sizes[here].tolist(), born.tolist(), dies.tolist(), strict=True)
    items = [Item(at, *span) for at, span in enumerate(spans)]
    scratch = np.zeros(len(run.live), np.int64)
    scratch[run.slot] = table.step_scratch
    for at in range(begin, end):
        if scratch[at]:
            items.append(Item(len(items), int(scratch[at]), at, at + 1, _WORD))
    boxes = boxes_of(Problem(tuple(items), 1))
    lengths = [boxes.ends[i] - boxes.starts[i] for i in range(len(boxes))]
    keys = (
        lambda i: (-boxes.sizes[i], boxes.starts[i]),
        lambda i: -lengths[i] * boxes.sizes[i],
        lambda i: (-lengths[i], -boxes.sizes[i]),
    )
    least = None
    for key in keys:
        found = height(boxes, first_fit(boxes, sorted(range(len(boxes)), key=key)))
        least = found if least is None else min(least, found)
        if least <= peak:
            return 0
    assert least is not None
    return int(_LEFT * (least - peak))

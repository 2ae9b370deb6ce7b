"""TensorFlow Lite Micro's default allocator, re-implemented, as the yardstick.

Why: the arena that a TFLM user has today is the number that lowtide has to beat, so it must be
computed exactly as TFLM computes it, and not merely "by some greedy heuristic".

Facts from tensorflow/lite/micro: `micro_allocator.cc` (CreatePlan) rounds every size up to the
alignment (16 bytes by default) and adds the tensors in index order;
`memory_planner/greedy_memory_planner.cc` fills its list from the tail and then sorts it by size,
descending and stably, so that among equal sizes the one with the *higher* index goes first; each
buffer then takes the lowest gap that holds it between the placed buffers whose lifetime overlaps.
TFLM's lifetimes [first_time_used, last_time_used] are closed; ours are half-open.

Buffers to which an offline plan gives an offset come first, wherever they lie: nothing checks that they
do not overlap, and plans of other tools let an operator write over its input. The others follow as
without a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lowtide.place.firstfit import boxes_of, first_fit, height, placement_of
from lowtide.place.problem import Placement, Problem, Rectangle


def greedy(problem: Problem) -> Placement:
    """Place `problem.items`, which stand in tensor index order, as TFLM's GreedyMemoryPlanner does.

    Raises PlacementError if the problem is malformed (e.g. a negative size).
    """
    boxes = boxes_of(problem)
    order = sorted(range(len(boxes)), key=lambda box: (-boxes.sizes[box], -box))
    return placement_of("greedy", problem, boxes, first_fit(boxes, order))


def greedy_around(problem: Problem, fixed: Mapping[int, int]) -> Placement:
    """The same where an offline plan has the items `fixed` at offsets in bytes, by their ids.

    The placement is not validated, because the plan may be any. The lower bound is one for plans that
    overlap nothing.
    """
    # In single bytes: sizes are rounded up, but offsets that are given need not be.
    sized = tuple(replace(item, size=problem.aligned(item.size)) for item in problem.items)
    boxes = boxes_of(Problem(sized, align=1))
    ids = [problem.items[index].id for index in boxes.index]
    at = {box: fixed[item] for box, item in enumerate(ids) if item in fixed}
    others = sorted(
        (box for box in range(len(boxes)) if box not in at),
        key=lambda box: (-boxes.sizes[box], -box),
    )
    offsets = first_fit(boxes, [*at, *others], at)
    placed = dict(zip(boxes.index, offsets, strict=True))
    return Placement(
        allocator="offline",
        align=problem.align,
        arena_bytes=height(boxes, offsets),
        lower_bound_bytes=problem.lower_bound(),
        rectangles=tuple(
            Rectangle(item.id, placed.get(index, 0), item.size, item.start, item.end)
            for index, item in enumerate(problem.items)
        ),
    )

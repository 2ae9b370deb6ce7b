"""TensorFlow Lite Micro's default allocator, re-implemented, as the yardstick.

Why: the arena that a TFLM user has today is the number that lowtide has to beat, so it must be
computed exactly as TFLM computes it, and not merely "by some greedy heuristic".

Facts from tensorflow/lite/micro: `micro_allocator.cc` (CreatePlan) rounds every size up to the
alignment (16 bytes by default) and adds the tensors in index order;
`memory_planner/greedy_memory_planner.cc` fills its list from the tail and then sorts it by size,
descending and stably, so that among equal sizes the one with the *higher* index goes first; each
buffer then takes the lowest gap that holds it between the placed buffers whose lifetime overlaps.
TFLM's lifetimes [first_time_used, last_time_used] are closed; ours are half-open.
"""

from __future__ import annotations

from lowtide.place.firstfit import boxes_of, first_fit, placement_of
from lowtide.place.problem import Placement, Problem


def greedy(problem: Problem) -> Placement:
    """Place `problem.items`, which stand in tensor index order, as TFLM's GreedyMemoryPlanner does.

    Raises PlacementError if the problem is malformed (e.g. a negative size).
    """
    boxes = boxes_of(problem)
    order = sorted(range(len(boxes)), key=lambda box: (-boxes.sizes[box], -box))
    return placement_of("greedy", problem, boxes, first_fit(boxes, order))

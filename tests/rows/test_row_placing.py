"""The search for places of rows: right, the same whenever it stops, and never worse with more effort."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from planned_nets import table_of
from row_cases import plan_rows, random_table

from lowtide.place import Item, Problem, anytime
from lowtide.place.anytime import Anytime
from lowtide.place.firstfit import Boxes, boxes_of, height, pairs_of, placement_of
from lowtide.place.rhythm import Level, level_of, rings, round_of, walls_of
from lowtide.place.rows import Placing, place_rows
from lowtide.rows.stages import Segment, Step, row_lives
from lowtide.rows.table import RowTable
from networks import row_program

EFFORTS = (0, 500, 3_000, 20_000, 60_000, 200_000)


def asked(seed: int) -> tuple[RowTable, tuple[Step, ...], tuple[Segment, ...]]:
    """Rows of a random table, or of a random network."""
    if seed % 2:
        table = random_table(seed)
        return table, plan_rows(table).steps, ()
    program = row_program(seed // 2, "streamed", "resident", False)
    assert program.plan is not None
    return table_of(program, False), program.plan.steps, program.plan.segments


@pytest.mark.parametrize("seed", range(24))
def test_more_effort_is_never_worse(seed: int) -> None:
    """Whether it is given at once or bit by bit."""
    table, steps, segments = asked(seed)
    lives = row_lives(table, steps, segments)
    placing = Placing(table, steps, lives, segments, align=table.align)
    arenas = []
    for effort in EFFORTS:
        at_once = place_rows(table, steps, lives, segments, align=table.align, effort=effort)
        assert placing.within(effort) == at_once
        assert placing.within(effort) is placing.within(0)  # what was found is not made again
        arenas.append(at_once.arena_bytes)
    assert all(less <= before for before, less in pairwise(arenas))
    assert placing.within(0).arena_bytes == arenas[-1]  # what was found stays


def in_rhythm(rounds: int, seed: int) -> tuple[Boxes, np.ndarray, dict[int, int], int]:
    """Boxes that come again every round, each kind as long as it likes; the length of a round."""
    random = Random(seed)
    length = random.randrange(3, 9)
    boxes, kinds, each = [], [], {}
    for kind in range(random.randrange(2, 7)):
        size, lasts = random.randrange(1, 9), random.randrange(1, 3 * length)
        born = sorted(random.sample(range(length), random.choice((1, 1, 2))))
        each[kind] = len(born)
        for number in range(rounds):
            boxes += [(size, length * number + b, length * number + b + lasts) for b in born]
            kinds += [kind] * len(born)
    sizes, starts, ends = zip(*boxes, strict=True)
    count = len(boxes)
    found = Boxes(tuple(range(count)), sizes, starts, ends, (), (1,) * count)
    return found, np.array(kinds), each, length


@pytest.mark.parametrize("seed", range(40))
def test_rings_hold_what_is_never_live_together(seed: int) -> None:
    boxes, kinds, each, _ = in_rhythm(20, seed)
    pairs = pairs_of(boxes.starts, boxes.ends)
    for rounds in (1, 2, 3, 5):
        group = rings(boxes, kinds, each, rounds)
        assert not (group[pairs[0]] == group[pairs[1]]).any()
        twice, _, _, _ = in_rhythm(40, seed)
        more = rings(twice, np.array(in_rhythm(40, seed)[1]), each, rounds)
        assert more.max() == group.max()  # as many, however long it goes on
        level = level_of(boxes, pairs, [()] * len(boxes), group)
        meets = {(a, b) for a, near in enumerate(level.boxes.meets) for b in near}
        assert meets == set(zip(group[pairs[0]].tolist(), group[pairs[1]].tolist(), strict=True))
        assert len(level.boxes) == group.max() + 1
        for box, number in enumerate(group.tolist()):
            assert level.boxes.sizes[number] == boxes.sizes[box]


def test_the_length_of_a_round() -> None:
    once = [0, 1, 0, 1, 2, 3]
    assert round_of(np.array(once * 9)) == 6
    assert round_of(np.array([5, 5, 4, *once * 9, 7, 8, 8])) == 6
    assert round_of(np.arange(40)) == round_of(np.array([1])) == round_of(np.array([], int)) == 0
    assert round_of(np.zeros(8, int)) == 1


def test_walls_are_what_is_given_and_not_dead_yet() -> None:
    """Three rows of four units that die one by one, the middle one first, and one apart from them."""
    rows = [(0, 4, 9), (4, 8, 2), (8, 12, 5), (14, 18, 9)]
    starts = (0, 2, 5, 9)
    boxes = Boxes(tuple(range(4)), (1,) * 4, starts, (10,) * 4, (), (1,) * 4)
    assert walls_of(boxes, rows) == [
        ((0, 12), (14, 18)),
        ((0, 4), (8, 12), (14, 18)),
        ((0, 4), (14, 18)),
        (),
    ]
    assert walls_of(boxes, []) == [()] * 4


@pytest.mark.parametrize("seed", range(30))
def test_walls_are_right_where_fixed_rows_overlap(seed: int) -> None:
    """Rows of an input lie where those of an output will: one long row can hold several short ones."""
    random = Random(seed)
    fixed = []
    for _ in range(random.randrange(1, 9)):
        low = random.randrange(30)
        fixed.append((low, low + random.randrange(1, 12), random.randrange(1, 10)))
    starts = tuple(range(10))
    boxes = Boxes(tuple(range(10)), (1,) * 10, starts, (10,) * 10, (), (1,) * 10)
    for start, walls in zip(starts, walls_of(boxes, fixed), strict=True):
        taken = {unit for low, high, end in fixed if end > start for unit in range(low, high)}
        assert {unit for low, high in walls for unit in range(low, high)} == taken
        assert all(before[1] < after[0] for before, after in pairwise(walls))


@pytest.mark.parametrize(("rows", "seed"), [(240, 6), (240, 7), (480, 7)])
def test_maps_that_are_made_whole_lie_side_by_side(rows: int, seed: int) -> None:
    """Maps, each made whole before the next one reads it row by row, some another one later; with
    scratch memory beside every row. The same effort is enough, however tall they are."""
    random = Random(seed)
    items: list[tuple[int, int, int]] = []
    for number in range(6):
        size, reader = random.randrange(5, 60), number + 1 + (random.random() < 0.4)
        for row in range(rows):
            born = number * rows + row
            items.append((size, born, reader * rows + row + 1))
            items.append((random.randrange(1, 30), born, born + 1 + random.randrange(3)))
    of = Problem(tuple(Item(number, *item) for number, item in enumerate(items)), 1)
    boxes, bound = boxes_of(of), of.lower_bound()
    level = Level(boxes, {}, np.arange(len(boxes)))
    offsets = Anytime(level, list, (0, 8 * rows), bound).until(500_000)
    placement_of("rows", of, boxes, offsets)  # raises if it is wrong
    assert height(boxes, offsets) <= 1.01 * bound


def test_whatever_boxes_cost_an_attempt_is_some_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else searches that look at nothing would never end."""
    works: list[int] = []
    few = anytime._few

    def watched(*asked: Any) -> Iterator[anytime.Attempt]:
        for work, offsets in few(*asked):
            works.append(work)
            yield work, offsets

    monkeypatch.setattr(anytime, "_few", watched)
    monkeypatch.setattr(anytime, "_price", lambda _: 0.0)
    random = Random(1)
    items = [(random.randrange(1, 30), n, n + random.randrange(2, 9)) for n in range(60)]
    of = Problem(tuple(Item(number, *item) for number, item in enumerate(items)), 1)
    boxes = boxes_of(of)
    level = Level(boxes, {}, np.arange(len(boxes)))
    Anytime(level, list, (0, 60), of.lower_bound()).until(20_000)
    assert len(works) > 10
    assert min(works) > 0

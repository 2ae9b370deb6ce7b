"""Rows placed one by one: played through time on labels, and compared in pairs.

Why: the validator of all placements trusts the lifetimes it is given. Here lifetimes are worked out
from the steps, and each byte of an arena holds the row that was last written to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import pytest
from planned_nets import MODES, table_of
from row_cases import (
    Sketch,
    layer_by_layer,
    live,
    live_bytes,
    placed,
    plan_rows,
    random_table,
    rows_of,
)

from lowtide.place import Placement
from lowtide.rows.stages import Step
from lowtide.rows.table import RowTable
from networks import row_program

BATCH = 40
batches = pytest.mark.parametrize("first", range(0, 320, BATCH))
WORD = 4
"""What scratch memory is aligned to."""


def offsets_of(table: RowTable, placement: Placement, steps: tuple[Step, ...]) -> dict[int, int]:
    """Row -> offset, scratch of step k under (number of rows + k); tensors in one piece taken apart."""
    at = {block.item: block.offset for block in placement.rectangles}
    size = {block.item: block.size for block in placement.rectangles}
    assert len(at) == len(placement.rectangles)  # nothing moves
    for cut in table.cuts:
        if cut.count > 1 and size.get(cut.first) == cut.size * cut.count:
            for number, row in enumerate(rows_of(cut)):
                assert number == 0 or row not in at
                at[row] = at[cut.first] + number * cut.size
        elif cut.count > 1 and cut.first in table.kept and cut.first in at:
            assert at.keys() >= set(rows_of(cut))
    for number, (node, _) in enumerate(steps):
        scratch = len(table.size) + number
        assert (scratch in at) == (table.scratch[node] > 0)
        assert at.get(scratch, 0) % WORD == 0
    assert all(at[row] % WORD == 0 for row in table.lasting if row >= 0)
    return at


def check_contiguous(table: RowTable, at: Mapping[int, int], arena: int, align: int) -> None:
    """Inputs as the caller writes them, one after the other from 0, or so that the last ends where the
    arena does, or above an output that lies at 0; outputs as one piece each."""
    inputs = [cut for cut in table.cuts if cut.first in table.given]
    top = at[inputs[0].first] if inputs else 0
    size = sum(-(-cut.size * cut.count // align) * align for cut in inputs)
    below = [cut for cut in table.cuts if cut.first in table.kept and at.get(cut.first) == 0]
    assert top == 0 or 0 <= arena - (top + size) < max(WORD, align) or below
    for cut in table.cuts:
        rows = rows_of(cut)
        if cut.first in table.given:
            assert at[cut.first] == top
            top += -(-cut.size * cut.count // align) * align
        if cut.first in table.given | table.kept and cut.first in at:
            assert [at[row] - at[cut.first] for row in rows] == [
                i * cut.size for i in range(cut.count)
            ]


def play(table: RowTable, steps: tuple[Step, ...], at: Mapping[int, int], arena: int) -> None:
    """Run the steps on labels: whoever reads a row finds it, in its step and after it has written."""
    memory = [-1] * arena

    def write(item: int, size: int) -> None:
        assert 0 <= at[item] <= at[item] + size <= arena
        memory[at[item] : at[item] + size] = [item] * size

    def read(item: int, size: int) -> None:
        assert memory[at[item] : at[item] + size] == [item] * size, item

    in_parts = {*table.lasting, *(cut.first for cut in table.cuts if cut.count == 1)}
    for row in table.given:
        write(row, table.size[row])
    begun: set[int] = set()
    for number, (node, step) in enumerate(steps):
        scratch = len(table.size) + number
        # What earlier steps have written to a row that is made in parts must be there still.
        parts = [row for row in table.writes[node][step] if row in begun and row in in_parts]
        needed = [*table.reads[node][step], *parts]
        for row in needed:
            read(row, table.size[row])
        if table.scratch[node]:
            write(scratch, table.scratch[node])
        for row in table.writes[node][step]:
            write(row, table.size[row])
            begun.add(row)
        for row in (*needed, *table.writes[node][step]):
            read(row, table.size[row])
        if table.scratch[node]:
            read(scratch, table.scratch[node])
    for row in table.kept & (begun | table.given):
        read(row, table.size[row])


def check_pairs(table: RowTable, steps: tuple[Step, ...], at: Mapping[int, int]) -> None:
    """No two items that are live at one step share a byte."""
    spans = {row: (at[row], table.size[row], span) for row, span in live(table, steps).items()}
    for number, (node, _) in enumerate(steps):
        if table.scratch[node]:
            item = len(table.size) + number
            spans[item] = (at[item], table.scratch[node], range(number, number + 1))
    for (a, x), (b, y) in combinations(spans.items(), 2):
        together = max(x[2].start, y[2].start) < min(x[2].stop, y[2].stop)
        meet = max(x[0], y[0]) < min(x[0] + x[1], y[0] + y[1])
        assert not (together and meet), (a, b)


def check(table: RowTable, steps: tuple[Step, ...], placement: Placement) -> None:
    assert placement.align == table.align
    assert all(block.offset % table.align == 0 for block in placement.rectangles)
    at = offsets_of(table, placement, steps)
    check_contiguous(table, at, placement.arena_bytes, table.align)
    check_pairs(table, steps, at)
    play(table, steps, at, placement.arena_bytes)
    assert placement.arena_bytes >= placement.lower_bound_bytes >= max(live_bytes(table, steps))


@batches
def test_random_tables(first: int) -> None:
    for seed in range(first, first + BATCH):
        table = random_table(seed)
        plan = plan_rows(table)
        placement = placed(table, plan.steps)
        check(table, plan.steps, placement)
        assert placement.arena_bytes >= plan.peak_bytes


@batches
def test_any_order_of_steps_can_be_placed(first: int) -> None:
    for seed in range(first, first + BATCH, 4):
        table = random_table(seed)
        steps = tuple(layer_by_layer(table))
        check(table, steps, placed(table, steps))


@batches
def test_preserved_inputs(first: int) -> None:
    """Kept rows that were given stay where they are, whatever runs."""
    for seed in range(first, first + BATCH, 4):
        table = random_table(seed)
        kept = replace(table, kept=table.kept | table.given)
        plan = plan_rows(kept)
        placement = placed(kept, plan.steps)
        check(kept, plan.steps, placement)
        ends = {block.item: block.end for block in placement.rectangles}
        inputs = [cut.first for cut in kept.cuts if cut.first in kept.given]
        assert [ends[row] for row in inputs] == [len(plan.steps) + 1] * len(inputs)


@pytest.mark.parametrize("name", [*range(12), "figure1", "ds-cnn-kws"])
def test_networks(name: int | str) -> None:
    for mode, preserve in MODES:
        program = row_program(name, mode, "resident", preserve)
        assert program.plan is not None
        table = table_of(program, preserve)
        check(table, program.plan.steps, program.placement)


def test_rows_take_the_place_of_dying_rows() -> None:
    """One row in, one row out, of the same size: the output grows over the input."""
    sketch = Sketch()
    source, middle, out = sketch.tensor(8, 16), sketch.tensor(8, 16), sketch.tensor(1, 16)
    sketch.node([(row,) for row in rows_of(source)], [(row,) for row in rows_of(middle)])
    sketch.node([rows_of(middle)], [rows_of(out)])
    table = sketch.table([source], [out])
    steps = tuple(layer_by_layer(table))
    placement = placed(table, steps)
    check(table, steps, placement)
    assert placement.arena_bytes == placement.lower_bound_bytes == 9 * 16


@pytest.mark.parametrize("size", [16, 18])
def test_an_output_takes_the_place_of_its_input_row_by_row(size: int) -> None:
    """Each row is made of three. Rows that are no words lie in one piece from the first on."""
    sketch = Sketch()
    source, out = sketch.tensor(8, size), sketch.tensor(8, size)
    around = [tuple(range(max(0, row - 1), min(8, row + 2))) for row in range(8)]
    reads = [tuple(source.first + row for row in rows) for rows in around]
    sketch.node(reads, [(row,) for row in rows_of(out)])
    table = sketch.table([source], [out])
    steps = tuple(layer_by_layer(table))
    placement = placed(table, steps)
    check(table, steps, placement)
    assert placement.arena_bytes == (10 if size % WORD == 0 else 16) * size


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_rows_of_outputs_apart_are_never_worse(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(seed)
    plan = plan_rows(table)
    apart = placed(table, plan.steps)
    monkeypatch.setattr("lowtide.place.rows.growing", lambda *_: frozenset())
    assert apart.arena_bytes <= placed(table, plan.steps).arena_bytes


def test_rows_of_odd_sizes_are_padded_and_inputs_are_not() -> None:
    sketch = Sketch()
    source, middle, out = sketch.tensor(3, 5), sketch.tensor(3, 5), sketch.tensor(3, 5)
    for a, b in ((source, middle), (middle, out)):
        sketch.node([(row,) for row in rows_of(a)], [(row,) for row in rows_of(b)])
    table = sketch.table([source], [out])
    plan = plan_rows(table)
    placement = placed(table, plan.steps)
    check(table, plan.steps, placement)
    sizes = {block.item: block.size for block in placement.rectangles}
    assert sizes == {source.first: 15, out.first: 15, **dict.fromkeys(rows_of(middle), 5)}

"""Scratch memory of all steps shares tables of places, and never a byte with a live row.

`RowLayout.having` validates every placement, so that what is asked here is that tables get fewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.program import assemble
from lowtide.program.assemble import Assembly
from lowtide.program.scratch import _common, _from_tables, _may, _parts
from networks import EFFORT, model_of


def test_one_place_for_all_steps() -> None:
    assert _common([[range(0, 9, 4), range(32, 65, 4)], [range(40, 53, 4)]]) == 40
    assert _common([[range(0, 9, 4)], [range(12, 13, 4)]]) is None


def test_what_a_step_may_have() -> None:
    """Places between two of its own are none of them where they are not aligned."""
    assert _may([range(0, 9, 8), range(16, 17, 8)], [0, 4, 8, 12, 16]) == 0b10101


def test_parts_of_tables() -> None:
    assert list(_parts([1, 2, 6, 1], [2, 2])) == [1]
    assert list(_parts([1], [1, 1])) == []


def test_a_table_that_there_is() -> None:
    gaps = {7: [[range(8, 17, 4)], [range(0, 5, 4)]]}
    assert _from_tables(gaps, [[0, 12, 4, 12]]) == {7: [12, 4]}


def test_several_nodes_make_one_table() -> None:
    """What each of them may have, all may have in the end."""
    one: Sequence[Sequence[range]] = [[range(0, 17, 4)], [range(20, 41, 4)], [range(0, 5, 4)]]
    other: Sequence[Sequence[range]] = [[range(12, 25, 4)], [range(40, 49, 4)]]
    made = _from_tables({1: one, 2: other}, [])
    assert made == {1: [12, 40, 0], 2: [12, 40]}


def test_steps_without_a_common_place_are_apart() -> None:
    gaps = {1: [[range(0, 1, 4)], [range(8, 9, 4)]], 2: [[range(4, 5, 4)], [range(8, 9, 4)]]}
    assert _from_tables(gaps, []) == {1: [0, 8], 2: [4, 8]}


def tables(program: Assembly) -> int:
    return sum(map(len, {rows.places for rows in program.rows if rows.places is not None}))


@pytest.mark.parametrize("network", ["ds-cnn-kws", "figure1"])
def test_programs_have_fewer_tables(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(input_mode="streamed", output_mode="streamed", effort=EFFORT)
    shared = compile_model(model_of(network), options).assembly
    monkeypatch.setattr(assemble, "with_shared_places", lambda layout, _: layout)
    alone = compile_model(model_of(network), options).assembly
    assert tables(shared) <= tables(alone)
    assert shared.arena_bytes == alone.arena_bytes

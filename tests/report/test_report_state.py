"""State in reports: counted once, in no arena, and beside what TFLM needs with the network's state.

Why figures relate and are not listed: how small the arena of a network with state is changes with the
planner; that its state is in every comparison, on both sides, and in none of them twice, does not.
"""

from __future__ import annotations

import re

import pytest
from drawn import texts

from lowtide.commands.analysis import analyze
from lowtide.commands.options import Options
from lowtide.commands.planned import Planned, planned_model
from lowtide.report.analysis_picture import analysis_picture
from lowtide.report.data import analysis_document
from lowtide.report.deployment import compiled_document, compiled_text
from lowtide.report.planned import front_text, plan_document, plan_text
from lowtide.report.text import summary_text
from networks import loaded

NAME = "streaming-wake-word"
STATE = 1552  # 80 + 128 + 480 + 672 + 192
HELD = STATE + 168  # with room for the newest rows
TFLM = 1456, 1552
"""Arena head and variables as predicted; tests/load/test_tflm_arena.py compares them with TFLM."""


@pytest.fixture(scope="module")
def planned() -> Planned:
    return planned_model(loaded(NAME), front=True)


def number(text: str, start: str) -> int:
    """The amount in the one line that starts with `start`."""
    (found,) = re.findall(rf"^{re.escape(start)} +([\d,]+) B", text, re.MULTILINE)
    return int(found.replace(",", ""))


def test_a_plan(planned: Planned) -> None:
    text, compiled = plan_text(planned), planned.compiled
    arena, best = compiled.arena_bytes, compiled.order.peak_bytes
    assert number(text, "arena, rows placed one by one") == arena
    assert number(text, "arena and state") == arena + HELD == compiled.ram_bytes
    assert number(text, "operator by operator, best order") == best + HELD
    assert number(text, "TensorFlow Lite Micro, predicted") == sum(TFLM)
    assert f"{HELD:,} B  counted once, not in the arena\n" in text
    for other in (best + HELD, sum(TFLM)):
        less = f"{compiled.ram_bytes / other - 1:+.1%}"
        assert re.search(
            rf"{other:,} B  {re.escape(less)} by rows, with state$", text, re.MULTILINE
        )
    document = plan_document(planned)
    assert document["arena_bytes"] + document["state_bytes"] == document["ram_bytes"]
    assert (document["tflm_greedy_arena_bytes"], document["tflm_variables_bytes"]) == TFLM


def test_a_front(planned: Planned) -> None:
    assert planned.points is not None
    text = front_text(planned.compiled, planned.points, complete=True)
    lines = text.splitlines()
    assert lines[0] == "All plans that no other beats in RAM, instructions and MACs"
    assert lines[1].startswith("arena and state, bytes  live, bytes")
    assert [int(line.split()[0].replace(",", "")) for line in lines[2:-1]] == [
        point.arena_bytes + HELD for point in planned.points
    ]


def test_a_program(planned: Planned) -> None:
    compiled = planned.compiled
    text = compiled_text(compiled)
    assert f"arena and state {compiled.ram_bytes:,} B\n" in text
    assert "TensorFlow Lite Micro, predicted: arena 1,456 B and variables 1,552 B, 3,008 B" in text
    document = compiled_document(compiled, "out")
    assert document["ram_bytes"] == compiled.arena_bytes + HELD
    assert (document["tflm_greedy_arena_bytes"], document["tflm_variables_bytes"]) == TFLM


def test_an_analysis() -> None:
    found = analyze(loaded(NAME))
    text = summary_text(found)
    assert f", variables {STATE:,} B\n" in text
    assert re.search(
        r"^state \(variables\) +1,552 B +1,552 B +counted once, in none of the above$",
        text,
        re.MULTILINE,
    )
    assert number(text, "arena and variables of TFLM, predicted") == sum(TFLM)
    model = analysis_document(found)["model"]
    assert (model["variables_bytes"], model["tflm_variables_bytes"]) == (STATE, TFLM[1])
    shown = texts(analysis_picture(found))
    assert any(text.startswith(f"peak {found.peak_bytes:,} B + state 1,552 B") for text in shown)


@pytest.mark.parametrize("name", ["figure1"])
def test_networks_without_state(name: str) -> None:
    """Not a word of it."""
    planned = planned_model(loaded(name))
    found = analyze(loaded(name))
    for text in (plan_text(planned), compiled_text(planned.compiled), summary_text(found)):
        assert "state" not in text
        assert "variables" not in text
    document = plan_document(planned)
    assert document["ram_bytes"] == document["arena_bytes"]
    assert document["tflm_variables_bytes"] == 0


def test_a_sliding_window_is_not_compared_with_a_whole_one() -> None:
    """TFLM computes the whole window in each run, and the program only what the new rows change."""
    options = Options(hop=3, input_mode="streamed")
    text = plan_text(planned_model(loaded("wake-word-window"), options))
    assert re.search(
        r"^TensorFlow Lite Micro, predicted +[\d,]+ B  for a whole window$", text, re.MULTILINE
    )

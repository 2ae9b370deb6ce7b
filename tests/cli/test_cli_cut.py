"""`--from` and `--until` on every command that takes a network, and what they say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import call, fine, refused

from lowtide.tflite.read import load
from networks import loaded

CUT = str(loaded("figure1").graph.ops[2].outputs[0])


@pytest.mark.parametrize("command", ["analyze", "plan", "compile", "verify", "check", "run"])
def test_all_commands_take_a_part(command: str, tmp_path: Path) -> None:
    more = {
        "compile": ["-o", str(tmp_path / "c")],
        "run": ["--board", "mps2-an386", "--samples", "1"],
        "verify": ["--samples", "1"],
        "check": ["--max-total-ram", "100K"],
    }.get(command, [])
    document = json.loads(fine(call(command, "zoo:figure1", "--until", CUT, "--json", *more)))
    if command != "analyze":
        assert document["part"] == {"from": None, "until": [int(CUT)]}
        text = fine(call(command, "zoo:figure1", "--until", CUT, *more))
        assert f"zoo:figure1 up to tensor {CUT}" in text
    else:
        assert [t["id"] for t in document["tensors"] if t["role"] == "output"] == [int(CUT)]


def test_a_whole_network_is_no_part() -> None:
    assert "part" not in json.loads(fine(call("plan", "zoo:figure1", "--json")))


@pytest.mark.parametrize("command", ["reorder", "simplify"])
def test_a_part_as_a_file(command: str, tmp_path: Path) -> None:
    file = tmp_path / "part.tflite"
    fine(call(command, "zoo:figure1", "--until", CUT, "-o", file, "--always-write"))
    assert len(load(file).graph.ops) < len(loaded("figure1").graph.ops)
    assert "bit-exact" in fine(call("verify", file, "--samples", "1"))


def test_several_tensors() -> None:
    graph = loaded("figure1").graph
    made = [op.outputs[0] for op in graph.ops[:2]]
    one = fine(call("plan", "zoo:figure1", "--until", ",".join(map(str, made))))
    assert f"up to tensors {made[0]}, {made[1]}" in one
    other = fine(call("plan", "zoo:figure1", "--until", str(made[0]), "--until", str(made[1])))
    assert one == other


def test_a_plan_of_another_part(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    fine(call("plan", "zoo:figure1", "--until", CUT, "-o", plan))
    assert "bit-exact" in fine(call("verify", "zoo:figure1", "--until", CUT, "--plan", plan))
    refused(
        call("verify", "zoo:figure1", "--plan", plan),
        2,
        "the plan is for another graph of this model, which another version simplified, or for "
        "another part of it",
    )


def test_unknown_names() -> None:
    refused(
        call("plan", "zoo:figure1", "--from", "no such"),
        2,
        "--from names 'no such', but no tensor of the network has that name",
    )

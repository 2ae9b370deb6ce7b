"""Plan files that name blocks: read again they give the same program, damaged ones a message.

Why apart from tests/test_plan_file.py: blocks need networks that have some.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from strip_nets import BLOCKS, MODES, hurry, network_of, random_plan, ready

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options, from_plan
from lowtide.commands.planned import Planned
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.plans.file import read_plan
from lowtide.report.data import to_json
from lowtide.report.planned import plan_document
from lowtide.rows.stages import Choice, Fused
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation
from networks import model_of as network

NETWORKS = [(BLOCKS + n, n % 3 > 0) for n in range(16)]
ANEW = "leave the block out of the plan, or write the plan again"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@cache
def model_of(seed: int, *, small: bool) -> Model:
    return parse(network_of(seed, small=small), path=f"blocks-{seed}")


def compiled(seed: int, stages: Sequence[Choice], *, small: bool) -> Compiled:
    given, left, preserve = MODES[seed % len(MODES)]
    options = Options(
        input_mode=given, output_mode=left, preserve_input=preserve, stages=tuple(stages)
    )
    return compile_model(model_of(seed, small=small), options)


def document_of(program: Compiled) -> dict[str, Any]:
    """What `lowtide plan -o` writes."""
    document: dict[str, Any] = json.loads(
        to_json(plan_document(Planned(program, None, (), True, 0, lambda: 0)))
    )
    return document


@pytest.mark.parametrize(("seed", "small"), NETWORKS)
def test_what_is_written_is_read_again(seed: int, small: bool, tmp_path: Path) -> None:
    """Any plan: blocks of any kind, in strips, in any forms."""
    of, path = ready(seed, small=small), tmp_path / "plan.json"
    for number in range(3):
        stages = random_plan(of, 10 * seed + number)
        program = compiled(seed, stages, small=small)
        path.write_text(json.dumps(document_of(program)))
        fields = read_plan(path, program.model, from_plan)
        assert fields["stages"] == stages
        again = compile_model(program.model, Options(**fields))
        assert dict(again.files) == dict(program.files)


def test_the_networks_above_have_blocks() -> None:
    """So that the one before cannot come to say nothing."""
    plans = [
        random_plan(ready(seed, small=small), 10 * seed + n)
        for seed, small in NETWORKS
        for n in range(3)
    ]
    blocks = [block for plan in plans for choice in plan for block in choice.blocks]
    assert len(blocks) > 20
    assert {len(block.operators) for block in blocks} == {2, 3}
    assert sum(block.kept_rows > 0 for block in blocks) > 5
    assert any(c.blocks and c.strip_width and c.limits for plan in plans for c in plan)


@cache
def one_block() -> Model:
    """Operators 0 to 2 can be a block that keeps two rows; 3 cannot be in it."""
    net = NetBuilder("block")
    x = net.conv(net.input((1, 6, 8, 4)), "expand", 16, 1, 1, Activation.RELU6)
    x = net.conv(net.depthwise(x, "depthwise", 3, 1, Activation.RELU6), "project", 4)
    return parse(net.finish(net.conv(x, "last", 2, 3)), path="block")


@cache
def whole_block() -> dict[str, Any]:
    """A plan of that network as a file says it."""
    stages = (Choice((0, 1, 2), blocks=(Fused((0, 1, 2), 2),)), Choice((3,)))
    document = document_of(compile_model(one_block(), Options(stages=stages)))
    assert document["stages"][0]["blocks"] == [{"operators": [0, 1, 2], "kept_rows": 2}]
    return document


def changed(**fields: Any) -> dict[str, Any]:
    """The document with other fields in its first stage."""
    document = deepcopy(whole_block())
    document["stages"][0].update(fields)
    return document


def compile_file(document: object, path: Path) -> Compiled:
    path.write_text(json.dumps(document))
    return compile_model(one_block(), Options(**read_plan(path, one_block(), from_plan)))


def block(operators: object, kept_rows: object = 0) -> dict[str, object]:
    return {"operators": operators, "kept_rows": kept_rows}


@pytest.mark.parametrize(
    "blocks",
    [
        *(None, 3, True, "blocks", [None], [3], ["block"], [[0, 1, 2]], [{}]),
        *([{"operators": [0, 1, 2]}], [{"kept_rows": 2}]),
        *([block(3)], [block(None)], [block("12")], [block([0.0, 1])], [block([-1, 0])]),
        *([block([0, 1, 2], n)] for n in (None, -1, 2.0, "2", True, [2])),
    ],
    ids=repr,
)
def test_what_is_damaged(blocks: object, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(UsageError) as caught:
        compile_file(changed(blocks=blocks), path)
    assert caught.value.cause.startswith(f"the plan {path} is damaged: ")
    assert caught.value.remedy == "write it again with `lowtide plan MODEL -o FILE`"


@pytest.mark.parametrize(
    ("blocks", "named", "kept"),
    [
        ([block([0, 1, 2], 1)], "0, 1, 2", 1),
        ([block([0, 1, 2], 3)], "0, 1, 2", 3),
        ([block([0, 1], 1)], "0, 1", 1),
        ([block([1, 2], 2)], "1, 2", 2),
        ([block([2, 1, 0], 2)], "2, 1, 0", 2),
        ([block([0, 2], 0)], "0, 2", 0),
        ([block([1], 0)], "1", 0),
        ([block([0, 1, 2, 3], 2)], "0, 1, 2, 3", 2),
        ([block([7, 8, 9], 2)], "7, 8, 9", 2),
        ([block([0, 1, 2], 2), block([0, 1, 2], 2)], "0, 1, 2", 2),
        ([block([0, 1], 2), block([1, 2], 0)], "1, 2", 0),
    ],
)
def test_blocks_that_cannot_be(blocks: list[object], named: str, kept: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        compile_file(changed(blocks=blocks), tmp_path / "plan.json")
    assert caught.value.cause == (
        f"operators {named} cannot run as one block that keeps {kept} rows"
    )
    assert caught.value.remedy == ANEW


def test_blocks_of_operators_that_are_not_in_the_stage(tmp_path: Path) -> None:
    """Neither those of the next stage, nor of a stage without any."""
    path = tmp_path / "plan.json"
    inside = [{"operators": [0], "blocks": [block([0, 1, 2], 2)]}, {"operators": [1, 2, 3]}]
    empty = [{"operators": [0, 1, 2, 3]}, {"operators": [], "blocks": [block([0, 1, 2], 2)]}]
    for stages, number in ((inside, 1), (empty, 0)):
        with pytest.raises(UsageError) as caught:
            compile_file({**whole_block(), "stages": stages}, path)
        assert caught.value.cause == (
            f"operator {number} is in a block of a stage, but not in the stage"
        )
        assert caught.value.remedy == "list it among the stage's operators"


def test_limits_of_operators_that_are_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    limits = [{"operator": number, "at_most_bytes": 200} for number in (0, 3)]
    assert compile_file(changed(scratch=limits[:1]), path).arena_bytes
    with pytest.raises(UsageError) as caught:
        compile_file(changed(scratch=limits), path)
    assert caught.value.cause == (
        "the scratch memory of operator 3 is limited in a stage, but it is not in the stage"
    )
    assert caught.value.remedy == "list it among the stage's operators"
    for wrong in (None, 0, ["0"], [0], [{"operator": 0}], [limits[0] | {"at_most_bytes": -1}]):
        with pytest.raises(UsageError, match="is damaged"):
            compile_file(changed(scratch=wrong), path)


def test_a_plan_without_what_is_new(tmp_path: Path) -> None:
    """Plans that were written before there were blocks have none."""
    document = deepcopy(whole_block())
    for stage in document["stages"]:
        del stage["blocks"], stage["scratch"]
    plan = compile_file(document, tmp_path / "plan.json").assembly.plan
    assert plan is not None
    assert [stage.choice for stage in plan.stages] == [Choice((0, 1, 2)), Choice((3,))]


JUNK: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2,
    3,
    5,
    2.5,
    "x",
    [],
    [0],
    [1, 2],
    {},
    [[0, 1, 2]],
)


def _spoil(rng: Random, value: Any) -> Any:
    """The value with one thing in it left out, doubled, or something else."""
    if isinstance(value, dict | list) and value and rng.random() < 0.95:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if rng.random() < 0.1:
            del value[key]
        elif isinstance(value, list) and rng.random() < 0.2:
            value.append(deepcopy(value[key]))
        else:
            value[key] = _spoil(rng, value[key])
        return value
    return deepcopy(rng.choice(JUNK))


def test_any_damage_is_a_message_or_a_plan(tmp_path: Path) -> None:
    said: Counter[str] = Counter()
    for seed in range(200):
        document = deepcopy(whole_block())
        for stage in document["stages"]:
            del stage["live"], stage["peak_bytes"]  # which nobody reads
        document["stages"] = _spoil(Random(seed), document["stages"])
        try:
            compile_file(document, tmp_path / "plan.json")
        except UsageError as error:
            said[error.remedy] += 1
    assert len(said) >= 3
    assert 100 < said.total() < 190


@pytest.mark.parametrize(
    ("name", "hop"), [("wake-word-window", 3), ("wake-word-window", 1), ("ds-cnn-kws", 2)]
)
def test_plans_of_windows_that_slide_are_read_again(name: str, hop: int, tmp_path: Path) -> None:
    """Operators that use variables can be in a block: it is one operator."""
    path = tmp_path / "plan.json"
    program = compile_model(network(name), Options(hop=hop, input_mode="streamed", effort=0.1))
    path.write_text(json.dumps(document_of(program)))
    again = compile_model(program.model, Options(**read_plan(path, program.model, from_plan)))
    assert again.ram_bytes == program.ram_bytes
    assert again.instructions_predicted == program.instructions_predicted

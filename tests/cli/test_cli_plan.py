"""`lowtide plan`, and plans as files: what is shown is what is compiled; damaged plans are refused.

Why: figures of a plan are believed before anything is built, and a plan that was saved must give the
same program again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import call, fine, refused

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.ir.macs import graph_macs
from lowtide.lower.nodes import NORMAL
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.quantise import Activation
from origins import without_origin
from random_nets import random_network

Limits = tuple[tuple[int, int | None, int], ...]
"""(operator, bytes of scratch memory)."""

WRITE = "write one with `lowtide plan MODEL -o FILE`"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network that can save RAM at a price."""
    path = tmp_path_factory.mktemp("models") / "small.tflite"
    path.write_bytes(random_network(6))
    return path


def plan_json(*arguments: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(fine(call("plan", *arguments, "--json")))
    return document


def stages_of(document: dict[str, Any]) -> list[tuple[tuple[int, ...], int | None, Limits]]:
    return [
        (
            tuple(stage["operators"]),
            stage["strip_width"],
            tuple(
                (of["operator"], of["at_most_bytes"], of.get("from_step", 0))
                for of in stage["scratch"]
            ),
        )
        for stage in document["stages"]
    ]


def test_what_was_written_is_told(model: Path, tmp_path: Path) -> None:
    path, plot = tmp_path / "plan.json", tmp_path / "plan.svg"
    words = ("plan", model, "--no-advice")
    assert "Wrote" not in fine(call(*words))
    both = (*words, "-o", path, "--plot", plot)
    assert fine(call(*both)).splitlines()[-1] == f"Wrote {path} and {plot}."
    assert fine(call(*both, "--front")).splitlines()[-1] == f"Wrote {path} and {plot}."
    assert json.loads(fine(call(*both, "--json"))) == json.loads(path.read_text())


def test_the_front_goes_down(model: Path) -> None:
    document = plan_json(model, "--front")
    front = document["front"]
    assert len(front) > 1
    keys = {"arena_bytes", "macs", "overhead", "instructions_predicted"}
    assert all(set(point) == keys for point in front)
    arenas, overheads = ([p[key] for p in front] for key in ("arena_bytes", "overhead"))
    assert overheads == sorted(overheads)
    assert arenas == sorted(set(arenas), reverse=True)
    own = graph_macs(passed(parse(model.read_bytes()), Options()).graph)
    assert [p["macs"] / own for p in front] == overheads
    # The plan itself is the one that `plan` and `compile` give: no strips unless they are asked for.
    assert document["arena_bytes"] == plan_json(model)["arena_bytes"]
    assert all(stage["strip_width"] is None for stage in document["stages"])
    lines = fine(call("plan", model, "--front")).splitlines()
    assert lines[0] == "All plans that no other beats in RAM, instructions and MACs"
    shown = [line.split() for line in lines[2 : 2 + len(front)]]
    assert [int(line[0].replace(",", "")) for line in shown] == arenas
    assert [float(line[2]) for line in shown] == [round(o, 4) for o in overheads]
    predicted = [point["instructions_predicted"] for point in front]
    assert [int(line[4].replace(",", "")) for line in shown] == predicted
    note = "Instructions are predicted for a cortex-m4; the error is at most "
    assert lines[2 + len(front)].startswith(note)


def test_the_document(model: Path) -> None:
    document = plan_json(model, "--input", "const")
    program = compile_model(parse(model.read_bytes(), path=str(model)), Options(input_mode="const"))
    plan = program.assembly.plan
    assert plan is not None
    assert "front" not in document
    assert document["schema"] == "lowtide.plan/1"
    assert document["model"] == str(model)
    assert len(document["sha256"]) == 64
    modes = ("input", "output", "preserve_input", "quantized_io")
    assert [document[key] for key in modes] == ["const", "resident", False, False]
    assert document["arena_bytes"] == program.arena_bytes
    assert document["peak_bytes"] == plan.peak_bytes <= document["arena_bytes"]
    assert document["lower_bound_bytes"] <= document["peak_bytes"]
    assert document["proved_optimal"] == (document["lower_bound_bytes"] == program.arena_bytes)
    assert (document["macs"], document["overhead"]) == (plan.macs, 1.0)
    stages = [
        (
            s.operators,
            s.strip_width,
            tuple(
                (of.operator, None if of.bytes == NORMAL else of.bytes, of.step)
                for of in s.choice.limits
            ),
        )
        for s in plan.stages
    ]
    assert stages_of(document) == stages
    for stage in document["stages"]:
        sizes = [live["bytes"] for live in stage["live"]]
        assert sizes == sorted(sizes, reverse=True)
        assert sum(sizes) >= stage["peak_bytes"]
        assert stage["peak_bytes"] <= document["peak_bytes"]


@pytest.mark.parametrize(
    "flags",
    [
        "",
        "--input const",
        "--input streamed --output streamed",
        "--preserve-input",
        "--max-overhead inf",
        "--input const --max-overhead 1.2",
        "--front",
    ],
)
def test_a_plan_that_was_saved_gives_the_same_program(
    flags: str, model: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "plan.json", tmp_path / "out"
    document = plan_json(model, "-o", path, "--no-advice", *flags.split())
    assert json.loads(path.read_text()) == document
    compiled = json.loads(fine(call("compile", model, "--plan", path, "-o", out, "--json")))
    assert compiled["arena_bytes"] == document["arena_bytes"]
    assert compiled["input"] == document["input"]
    again = plan_json(model, "--plan", path)
    assert stages_of(again) == stages_of(document)
    assert (again["arena_bytes"], again["macs"]) == (document["arena_bytes"], document["macs"])
    if flags != "--front":
        straight = tmp_path / "straight"
        fine(call("compile", model, "-o", straight, *flags.split()))
        made, wanted = (
            {p.name: p.read_bytes() for p in folder.iterdir()} for folder in (out, straight)
        )
        assert without_origin(made) == without_origin(wanted)


def test_saved_plans_verified_and_run(model: Path, tmp_path: Path) -> None:
    """Also on a core that cannot read words at odd addresses, with an arena of odd size."""
    path = tmp_path / "plan.json"
    for_it = ("--core", "cortex-m0")  # as the board's: a core's kernels have scratch of their own
    document = plan_json(model, "-o", path, "--input", "const", "--max-overhead", "inf", *for_it)
    assert any(stage["strip_width"] for stage in document["stages"])
    assert "bit-exact" in fine(call("verify", model, "--plan", path, "--samples", "2"))
    flags = ("--board", "microbit", "--samples", "1", "--json")
    ran = json.loads(fine(call("run", model, "--plan", path, *flags)))
    assert ran["bit_exact"] is True
    assert ran["ram"]["arena_bytes"] == document["arena_bytes"]


def test_a_plan_by_hand(model: Path, tmp_path: Path) -> None:
    """Strips that no search would choose: the program is right all the same."""
    path = tmp_path / "plan.json"
    document = plan_json(model, "-o", path)
    stages = [{"operators": [s]} for stage in document["stages"] for s in stage["operators"]]
    path.write_text(json.dumps({**document, "stages": stages}))
    again = plan_json(model, "--plan", path)
    assert stages_of(again) == [((s["operators"][0],), None, ()) for s in stages]
    assert again["arena_bytes"] >= document["arena_bytes"]
    assert again["overhead"] == 1.0


def test_limits(model: Path) -> None:
    front = plan_json(model, "--front")["front"]
    for point in front:
        cheap = plan_json(model, "--max-ram", str(point["arena_bytes"]))
        assert cheap["arena_bytes"] <= point["arena_bytes"]
        assert cheap["macs"] <= point["macs"]
        small = plan_json(model, "--max-overhead", str(point["overhead"]))
        assert small["arena_bytes"] <= point["arena_bytes"]
        assert small["overhead"] <= point["overhead"]


@pytest.mark.parametrize("command", ["plan", "compile", "verify", "run", "report"])
def test_a_limit_that_cannot_be_kept(command: str, model: Path, tmp_path: Path) -> None:
    """Exit 1, the nearest plan named, and nothing written."""
    core = ("--core", "cortex-m0") if command == "run" else ()  # that of its board
    least = plan_json(model, "--max-overhead", "inf", *core)
    rest = {
        "plan": ("-o", tmp_path / "plan.json", "--plot", tmp_path / "plan.png"),
        "compile": ("-o", tmp_path / "out"),
        "run": ("--board", "microbit"),
        "report": ("--picture", tmp_path / "drawn.svg"),
    }
    result = call(command, model, "--max-ram", "1", *rest.get(command, ()))
    refused(
        result,
        1,
        "no plan of this network fits an arena of 1 bytes; the smallest plan needs "
        f"{least['arena_bytes']:,} bytes at {least['overhead']:.3f} times the MACs; operator",
        "allow more RAM; no input mode fits in this limit",
    )
    assert list(tmp_path.iterdir()) == []


def test_limits_that_are_none(model: Path) -> None:
    for flags in (("--max-ram", "-1"), ("--max-ram", "1.5"), ("--max-ram", "much")):
        refused(call("plan", model, *flags), 2, "--max-ram", "lowtide plan --help")
    for value in ("0.9", "nan", "-inf", "much"):
        result = call("plan", model, "--max-overhead", value)
        refused(result, 2, "--max-overhead", "lowtide plan --help")
    result = call("plan", model, "--schedule", "operators")
    refused(result, 2, "operators that run one after the other have no stages to plan")
    for flags in (("--max-ram", "99"), ("--max-overhead", "2")):
        result = call("verify", model, "--schedule", "operators", *flags)
        cause = "operators that run one after the other have no trade-off between RAM and cost"
        refused(result, 2, cause, "leave out --schedule operators")


@pytest.mark.parametrize(
    "option",
    [
        "--schedule rows",
        "--schedule operators",
        "--allocator planned",
        "--input resident",
        "--output streamed",
        "--preserve-input",
        "--quantized-io",
        "--max-overhead 2",
        "--max-ram 100",
    ],
)
@pytest.mark.parametrize("command", ["compile", "plan", "verify", "run"])
def test_options_that_a_plan_settles(
    command: str, option: str, model: Path, tmp_path: Path
) -> None:
    """Also those that say the same as it does."""
    if command == "plan" and option == "--schedule operators":
        return  # refused before the plan is looked at
    rest = {"compile": ("-o", tmp_path / "out"), "run": ("--board", "microbit")}
    path = tmp_path / "plan.json"
    result = call(command, model, "--plan", path, *option.split(), *rest.get(command, ()))
    name = option.split()[0]
    cause = f"{name} and --plan cannot be combined: the plan already sets it"
    refused(result, 2, cause, f"leave out {name}")
    assert list(tmp_path.iterdir()) == []


def test_options_that_go_with_a_plan(model: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "plan.json", tmp_path / "out"
    document = plan_json(model, "-o", path)
    flags = ("--align", "32", "--name", "Mine", "--effort", "0.5")
    fine(call("compile", model, "--plan", path, "-o", out, *flags))
    header = (out / "Mine.h").read_text()
    assert "#define MINE_ARENA_ALIGN 32\n" in header
    assert f"#define MINE_ARENA_SIZE {document['arena_bytes']}\n" in header


def _damaged(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize("command", ["compile", "plan", "verify", "run"])
def test_plans_that_cannot_be(command: str, model: Path, tmp_path: Path) -> None:
    """Exit 2, a message with the file's name, and nothing written."""
    path, folder = tmp_path / "plan.json", tmp_path / "folder"
    good = plan_json(model, "-o", path)
    folder.mkdir()
    rest = {
        "compile": ("-o", folder / "out"),
        "plan": ("-o", folder / "new.json"),
        "run": ("--board", "microbit"),
    }
    first, *others = good["stages"]
    last = good["stages"][-1]
    cases: list[tuple[object, str, str]] = [
        ("{", f"the plan {path} cannot be read: Expecting property name", WRITE),
        ("[]", f"{path} is not a plan of schema lowtide.plan/1", WRITE),
        ({**good, "schema": "lowtide.plan/0"}, f"{path} is not a plan of schema", WRITE),
        (
            {**good, "sha256": "0" * 64, "model": "zoo:other"},
            f"the plan {path} is for another model (zoo:other)",
            "plan this one with `lowtide plan MODEL -o FILE`",
        ),
        (
            {**good, "stages": [{**first, "strip_width": 0}, *others]},
            f"the plan {path} is damaged: ValueError('0 is no width')",
            "write it again with `lowtide plan MODEL -o FILE`",
        ),
        (
            {**good, "stages": [*good["stages"], {"operators": [99]}]},
            "the plan names operator 99, which the network lacks",
            "write the plan again with `lowtide plan MODEL -o FILE`",
        ),
        (
            {**good, "stages": [*good["stages"], first]},
            f"the plan names operator {first['operators'][0]} twice",
            "write the plan again with `lowtide plan MODEL -o FILE`",
        ),
        (
            {**good, "stages": [last, *good["stages"][:-1]]},
            f"in the plan, operator {last['operators'][0]} runs before one that it needs",
            "list operators after those whose results they read",
        ),
        (
            {**good, "stages": good["stages"][:-1]},
            f"operator {last['operators'][0]} is in no stage of the plan",
            "write the plan again with `lowtide plan MODEL -o FILE`",
        ),
        (
            {**good, "stages": [*good["stages"][:-1], {**last, "strip_width": 7}]},
            "cannot run together in strips of 7 columns",
            "strips need operators on feature maps with one output; see `lowtide plan --front`",
        ),
    ]
    for content, cause, remedy in cases:
        _damaged(path, content)
        result = call(command, model, "--plan", path, *rest.get(command, ()))
        refused(result, 2, cause, remedy)
        assert list(folder.iterdir()) == []
    result = call(command, model, "--plan", tmp_path / "none", *rest.get(command, ()))
    refused(result, 2, f"the plan {tmp_path / 'none'} cannot be read: ", WRITE)


def test_a_plan_of_another_model(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    fine(call("plan", "zoo:figure1", "-o", path))
    result = call("compile", model, "--plan", path, "-o", tmp_path / "out")
    cause = f"the plan {path} is for another model (zoo:figure1)"
    refused(result, 2, cause, "plan this one with `lowtide plan MODEL -o FILE`")
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("flags", [(), ("--front",), ("--max-overhead", "inf")])
@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_pictures(flags: tuple[str, ...], ending: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / f"plan.{ending}"
    text = fine(call("plan", model, *flags, "--no-advice", "--plot", path))
    assert text == fine(call("plan", model, *flags, "--no-advice")) + f"Wrote {path}.\n"
    begin = path.read_bytes()[:200]
    assert (
        begin.startswith(b"\x89PNG\r\n")
        if ending.lower() == "png"
        else begin.startswith(b"<!-- Drawn by lowtide. -->\n<svg")
    )
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_written_is_said_first(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the search, which may take long."""
    monkeypatch.setattr(
        "lowtide.commands.planned.planned_model", lambda *_, **__: pytest.fail("searched")
    )
    result = call("plan", model, "--plot", tmp_path / "plan.gif")
    refused(result, 2, "cannot tell the picture format of 'plan.gif'", "end the file name in .png")
    for flag in ("-o", "--plot"):
        missing = tmp_path / "none" / "plan.png"
        refused(call("plan", model, flag, missing), 2, f"cannot write {missing}", "create it first")
        folder = tmp_path / "folder.png"
        folder.mkdir(exist_ok=True)
        refused(call("plan", model, flag, folder), 2, f"{folder} is a folder, not a file")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


def test_views_and_joins_in_plans(tmp_path: Path) -> None:
    """Operators without code are in no stage, and a plan may name them or not."""
    net, relu6 = NetBuilder("views"), Activation.RELU6
    x = net.conv(net.input((1, 6, 8, 2)), "a", 3, 3, 1, relu6)
    joined = net.concat([x, net.conv(x, "b", 3, 3, 1, relu6)], "join", 1)
    flat = net.reshape(joined, "flat", (1, 12 * 8 * 3))
    model, path = tmp_path / "views.tflite", tmp_path / "plan.json"
    model.write_bytes(net.finish(net.fully_connected(flat, "dense", 3)))
    document = plan_json(model, "-o", path)
    named = [op for stage in document["stages"] for op in stage["operators"]]
    assert 3 not in named  # the reshape
    everything = {"operators": list(range(5))}
    path.write_text(json.dumps({**document, "stages": [everything]}))
    assert stages_of(plan_json(model, "--plan", path)) == [(tuple(named), None, ())]

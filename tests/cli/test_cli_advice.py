"""The last lines of commands: what they promise is what the commands that they name bring."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import Result, call, fine, refused
from remedies import into
from remedies import typed as typed_from

from lowtide import load
from lowtide.advice.hints import WORTH, Hint
from lowtide.advice.reporting import report_on
from lowtide.advice.ways import Way, roomy_part
from lowtide.cli.deploy import PACKAGES
from lowtide.machines.mcus import find_mcu, load_mcus
from lowtide.report.advised import command as typed
from lowtide.report.advised import fit_remedy, hint_gain
from networks import present, shared_models
from planted_nets import planted_network

_TOLERANCE = 0.05
"""Of the RAM before: estimates know nothing of where rows are placed."""

_SHARED = {path.stem: str(path) for path in shared_models()}
NETWORKS = [
    *("zoo:figure1", "zoo:ds-cnn-kws", "zoo:lstm-gestures"),
    *(_SHARED[name] for name in present("te_vww")),
]


def again(command: str, *more: str | Path, folder: Path | None = None) -> Result:
    """Type what was advised, its -o in `folder`."""
    program, *words = shlex.split(command)
    assert program == "lowtide"
    if folder is not None and "-o" in words:
        words[words.index("-o") + 1] = str(folder)
    return call(*words, *more)


def json_of(*arguments: str | Path) -> dict[str, Any]:
    document = json.loads(fine(call(*arguments, "--json")))
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("network", NETWORKS)
def test_what_is_promised_is_saved(network: str, tmp_path: Path) -> None:
    before = json_of("compile", network, "-o", tmp_path / "before")
    assert 1 <= len(before["advice"]) <= 3
    for number, entry in enumerate(before["advice"]):
        done = again(entry["command"], folder=tmp_path / str(number))
        after = json.loads(fine(done))
        saved = before["ram_bytes"] - after["ram_bytes"]
        assert abs(saved - entry["ram_saved"]) <= _TOLERANCE * before["ram_bytes"], entry
        shares = entry["ram_saved"] / before["ram_bytes"], entry["instructions_saved_share"]
        assert max(shares) >= WORTH


_PARTS = {mcu.core: name for name, mcu in reversed(load_mcus().items())}
GIVEN: list[tuple[str, ...]] = [
    (),
    ("--core", "any"),
    *(("--core", core) for core in ("cortex-m0", "cortex-m4", "cortex-m55", "rv32imc")),
    *(("--mcu", name) for name in _PARTS.values()),
    *(("--export", kind) for kind in PACKAGES),
    ("--export", "esp-idf", "--mcu", "ESP32-S3"),
    ("--export", "esp-idf", "--mcu", "ESP32-C3"),
    ("--export", "zephyr", "--mcu", "NRF52840"),
    *(("--input", "streamed"), ("--input", "const"), ("--preserve-input",), ("--slices",)),
    ("--no-simplify", "--cost", "instructions"),
    ("--schedule", "operators", "--allocator", "greedy"),
]


@pytest.mark.parametrize("given", GIVEN, ids=" ".join)
@pytest.mark.parametrize("network", ["zoo:streaming-wake-word", "zoo:figure1"])
def test_all_that_is_advised_can_be_typed(
    network: str, given: tuple[str, ...], tmp_path: Path
) -> None:
    """One after the other, until nothing is left to try; and what the command said stays said."""
    words = ("compile", network, "-o", tmp_path, "--effort", "0.1", *given, "--json")
    pending = [shlex.join(["lowtide", *map(str, words)])]
    done: set[str] = set()
    while pending:
        command = pending.pop()
        done.add(command)
        for entry in json.loads(fine(again(command)))["advice"]:
            assert f" {shlex.join(entry['flags'])} " not in f"{command} ", entry
            fixed = "--core" in given or "--mcu" in given or "esp-idf" in given
            assert not (fixed and entry["kind"] == "core")
            if entry["command"] not in done:
                pending.append(entry["command"])
    assert len(done) < 20


PLANNED = [given for given in GIVEN if not {"--export", "--schedule"} & set(given)]


@pytest.mark.parametrize("given", [*PLANNED, ("--front",)], ids=" ".join)
@pytest.mark.parametrize("network", ["zoo:streaming-wake-word", "zoo:figure1"])
def test_all_that_plan_advises_can_be_typed(network: str, given: tuple[str, ...]) -> None:
    """As compile's advice is."""
    pending = [shlex.join(["lowtide", "plan", network, "--effort", "0.1", *given, "--json"])]
    done: set[str] = set()
    while pending:
        command = pending.pop()
        done.add(command)
        for entry in json.loads(fine(again(command)))["advice"]:
            assert f" {shlex.join(entry['flags'])} " not in f"{command} ", entry
            assert not ({"--core", "--mcu"} & set(given) and entry["kind"] == "core")
            if entry["command"] not in done:
                pending.append(entry["command"])
    assert len(done) < 20


def test_a_report_on_a_part_advises_no_other_core(tmp_path: Path) -> None:
    model, kinds = load("zoo:streaming-wake-word"), []
    for mcu in (None, find_mcu("ESP32-S3")):
        reported = report_on(model, mcu=mcu)
        kinds.append({entry.kind for entry in reported.advice})
        for entry in reported.advice:
            fine(again(typed(reported.compiled, entry), folder=tmp_path / entry.kind))
    assert "core" in kinds[0] and "core" not in kinds[1]


def test_instructions_fall_as_promised(tmp_path: Path) -> None:
    """Counted in both by the same model, of the same core."""
    network, price = "zoo:ds-cnn-kws", ("--cost", "instructions")
    before = json_of("compile", network, "-o", tmp_path / "a", *price)
    (entry,) = [e for e in before["advice"] if e["flags"] == ["--core", "cortex-m4"]]
    after = json.loads(fine(again(entry["command"], folder=tmp_path / "b")))
    share = 1 - after["instructions_predicted"] / before["instructions_predicted"]
    assert share == pytest.approx(entry["instructions_saved_share"], abs=0.01)


def test_lines_end_what_people_read() -> None:
    text = fine(call("plan", "zoo:figure1"))
    told = json_of("plan", "zoo:figure1")["advice"]
    commands = [entry["command"].replace(" --json", "") for entry in told]
    assert text.splitlines()[-len(told) :] == [
        f"tip: {entry['gain']}: {command}" for entry, command in zip(told, commands, strict=True)
    ]
    quiet = fine(call("plan", "zoo:figure1", "--no-advice"))
    assert text.startswith(quiet) and "tip:" not in quiet


def test_all_that_was_typed_is_typed_again() -> None:
    given = ("--align", "32", "zoo:figure1", "--effort=0.5", "--no-simplify")
    lines = fine(call("plan", *given)).splitlines()
    assert lines[-1].startswith("tip: ")
    command = f"lowtide plan {shlex.join(given)} --"
    assert all(command in line for line in lines if line.startswith("tip: "))
    last = fine(call("plan", "--", "zoo:figure1")).splitlines()[-1]
    assert re.search(r"lowtide plan --\w.* -- zoo:figure1$", last)


@pytest.mark.parametrize("given", [("--input", "resident"), ("--input=resident",)])
def test_an_option_is_not_said_twice(given: tuple[str, ...]) -> None:
    lines = fine(call("plan", *given, "zoo:figure1")).splitlines()
    tips = [line.partition(": lowtide plan ")[2] for line in lines if line.startswith("tip: ")]
    assert "zoo:figure1 --input streamed" in tips
    assert shlex.join([*given, "zoo:figure1", "--core", "cortex-m4"]) in tips


@pytest.mark.parametrize("flags", [("--max-ram", "64K"), ("--max-overhead", "1.5")])
def test_a_program_with_limits_is_what_was_asked_for(flags: tuple[str, ...]) -> None:
    assert json_of("plan", "zoo:figure1", *flags)["advice"] == []


def test_the_front_knows_what_more_work_saves() -> None:
    said = 0
    for network in ("zoo:ds-cnn-kws", "zoo:resnet8"):
        before = json_of("plan", network, "--front", "--core", "cortex-m4")
        for told in before["advice"]:
            if told["kind"] == "strips":
                after = json.loads(fine(again(told["command"])))
                assert before["ram_bytes"] - after["ram_bytes"] == told["ram_saved"]
                said += 1
    assert said


def test_operators_one_by_one(tmp_path: Path) -> None:
    flags = ("--schedule", "operators", "--allocator", "greedy")
    before = json_of("compile", "zoo:figure1", "-o", tmp_path / "a", *flags)
    (entry,) = before["advice"]
    after = json.loads(fine(again(entry["command"], folder=tmp_path / "b")))
    saved = before["ram_bytes"] - after["ram_bytes"]
    assert abs(saved - entry["ram_saved"]) <= _TOLERANCE * before["ram_bytes"]


@pytest.mark.parametrize("command", ["reorder", "simplify"])
def test_who_stays_with_tflm_hears_of_the_program(command: str, tmp_path: Path) -> None:
    given = (command, "zoo:branchy-cell", "-o", tmp_path / "new.tflite", "--no-check")
    (entry,) = [e for e in json_of(*given)["advice"] if e["kind"] == "compile"]
    text = fine(call(*given))
    assert f"tip: {entry['gain']}: {entry['command']}" in text.splitlines()
    assert "tip:" not in fine(call(*given, "--no-advice"))
    made = json.loads(fine(again(entry["command"], "--json", folder=tmp_path / "c")))
    tflm = made["tflm_greedy_arena_bytes"]
    if command == "reorder":  # what TFLM needs for the file that was written
        tflm = json_of("analyze", tmp_path / "new.tflite")["tflm_greedy_arena_bytes"]
        assert tflm < made["tflm_greedy_arena_bytes"]
    assert f"instead of TFLM's {tflm:,} B" in entry["gain"]
    assert abs(tflm - entry["ram_saved"] - made["ram_bytes"]) <= _TOLERANCE * tflm


@pytest.mark.parametrize("command", ["reorder", "simplify"])
def test_the_program_of_a_part_is_of_that_part(command: str, tmp_path: Path) -> None:
    part = ("--until", "6", "--max-file", "2000000")
    given = (command, "zoo:branchy-cell", "-o", tmp_path / "new.tflite", "--no-check")
    (entry,) = [e for e in json_of(*given, *part)["advice"] if e["kind"] == "compile"]
    assert shlex.split(entry["command"])[2:7] == ["zoo:branchy-cell", *part]
    made = json.loads(fine(again(entry["command"], "--json", folder=tmp_path / "c")))
    assert made["part"] == {"from": None, "until": [6]}
    tflm = made["tflm_greedy_arena_bytes"]
    assert f"instead of TFLM's {tflm:,} B" in entry["gain"]
    assert abs(tflm - entry["ram_saved"] - made["ram_bytes"]) <= _TOLERANCE * tflm


def test_simplify_of_a_part_keeps_order_and_offsets(tmp_path: Path) -> None:
    """Of a network in which the part has channels that can go."""
    path, new = tmp_path / "planted.tflite", tmp_path / "new.tflite"
    path.write_bytes(planted_network(3))
    last = str(load(path).graph.ops[-1].inputs[0])
    given = ("reorder", path, "-o", new, "--until", last, "--offline-plan", "--no-check")
    (entry,) = [e for e in json_of(*given)["advice"] if e["kind"] == "simplify"]
    words = shlex.split(entry["command"])
    assert words[3:5] == ["--until", last]
    assert words[-2:] == ["--reorder", "--offline-plan"]
    document = json.loads(fine(again(entry["command"], "--json", folder=new)))
    weights = document["saved"]["weights_bytes"]
    assert entry["weights_saved"] == weights["before"] - weights["after"]


@pytest.mark.parametrize("words", [("reorder",), ("simplify", "--reorder", "--always-write")])
def test_the_program_is_compared_with_the_offsets_that_are_stored(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Not with an arena that TFLM would plan itself, which is larger."""
    new = tmp_path / "new.tflite"
    flags = ("--offline-plan", "--no-check")
    advice = json_of(*words, "zoo:branchy-cell", "-o", new, *flags)["advice"]
    (entry,) = [e for e in advice if e["kind"] == "compile"]
    analysis = json_of("analyze", new)
    stored = analysis["stored_plan_bytes"]
    assert stored < analysis["tflm_greedy_arena_bytes"]
    assert f"instead of TFLM's {stored:,} B" in entry["gain"]


def test_simplify_knows_of_the_order(tmp_path: Path) -> None:
    given = ("simplify", "zoo:figure1", "-o", tmp_path / "new.tflite", "--no-check")
    advice = json_of(*given, "--always-write")["advice"]
    (entry,) = [e for e in advice if e["kind"] == "reorder"]
    assert entry["ram_saved"] == 5216 - 4960
    fine(again(entry["command"]))


@pytest.mark.parametrize("network", [_SHARED[n] for n in present("mlperf_vww_96_int8")])
def test_reorder_knows_what_simplify_saves(network: str, tmp_path: Path) -> None:
    given = ("reorder", network, "-o", tmp_path / "new.tflite", "--no-check")
    (entry,) = [e for e in json_of(*given)["advice"] if e["kind"] == "simplify"]
    done = json.loads(fine(again(entry["command"], "--json", folder=tmp_path / "s.tflite")))
    weights = done["saved"]["weights_bytes"]
    assert entry["weights_saved"] == weights["before"] - weights["after"] > 0


def _flags_in(result: Result) -> tuple[str, ...]:
    """What the remedy says to add, the first of it."""
    found = re.search(r"remedy: add ([^(]*) \(", result.err)
    assert found is not None, result.err
    return tuple(found[1].split())


@pytest.mark.parametrize(("most", "way"), [(1900, "estimated"), (1450, "planned")])
def test_a_limit_that_another_input_keeps(most: int, way: str, tmp_path: Path) -> None:
    """The network takes 2,080 B; with its input streamed 1,440 B."""
    given = ("compile", "zoo:figure1", "-o", tmp_path / "c", "--max-ram", str(most))
    result = call(*given)
    refused(result, 1, f"no plan of this network fits an arena of {most:,} bytes", "remedy: add --")
    flags = _flags_in(result)
    assert flags[:2] == ("--input", "streamed")
    assert ("about" in result.err) == (way == "estimated")
    assert json_of(*given, *flags)["ram_bytes"] <= most


def test_firmware_for_tflm_is_not_told_to_stream(tmp_path: Path) -> None:
    """Which its package refuses."""
    given = (
        "compile",
        "zoo:figure1",
        "-o",
        tmp_path / "c",
        "--max-ram",
        "1900",
        "--export",
        "tflm",
    )
    result = call(*given)
    refused(result, 1, "no plan of this network fits an arena of 1,900 bytes")
    assert "streamed" not in result.err


def _board(tmp_path: Path, ram: int) -> Path:
    file = tmp_path / "boards.toml"
    file.write_text(
        '[board.mine]\ndescription = "mine"\ncore = "cortex-m4"\nmachine = "mps2-an386"\n'
        f'ram = {{ origin = 0x20000000, length = "{ram}" }}\n'
        'flash = { origin = 0x00000000, length = "1M" }\n'
    )
    return file


def test_a_board_that_another_input_fits(tmp_path: Path) -> None:
    given = ("run", "zoo:figure1", "--board", "mine", "--board-file", _board(tmp_path, 2560))
    result = call(*given)
    refused(result, 1, "the program does not fit mine: it needs ", "; or use --mcu ")
    ran = json_of(*given, *_flags_in(result))
    assert ran["ram"]["total_bytes"] <= 2560
    part = re.search(r"use --mcu (\S+),", result.err)
    assert part is not None
    fine(call("run", "zoo:figure1", "--mcu", part[1]))


def test_a_check_of_ram_says_what_keeps_to_it() -> None:
    result = call("check", "zoo:figure1", "--max-total-ram", "3000")
    assert result.code == 1
    fine(call("check", "zoo:figure1", "--max-total-ram", "3000", *_flags_in(result)))


def test_a_check_of_ram_and_flash_has_a_remedy_for_each() -> None:
    result = call("check", "zoo:figure1", "--max-total-ram", "3000", "--max-flash", "1K")
    assert result.code == 1
    remedy = result.err.partition("remedy: ")[2]
    assert remedy.startswith("add --input streamed (about ")
    assert remedy.endswith("; see which parts have more flash with `lowtide fit`\n")


def test_the_smallest_part_with_room() -> None:
    parts = [m for m in load_mcus().values() if m.core == "cortex-m4"]
    least = min(m.ram_bytes for m in parts)
    found = roomy_part("cortex-m4", least + 1, 1)
    assert found is not None and found.ram_bytes > least
    assert roomy_part("cortex-m4", 1 << 40, 1) is None
    assert roomy_part("no core", 1, 1) is None


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        (
            Hint("streamed", ("--input", "streamed"), 65_128, 77_040),
            "about 65,100 B (85 %) less RAM with the input given row by row",
        ),
        (
            Hint("strips", ("--max-overhead", "1.25"), 256, 4208, faster=-0.3, estimated=False),
            "256 B (6 %) less RAM, 30 % more instructions (predicted) at up to 1.25 times the work",
        ),
        (
            Hint("simplify", (), 0, 0, 185_942, 219_000, 0.5),
            "185,942 B (85 %) less flash for weights, 50 % fewer multiplications with constant "
            "channels removed",
        ),
        (
            Hint("compile", (), 45_600, 73_728),
            "in C, about 28,100 B of RAM instead of TFLM's 73,728 B",
        ),
    ],
)
def test_gains_in_words(hint: Hint, told: str) -> None:
    assert hint_gain(hint) == told


def test_what_is_worth_a_line() -> None:
    hint = Hint("streamed", (), 30, 1000)
    assert hint.worth and not replace(hint, ram_saved=29).worth
    assert not replace(hint, ram_saved=-130, faster=0.5).worth


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("--hop 2 --max-ram 3600", "add --input const (3,532 B of arena and state)"),
        ("--hop 2 --keep 2 --max-ram 12K", "add --keep 1 (12,062 B of arena and state), or "),
        ("--hop 2 --keep 2 --max-ram 3600", "add --input const --keep 0 (3,532 B "),
        ("--hop 2 --max-ram 1K", "allow more RAM; no input mode fits in this limit"),
        ("--max-ram 3480", "add --input const --max-ram 3480 (3,460 B of arena and state)"),
    ],
)
def test_all_that_a_limit_leaves_is_tried(words: str, remedy: str) -> None:
    """Before it is said that nothing fits: fewer kept tensors, and inputs that stay readable."""
    result = call("plan", "zoo:ds-cnn-kws", *words.split(), "--effort", "0.1")
    assert result.code == 1
    assert result.messages.splitlines()[1].startswith(f"  remedy: {remedy}")


def test_remedies_in_words() -> None:
    part = load_mcus()["RP2040"]
    ways = [Way(("--input", "streamed"), 9871), Way(("--max-ram", "12000"), 11_904, 1.3, False)]
    assert fit_remedy(ways, part, "") == (
        "add --input streamed (about 9,870 B of arena and state), or --max-ram 12000 (11,904 B of "
        "arena and state at 1.30 times the work); or use --mcu RP2040, which has 264 KiB of RAM and "
        "external flash"
    )
    assert fit_remedy([], None, "buy more") == "buy more"


@pytest.mark.parametrize(
    ("words", "least"),
    [
        ("run zoo:resnet8 --board microbit --schedule operators", 4),
        ("run zoo:resnet8 --board microbit --schedule operators --allocator greedy", 4),
        ("run zoo:resnet8 --board microbit --schedule operators --preserve-input", 2),
        ("run zoo:resnet8 --board microbit --hop 8", 2),
        ("run zoo:resnet8 --board microbit --hop 8 --fastest", 2),
        ("run zoo:resnet8 --board microbit --hop 8 --keep 3", 1),
        ("compile zoo:figure1 --max-ram 1450 -o made", 1),
        ("compile zoo:figure1 --max-ram 1450 --fastest -o made", 1),
        ("compile zoo:figure1 --max-ram 1450 --cost instructions --core cortex-m4 -o made", 1),
        ("plan zoo:wake-word-window --hop 1 --max-ram 3800", 1),
        ("plan zoo:ds-cnn-kws --hop 2 --keep 2 --max-ram 12K", 2),
        ("plan zoo:ds-cnn-kws --max-ram 3480", 1),
        ("report zoo:figure1 --max-ram 1450 -o made.html", 1),
    ],
)
def test_all_that_would_fit_does(words: str, least: int, tmp_path: Path) -> None:
    line = words.split()
    result = call(*into(tmp_path, line))
    cause, remedy = result.messages.splitlines()
    found = list(typed_from(line, cause, remedy))
    assert result.code and len(found) >= least, remedy
    for number, each in enumerate(found):
        fine(call(*into(tmp_path / str(number), each)))

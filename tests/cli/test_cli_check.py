"""`lowtide check`: exit codes, what is printed and written, and arguments that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import call, fine, refused

from lowtide import zoo

MODEL = "zoo:figure1"


def test_a_network_that_fits() -> None:
    out = fine(call("check", MODEL, "--max-total-ram", "64K", "--max-instructions", "90M"))
    assert out.startswith(
        f"{MODEL}: passed; predicted for cortex-m4, not measured: no board is given"
    )
    assert "fits, " in out and "not limited" in out


def test_one_that_does_not_is_reported_and_exits_with_1(tmp_path: Path) -> None:
    junit, file = tmp_path / "v.xml", tmp_path / "v.json"
    result = call("check", MODEL, "--max-total-ram", "1K", "--junit", junit, "-o", file)
    assert result.code == 1
    assert result.out.startswith(f"{MODEL}: FAILED; ")
    document = json.loads(file.read_text())
    over = document["ram_bytes"] - 1024
    first, second = result.messages.splitlines()
    assert first == (
        f"lowtide: {MODEL}: RAM in all: {document['ram_bytes']:,} B, the limit allows 1,024 B, "
        f"{over:,} B too much"
    )
    assert second == ("  remedy: see which plans need less with `lowtide plan --front`")
    assert document["schema"] == "lowtide.check/1"
    assert document["passed"] is False and document["measured"] is False
    assert document["findings"] == [
        {
            "figure": "ram_bytes",
            "by": "limit",
            "value": document["ram_bytes"],
            "most": 1024,
            "over": over,
            "passed": False,
        }
    ]
    assert f"{over:,} B too much" in junit.read_text()


def test_a_network_that_is_refused_is_an_error_of_its_own(tmp_path: Path) -> None:
    """So that what collects the results sees more than a step that failed."""
    junit, model = tmp_path / "v.xml", tmp_path / "net.tflite"
    model.write_bytes(zoo.build("figure1", floats=True))
    for words, code, said in (
        ((model,), 3, "`lowtide quantize "),
        ((tmp_path / "none.tflite",), 3, "cannot read "),
        ((MODEL, "--max-ram", "1K"), 1, "no plan of this network fits an arena of 1,024 bytes"),
    ):
        result = call("check", *words, "--junit", junit)
        assert result.code == code and said in result.err
        suite = ElementTree.parse(junit).getroot()[0]
        counts = {key: suite.get(key) for key in ("tests", "failures", "errors")}
        assert counts == {"tests": "1", "failures": "0", "errors": "1"}
        (error,) = suite.iter("error")
        message = error.get("message", "")
        assert said in message and "(remedy: " in message
        assert message.isprintable() and "\ufffd" not in message
    junit.unlink()
    assert call("check", MODEL, "--board", "none", "--junit", junit).code == 2
    assert not junit.exists()


def test_a_check_is_the_next_ones_baseline(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    fine(call("check", MODEL, "-o", file))
    fine(call("check", MODEL, "--baseline", file))
    document = json.loads(fine(call("check", MODEL, "--baseline", file, "--json")))
    assert document["baseline"]["ram_bytes"] == document["ram_bytes"]
    file.write_text(json.dumps({**document, "ram_bytes": document["ram_bytes"] * 100 // 102}))
    more = ("check", MODEL, "--baseline", file)
    result = call(*more, "--tolerance", "0.01")
    assert result.code == 1
    assert result.messages.endswith(
        "  remedy: see which plans need less with `lowtide plan --front`; to accept the change, write "
        "a new baseline: -o FILE\n"
    )
    fine(call(*more, "--tolerance", "900%"))


@pytest.mark.parametrize(
    ("model", "flags", "cause"),
    [
        ("zoo:ds-cnn-kws", (), "is of zoo:figure1, but this check is of zoo:ds-cnn-kws"),
        (MODEL, ("--until", "3"), "is of another part of the network"),
        (MODEL, ("--input", "streamed"), "with no options, but this check with --input streamed"),
        (MODEL, ("--core", "cortex-m4"), "with no options, but this check with --core cortex-m4"),
    ],
)
def test_a_baseline_that_was_made_in_another_way(
    model: str, flags: tuple[str, ...], cause: str, tmp_path: Path
) -> None:
    file = tmp_path / "baseline.json"
    fine(call("check", MODEL, "-o", file))
    fine(call("check", MODEL, "--baseline", file, "--name", "other"))
    refused(call("check", model, *flags, "--baseline", file), 2, cause)


def test_a_tolerance_that_could_mean_two_things(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    fine(call("check", MODEL, "-o", file))
    for text, other in (("5", "500"), ("1", "100"), ("2.5", "250")):
        result = call("check", MODEL, "--baseline", file, "--tolerance", text)
        refused(result, 2, f"'{text}' can mean {text}% or {other}%: write one of these")
    fine(call("check", MODEL, "--baseline", file, "--tolerance", "0.99"))


@pytest.mark.parametrize(
    ("flag", "remedy"),
    [
        ("--max-flash", "see which parts have more flash with `lowtide fit`"),
        ("--max-instructions", "see which plans need less with `lowtide plan --front`"),
    ],
)
def test_the_remedy_is_for_the_figure_that_failed(flag: str, remedy: str) -> None:
    result = call("check", MODEL, flag, "1")
    assert result.code == 1
    assert result.messages.splitlines()[1] == f"  remedy: {remedy}"


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (
            ["--max-instructions", "10K"],
            "'10K' is not a number of instructions, such as 10M (10^6)",
        ),
        (
            ["--max-instructions", "1.5"],
            "'1.5' is not a number of instructions, such as 10M (10^6)",
        ),
        (["--max-total-ram", "20KB"], "'20KB' is not a number of bytes"),
        (["--tolerance", "-1%"], "'-1%' is not a fraction, such as 2% or 0.02"),
        (["--tolerance", "1%"], "--tolerance needs a baseline"),
        (["--board", "nowhere"], "there is no board 'nowhere'"),
        (["--baseline", "nowhere.json"], "cannot read the baseline nowhere.json"),
        (["-o", "/nowhere/x.json"], "the folder /nowhere does not exist"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: list[str], cause: str) -> None:
    refused(call("check", MODEL, *arguments), 2, cause)


@pytest.mark.parametrize(("text", "fits"), [("1000000", False), ("1.5M", False), ("1000M", True)])
def test_instructions_are_counted_in_millions(text: str, fits: bool) -> None:
    assert call("check", "zoo:ds-cnn-kws", "--max-instructions", text).code == (0 if fits else 1)

"""What plans cost: instructions are predicted always, and `--cost instructions` limits these."""

from __future__ import annotations

import json
from pathlib import Path

from command import call, refused

KWS = "zoo:ds-cnn-kws"
INSTRUCTIONS = ("--cost", "instructions")


def said(*arguments: str | Path) -> str:
    """What a command prints that succeeds; it may say on stderr that it takes long."""
    result = call(*arguments)
    assert result.code == 0, result.err
    return result.out


def test_plan_and_front_as_json() -> None:
    limits = ("--input", "const", "--max-overhead", "inf", "--front", "--json")
    document = json.loads(said("plan", KWS, *limits, "--core", "rv32imac"))
    assert document["cost_model"]["core"] == "rv32imac"
    assert 0 < document["cost_model"]["worst_error"] <= 0.05
    front = document["front"]
    predicted = [point["instructions_predicted"] for point in front]
    assert predicted == sorted(predicted)
    assert document["instructions_predicted"] in predicted
    assert json.loads(said("plan", KWS, *limits))["cost_model"]["core"] == "cortex-m4"


def test_text_says_what_is_predicted() -> None:
    text = said("plan", KWS, "--front")
    assert "in RAM, instructions and MACs" in text
    assert "instructions, predicted" in text
    assert "for a cortex-m4; the error is at most" in text


def test_compiled_and_measured(tmp_path: Path) -> None:
    text = said("compile", KWS, "-o", tmp_path / "out")
    assert "instructions, predicted: " in text
    board = ("--board", "mps2-an386", "--samples", "1")
    assert "the same, predicted for a cortex-m4" in said("run", KWS, *board)
    document = json.loads(said("run", KWS, *board, "--json"))
    predicted, measured = document["instructions_predicted"], document["instructions"]
    assert abs(predicted / measured - 1) <= 0.05


def test_limits_count_predicted_instructions() -> None:
    result = call("plan", KWS, *INSTRUCTIONS, "--max-ram", "1000", "--max-overhead", "1.5")
    assert "at 1.5 times its predicted instructions" in result.err
    assert result.code != 0


def test_an_unknown_core_is_refused() -> None:
    result = call("plan", KWS, *INSTRUCTIONS, "--core", "z80")
    refused(
        result,
        2,
        "there is no core 'z80'",
        "use one of: any, cortex-m0, cortex-m3, cortex-m4, cortex-m7, "
        "cortex-m33, cortex-m55, rv32imc, rv32imac",
    )

"""`lowtide compile --shared-arena`: what is written and said, and what is refused before long work."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from command import call, fine, refused

from networks import contents

NETWORKS = {
    "wake word.tflite": "streaming-wake-word",
    "cell.tflite": "branchy-cell",
    "f.tflite": "figure1",
}


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    for name, network in NETWORKS.items():
        (tmp_path / name).write_bytes(contents(network))
    return [tmp_path / name for name in NETWORKS]


def test_what_is_written_and_how_to_make_it_again(models: list[Path], tmp_path: Path) -> None:
    words: tuple[str | Path, ...]
    words = (*models, "--shared-arena", "--name", "trio", "--core", "cortex-m4", "--effort", "0.2")
    first, second = tmp_path / "a", tmp_path / "b"
    text = fine(call("compile", *words, "-o", first))
    assert re.search(r"^together ", text, re.M) and "trio.h has the arena and all" in text
    assert json.loads(fine(call("compile", *words, "-o", first, "--json")))["removed"] == []
    (command,) = re.findall(r"^    (lowtide compile .*)$", (first / "README.md").read_text(), re.M)
    typed = shlex.split(command)
    assert typed[2:5] == list(NETWORKS) and typed[-2:] == ["-o", "trio"]
    assert command in (first / "trio.h").read_text()
    document = json.loads(fine(call(*typed[1:2], *models, *typed[5:-1], second, "--json")))
    assert document["command"] == command and document["name"] == "trio"
    assert [network["name"] for network in document["networks"]] == ["wake_word", "cell", "f"]
    assert document["arena_bytes"] == max(n["arena_bytes"] for n in document["networks"])
    made, again = ({p.name: p.read_bytes() for p in top.iterdir()} for top in (first, second))
    assert made == again and sorted(made) == document["files"]
    assert not any(str(tmp_path).encode() in content for content in made.values())
    assert {"trio.h", "README.md", "cell.c", "cell.h", "cell.md", "wake_word.md"} <= set(made)


def test_check_knows_each_network_of_a_bundle(models: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "all"
    fine(call("compile", *models, "--shared-arena", "-o", folder, "--effort", "0.2"))
    for model in models:
        assert f"{folder} is up to date" in fine(call("check", model, "--bundle", folder))
    (folder / "cell.md").write_text((folder / "cell.md").read_text() + "\n")
    fine(call("check", models[0], "--bundle", folder))
    result = call("check", models[1], "--bundle", folder)
    assert result.code == 1 and "cell.md differ" in result.err
    other = tmp_path / "other.tflite"
    other.write_bytes(contents("figure1"))
    refused(
        call("check", other, "--bundle", folder),
        *(2, "is made from other.tflite", "cell.tflite, f.tflite, wake word.tflite"),
    )


def test_a_certificate_of_one_network_of_a_bundle(models: list[Path], tmp_path: Path) -> None:
    folder, certificate = tmp_path / "all", tmp_path / "cell.json"
    fine(call("compile", *models, "--shared-arena", "-o", folder, "--effort", "0.2"))
    fine(call("prove", models[1], "--bundle", folder, "-o", certificate))
    files = json.loads(certificate.read_text())["files"]
    assert "cell.c" in files and "networks.h" not in files and "wake_word.c" not in files
    fine(call("prove", models[1], "--bundle", folder, "--check", certificate))
    (folder / "cell.c").write_text((folder / "cell.c").read_text().replace("0", "1", 1))
    assert call("prove", models[1], "--bundle", folder, "--check", certificate).code == 1


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        (("--preserve-input",), "--preserve-input keeps inputs in the arena", "leave out"),
        (
            ("--mcu", "STM32L053R8"),
            "one network for the whole RAM of a microcontroller",
            "--core cortex-m0",
        ),
        (("--export", "cmake"), "--export and --shared-arena cannot be", "leave out --export"),
        (("--until", "3"), "--until and --shared-arena cannot be", "leave out --until"),
        (("--from", "1"), "--from and --shared-arena cannot be", "leave out --from"),
        (("--plan", "plan.json"), "--plan and --shared-arena cannot be", "leave out --plan"),
        (("--name", "cell"), "'cell' would name 2 things in one folder", "change --name"),
        (("--name", "CELL"), "'cell' would name 2 things in one folder", "change --name"),
        (("--name", "readme"), "'readme' would name 2 things in one folder", "change --name"),
        (
            ("--name", "cell_state"),
            "'cell_state' would name 2 things in one folder",
            "change --name",
        ),
        (("--name", "int"), "'int' cannot be a C identifier", "use letters"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_together(
    given: tuple[str, ...], cause: str, remedy: str, models: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    refused(call("compile", *models, "--shared-arena", "-o", out, *given), 2, cause, remedy)
    assert not out.exists()


def test_two_networks_of_one_name(models: list[Path], tmp_path: Path) -> None:
    """In folders of their own, or names that are one in C."""
    for name in ("v2/wake word.tflite", "wake-word.tflite"):
        twin = tmp_path / name
        twin.parent.mkdir(exist_ok=True)
        twin.write_bytes(contents("figure1"))
        refused(
            call("compile", *models, twin, "--shared-arena", "-o", tmp_path / "out"),
            *(2, "'wake_word' would name 2 things in one folder", "a different name"),
        )


def test_how_many_networks(models: list[Path], tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out")
    refused(
        call("compile", *models, *out), 2, "compile takes one network, not 3", "add --shared-arena"
    )
    refused(
        call("compile", models[0], "--shared-arena", *out),
        2,
        "--shared-arena needs two or more networks",
    )

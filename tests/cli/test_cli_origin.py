"""Artefacts say what they are from and how to make them again; `check --bundle` holds them to that."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import Result, call, fine, refused

from lowtide.cli.deploy import PACKAGES
from lowtide.emit.origin import made_of
from networks import contents

DIGEST = hashlib.sha256(contents("figure1")).hexdigest()
GIVEN: list[tuple[str, ...]] = [
    (),
    ("--name", "net", "--core", "cortex-m4", "--input", "streamed"),
    ("--max-ram", "2100", "--slices"),
    ("--mcu", "STM32L053R8", "--no-simplify"),
    ("--schedule", "operators", "--allocator", "greedy"),
    ("--until", "3"),
    *(("--export", kind) for kind in PACKAGES),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "my net.tflite"
    path.write_bytes(contents("figure1"))
    return path


def _typed(command: str, model: Path, output: Path) -> Result:
    """What an artefact says, with the model's own place and another for what is written."""
    program, *words = shlex.split(command)
    assert program == "lowtide" and words[1] == model.name and words[-2] == "-o"
    return call(words[0], model, *words[2:-1], output)


def _command(folder: Path) -> str:
    found = re.search(r"^    (lowtide compile .*)$", (folder / "README.md").read_text(), re.M)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("given", GIVEN, ids=" ".join)
def test_the_command_makes_the_same_again(
    given: tuple[str, ...], model: Path, tmp_path: Path
) -> None:
    name = "net" if "net" in given else "my_net"
    first, second = tmp_path / "a" / name, tmp_path / "b" / name
    fine(call("compile", model, "-o", first, "--effort", "0.2", *given))
    readme = (first / "README.md").read_text()
    assert (
        f"Made from `my net.tflite`, SHA-256 `{DIGEST}`, by lowtide {version('lowtide')}:" in readme
    )
    fine(_typed(_command(first), model, second))
    made, again = (
        {p.relative_to(top): p.read_bytes() for p in top.rglob("*") if p.is_file()}
        for top in (first, second)
    )
    assert made == again
    header = next(first.rglob(f"{name}.h")).read_text()
    assert f"/* Made from my net.tflite, SHA-256 {DIGEST}," in header
    assert str(tmp_path) not in readme + header
    assert f"{first} is up to date, in all {len(made)} files." in fine(
        call("check", model, "--bundle", first)
    )


def test_a_bundle_that_is_another(model: Path, tmp_path: Path) -> None:
    folder, junit = tmp_path / "net", tmp_path / "v.xml"
    fine(call("compile", model, "--name", "net", "-o", folder))
    words = ("check", model, "--bundle", folder)
    (folder / "net.c").write_bytes((folder / "net.c").read_bytes() + b"\n")
    (folder / "lowtide.c").unlink()
    result = call(*words, "--junit", junit)
    assert result.code == 1
    said = f"{folder} is out of date: net.c differs; lowtide.c missing"
    assert f"lowtide: {model}: {said}" in result.err
    again = shlex.join(["lowtide", "compile", str(model), "--name", "net", "-o", str(folder)])
    assert f"remedy: make the bundle again: `{again}`" in result.err
    (case,) = ElementTree.parse(junit).getroot().iter("testcase")
    assert (case.get("name"), case[0].get("message")) == ("bundle", said)
    document = json.loads(call(*words, "--json").out)
    assert document["passed"] is False
    assert document["bundle"]["changed"] == ["net.c"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_made_again_as_the_remedy_says(
    model: Path, package: str, tmp_path: Path
) -> None:
    """With its --export, in its folder."""
    folder = tmp_path / "net"
    fine(call("compile", model, "--name", "net", "--export", package, "-o", folder))
    source = next(folder.rglob("net.c"))
    source.write_bytes(source.read_bytes() + b"\n")
    result = call("check", model, "--bundle", folder)
    assert result.code == 1
    command = result.err.partition("make the bundle again: `")[2].partition("`")[0]
    _, program, *words = shlex.split(command)
    fine(call(program, *words))
    fine(call("check", model, "--bundle", folder))


def test_a_bundle_of_another_model_or_version(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    fine(call("compile", model, "--name", "net", "-o", folder))
    result = call("check", "zoo:lstm-gestures", "--bundle", folder)
    assert result.code == 1
    assert f"another model (it was made from my net.tflite, SHA-256 {DIGEST})" in result.err
    assert "remedy: name that model, my net.tflite, or compile this one to another" in result.err
    assert "lowtide compile" not in result.err  # which would write over the other network's bundle
    model.write_bytes(contents("lstm-gestures"))  # the same file, trained anew
    result = call("check", model, "--bundle", folder)
    assert f"out of date (it was made from another model, SHA-256 {DIGEST})" in result.err
    assert "remedy: make the bundle again: `lowtide compile" in result.err
    model.write_bytes(contents("figure1"))
    readme = folder / "README.md"
    readme.write_text(
        readme.read_text().replace(f"by lowtide {version('lowtide')}", "by lowtide 0.0.1")
    )
    assert (
        "(it was made by lowtide 0.0.1): README.md differs"
        in call("check", model, "--bundle", folder).err
    )


def test_a_bundle_whose_options_do_not_suit_another_model(model: Path, tmp_path: Path) -> None:
    """It is the other model that is told, not what its options make of it."""
    folder = tmp_path / "net"
    fine(call("compile", "zoo:ds-cnn-kws", "--until", "30", "--effort", "0.1", "-o", folder))
    refused(
        call("check", model, "--bundle", folder),
        1,
        f"the bundle in {folder} is of another model, zoo:ds-cnn-kws, whose SHA-256 begins",
        "name that model, zoo:ds-cnn-kws, or compile this one to another folder",
    )


def test_a_bundle_of_a_plan_asks_for_it(model: Path, tmp_path: Path) -> None:
    plan, folder = tmp_path / "plan.json", tmp_path / "net"
    fine(call("plan", model, "-o", plan, "--no-advice"))
    fine(call("compile", model, "--name", "net", "--plan", plan, "-o", folder))
    words = ("check", model, "--bundle", folder)
    refused(
        call(*words),
        2,
        f"the bundle in {folder} was made with a plan",
        "add that plan: --plan FILE",
    )
    fine(call(*words, "--plan", plan))


def test_what_cannot_be_asked(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    refused(
        call("check", model, "--bundle", folder), 2, f"{folder} has no README.md with the command"
    )
    fine(call("compile", model, "-o", folder))
    words = ("check", model, "--bundle", folder, "--slices")
    refused(call(*words), 2, f"the bundle in {folder} already sets --slices", "leave out --slices")


def test_a_component_of_esp_idf_is_in_a_folder_of_its_name(model: Path, tmp_path: Path) -> None:
    """What -o named is not its folder, so the refusal names that."""
    fine(call("compile", model, "--export", "esp-idf", "--name", "net", "-o", tmp_path / "made"))
    refused(
        call("check", model, "--bundle", tmp_path / "made"),
        2,
        "has no README.md with the command",
        f"name the folder of a bundle or package, such as {tmp_path / 'made' / 'net'}, or make it",
    )
    fine(call("check", model, "--bundle", tmp_path / "made" / "net"))


def test_documents_and_the_page_say_it_too(model: Path, tmp_path: Path) -> None:
    made = json.loads(fine(call("compile", model, "-o", tmp_path / "net", "--json")))
    plan = json.loads(fine(call("plan", model, "--json")))
    for document, command in ((made, "compile"), (plan, "plan")):
        assert document["sha256"] == DIGEST and document["lowtide"] == version("lowtide")
        assert document["command"].startswith(f"lowtide {command} 'my net.tflite' --name my_net")
    fine(_typed(plan["command"], model, tmp_path / "plan.json"))
    page = tmp_path / "r.html"
    fine(call("report", model, "-o", page))
    said = f"Made from my net.tflite, SHA-256 {DIGEST}, by lowtide {version('lowtide')}: lowtide report"
    assert said in page.read_text()


@pytest.mark.parametrize("word", ["from", "of"])
def test_readmes_of_both_wordings_are_read(word: str) -> None:
    """Bundles that an earlier version made say "of"."""
    assert made_of(f"Made {word} `a b.tflite`, SHA-256 `0af`, by lowtide 0.1.0:\n") == (
        *("a b.tflite", "0af", "0.1.0"),
    )

"""`lowtide prove`: a certificate of a program, or of a bundle in a folder, and its check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import call, fine, refused

MODEL = "zoo:figure1"
QUICK = ("--schedule", "operators")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "net"
    fine(call("compile", MODEL, *QUICK, "-o", folder))
    return folder


def test_a_certificate_is_written_and_checked(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    out = fine(call("prove", MODEL, "--bundle", bundle, "-o", file))
    assert out.startswith("figure1: proved for all inputs")
    for told in ("largest", "head-room", "thresholds", "6 CONCATENATION", "the C compiler"):
        assert told in " ".join(out.split()), told
    document = json.loads(file.read_text())
    assert json.loads(fine(call("prove", MODEL, "--bundle", bundle, "--json"))) == document
    assert json.loads(fine(call("prove", MODEL, *QUICK, "--json"))) == document
    checked = ("prove", MODEL, "--bundle", bundle, "--check", file)
    assert fine(call(*checked)).startswith("figure1: the certificate holds")
    assert json.loads(fine(call(*checked, "--json"))) == document
    refused(
        call("prove", "zoo:resnet8", *checked[2:]), 1, "not proved: it is for another model", ""
    )


def test_a_package_is_proved(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    fine(call("compile", MODEL, *QUICK, "--export", "cmake", "-o", folder))
    assert "proved for all inputs" in fine(call("prove", MODEL, "--bundle", folder))


def test_what_does_not_hold_is_refused(bundle: Path, tmp_path: Path) -> None:
    file, folder = tmp_path / "certificate.json", tmp_path / "net"
    fine(call("prove", MODEL, "--bundle", bundle, "-o", file))
    folder.mkdir()
    for path in bundle.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    code = (folder / "figure1.c").read_text()
    (folder / "figure1.c").write_text(code.replace(".low = -128", ".low = -127", 1))
    for more in ((), ("--check", file)):
        refused(call("prove", MODEL, "--bundle", folder, *more), 1, "not proved: operator", "again")
    document = json.loads(file.read_text())
    document["proved"]["steps"] += 1
    file.write_text(json.dumps(document))
    words = ("prove", MODEL, "--bundle", bundle, "--check", file)
    refused(call(*words), 1, "not proved: it says that proved.steps is", "again")


def test_what_cannot_be_asked(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    both = ("prove", MODEL, "--bundle", bundle, "--check", file)
    refused(call("prove", MODEL, "--check", file), 2, "--check needs the bundle", "--bundle DIR")
    refused(call(*both, "-o", tmp_path / "c.json"), 2, "--check does not write a certificate", "-o")
    refused(
        call(*both, "--slices"), 2, f"the bundle in {bundle} already sets --slices", "leave out"
    )
    refused(call(*both), 2, "cannot read a file to check", "check the paths")
    refused(call("prove", MODEL, "--bundle", tmp_path), 2, "has no README.md", "name the folder")
    model = tmp_path / "m.tflite"
    model.write_bytes(b"no model")
    refused(call("prove", model), 3, "m.tflite", "")

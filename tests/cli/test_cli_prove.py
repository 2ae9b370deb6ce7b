"""`lowtide prove`: a certificate of a program, or of a bundle in a folder, and its check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import call, fine, refused

from networks import contents

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
    for told in ("largest", "head-room,", "thresholds", "6 CONCATENATION", "the C compiler"):
        assert told in " ".join(out.split()), told
    document = json.loads(file.read_text())
    assert json.loads(fine(call("prove", MODEL, "--bundle", bundle, "--json"))) == document
    assert json.loads(fine(call("prove", MODEL, *QUICK, "--json"))) == document
    checked = ("prove", MODEL, "--bundle", bundle, "--check", file)
    assert fine(call(*checked)).startswith("figure1: the certificate holds")
    assert json.loads(fine(call(*checked, "--json"))) == document
    refused(
        call("prove", "zoo:resnet8", *checked[2:]),
        1,
        "not proved: the certificate is for another model",
        "name the model",
    )


def test_the_text_has_every_column_and_no_inner_words(bundle: Path) -> None:
    out = fine(call("prove", MODEL, "--bundle", bundle))
    assert "too narrow" not in out and "too few" not in out
    assert "its SHA-256 begins with" in out and "with  of" not in out
    for inner in ("`ir/`", "the passes", "tested_alone", "`files`"):
        assert inner not in out, inner


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
    refused(call(*words), 1, "the certificate says that proved.steps is", "again")


def test_an_edit_that_no_proof_reads_is_found(bundle: Path, tmp_path: Path) -> None:
    """In what runs the program: by its file, which differs from that of the certificate, or of today."""
    file, folder = tmp_path / "certificate.json", tmp_path / "net"
    fine(call("prove", MODEL, "--bundle", bundle, "-o", file))
    fine(call("compile", MODEL, *QUICK, "-o", folder))
    code = folder / "figure1.c"
    code.write_text(code.read_text().replace("(void)lt_run(", "if (m == NULL) (void)lt_run("))
    both = "prove", MODEL, "--bundle", folder
    told = "not proved: figure1.c is not the file that the certificate is about"
    refused(call(*both, "--check", file), 1, told, "restore that file")
    again = f"not proved: figure1.c in {folder} differs from the file that `lowtide compile` writes"
    refused(call(*both, "-o", tmp_path / "new.json"), 1, again, "restore it")
    assert not (tmp_path / "new.json").exists()
    (folder / "figure1.c").write_bytes((bundle / "figure1.c").read_bytes())
    (folder / "lt_fixed.h").unlink()
    refused(call(*both), 1, f"not proved: lt_fixed.h in {folder} is missing", "restore it")


def test_files_of_others_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "net"
    fine(call("compile", MODEL, *QUICK, "-o", folder))
    (folder / "more.c").write_text("int more;")
    out = fine(call("prove", MODEL, "--bundle", folder))
    assert out.splitlines()[-1] == "Not a part of this program, and not looked at: more.c."


def test_a_bundle_of_another_model_is_named(bundle: Path, tmp_path: Path) -> None:
    refused(
        call("prove", "zoo:resnet8", "--bundle", bundle),
        1,
        f"the bundle in {bundle} is of another model, zoo:figure1, whose SHA-256 begins with ",
        "name that model, zoo:figure1, or compile this one to another folder",
    )
    model, folder = tmp_path / "net.tflite", tmp_path / "net"
    model.write_bytes(contents("figure1"))
    fine(call("compile", model, *QUICK, "-o", folder))
    model.write_bytes(contents("resnet8"))
    refused(
        call("prove", model, "--bundle", folder),
        1,
        f"the bundle in {folder} is of another version of the model, net.tflite",
        "compile this version again, or name that file",
    )


WRONG: dict[str, tuple[str, str]] = {
    "a plan": ('{"schema": "lowtide.plan/1"}', "the file is not a certificate, but has the schema"),
    "a list": ("[1]", "the file is not a certificate"),
    "no hints": ('{"schema": "lowtide.certificate/1"}', "the certificate is damaged: its hints"),
    "a list of hints": (
        '{"schema": "lowtide.certificate/1", "said": []}',
        "the certificate is damaged: its hints",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_no_certificate(what: str, bundle: Path, tmp_path: Path) -> None:
    content, why = WRONG[what]
    file = tmp_path / "certificate.json"
    file.write_text(content)
    result = call("prove", MODEL, "--bundle", bundle, "--check", file)
    refused(result, 1, f"not proved: {why}", "make the certificate again with `lowtide prove")
    assert "Error" not in result.err and "'" not in result.err
    file.write_text("{")
    refused(call("prove", MODEL, "--bundle", bundle, "--check", file), 2, "its file is not JSON")


def test_a_certificate_of_another_bundle(bundle: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "certificate.json", tmp_path / "other"
    assert fine(call("prove", MODEL, "--bundle", bundle, "-o", file)).endswith(f"Wrote {file}.\n")
    fine(call("compile", MODEL, *QUICK, "--name", "other", "-o", other))
    refused(
        call("prove", MODEL, "--bundle", other, "--check", file),
        1,
        "the bundle lacks figure1.c, so the certificate is about another bundle",
        "name the folder of the bundle that the certificate is about",
    )


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

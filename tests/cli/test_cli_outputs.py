"""Output files: written whole, or refused in one message with nothing left behind.

Why not by taking permissions away: tests may run as root, whom no permission stops. The outputs here
cannot be written by anyone, or the file system is made to fail.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from command import call, fine, refused

Writer = Callable[[Path], tuple[str | Path, ...]]

WRITERS: dict[str, Writer] = {
    "zoo": lambda out: ("zoo", "figure1", "-o", out),
    "reorder": lambda out: ("reorder", "zoo:figure1", "--no-check", "-o", out),
    "plot": lambda out: ("analyze", "zoo:figure1", "--plot", out),
}

every_writer = pytest.mark.parametrize("command", WRITERS.values(), ids=list(WRITERS))


@every_writer
def test_a_missing_folder(command: Writer, tmp_path: Path) -> None:
    out = tmp_path / "none" / "out.png"
    refused(call(*command(out)), 2, f"cannot write {out}: the folder", "create it")
    assert list(tmp_path.iterdir()) == []


@every_writer
def test_a_folder(command: Writer, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    out.mkdir()
    refused(call(*command(out)), 2, f"{out} is a folder", "name a file")
    assert list(tmp_path.iterdir()) == [out]
    assert list(out.iterdir()) == []


@every_writer
def test_a_path_below_a_file(command: Writer, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    refused(call(*command(tmp_path / "file" / "out.png")), 2, "cannot write")
    assert (tmp_path / "file").read_bytes() == b"mine"


@every_writer
def test_a_name_that_is_too_long(command: Writer, tmp_path: Path) -> None:
    """One that no file may have, and one that only the temporary file's name exceeds."""
    for length in (300, 250):
        out = tmp_path / ("n" * (length - 4) + ".png")
        refused(call(*command(out)), 2, "File name too long")
    assert list(tmp_path.iterdir()) == []


@every_writer
def test_what_is_no_file_is_not_replaced(command: Writer, tmp_path: Path) -> None:
    """A pipe here; for root it might be /dev/null."""
    out = tmp_path / "out.png"
    os.mkfifo(out)
    refused(call(*command(out)), 2, f"{out}")
    assert stat.S_ISFIFO(out.stat().st_mode)
    assert list(tmp_path.iterdir()) == [out]


@every_writer
@pytest.mark.parametrize("again", [False, True])
def test_a_full_disk(
    command: Writer, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.png"
    if again:
        fine(call(*command(out)))
    before = [path.read_bytes() for path in tmp_path.iterdir()]

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(call(*command(out)), 2, f"cannot write {out}: No space left on device", "free space")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == before


@every_writer
def test_nothing_but_the_file_is_left(command: Writer, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    out.write_bytes(b"old")
    fine(call(*command(out), "--force"))
    assert list(tmp_path.iterdir()) == [out]
    assert out.read_bytes() != b"old"


@every_writer
def test_a_name_without_a_folder(
    command: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fine(call(*command(Path("out.png"))))
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


@every_writer
def test_the_output_is_looked_at_before_the_model(command: Writer, tmp_path: Path) -> None:
    """A search may take long; that its result cannot be written is said first."""
    arguments = [str(a).replace("zoo:figure1", "none") for a in command(tmp_path / "no" / "o.png")]
    refused(call(*arguments), 2, "cannot write")


def test_csv_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "file"
    out.write_bytes(b"mine")
    for folder in (out, out / "below"):
        refused(
            call("analyze", "zoo:figure1", "--csv", folder), 2, f"cannot make the folder {folder}"
        )
    assert out.read_bytes() == b"mine"


def test_a_folder_for_c_that_is_a_file_is_told_before_the_model(tmp_path: Path) -> None:
    out = tmp_path / "file"
    out.write_bytes(b"mine")
    cause = f"cannot make the folder {out}: it is a file"
    refused(call("compile", "none", "-o", out), 2, cause, "choose another folder")
    assert out.read_bytes() == b"mine"


def test_csv_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(call("analyze", "zoo:figure1", "--csv", tmp_path), 2, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_csv_table_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tensors.csv").mkdir()
    refused(call("analyze", "zoo:figure1", "--csv", tmp_path), 2, "is a folder, not a file")

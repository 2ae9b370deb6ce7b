"""Folders that vanish, and full disks: one message that names the folder, whatever failed in it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from lowtide.errors import ModelError, UsageError
from lowtide.machines.objects import compiler_said
from lowtide.temporary import temporary_folder

_REMEDY = "set the environment variable TMPDIR to a folder with room"
_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture(autouse=True)
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_vanishes(tmp_path: Path) -> None:
    with temporary_folder() as folder:
        (folder / "file").write_text("x")
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught, temporary_folder():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.cause == f"the disk of the temporary folder {tmp_path} is full"
    assert caught.value.remedy == _REMEDY
    assert list(tmp_path.iterdir()) == []


def test_what_fails_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="by itself"), temporary_folder():
        raise ModelError("by itself", "nothing")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(1 << 20, 1 << 20, 0))
    full = pytest.raises(UsageError, match=f"the disk of the temporary folder {tmp_path} is full")
    with full, temporary_folder():
        raise ModelError("for want of room", "nothing")


def test_other_errors_go_through() -> None:
    with pytest.raises(PermissionError), temporary_folder():
        raise PermissionError(errno.EACCES, "no")


def test_no_folder_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(UsageError) as caught, temporary_folder():
        pass
    assert caught.value.cause == "cannot make a temporary folder: No such file or directory"
    assert caught.value.remedy == _REMEDY


def test_a_compiler_that_finds_no_room(tmp_path: Path) -> None:
    said = f"error writing to x.s: {os.strerror(errno.ENOSPC)}"
    with pytest.raises(UsageError) as caught:
        compiler_said(CompletedProcess([], 1, "", said), "compile")
    assert caught.value.cause == f"the disk of the temporary folder {tmp_path} is full"

"""Result files appear whole or not at all.

Why: a half-written model may still load, on a device, and compute something else.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lowtide
import networks
from lowtide import files
from lowtide.errors import UsageError
from lowtide.files import Replacing, check_writable, make_folder, write_atomically

FORCED = Replacing(force=True)


def refusal(path: Path) -> UsageError:
    """The error of writing to `path`, after which the folder holds what it held before."""
    before = sorted(path.parent.iterdir()) if path.parent.is_dir() else None
    with pytest.raises(UsageError) as info:
        write_atomically(path, b"new", FORCED)
    assert (sorted(path.parent.iterdir()) if path.parent.is_dir() else None) == before
    return info.value


@pytest.mark.parametrize("data", [b"", b"new", bytes(range(256)) * 5000])
@pytest.mark.parametrize("before", [None, b"old and longer than the new"])
def test_contents(data: bytes, before: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "out"
    if before is not None:
        path.write_bytes(before)
    write_atomically(path, data, FORCED)
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(mask: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        write_atomically(tmp_path / "out", b"new")
        assert os.umask(mask) == mask  # it is still the process's own
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~mask


def test_a_name_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_writable(Path("out"))
    write_atomically(Path("out"), b"new")
    assert (tmp_path / "out").read_bytes() == b"new"


def test_a_reader_keeps_what_it_has_opened(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_atomically(path, b"new", FORCED)
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"


def test_a_folder_or_none(tmp_path: Path) -> None:
    for path, cause in (
        (tmp_path, "is a folder, not a file"),
        (tmp_path / "none" / "out", f"the folder {tmp_path / 'none'} does not exist"),
    ):
        assert cause in refusal(path).cause
        with pytest.raises(UsageError, match=cause):
            check_writable(path)


def test_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    assert "cannot write" in refusal(tmp_path / "file" / "out").cause
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system would answer, were this not root."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert f"no permission in {tmp_path}" in refusal(tmp_path / "out").cause


@pytest.mark.parametrize("length", [300, 256, 250])
def test_a_name_that_is_too_long(length: int, tmp_path: Path) -> None:
    """250 characters would do for a file, but not for the temporary one beside it."""
    assert "File name too long" in refusal(tmp_path / ("n" * length)).cause


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert str(path) in refusal(path).cause
    assert stat.S_ISFIFO(path.stat().st_mode)
    with pytest.raises(UsageError):
        check_writable(path)


def test_a_link_stays_one(tmp_path: Path) -> None:
    """What it leads to is written, as every other program does; /dev/stdout is such a link."""
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomically(link, b"new", FORCED)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert list((tmp_path / "folder").iterdir()) == [target]


@pytest.mark.parametrize(
    ("step", "before"),
    # Only a file that is replaced has a mode to keep.
    [("fsync", None), ("fsync", b"old"), ("replace", None), ("replace", b"old"), ("chmod", b"old")],
)
def test_a_failure_leaves_everything_as_it_was(
    step: str, before: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    if before is not None:
        path.write_bytes(before)

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, fail)
    error = refusal(path)
    assert error.cause == f"cannot write {path}: No space left on device"
    assert error.remedy == "check the path and the free space"
    assert error.exit_code == 2
    assert (path.read_bytes() if path.exists() else None) == before


def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "out", b"new")
    assert list(tmp_path.iterdir()) == []


def test_make_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    make_folder(folder)
    assert folder.is_dir()
    (folder / "file").write_bytes(b"mine")
    for path in (folder / "file", folder / "file" / "c"):
        with pytest.raises(UsageError, match=f"^cannot make the folder {path}: "):
            make_folder(path)
    assert (folder / "file").read_bytes() == b"mine"


def _interrupted_at(moment: int, folder: Path) -> bool:
    """Write two files, of which one is there, with an interrupt at that moment, counted in bytecodes of
    lowtide.files; whether it came to that moment."""
    left = moment

    def each(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        nonlocal left
        if frame.f_code.co_filename != files.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        files.write_together({folder / "one": b"new", folder / "two": b"new"}, FORCED)
    except KeyboardInterrupt:
        assert left <= 0
    else:
        assert left > 0
    finally:
        sys.settrace(before)
    return left <= 0


def test_an_interrupt_at_any_moment(tmp_path: Path) -> None:
    """No temporary file, no file but whole ones, and all of them old or all of them new."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in handled]
    found = set()
    moment = 1
    try:
        while True:
            folder = tmp_path / str(moment)
            folder.mkdir()
            (folder / "one").write_bytes(b"old")
            came = _interrupted_at(moment, folder)
            contents = {path.name: path.read_bytes() for path in folder.iterdir()}
            assert contents in ({"one": b"old"}, {"one": b"new", "two": b"new"}), moment
            found.add(len(contents))
            assert [signal.getsignal(number) for number in handled] == handlers, moment
            if not came:
                break
            moment += 1
    finally:
        signal.signal(signal.SIGINT, handler)
    assert found == {1, 2}
    assert moment > 500


def test_a_thread_writes_without_interrupts(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(write_atomically, tmp_path / "out", b"new").result()
    assert (tmp_path / "out").read_bytes() == b"new"


def test_from_python_the_same_rule(tmp_path: Path) -> None:
    """`write` of every result: never the model that it was made from, and others only by force."""
    path, notes = tmp_path / "m.tflite", tmp_path / "notes"
    path.write_bytes(networks.contents("figure1"))
    result = lowtide.reorder(lowtide.load(path), check=False)
    notes.write_bytes(b"mine")
    for target, force in ((path, False), (path, True), (notes, False)):
        with pytest.raises(UsageError, match=f"^cannot write {target}: "):
            result.write(target, force=force)
    assert path.read_bytes() == networks.contents("figure1")
    assert notes.read_bytes() == b"mine"
    for force in (True, False):
        result.write(notes, force=force)
    assert notes.read_bytes() == result.model.source
    program = networks.compiled("figure1")
    with pytest.raises(UsageError, match="holds nothing that lowtide generated"):
        program.write(tmp_path)
    program.write(tmp_path, force=True)
    assert program.write(tmp_path) == ()
    assert path.read_bytes() == networks.contents("figure1")


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "out")
    with pytest.raises(UsageError, match="it is a symbolic link to itself"):
        check_writable(tmp_path / "out")

"""Writing result files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Final

from lowtide.errors import UsageError

_INTERRUPTS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def check_writable(path: Path) -> Path:
    """The file that writing to `path` would write, links followed; call it before long work.

    Raises UsageError unless a file could be written there.
    """
    try:
        if not path.name or "\0" in str(path):
            raise UsageError(f"{str(path)!r} is no file name", "name a file to write")
        target = path.resolve()
        if target.is_dir():
            raise UsageError(f"{path} is a folder, not a file", "name a file to write")
        if target.exists() and not target.is_file():
            raise UsageError(
                f"cannot write {path}: it is a pipe or a device, which cannot be written as a whole",
                "name a regular file",
            )
        folder = target.parent
        if not folder.is_dir():
            raise UsageError(
                f"cannot write {path}: the folder {folder} does not exist", "create it first"
            )
    except OSError as error:
        raise refused(path, error) from None
    if target.exists() and not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {path}: it is read-only", "choose another file name")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: no permission in {folder}", "choose another folder")
    return target


def check_folder(folder: Path, remedy: str = "choose another folder") -> None:
    """Call it before long work: raises UsageError, with `remedy`, for a name that a file has."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"cannot make the folder {folder}: it is a file", remedy)


def make_folder(folder: Path) -> None:
    """Make `folder` and its parents where missing; raises UsageError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {folder}: {error.strerror or error}", "choose another folder"
        ) from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that no reader, and no crash, ever sees a part of it.

    Raises UsageError if the file system refuses.
    """
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write several files: each whole or not at all, and none unless all could be written.

    All are written beside their targets first and then renamed. An interrupt waits until they are: it
    finds neither temporary files nor some of the files renamed. Raises UsageError if the file system
    refuses.
    """
    with uninterrupted():
        _write(files)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Interrupts that come meanwhile come at the end. They reach no thread but the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    try:
        for number in _INTERRUPTS:
            if signal.getsignal(number) is not None:  # None: not Python's to put back
                before[number] = signal.getsignal(number)
                signal.signal(number, note)
        yield
    finally:
        for number, handler in reversed(before.items()):  # what interrupts most, last
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def _write(files: Mapping[Path, bytes]) -> None:
    """`write_together`, which nothing may interrupt."""
    targets = {path: check_writable(path) for path in files}
    written: dict[Path, Path] = {}
    current = next(iter(files), Path())
    try:
        for current, data in files.items():
            target = targets[current]
            temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
            # A new file has the usual permissions, a file that is replaced keeps its own.
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            written[current] = temporary
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
        for current in list(written):
            written[current].replace(targets[current])
            del written[current]
    except BaseException as error:
        for temporary in written.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise refused(current, error) from None
        raise


def refused(path: Path, error: OSError) -> UsageError:
    """What to raise where the file system refuses to write `path`."""
    return UsageError(
        f"cannot write {path}: {error.strerror or error}", "check the path and the free space"
    )

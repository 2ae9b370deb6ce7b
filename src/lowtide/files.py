"""Writing result files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from lowtide.errors import UsageError


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
        raise _refused(path, error) from None
    if target.exists() and not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {path}: it is read-only", "choose another file name")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: no permission in {folder}", "choose another folder")
    return target


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

    All are written beside their targets first and then renamed. Raises UsageError if the file system
    refuses.
    """
    targets = {path: check_writable(path) for path in files}
    written: dict[Path, Path] = {}
    current = next(iter(files), Path())
    try:
        for current, data in files.items():
            target = targets[current]
            temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
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
    except BaseException as error:  # an interrupt, too, leaves nothing behind
        for temporary in written.values():
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise _refused(current, error) from None
        raise


def _refused(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path}: {error.strerror or error}", "check the path and the free space"
    )

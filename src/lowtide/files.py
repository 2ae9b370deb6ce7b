"""Writing result files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from lowtide.errors import UsageError


def check_writable(path: Path) -> Path:
    """The file that writing to `path` would write, links followed; call it before long work.

    Raises UsageError unless a file could be written there.
    """
    try:
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
    target = check_writable(path)
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # NamedTemporaryFile makes private files; the result has the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except BaseException as error:  # an interrupt, too, leaves nothing behind
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            raise _refused(path, error) from None
        raise


def _refused(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot write {path}: {error.strerror or error}", "check the path and the free space"
    )

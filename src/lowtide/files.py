"""Writing result files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from lowtide.errors import UsageError


def check_writable(path: Path) -> None:
    """Raise UsageError unless a file at `path` could be written; call it before long work."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file", "name a file to write")
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(
            f"cannot write {path}: the folder {folder} does not exist", "create it first"
        )
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write {path}: no permission in {folder}", "choose another folder")


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
    check_writable(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as f:
            temporary = f.name
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        # NamedTemporaryFile makes private files; the result has the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", "check the path and the free space"
        ) from None

"""Folders for what is built and run, which vanish afterwards; and what to say where there is no room.

Why apart: a compiler, an emulator or an engine that finds the disk full says so in its own words, or
nothing at all, and what it then did not write would be taken for a fault of something else.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lowtide.errors import UsageError

_REMEDY: Final = "set the environment variable TMPDIR to a folder with room"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
NO_ROOM: Final = os.strerror(errno.ENOSPC)
"""What compilers say then."""
_LEAST: Final = 1 << 16
"""Bytes: a file system with less room is full."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is there for so long. Raises UsageError if there can be none, and, where the disk is
    full, in place of whatever failed in it."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="lowtide-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UsageError(
            f"cannot make a temporary folder: {error.strerror or error}", _REMEDY
        ) from None
    with folder as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in _FULL or _is_full(name):
                raise full(Path(name).parent) from None
            raise
        except (
            Exception
        ):  # an engine's or a compiler's failure, for want of what could not be written
            if _is_full(name):
                raise full(Path(name).parent) from None
            raise


def _is_full(name: str) -> bool:
    try:
        return shutil.disk_usage(name).free < _LEAST
    except OSError:
        return False


def full(folder: str | Path) -> UsageError:
    """What to raise where nothing more can be written below `folder`."""
    return UsageError(f"the disk of the temporary folder {folder} is full", _REMEDY)

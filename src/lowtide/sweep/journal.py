"""What a sweep has done so far: a line per row, in a file beside the result, until that is written.

Why a file of its own: a table of columns cannot be added to, and a sweep that is killed must lose
nothing. One sweep at a time has the journal of a result.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Final

from lowtide.errors import UsageError
from lowtide.files import refused
from lowtide.sweep.engines import Row

_EXPECTED: Final = -1
"""Where the row of a network is that is to be made."""


class Journal:
    """Rows by the SHA-256 of the network, of one `version` and of what was `asked`.

    Rows with the error `again` are kept for this sweep alone. Raises UsageError if another sweep is
    writing `output`, or the file system refuses.
    """

    def __init__(self, output: Path, version: str, asked: str, again: str) -> None:
        self._output, self._mine, self._again = output, (version, asked), again
        self._path = output.with_name(f".{output.name}.journal")
        self._at: dict[bytes, int] = {}
        """Where in the file the row of each network begins."""
        try:
            self._file = _own(self._path, output)
            self._reader = self._path.open("rb")
            self._end = self._known_before()
            self._file.truncate(self._end)
        except OSError as error:
            raise refused(self._path, error) from None

    def _known_before(self) -> int:
        """Find the rows of a sweep that was killed; returns where they end. The last may be cut off."""
        end = 0
        for line in self._reader:
            if not line.endswith(b"\n"):
                break
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                row = json.loads(line)
                if self._lasts(row):
                    self._at[bytes.fromhex(row["sha256"])] = end
            end += len(line)
        return end

    def _lasts(self, row: Row) -> bool:
        """Whether a row of an earlier sweep is what this one would find."""
        mine = (row["version"], row["asked"]) == self._mine
        return mine and bool(row["sha256"]) and row["error"] != self._again

    def __contains__(self, digest: bytes) -> bool:
        return self._at.get(digest, _EXPECTED) != _EXPECTED

    def expects(self, digest: bytes) -> bool:
        """Whether a network's row is still to be made; true once for each."""
        if digest in self._at:
            return False
        self._at[digest] = _EXPECTED
        return True

    def take(self, rows: Iterable[Row]) -> None:
        """Also know the rows of an earlier result, as far as they last."""
        for row in rows:
            if self._lasts(row) and bytes.fromhex(row["sha256"]) not in self:
                self.add(row)

    def add(self, row: Row) -> None:
        """Keep a row; it is in the file when this returns. Raises UsageError if that is refused."""
        line = json.dumps(row).encode() + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise refused(self._output, error) from None
        self._at[bytes.fromhex(row["sha256"])] = self._end
        self._end += len(line)

    def row(self, digest: bytes) -> Row | None:
        """The row of a network; None if there is none."""
        if digest not in self:
            return None
        self._reader.seek(self._at[digest])
        row: Row = json.loads(self._reader.readline())
        return row

    def close(self, *, remove: bool) -> None:
        """Let another sweep have it; `remove` it once the result is written. An empty one goes, too."""
        remove = remove or not self._end
        if remove:
            with contextlib.suppress(OSError):  # Windows keeps files that are open
                self._path.unlink(missing_ok=True)
                remove = False
        self._reader.close()
        self._file.close()
        if remove:
            self._path.unlink(missing_ok=True)


def _own(path: Path, output: Path) -> FileIO:
    """The journal, empty if it is new, for this sweep alone. Raises UsageError if another one has it."""
    while True:
        file = FileIO(path, "a+", opener=_no_link)
        try:
            _lock(file)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BlockingIOError:
            file.close()
            raise UsageError(
                f"another sweep is writing {output}",
                "wait until it is done, or name another file with -o",
            ) from None
        file.close()  # another sweep was done, and removed it, before it was locked


def _no_link(path: str, flags: int) -> int:
    """Open the journal itself: it is nobody's to name, so a link in its place is not lowtide's."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _lock(file: FileIO) -> None:
    """Until it is closed, or its process ends in any way. Raises BlockingIOError if another has it."""
    try:
        import fcntl
    except ImportError:  # Windows, where nobody looks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return

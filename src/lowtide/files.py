"""Writing result files: whole or not at all, and in nobody's way.

One rule for all that lowtide writes (`Replacing`). What a command reads is never replaced, under
whatever name. A file that is there is replaced only if the command could have written it, which its
contents tell (`kinds.py`), or if it is empty. A folder for a bundle is empty, or holds one already.
`force` asks for other files, too. Below a folder no symbolic link is followed; a file that is named
itself may be a link.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from lowtide.errors import UsageError
from lowtide.kinds import GENERATED, HEAD, Kind, kind_of

_INTERRUPTS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class Replacing:
    """What a command may replace: none of its `inputs`, and nothing else that is not lowtide's own
    unless `force` is given. A folder among the inputs stands for the files in it."""

    inputs: tuple[Path, ...] = ()
    force: bool = False

    def check(self, path: Path, kinds: Collection[Kind], data: bytes | None = None) -> None:
        """Call it before long work, too: raises UsageError if `path` is a file that has to stay.

        Files of one of the `kinds` may go, empty ones, and those that hold `data` already.
        """
        try:
            if not path.is_file():
                return
            with path.open("rb") as file:
                head = file.read(HEAD)
            ours = kind_of(path.name, head) in kinds
            same = (
                data is not None and path.stat().st_size == len(data) and path.read_bytes() == data
            )
        except OSError as error:
            raise refused(path, error) from None
        self.check_inputs(path, ours=ours)
        if not (ours or same or not head or self.force):
            what = " or ".join(dict.fromkeys(kind.what for kind in kinds)) or "lowtide's own"
            raise UsageError(
                f"cannot write {path}: the file exists, and is not {what}",
                "name another file, or replace it with --force (in Python, force=True)",
            )

    def check_inputs(self, path: Path, *, ours: bool) -> None:
        """Raises UsageError if `path` is an input, or in one. A file of `ours` may lie among inputs."""
        try:
            found = path.exists() and next(
                (given for given in self.inputs if _is_in(path, given, ours)), None
            )
        except OSError as error:
            raise refused(path, error) from None
        if found:
            named = "" if str(found) == str(path) else f", {found}"
            raise UsageError(
                f"cannot write {path}: it is an input of this command{named}", "name another file"
            )

    def check_bundle(self, folder: Path, names: Iterable[str] = ()) -> None:
        """Raises UsageError if a bundle has no place in `folder`: it is not empty, and none of its
        sources, nor of the `names` below it, is a file that lowtide generated."""
        check_folder(folder)
        if self.force or not folder.is_dir():
            return
        try:
            inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
            places = [*inside, *(folder / name for name in names), *folder.glob("src/*.[ch]")]
            ours = not inside or any(_is_generated(path) for path in places)
        except OSError as error:
            raise refused(folder, error) from None
        if not ours:
            raise UsageError(
                f"cannot write into {folder}: it is not empty, and holds nothing that lowtide generated",
                "name a new folder, or write into this one with --force (in Python, force=True)",
            )


OURS: Final = Replacing()
"""Nothing but what lowtide could have written."""


def _is_in(path: Path, given: Path, ours: bool) -> bool:
    """Whether the file `path` is the input `given`, or in it."""
    try:
        if given.is_dir():
            return not ours and given.resolve() in path.resolve().parents
        return given.exists() and path.samefile(given)
    except OSError:  # an input that cannot be reached: the command says so
        return False


def _is_generated(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return kind_of(path.name, file.read(HEAD)) == GENERATED


def check_writable(path: Path) -> Path:
    """The file that writing to `path` would write, links followed; call it before long work.

    Raises UsageError unless a file could be written there.
    """
    try:
        if not path.name or "\0" in str(path):
            raise UsageError(f"{str(path)!r} is not a file name", "name a file to write")
        target = path.resolve()
        if target.is_dir():
            raise UsageError(f"{path} is a folder, not a file", "name a file to write")
        if target.exists() and not target.is_file():
            raise UsageError(
                f"cannot write {path}: it is a pipe or a device, not a regular file",
                "name a regular file",
            )
        folder = target.parent
        if not folder.is_dir():
            raise UsageError(
                f"cannot write {path}: the folder {folder} does not exist", "create it first"
            )
    except OSError as error:
        raise refused(path, error) from None
    except RuntimeError:  # as Python says it
        raise UsageError(
            f"cannot write {path}: it is a symbolic link to itself", "choose another file name"
        ) from None
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


def write_atomically(path: Path, data: bytes, replacing: Replacing = OURS) -> None:
    """Write `data` to `path` so that no reader, and no crash, ever sees a part of it.

    Raises UsageError if the file system refuses, or if what is there has to stay.
    """
    write_together({path: data}, replacing)


def write_together(files: Mapping[Path, bytes], replacing: Replacing = OURS) -> None:
    """Write several files: each whole or not at all, and none unless all could be written.

    All are written beside their targets first and then renamed. An interrupt waits until they are: it
    finds neither temporary files nor some of the files renamed. Raises UsageError if the file system
    refuses, or if what is there has to stay.
    """
    with uninterrupted():
        _write(files, replacing)


def write_below(folder: Path, files: Mapping[str, bytes], replacing: Replacing = OURS) -> None:
    """Write `files`, by their names below `folder`, together; folders are made where they are missing.

    Raises UsageError as `write_together`, and for symbolic links below the folder.
    """
    placed = {folder / name: data for name, data in files.items()}
    for name, (path, data) in zip(files, placed.items(), strict=True):
        _check_no_link(folder, name)
        replacing.check(path, _kinds(path, data), data)
    wanted = sorted({folder / parent for name in files for parent in Path(name).parents})
    new = [path for path in wanted if not path.exists()]
    try:
        for path in wanted:
            make_folder(path)
        write_together(placed, replacing)
    except BaseException:
        for path in reversed(new):
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _check_no_link(folder: Path, name: str) -> None:
    """Raises UsageError if a symbolic link leads from the place of `name` below `folder` to another."""
    place = folder.resolve()
    for part in Path(name).parts:
        place = place / part
        if os.path.normcase(place.resolve()) != os.path.normcase(place):
            raise UsageError(
                f"cannot write {folder / name}: {place} is a symbolic link, which is not followed",
                "remove the link, or name another folder",
            )


def _kinds(path: Path, data: bytes) -> tuple[Kind, ...]:
    """What kind of file `data` is: the kind that it may replace."""
    kind = kind_of(path.name, data[:HEAD])
    return () if kind is None else (kind,)


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


def _write(files: Mapping[Path, bytes], replacing: Replacing) -> None:
    """`write_together`, which nothing may interrupt."""
    targets = {path: check_writable(path) for path in files}
    for path, data in files.items():
        replacing.check(path, _kinds(path, data), data)
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

"""Results kept from one run to the next: bytes by a key, in one bounded folder of the user's.

Why so careful: nothing may depend on it. A damaged entry, a folder that cannot be read or written,
another process that evicts at the same time: all of it only means that something is not there, and is
made anew. Entries are written beside their place and renamed, and carry a digest of themselves.

And why nobody else may write there: what is kept is run, objects as parts of programs, and programs as
pickles. So there is a cache only in a folder that is the user's, below folders that nobody else can
rename it in, and an entry counts only if the user wrote it. Permissions are those of POSIX; on Windows
the user's own folder is trusted as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

LIMIT: Final = 256 << 20
"""Bytes that the folder may hold."""
# Each part has its share of the limit, so that keeping an entry looks at a sixteenth of the folder.
_PARTS: Final = 16
_DIGEST: Final = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder that holds at most `limit` bytes; what was not used for longest goes first."""

    folder: Path
    limit: int = LIMIT

    def get(self, key: str) -> bytes | None:
        """What was kept under `key`, hexadecimal digits; None if it is not there or damaged."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                if not _is_own(os.fstat(file.fileno())):
                    return None
                kept = file.read()
        except OSError:
            return None
        data = kept[_DIGEST:]
        if hashlib.sha256(data).digest() != kept[:_DIGEST]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`, if that is possible and it is no more than a part may hold."""
        path = self._path(key)
        if len(data) + _DIGEST > self.limit // _PARTS:
            return
        beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
        with contextlib.suppress(OSError):
            _make(path.parent)
            try:
                with FileIO(beside, "x", opener=_private) as file:
                    file.write(hashlib.sha256(data).digest() + data)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
            self._evict(path.parent)

    def _path(self, key: str) -> Path:
        return self.folder / key[0] / key[1:]

    def _evict(self, part: Path) -> None:
        """Remove the entries of `part` that were not used for longest, until it has its share."""
        found = []
        with os.scandir(part) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process was quicker
                    stat = entry.stat()
                    found.append((stat.st_mtime_ns, stat.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit // _PARTS:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size


@dataclass(frozen=True, slots=True)
class Distrust:
    """Why there is no cache in the `folder`, and what helps."""

    folder: Path
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"the cache in {self.folder} is not used: {self.why}; {self.remedy}"


def user_cache() -> Cache | None:
    """The user's cache, which LOWTIDE_CACHE names or the platform; None if there is no place for it, or
    others than the user can write there."""
    place = _user_place()
    return Cache(place) if isinstance(place, Path) else None


def distrust() -> Distrust | None:
    """Why the user's cache is not used though there is a place for it; None if it is."""
    place = _user_place()
    return place if isinstance(place, Distrust) else None


def _user_place() -> Path | Distrust | None:
    folder = _user_folder(os.environ, sys.platform)
    return None if folder is None else _trusted(folder)


def _trusted(folder: Path) -> Path | Distrust | None:
    """Where `folder` is, links followed once and for all, or why what is in it may be another user's. It
    is made where it is missing; None if it cannot be."""
    try:
        _make(folder)
        place = folder.resolve(strict=True)
        if sys.platform == "win32":
            return place
        inside = [path for path in place.iterdir() if path.is_dir()]
        for path in (*reversed(place.parents), place, *inside):
            found = path.lstat()
            own = path == place or path in inside
            if not (_is_own(found) if own else _is_safe(found)):
                return Distrust(folder, *_why(path, found.st_uid, own=own))
    except OSError:
        return None
    return place


def _is_own(found: os.stat_result) -> bool:
    """Whether a file or folder is the user's, and nobody else can write to it."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe(found: os.stat_result) -> bool:
    """Whether nobody else can put another folder in the place of one in this: it is the user's or
    root's, and others cannot write to it, or only add to it, as to /tmp."""
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid in (os.geteuid(), 0) and not (others and not found.st_mode & stat.S_ISVTX)


def _why(path: Path, owner: int, *, own: bool) -> tuple[str, str]:
    """What is wrong with the folder `path`, and a remedy."""
    elsewhere = "name another folder with LOWTIDE_CACHE"
    if owner not in ((os.geteuid(),) if own else (os.geteuid(), 0)):
        return f"{path} belongs to another user", elsewhere
    if own:  # what is in it may be anybody's already
        return f"others can write to {path}", "remove it, and lowtide creates it again for you only"
    return (
        f"others can write to {path}",
        f"run `chmod go-w {shlex.quote(str(path))}`, or {elsewhere}",
    )


def _make(folder: Path) -> None:
    """Make `folder` and its parents where missing, for the user alone: pathlib lets others read and
    write in the parents that it makes, as far as the umask does."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _user_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Where the user's cache is; relative names in the environment are not followed."""
    if named := environment.get("LOWTIDE_CACHE"):
        return Path(named).absolute()
    try:
        match platform:
            case "win32":
                base = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
            case "darwin":
                base = Path.home() / "Library" / "Caches"
            case _:
                base = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        return None
    return base / "lowtide" if base.is_absolute() else None

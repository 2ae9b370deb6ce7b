"""Results kept from one run to the next: bytes by a key, in one bounded folder of the user's.

Why so careful: nothing may depend on it. A damaged entry, a folder that cannot be read or written,
another process that evicts at the same time: all of it only means that something is not there, and is
made anew. Entries are written beside their place and renamed, and carry a digest of themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
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
            kept = path.read_bytes()
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
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                beside.write_bytes(hashlib.sha256(data).digest() + data)
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


def user_cache() -> Cache | None:
    """The user's cache, which LOWTIDE_CACHE names or the platform; None if there is no place for it."""
    folder = _user_folder(os.environ, sys.platform)
    return None if folder is None else Cache(folder)


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

"""The cache keeps what it is given, in its bounds, and is never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from lowtide import cache
from lowtide.cache import Cache, user_cache


def key(number: int, part: str = "0") -> str:
    """A key in one part of the folder."""
    return part + sha256(str(number).encode()).hexdigest()[1:]


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    kept = Cache(tmp_path / "not" / "yet")
    assert kept.get(key(1)) is None
    for data in (b"", b"one", bytes(100_000)):
        kept.put(key(1), data)
        assert kept.get(key(1)) == data
    assert kept.get(key(2)) is None
    assert Cache(kept.folder).get(key(1)) == bytes(100_000)
    assert [path.name for path in kept.folder.rglob("*") if path.is_file()] == [key(1)[1:]]


@pytest.mark.parametrize("change", [b"", b"x", b"x" * 40, None], ids=["empty", "short", "x", "cut"])
def test_a_damaged_entry_is_not_there(change: bytes | None, tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.put(key(1), b"some data")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.write_bytes(path.read_bytes()[:-1] if change is None else change)
    assert kept.get(key(1)) is None
    kept.put(key(1), b"again")
    assert kept.get(key(1)) == b"again"


def test_a_folder_that_cannot_be_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/dev/null/cache")):
        kept = Cache(folder)
        kept.put(key(1), b"data")
        assert kept.get(key(1)) is None


def test_an_entry_that_cannot_be_written_or_read_is_no_error(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.put(key(1), b"data")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.unlink()
    path.mkdir()  # nothing can be renamed to it, and nothing read
    kept.put(key(1), b"data")
    assert kept.get(key(1)) is None
    assert list(path.parent.iterdir()) == [path]


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    kept = Cache(tmp_path, limit=16 * 1000)  # a part holds 1,000 B: four entries of 232 B

    def gone(count: int) -> list[int]:
        return [number for number in range(count) if not kept._path(key(number)).exists()]

    for number in range(4):
        kept.put(key(number), bytes(200))
        os.utime(kept._path(key(number)), ns=(number, number))
    kept.put(key(0, "1"), bytes(900))  # another part
    assert kept.get(key(1)) is not None  # used again
    kept.put(key(4), bytes(200))
    assert gone(5) == [0]
    kept.put(key(5), bytes(400))
    assert gone(6) == [0, 2, 3]
    assert kept.get(key(0, "1")) is not None


def test_the_folder_never_holds_more_than_its_limit(tmp_path: Path) -> None:
    kept = Cache(tmp_path, limit=100_000)
    for number in range(500):
        kept.put(sha256(bytes([number % 256, number // 256])).hexdigest(), bytes(number * 10))
        if number % 25 == 0:
            assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) <= 100_000
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) > 50_000


def test_what_is_too_large_is_not_kept(tmp_path: Path) -> None:
    kept = Cache(tmp_path, limit=16 * 1000)
    kept.put(key(1), b"small")
    kept.put(key(2), bytes(1000 - 31))
    assert kept.get(key(2)) is None
    assert kept.get(key(1)) == b"small"


_WRITER = """
import sys
from pathlib import Path
from lowtide.cache import Cache
kept = Cache(Path(sys.argv[1]), limit=16 * 20_000)
for number in range(200):
    key, content = f"0{number % 40:063}", bytes([number % 40]) * (number % 40 * 50)
    assert kept.get(key) in (None, content)
    kept.put(key, content)
"""


def test_several_processes_at_once(tmp_path: Path) -> None:
    """They write the same entries and evict each other's; nobody ever reads a part of one."""
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert not list(tmp_path.rglob(".*"))
    assert sum(p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()) <= 20_000


def test_where_the_users_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    found = cache._user_folder
    assert found({}, "linux") == home / ".cache" / "lowtide"
    assert found({"XDG_CACHE_HOME": "/x"}, "linux") == Path("/x/lowtide")
    assert found({"XDG_CACHE_HOME": "x"}, "linux") is None
    assert found({}, "darwin") == home / "Library" / "Caches" / "lowtide"
    assert found({}, "win32") == home / "AppData" / "Local" / "lowtide"
    assert found({"LOCALAPPDATA": "/x"}, "win32") == Path("/x/lowtide")
    for platform in ("linux", "darwin", "win32"):
        assert found({"LOWTIDE_CACHE": "/mine"}, platform) == Path("/mine")
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path))
    assert user_cache() == Cache(tmp_path)
    assert found({"LOWTIDE_CACHE": "here"}, "linux") == Path.cwd() / "here"


def test_nobodys_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert cache._user_folder({}, "linux") is None

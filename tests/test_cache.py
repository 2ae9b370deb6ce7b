"""The cache keeps what it is given, in its bounds, and is never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from lowtide import cache
from lowtide.cache import Cache, distrust, user_cache


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


def _as_another(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Have these folders belong to another user."""
    of = {folder.resolve() for folder in folders}
    whole = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = whole(path)
        fields = list(found)
        if path in of:
            fields[4] = found.st_uid + 1
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "lstat", lstat)


def test_all_folders_are_made_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "a" / "b"))
    mask = os.umask(0)
    try:
        kept = user_cache()
        assert kept is not None
        kept.put(key(1), b"data")
    finally:
        os.umask(mask)
    assert kept.get(key(1)) == b"data"
    made = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert made == {"a": 0o700, "b": 0o700, "0": 0o700, key(1)[1:]: 0o600}


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of those for the parts of the cache: what is in it may be anybody's."""
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "cache"))
    kept = user_cache()
    assert kept is not None
    kept.put(key(1), b"data")
    for path in (kept.folder, kept.folder / "0"):
        path.chmod(mode)
        assert user_cache() is None
        assert str(distrust()) == (
            f"the cache in {kept.folder} is not used: others can write to {path}; "
            "remove it, and lowtide creates it again for you only"
        )
        path.chmod(0o700)
    assert user_cache() == kept
    assert distrust() is None


def test_a_folder_below_one_that_others_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tmp_path / "a parent"
    parent.mkdir()
    monkeypatch.setenv("LOWTIDE_CACHE", str(parent / "cache"))
    parent.chmod(0o777)
    assert user_cache() is None
    assert str(distrust()).endswith(
        f": others can write to {parent}; run `chmod go-w '{parent}'`, or name another folder with "
        "LOWTIDE_CACHE"
    )
    parent.chmod(0o1777)  # as /tmp: others may add to it, and no more
    assert user_cache() == Cache(parent / "cache")


@pytest.mark.parametrize("which", ["cache", "."])
def test_a_folder_of_another_user(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "cache"))
    assert user_cache() is not None
    _as_another(monkeypatch, tmp_path / which)
    assert user_cache() is None
    found = distrust()
    assert found is not None
    assert found.why == f"{(tmp_path / which).resolve()} belongs to another user"
    assert found.remedy == "name another folder with LOWTIDE_CACHE"


def test_a_link_is_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "link"))
    assert user_cache() == Cache(tmp_path / "real")
    (tmp_path / "real").chmod(0o777)
    assert user_cache() is None


def test_an_entry_that_others_can_write_to_is_not_there(tmp_path: Path) -> None:
    kept = Cache(tmp_path)
    kept.put(key(1), b"data")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    path.chmod(0o666)
    assert kept.get(key(1)) is None
    kept.put(key(1), b"again")
    assert kept.get(key(1)) == b"again"


def test_windows_keeps_others_out_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    monkeypatch.setattr(sys, "platform", "win32")
    assert user_cache() == Cache(tmp_path)
    assert distrust() is None

"""A program is compiled once: again for another model, other options, or another lowtide."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from lowtide.cache import user_cache
from lowtide.commands import kept
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.kept import compiled_once
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.machines.board import find_target
from networks import loaded


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds nothing yet."""
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Compiled]:
    """The programs that were really compiled."""
    found: list[Compiled] = []

    def compiling(model: Model, options: Options) -> Compiled:
        found.append(compile_model(model, options))
        return found[-1]

    monkeypatch.setattr(kept, "compile_model", compiling)
    return found


FIGURE = loaded("figure1")
WHOLE = Options(schedule="operators")  # compiled soonest


def test_the_second_time_nothing_is_compiled(made: list[Compiled]) -> None:
    first, second = (compiled_once(FIGURE, WHOLE) for _ in range(2))
    assert len(made) == 1
    assert second is not first
    assert second.files == first.files
    assert list(second.files) == list(first.files)
    assert (second.model, second.name, second.order) == (first.model, first.name, first.order)
    assert second.options == first.options
    assert second.assembly.placement == first.assembly.placement


def test_whatever_a_program_depends_on(
    made: list[Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    for model, options in (
        (FIGURE, WHOLE),
        (FIGURE, replace(WHOLE, align=32)),
        (FIGURE, replace(WHOLE, name="other")),
        (FIGURE, replace(WHOLE, effort=0.5)),
        (FIGURE, replace(WHOLE, target=find_target("cortex-m4"))),
        (replace(FIGURE, path="other.tflite"), WHOLE),
        (replace(FIGURE, source=FIGURE.source + b"\0"), WHOLE),
    ):
        for _ in range(2):
            compiled_once(model, options)
    assert len(made) == 7
    monkeypatch.setattr(kept, "_lowtide", lambda: ("another",))
    compiled_once(FIGURE, WHOLE)
    assert len(made) == 8


def test_every_file_of_lowtide_counts(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    found = {kept._digest(tmp_path)}
    for name in ("a.py", "below/a.py", "below/a.toml", "a.c", "below/a.h"):
        (tmp_path / name).write_bytes(b"")
        found.add(kept._digest(tmp_path))
        (tmp_path / name).write_bytes(b"1")
        found.add(kept._digest(tmp_path))
    assert len(found) == 11
    before = kept._digest(tmp_path)
    (tmp_path / "a.pyc").write_bytes(b"")
    assert kept._digest(tmp_path) == before


def test_without_the_cache(made: list[Compiled], own_cache: Path) -> None:
    for _ in range(2):
        compiled_once(FIGURE, WHOLE, cached=False)
    assert len(made) == 2
    assert not own_cache.exists()


@pytest.mark.parametrize("entry", [b"", b"nothing", pickle.dumps(["no program"]), None])
def test_a_damaged_entry(entry: bytes | None, made: list[Compiled], own_cache: Path) -> None:
    compiled_once(FIGURE, WHOLE)
    (path,) = (path for path in own_cache.rglob("*") if path.is_file())
    if entry is None:
        path.write_bytes(path.read_bytes()[:-100])
    else:
        store = user_cache()
        assert store is not None
        store.put(path.parent.name + path.name, entry)
    assert compiled_once(FIGURE, WHOLE).files == made[0].files
    assert len(made) == 2
    compiled_once(FIGURE, WHOLE)
    assert len(made) == 2


def test_a_cache_that_cannot_be(made: list[Compiled], own_cache: Path) -> None:
    own_cache.write_bytes(b"a file")
    for _ in range(2):
        compiled_once(FIGURE, WHOLE)
    assert len(made) == 2

"""Objects are built once, and again whenever anything that they depend on is another."""

from __future__ import annotations

import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from lowtide.machines import objects
from lowtide.machines.failures import BuildError
from lowtide.machines.finding import find_compiler
from lowtide.machines.objects import compile_objects

FILES = {
    "bundle/a.c": '#include <stdint.h>\n#include "a.h"\nint32_t a(void) { return A; }\n',
    "bundle/a.h": '#  include "deep/b.h"\n#define A (B + 1)\n',
    "bundle/deep/b.h": "#ifndef B\n#define B 1\n#endif\n",
    "other/c.h": "",
}
FLAGS = ("-std=c99", "-Wall", "-Ibundle", "-isystem", "other")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds nothing yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LOWTIDE_CACHE", str(folder))
    return folder


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that a compiler was called for."""
    found: list[str] = []
    own = objects.run_compiler

    def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        found.append(command[command.index("-c") + 1])
        return own(command, folder)

    monkeypatch.setattr(objects, "run_compiler", run)
    return found


def folder_of(place: Path, files: Mapping[str, str]) -> Path:
    """A new folder at `place` with `files` in it."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def make(
    place: Path,
    changes: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = FLAGS,
    cached: bool = True,
    compiler: str | None = None,
) -> bytes:
    """The object of bundle/a.c, built in the folder `place`."""
    folder_of(place, {**FILES, **(changes or {})})
    command = [compiler or find_compiler("host")[0], *flags]
    names, _ = compile_objects(command, ["bundle/a.c"], place, cached=cached)
    assert names == ["bundle/a.o"]
    return (place / names[0]).read_bytes()


def test_an_object_is_built_once(tmp_path: Path, built: list[str]) -> None:
    first = make(tmp_path / "one")
    assert make(tmp_path / "two") == first
    assert built == ["bundle/a.c"]


CHANGES: dict[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "source": ({"bundle/a.c": FILES["bundle/a.c"] + "\n"}, FLAGS),
    "header": ({"bundle/a.h": FILES["bundle/a.h"].replace("+", "-")}, FLAGS),
    "header of a header": ({"bundle/deep/b.h": "#define B 2\n"}, FLAGS),
    "hiding a header": ({"bundle/stdint.h": "typedef int int32_t;\n"}, FLAGS),
    "hiding it elsewhere": ({"other/stdint.h": "typedef int int32_t;\n"}, FLAGS),
    "flag": ({}, (*FLAGS, "-O1")),
    "macro": ({}, (*FLAGS, "-DB=5")),
    "order of folders": ({}, ("-isystem", "other", *FLAGS[:3])),
}


@pytest.mark.parametrize("change", CHANGES)
def test_anything_it_depends_on(change: str, tmp_path: Path, built: list[str]) -> None:
    make(tmp_path / "one")
    make(tmp_path / "two", *CHANGES[change])
    make(tmp_path / "three", *CHANGES[change])
    make(tmp_path / "four")
    assert built == ["bundle/a.c", "bundle/a.c"]


def test_what_it_does_not_depend_on(tmp_path: Path, built: list[str]) -> None:
    make(tmp_path / "one")
    make(tmp_path / "two", {"other/c.h": "int c;\n", "bundle/d.c": "int d;\n"})
    assert built == ["bundle/a.c"]


def test_another_compiler(tmp_path: Path, built: list[str]) -> None:
    """Also one of the same name and place: told by its version, its size or its age."""
    place = tmp_path / "bin" / "gcc"
    place.parent.mkdir()
    script = f'#!/bin/sh\nexec {shutil.which("gcc")} "$@"\n'
    for text in (script, f"{script}\n", script.replace("exec", 'echo "version 2"; exec')):
        place.write_text(text)
        place.chmod(place.stat().st_mode | stat.S_IXUSR)
        objects._compiler.cache_clear()
        make(tmp_path / "one", compiler=str(place))
    assert len(built) == 3


def test_the_environment_that_compilers_heed(
    tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "one")
    monkeypatch.setenv("CPATH", str(tmp_path))
    make(tmp_path / "two")
    assert len(built) == 2


def test_a_header_named_by_a_macro_is_built_every_time(tmp_path: Path, built: list[str]) -> None:
    change = {"bundle/a.c": '#define H "a.h"\n#include H\nint a(void) { return A; }\n'}
    assert make(tmp_path / "one", change) == make(tmp_path / "two", change)
    assert len(built) == 2


def test_without_the_cache(tmp_path: Path, built: list[str], own_cache: Path) -> None:
    for folder in ("one", "two"):
        make(tmp_path / folder, cached=False)
    assert len(built) == 2
    assert not own_cache.exists()


@pytest.mark.parametrize("damage", [b"", b"nothing of the kind", bytes(500)])
def test_a_damaged_cache(damage: bytes, tmp_path: Path, built: list[str], own_cache: Path) -> None:
    first = make(tmp_path / "one")
    for path in own_cache.rglob("*"):
        if path.is_file():
            path.write_bytes(damage)
    assert make(tmp_path / "two") == first
    assert make(tmp_path / "three") == first
    assert len(built) == 2


def test_a_cache_that_cannot_be(tmp_path: Path, built: list[str], own_cache: Path) -> None:
    own_cache.write_bytes(b"a file")
    assert make(tmp_path / "one") == make(tmp_path / "two")
    assert len(built) == 2


def test_warnings_are_kept_too(tmp_path: Path, built: list[str]) -> None:
    warned = {"bundle/a.c": "int a(int b) { int c; return 0; }\n", "bundle/b.c": "int b;\n"}
    said = []
    for folder in ("one", "two"):
        place = folder_of(tmp_path / folder, warned)
        command = [*find_compiler("host"), "-Wall"]
        said.append(compile_objects(command, ["bundle/a.c", "bundle/b.c"], place)[1])
    assert sorted(built) == ["bundle/a.c", "bundle/b.c"]
    assert said[0] == said[1]
    assert "bundle/a.c:1:20: warning: unused variable" in said[0]


def test_what_does_not_compile_is_not_kept(tmp_path: Path, built: list[str]) -> None:
    for folder in ("one", "two"):
        with pytest.raises(BuildError, match="the generated C does not compile") as info:
            make(tmp_path / folder, {"bundle/a.c": "int a(void) { return b; }\n"})
        assert "bundle/a.c:1:22: error: " in info.value.cause
    assert len(built) == 2


def test_debug_information_does_not_name_the_folder(tmp_path: Path, built: list[str]) -> None:
    flags = (*FLAGS, "-g", "-fsanitize=address,undefined")
    found = [make(tmp_path / folder, flags=flags, cached=False) for folder in ("one", "two")]
    assert found[0] == found[1]
    assert str(tmp_path).encode() not in found[0]
    assert make(tmp_path / "one", flags=flags) == make(tmp_path / "two", flags=flags) == found[0]
    assert len(built) == 3

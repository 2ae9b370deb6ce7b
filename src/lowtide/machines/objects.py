"""Compiling C files to objects, each of them once: unchanged sources come from the user's cache.

Why: a bundle is one file of its own and up to thirty kernels, which are the same for every network, and
under sanitizers the kernels take seconds. An object is that of its key: the source and all headers it
includes, by name and content, the compiler, its flags and what of the environment it heeds. Headers are
found by looking for `#include` lines, whatever is defined: that may name more than the compiler reads,
never less.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path, PurePath
from typing import Final

from lowtide.cache import Cache, user_cache
from lowtide.machines.failures import BuildError
from lowtide.temporary import NO_ROOM, full

_JOBS: Final = 2
_SHOWN_LINES: Final = 8
_CAUSE: Final = re.compile(r"\berror: |undefined reference")
_INCLUDE: Final = re.compile(rb"^[ \t]*#[ \t]*include\b[ \t]*([^\r\n]*)", re.MULTILINE)
_NAME: Final = re.compile(rb'"([^"\r\n]+)"|<([^>\r\n]+)>')
# What GCC and Clang take from the environment that changes what they make, or which parts they run.
_HEEDED: Final = (
    *("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SDKROOT"),
    *("MACOSX_DEPLOYMENT_TARGET", "LANG", "LC_ALL", "LC_MESSAGES"),
)
_LENGTH_BYTES: Final = 4


def compile_objects(
    command: Sequence[str], sources: Sequence[str], folder: Path, *, cached: bool = True
) -> tuple[list[str], str]:
    """Compile `sources` in `folder` to objects beside them; return their names and all warnings.

    `command` is the compiler with its flags; `sources` and the folders of its -I and -isystem are
    relative to `folder`. Without `cached` nothing is looked up or kept. Raises BuildError.
    """
    if any(flag.startswith("-g") for flag in command):  # no object shall name the folder
        command = [*command, f"-fdebug-prefix-map={folder}=."]
    store = user_cache() if cached else None
    read = _Files(folder, command)
    keys = {name: read.key(name) for name in sources} if store is not None else {}
    with ThreadPoolExecutor(_JOBS) as pool:
        said = pool.map(lambda name: _object(command, name, folder, store, keys.get(name)), sources)
        return [_beside(name) for name in sources], "".join(said)


def run_compiler(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the compiler `command` in `folder`."""
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def compiler_said(result: subprocess.CompletedProcess[str], what: str) -> str:
    """The compiler's warnings; raises BuildError, that the C does not `what`, if it failed."""
    if result.returncode == 0:
        return result.stderr
    if NO_ROOM in result.stderr:
        raise full(tempfile.gettempdir())
    # What made it fail comes first: warnings alone may fill more lines than are shown.
    lines = sorted(result.stderr.splitlines(), key=lambda line: _CAUSE.search(line) is None)
    shown = "\n".join(f"    {line}" for line in lines[:_SHOWN_LINES])
    raise BuildError(
        f"the generated C does not {what}:\n{shown}",
        "this is an internal error of lowtide; report it, with the model",
    )


def _beside(source: str) -> str:
    return f"{source.removesuffix('.c')}.o"


def _object(
    command: Sequence[str], source: str, folder: Path, store: Cache | None, key: str | None
) -> str:
    """Put the object of `source` beside it; return what the compiler says, or said when it made it."""
    target = folder / _beside(source)
    if store is not None and key is not None and (kept := store.get(key)) is not None:
        end = _LENGTH_BYTES + int.from_bytes(kept[:_LENGTH_BYTES], "little")
        target.write_bytes(kept[end:])
        return kept[_LENGTH_BYTES:end].decode()
    result = run_compiler([*command, "-c", source, "-o", _beside(source)], folder)
    warnings = compiler_said(result, "compile")
    if store is not None and key is not None:
        said = warnings.encode()
        store.put(key, len(said).to_bytes(_LENGTH_BYTES, "little") + said + target.read_bytes())
    return warnings


class _Files:
    """The files of a folder that a compiler reads, each of them read and searched once."""

    def __init__(self, folder: Path, command: Sequence[str]) -> None:
        self._folder = folder
        flags = [flag.replace(str(folder), ".") for flag in command[1:]]
        self._searched = tuple(_include_folders(flags))
        heeded = [(name, os.environ.get(name)) for name in _HEEDED]
        self._compiler = repr((_compiler(command[0]), flags, heeded)).encode()
        self._contents: dict[str, tuple[bytes, tuple[str, ...]] | None] = {}

    def key(self, source: str) -> str | None:
        """What the object of `source` depends on, as one number; None if that cannot be told."""
        digest = hashlib.sha256(self._compiler)
        open_names, seen = [source], {source}
        while open_names:
            name = open_names.pop()
            found = self._content(name)
            if found is None:
                return None
            content, included = found
            digest.update(repr((name, len(content))).encode())
            digest.update(content)
            new = [header for header in included if header not in seen]
            seen.update(new)
            open_names += new
        return digest.hexdigest()

    def _content(self, name: str) -> tuple[bytes, tuple[str, ...]] | None:
        """A file and the folder's files that it includes; None if it names one by a macro."""
        if name not in self._contents:
            content = (self._folder / name).read_bytes()
            asked = [_NAME.match(line) for line in _INCLUDE.findall(content)]
            known = [match for match in asked if match is not None]
            included = tuple(place for match in known for place in self._places(match, name))
            self._contents[name] = (content, included) if len(known) == len(asked) else None
        return self._contents[name]

    def _places(self, include: re.Match[bytes], name: str) -> Iterator[str]:
        """All places, not the first, that have what the file `name` includes: one may hide another."""
        asked = (include[1] or include[2]).decode(errors="surrogateescape")
        beside = [PurePath(name).parent] if include[1] else []
        for at in (*beside, *self._searched):
            if (self._folder / at / asked).is_file():
                yield (at / asked).as_posix()


def _include_folders(flags: Sequence[str]) -> Iterator[PurePath]:
    for at, flag in enumerate(flags):
        if flag in ("-I", "-isystem", "-iquote"):
            yield PurePath(flags[at + 1])
        elif flag.startswith("-I"):
            yield PurePath(flag[2:])


@cache
def _compiler(path: str) -> tuple[object, ...]:
    """What tells a compiler from another one at the same place."""
    file = Path(shutil.which(path) or path).resolve()
    stat = file.stat()
    version = subprocess.run([path, "--version"], capture_output=True, check=False).stdout
    return str(file), stat.st_size, stat.st_mtime_ns, version

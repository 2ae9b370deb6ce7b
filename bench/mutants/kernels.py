"""The kernels as a library that is built again with one file changed, and the cases played on it.

Objects of files that a change does not reach are those of the first build. A mutant whose objects are,
byte for byte, those of the unchanged files is no fault: it is the same program.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.mutants.c_mutants import c_mutants
from bench.mutants.mutant import Mutant
from bench.shared.outside import ROOT
from lowtide.emit.runtime import kernel_files
from lowtide.machines.finding import find_compiler

_FLAGS = (
    *("-std=gnu99", "-O1", "-g0", "-w", "-fPIC", "-fno-builtin-malloc"),
    *("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"),
)
_OPTIMISED = ("-std=gnu99", "-O2", "-g0", "-w", "-fPIC", "-fno-builtin-malloc")
_INCLUDED = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
_MARKER = re.compile(r'# (\d+) "([^"]*)"')
_GUARD = ROOT / "tests" / "kernels" / "cases" / "guard.c"


@cache
def sources() -> dict[str, str]:
    """All files of the runtime, and the one that calls kernels in guarded memory."""
    return {**kernel_files(), _GUARD.name: _GUARD.read_text("utf-8")}


def kernel_mutants() -> dict[str, tuple[Mutant, ...]]:
    """File -> its mutants in lines that are compiled on this computer."""
    found: dict[str, tuple[Mutant, ...]] = {}
    lines = _compiled_lines()
    for name, text in kernel_files().items():
        own = tuple(m for m in c_mutants(name, text) if m.line in lines.get(name, ()))
        if own:
            found[name] = own
    return found


def _compiled_lines() -> dict[str, set[int]]:
    """File -> lines that the preprocessor leaves something of."""
    found: dict[str, set[int]] = {}
    folder = _folder()
    for name in _c_files():
        command = [*find_compiler("host"), *_FLAGS, "-I.", "-E", name]
        said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        file, line = "", 0
        for text in said.stdout.splitlines():
            marker = _MARKER.match(text)
            if marker:
                line, file = int(marker[1]), Path(marker[2]).name
                continue
            if text.strip():
                found.setdefault(file, set()).add(line)
            line += 1
    return found


def _c_files() -> list[str]:
    return [name for name in sources() if name.endswith(".c")]


@cache
def _folder() -> Path:
    """Where the unchanged files and their objects are."""
    parts = [*find_compiler("host"), *_FLAGS, *(p for item in sources().items() for p in item)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / "lowtide-mutants" / digest
    if not (folder / "built").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in sources().items():
            (folder / name).write_text(text, "utf-8")
        for name in _c_files():
            _compile(name, folder, folder / f"{name}.o")
        (folder / "built").touch()
    return folder


def _compile(name: str, folder: Path, to: Path, flags: Sequence[str] = _FLAGS) -> bool:
    """Whether it compiles. The folder of the unchanged headers comes second."""
    command = [*find_compiler("host"), *flags, "-I.", "-I", str(_headers(folder)), "-c", name]
    done = subprocess.run([*command, "-o", str(to)], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def _headers(folder: Path) -> Path:
    return folder if (folder / "lowtide.h").exists() else _folder()


@cache
def _users(name: str) -> tuple[str, ...]:
    """The C files that a file is part of."""
    if name.endswith(".c"):
        return (name,)
    includes = {file: set(_INCLUDED.findall(text)) for file, text in sources().items()}
    reached, new = {name}, {name}
    while new:
        new = {file for file, of in includes.items() if of & new} - reached
        reached |= new
    return tuple(sorted(file for file in reached if file.endswith(".c")))


@dataclass(frozen=True, slots=True)
class Built:
    """The path of a library of the mutant, in a folder of its own; None where it does not compile."""

    path: Path | None
    is_same: bool = False


def build(mutant: Mutant, folder: Path) -> Built:
    """The kernels with a mutant, in an empty folder."""
    changed = _changed(mutant, folder, _FLAGS)
    if changed is None:
        return Built(None)
    if not changed:
        return Built(None, is_same=True)
    objects = [str(changed.get(name, _folder() / f"{name}.o")) for name in _c_files()]
    library = folder / "kernels.so"
    command = [*find_compiler("host"), "-shared", *objects, "-lm", "-o", str(library)]
    subprocess.run(command, check=True)
    return Built(library)


def is_same_optimised(mutant: Mutant, folder: Path) -> bool:
    """Whether the compiler, asked to optimise, makes the same of the file with and without it."""
    changed = _changed(mutant, folder, _OPTIMISED)
    return changed is not None and not changed


def _changed(mutant: Mutant, folder: Path, flags: Sequence[str]) -> dict[str, Path] | None:
    """The objects that the mutant changes; None if one of them cannot be compiled."""
    users = _users(mutant.file)
    (folder / mutant.file).write_text(mutant.applied(sources()[mutant.file]), "utf-8")
    changed: dict[str, Path] = {}
    for name in users:
        if name != mutant.file:
            (folder / name).write_text(sources()[name], "utf-8")
        to, plain = folder / f"{name}.o", _folder() / f"{name}.o"
        if not _compile(name, folder, to, flags):
            return None
        if flags is not _FLAGS:
            plain = folder / f"{name}.plain.o"
            _compile(name, _folder(), plain, flags)
        if to.read_bytes() != plain.read_bytes():
            changed[name] = to
    return changed


class Cases:
    """The cases of all families, in a process of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kernels.cases.mutated"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def find(self, library: Path, families: Sequence[str], cases: int, seed: int) -> str | None:
        """What the first case says that is wrong; None if so many of each family find nothing."""
        request = {"library": str(library), "families": families, "cases": cases, "seed": seed}
        found: str | None = self._ask(request)
        return found

    def _ask(self, request: Mapping[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


Reach = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Family -> file -> line -> how often its cases run it."""


def reach(cases: int, tell: Callable[[str], None]) -> Reach:
    """What each family's cases reach; known from the last time if the kernels are the same."""
    kept = _folder() / f"reach-{cases}.json"
    if not kept.exists():
        tell(f"counting which lines {cases:,} cases of each family run")
        command = [sys.executable, "-m", "tests.kernels.cases.mutated", "--reach", str(cases)]
        said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        kept.write_bytes(said.stdout)
    document: dict[str, dict[str, dict[str, int]]] = json.loads(kept.read_text("utf-8"))
    return {
        family: {f: {int(line): n for line, n in lines.items()} for f, lines in files.items()}
        for family, files in document.items()
    }


def families_at(mutant: Mutant, reached: Reach) -> list[str]:
    """The families that run the mutant's line, those first that run it most often.

    A line that no count is kept of is part of a statement that began above it.
    """
    known = {line for files in reached.values() for line in files.get(mutant.file, {})}
    above = [line for line in known if line <= mutant.line]
    line = max(above, default=0)
    counts = {f: files.get(mutant.file, {}).get(line, 0) for f, files in reached.items()}
    return sorted((f for f, count in counts.items() if count), key=lambda f: -counts[f])

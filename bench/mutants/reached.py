"""Which tests run which lines of Python: each is followed once, and what it ran is kept in a file.

Of folders that take long, a part of the tests stands for all; the part is what pytest is asked for. A
mutant that they do not find meets whole files of tests at last.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypedDict

from bench.mutants.mutant import Mutant
from bench.mutants.planted import pytest_command
from bench.mutants.tracing import ROOMS
from bench.shared.outside import ROOT

WORKERS = 2
"""How many processes of pytest run at a time."""
_SUITES: Mapping[str, Sequence[str]] = {
    "passes": ("tests/passes",),
    "place": ("tests/place",),
    "program": ("tests/program",),
    "estimates": ("tests/estimates",),
    "rows": ("tests/rows", "--part", "1/3"),
    "kernels": ("tests/kernels", "--ignore", "tests/kernels/cases"),
    "prove": ("tests/prove", "--part", "1/4"),
    "end_to_end": ("tests/end_to_end", "--part", "1/10"),
    "sliding": ("tests/end_to_end/test_sliding_callers.py", "tests/end_to_end/test_sliding.py"),
    "layouts": ("tests/end_to_end/test_layouts.py",),
    "branches": ("tests/end_to_end/test_branches.py",),
}
_WHOLE = ("tests/program/test_golden_programs.py", "tests/kernels/test_kernel_work.py")
"""Tests that hold all that is planned against what it was. They come second, however long they take, and
for all lines of a file: what a function does after many rounds of a loop is not followed."""
_FIRST, _MORE = 10, 20
"""Of a line's tests: so many at first, and after."""
_LONGEST = 8.0
"""Other tests that take more seconds are not tried alone."""
_SLOW = ("tests/end_to_end/", "tests/prove/")
_FILES = 6
"""At last so many files, whole, which have a test that runs the line; not those of slow folders."""


class _Run(TypedDict):
    """A test that was followed, as bench/mutants/tracing.py writes it."""

    test: str
    seconds: float
    lines: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Reached:
    """File -> line -> the tests that run it, the quickest first; and files with tests that do."""

    tests: Mapping[str, Mapping[int, Sequence[str]]]
    files: Mapping[str, Mapping[int, Sequence[str]]]

    def of(self, mutant: Mutant) -> list[list[str]]:
        """Tests that run the mutant's line, in the order in which they are worth trying, in rounds."""
        found = [name for name in _at(mutant, self.tests) if not name.startswith(_WHOLE)]
        of_file = {name for names in self.tests.get(mutant.file, {}).values() for name in names}
        whole = sorted(name for name in of_file if name.startswith(_WHOLE))
        others = _taking_turns(found)
        rounds = others[:_FIRST], whole + others[_FIRST : _FIRST + _MORE]
        return [names for names in rounds if names]

    def whole_files(self, mutant: Mutant) -> Sequence[str]:
        """Files of tests to try at last: whole, as only a part of their tests was followed. Those with
        the file's name in theirs come first."""
        name = PurePosixPath(mutant.file).stem
        return sorted(_at(mutant, self.files), key=lambda file: name not in file)[:_FILES]


def _at(mutant: Mutant, table: Mapping[str, Mapping[int, Sequence[str]]]) -> Sequence[str]:
    """What a table has for the mutant's line. A line that no test is known to run is part of a statement
    that begins above it."""
    lines = table.get(mutant.file, {})
    line = max((line for line in lines if line <= mutant.line), default=0)
    return lines.get(line, ())


def _taking_turns(names: Sequence[str]) -> list[str]:
    """The first test of each file, then the second of each, and so on."""
    seen: dict[str, int] = {}
    turns = []
    for at, name in enumerate(names):
        file = name.partition("::")[0]
        seen[file] = seen.get(file, 0) + 1
        turns.append((seen[file], at, name))
    return [name for _, _, name in sorted(turns)]


def reached(tell: Callable[[str], None]) -> Reached:
    """What the tests run, known from the last time where neither they nor the rooms have changed."""
    with ThreadPoolExecutor(WORKERS) as pool:
        suites = pool.map(lambda of: list(_followed(of[0], of[1], tell)), _SUITES.items())
        runs = [run for suite in suites for run in suite]
    found: dict[str, dict[int, list[str]]] = {}
    files: dict[str, dict[int, list[str]]] = {}
    for run in sorted(runs, key=_worth):
        whole = run["test"].partition("::")[0]
        for file, numbers in run["lines"].items():
            for line in numbers:
                known = files.setdefault(file, {}).setdefault(line, [])
                if whole not in known and not whole.startswith(_SLOW):
                    known.append(whole)
                if run["seconds"] <= _LONGEST or run["test"].startswith(_WHOLE):
                    found.setdefault(file, {}).setdefault(line, []).append(run["test"])
    return Reached(found, files)


def _worth(run: _Run) -> tuple[int, int, str]:
    """Quick tests first, their seconds told apart by factors of 2; then those of few lines."""
    return (
        max(0, math.ceil(math.log2(max(run["seconds"], 0.01) / 0.1))),
        sum(map(len, run["lines"].values())),
        run["test"],
    )


def _followed(name: str, options: Sequence[str], tell: Callable[[str], None]) -> Iterator[_Run]:
    kept = Path(tempfile.gettempdir()) / "lowtide-mutants" / f"{name}-{_digest(options)}.jsonl"
    if not kept.exists():
        tell(f"following the tests of {options[0]}")
        kept.parent.mkdir(exist_ok=True)
        new = kept.with_suffix(".new")
        new.unlink(missing_ok=True)
        command = [*pytest_command("-p", "bench.mutants.tracing"), *options]
        command.remove("-x")
        subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "LOWTIDE_LINES": str(new)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        new.replace(kept)
    for line in kept.read_text("utf-8").splitlines():
        yield json.loads(line)


def _digest(options: Sequence[str]) -> str:
    """Of the rooms, and of the tests that are asked for."""
    digest = hashlib.sha256(repr(options).encode())
    folders = [ROOT / "src" / "lowtide" / room for room in ROOMS]
    for folder in (*folders, ROOT / options[0]):
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            digest.update(f"{path.relative_to(ROOT)} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]

"""Mutants of the rooms from a graph to a step program, tried with the tests that run their line.

Some are tried at a time, each on a copy of the package that no other one changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from bench.mutants.equivalent import why_equivalent
from bench.mutants.mutant import Mutant, drawn
from bench.mutants.planted import Copy, copied
from bench.mutants.python_mutants import python_mutants
from bench.mutants.reached import WORKERS, Reached, reached
from bench.mutants.tracing import ROOMS
from bench.mutants.trial import Earlier, Trial
from bench.shared.outside import ROOT
from bench.shared.work import note

_PART = "Python"
_PACKAGE = ROOT / "src" / "lowtide"
_OF_FILES = 1000
"""CPU seconds that whole files of tests may take, for one mutant."""


def python_trials(
    count: int, seed: int, only: Sequence[str] | None, before: Earlier, folder: Path
) -> Iterator[Trial]:
    """So many mutants, or those of these names, each as soon as it was tried, in a folder."""
    possible = room_mutants()
    named = [m for ms in possible.values() for m in ms if only and m.name in only]
    if only and not named:
        return
    found = reached(note)
    copies: SimpleQueue[Copy] = SimpleQueue()
    for number in range(WORKERS):
        copies.put(copied(folder / f"python-{number}"))

    def trial(one: Mutant) -> Trial:
        known = before.trial(_PART, one)
        if known is not None:
            return known
        copy = copies.get()
        try:
            return _tried(one, found, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(trial, named if only else drawn(possible, count, seed, _counts))


def room_mutants() -> dict[str, tuple[Mutant, ...]]:
    """File of the package -> its mutants."""
    found: dict[str, tuple[Mutant, ...]] = {}
    for room in ROOMS:
        for path in sorted((_PACKAGE / room).rglob("*.py")):
            name = path.relative_to(_PACKAGE).as_posix()
            own = python_mutants(name, path.read_text("utf-8"))
            if own:
                found[name] = own
    return found


def _counts(mutant: Mutant) -> bool:
    """Whether Python compiles it to other code."""
    text = (_PACKAGE / mutant.file).read_text("utf-8")
    return compile(text, "", "exec") != compile(mutant.applied(text), "", "exec")


def _tried(mutant: Mutant, found: Reached, copy: Copy) -> Trial:
    why = why_equivalent(mutant)
    if why is not None:
        return Trial(_PART, mutant, "equivalent", why)
    count = 0
    for tests in found.of(mutant):
        failed = copy.fails(mutant, Path(mutant.file), tests)
        if failed:
            return Trial(_PART, mutant, "killed", failed)
        count += len(tests)
    files = found.whole_files(mutant)
    failed = copy.fails(mutant, Path(mutant.file), files, seconds=_OF_FILES) if files else None
    if failed:
        return Trial(_PART, mutant, "killed", failed)
    return Trial(_PART, mutant, "survived", f"not found by {count} tests and {len(files)} files")

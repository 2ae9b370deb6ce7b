"""Mutants of the kernels, tried: first with cases that run the line, then with tests of networks."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.mutants.equivalent import why_equivalent
from bench.mutants.kernels import (
    Built,
    Cases,
    Reach,
    build,
    families_at,
    is_same_optimised,
    kernel_mutants,
    reach,
)
from bench.mutants.mutant import Mutant, drawn
from bench.mutants.planted import Copy, copied
from bench.mutants.trial import Earlier, Trial
from bench.shared.work import note

_PART = "kernels"
_COUNTED = 20_000
"""Cases of each family, to see which lines they run."""
_TESTS = 1_000, 1
_SOAK = 70_000, 2
"""Cases of each family, and their seed: as tests/kernels/cases/test_cases.py has them."""


def kernel_trials(
    count: int, seed: int, only: Sequence[str] | None, before: Earlier, folder: Path
) -> Iterator[Trial]:
    """So many mutants, or those of these names, each as soon as it was tried, in a folder."""
    possible = kernel_mutants()
    named = [m for ms in possible.values() for m in ms if only and m.name in only]
    if only and not named:
        return
    bench = _Bench(folder, reach(_COUNTED, note), copied(folder / "copy"))
    chosen = named if only else drawn(possible, count, seed, bench.counts)
    try:
        for one in chosen:
            yield before.trial(_PART, one) or bench.tried(one)
    finally:
        bench.cases.close()


class _Bench:
    """What trials share. The library of the mutant at hand is built once, when it is asked for."""

    def __init__(self, folder: Path, reached: Reach, copy: Copy) -> None:
        self.cases = Cases()
        self._folder, self._reached, self._copy = folder, reached, copy
        table = Path(__file__).with_name("tests.toml").read_text("utf-8")
        self._tests: dict[str, list[str]] = tomllib.loads(table)
        self._built: tuple[Mutant | None, Built] = None, Built(None)

    def counts(self, mutant: Mutant) -> bool:
        """Whether it compiles, to other code."""
        return self._library(mutant).path is not None

    def _library(self, mutant: Mutant) -> Built:
        if self._built[0] != mutant:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            self._built = mutant, build(mutant, folder)
        return self._built[1]

    def tried(self, mutant: Mutant) -> Trial:
        """What becomes of it."""
        library = self._library(mutant).path
        assert library is not None, "it does not compile, or to the same code"
        families = families_at(mutant, self._reached)
        tests = self._tests.get(mutant.file, ())
        why = why_equivalent(mutant)
        if why is not None:
            return Trial(_PART, mutant, "equivalent", why)
        if families:
            found = self.cases.find(library, families, *_TESTS)
            if found:
                return Trial(_PART, mutant, "killed", found)
        if tests:
            where = Path("kernels", "src" if mutant.file.endswith(".c") else "include", mutant.file)
            found = self._copy.fails(mutant, where, [f"tests/{name}" for name in tests])
            if found:
                return Trial(_PART, mutant, "killed", found)
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            if is_same_optimised(mutant, Path(name)):
                return Trial(_PART, mutant, "equivalent", "the compiler makes the same code of it")
        if families:
            found = self.cases.find(library, families, *_SOAK)
            if found:
                return Trial(_PART, mutant, "killed", found, is_soak=True)
        return Trial(_PART, mutant, "survived", f"not found by {', '.join((*families, *tests))}")

"""Tests of pytest, run on a copy of lowtide that has a mutant.

Why a copy: the checkout stays as it is, whatever becomes of the run. Bytecode is compared by the
source's digest, as two mutants of one file may be equally long and written in the same second.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.mutants.mutant import Mutant
from bench.shared.outside import ROOT

_CPU_SECONDS = 100  # of a process; tests of one mutant take a few


@dataclass(frozen=True, slots=True)
class Copy:
    """A folder with a copy of lowtide's package in it."""

    folder: Path

    def fails(
        self, mutant: Mutant, where: Path, tests: Sequence[str], seconds: int = _CPU_SECONDS
    ) -> str | None:
        """The first of the tests that fails with the mutant in file `where` of the package; None if all
        pass. Tests are named as for pytest, in their order; they may take so many CPU seconds."""
        path = self.folder / "lowtide" / where
        text = path.read_text("utf-8")
        path.write_text(mutant.applied(text), "utf-8")
        try:
            return _failing(self.folder, tests, seconds)
        finally:
            path.write_text(text, "utf-8")


def copied(folder: Path) -> Copy:
    """A copy of lowtide in an empty folder."""
    package = folder / "lowtide"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "lowtide", package, ignore=leave)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(package, quiet=1, invalidation_mode=mode)
    return Copy(folder)


def pytest_command(*options: str) -> list[str]:
    """How tests are run here: stopping at the first that fails, and writing nothing beside them."""
    plain = ("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", *plain, *options]


def _failing(package: Path, tests: Sequence[str], seconds: int) -> str | None:
    paths = os.pathsep.join((str(package), str(ROOT)))
    done = subprocess.run(
        pytest_command("-rfE", *tests),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=partial(_limited, seconds),
    )
    if done.returncode == 0:
        return None
    lines = [x for x in done.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
    return lines[0] if lines else f"pytest ends with {done.returncode}"


def _limited(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

"""Mutants that are no faults, each with the argument: bench/mutants/equivalent.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from bench.mutants.mutant import Mutant

_TABLE = Path(__file__).with_name("equivalent.toml")


def why_equivalent(mutant: Mutant) -> str | None:
    """The argument that no test can tell the mutant from the file; None if nobody has given one."""
    return _arguments().get((mutant.file, mutant.before, mutant.after))


@cache
def _arguments() -> dict[tuple[str, str, str], str]:
    """(file, its line, the mutant's line) -> why both do the same."""
    found = tomllib.loads(_TABLE.read_text("utf-8"))
    return {(e["file"], e["line"], e["mutant"]): e["why"] for e in found.get("equivalent", [])}

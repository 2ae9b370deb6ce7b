"""The harnesses on random values; and the lowering against the contracts."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from contracts import FOLDER, HELPERS, SHORT, prepared

from lowtide.machines.toolchain import WARNINGS

VALUES = 100_000
"""Random values that each harness is called with."""


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_every_contract_has_a_harness() -> None:
    assert {path.stem for path in FOLDER.glob("lt_*.c")} == set(HELPERS)


@pytest.mark.parametrize("variant", ["", SHORT], ids=["long", "short"])
@pytest.mark.parametrize("helper", HELPERS)
def test_on_random_values(helper: str, variant: str, tmp_path: Path) -> None:
    strict = ["-std=c99", *WARNINGS, "-Werror", "-O2", "-fsanitize=undefined"]
    strict += ["-fno-sanitize-recover=all", *([variant] if variant else [])]
    program = tmp_path / "program"
    _run(["gcc", *strict, *prepared(tmp_path), FOLDER / f"{helper}.c", "-o", program])
    _run([program, str(VALUES)])

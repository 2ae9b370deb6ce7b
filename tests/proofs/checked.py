"""Proves the harnesses for all values with the model checker CBMC.

    python tests/proofs/checked.py              every helper
    python tests/proofs/checked.py lt_narrow    these

Prints how long each took, in each variant; exit code 1 if one is refuted. Products of 32 by 32 bits are
hard for CBMC's own solver, so cvc5 tries next, if it is installed. A helper that takes both too long has
only its tests on random values.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from contracts import FOLDER, HELPERS, SHORT, prepared

_CHECKS = ("signed-overflow", "undefined-shift", "bounds", "pointer", "div-by-zero")
"""What CBMC looks for besides."""
_SOLVERS = (("", 20), ("cvc5", 150))
"""Solvers, CBMC's own first, and the seconds that each may take."""


def main() -> int:
    """Exit code."""
    if shutil.which("cbmc") is None:
        print("there is no CBMC: Debian has it from 13 on", file=sys.stderr)
        return 4
    wrong = 0
    for helper in sys.argv[1:] or HELPERS:
        for name, flags in (("long", []), ("short", [SHORT])):
            began = time.monotonic()
            said = _said(helper, flags)
            print(f"{helper:16} {name:6} {said:30} {time.monotonic() - began:6.1f} s", flush=True)
            wrong += said == "refuted"
    return int(wrong > 0)


def _said(helper: str, flags: Sequence[str]) -> str:
    for solver, seconds in _SOLVERS:
        if solver and shutil.which(solver) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = ["cbmc", "--function", "harness", "--unwind", "8", "--unwinding-assertions"]
            command += [f"--{check}-check" for check in _CHECKS]
            command += [*flags, *prepared(Path(folder)), str(FOLDER / f"{helper}.c")]
            command += [f"--{solver}"] if solver else []
            code, told = _run(command, seconds)
        if code is None:
            continue
        if code == 0:
            return f"proved{f', {solver}' if solver else ''}"
        if "VERIFICATION FAILED" not in told:
            raise RuntimeError(told[-2000:])
        lines = [line for line in told.splitlines() if line.endswith("FAILURE")]
        print("\n".join(lines), file=sys.stderr)
        return "refuted"
    return "took too long"


def _run(command: Sequence[str], seconds: int) -> tuple[int | None, str]:
    """Exit code and output; no code if it took longer. The solver is CBMC's child, and ends with it."""
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        return None, ""
    return started.returncode, told


if __name__ == "__main__":
    sys.exit(main())

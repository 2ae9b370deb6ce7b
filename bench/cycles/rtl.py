"""The RTL: what is needed to simulate it, how it is built, and what it counted.

The project needs neither Verilator nor the core: without them, one message says how to install both.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.cycles.variants import XIP, Variant
from lowtide.errors import MissingToolError, UsageError
from lowtide.machines.failures import ProgramError

PACKAGE: Final = "pythondata-cpu-vexriscv"
_MODULE: Final = PACKAGE.replace("-", "_")
_SOURCE: Final = Path(__file__).with_name("simulated.cpp")
_FLAGS: Final = (
    *("--cc", "--exe", "--build", "--top-module", "VexRiscv", "-Wno-lint", "-Wno-fatal"),
    *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"),
    *("-CFLAGS", "-std=c++17 -O3", "-MAKEFLAGS", "OPT_FAST=-O3", "-o", "simulated"),
)
_MOST_CYCLES: Final = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """What one call of the program took: cycles, words of flash that were fetched and read, and how many
    of these missed their line; accesses of RAM."""

    cycles: int
    fetched: int
    fetch_misses: int
    read: int
    read_misses: int
    ram_reads: int
    ram_writes: int

    @property
    def misses(self) -> int:
        """Lines that the XIP cache missed."""
        return self.fetch_misses + self.read_misses


def find_rtl(folder: Path | None) -> Path:
    """The folder of the cores' Verilog files, the package's unless a `folder` is given.

    Raises MissingToolError if Verilator or the package is missing, and says how to install what is;
    UsageError if `folder` has no such files.
    """
    installed = importlib.util.find_spec(_MODULE) if folder is None else None
    needs = []
    if shutil.which("verilator") is None:
        needs.append(("Verilator", "sudo apt-get install verilator"))
    if folder is None and (installed is None or installed.origin is None):
        needs.append(
            (
                f"the Python package {PACKAGE}",
                f"pip install {PACKAGE} (for another Python, say where it is with --rtl)",
            )
        )
    if needs:
        cause = " and ".join(what for what, _ in needs)
        raise MissingToolError(
            f"{cause} {'is' if len(needs) == 1 else 'are'} not installed",
            "; ".join(how for _, how in needs),
        )
    found = folder
    if found is None:
        assert installed is not None
        assert installed.origin is not None
        found = Path(installed.origin).parent / "verilog"
    if not (found / "VexRiscv.v").is_file():
        raise UsageError(
            f"there is no VexRiscv.v in {found}",
            f"give the folder `verilog` of the package {PACKAGE}",
        )
    return found


def build_rtl(variant: Variant, rtl: Path, folder: Path) -> Path:
    """The simulation of a core, built in `folder`. Raises ProgramError with what Verilator says."""
    made = folder / variant.name
    done = subprocess.run(
        ["verilator", *_FLAGS, "--Mdir", made, rtl / variant.verilog, _SOURCE],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ProgramError(f"Verilator does not build {variant.verilog}: {done.stderr}", "read it")
    return made / "simulated"


def simulate(
    simulated: Path, variant: Variant, waits: int, image: bytes, folder: Path
) -> tuple[Call, ...]:
    """What a core's simulation counts of the calls of a program: of an empty function, init, invoke...

    The program's files are in `folder`; it writes "outputs.bin". Raises ProgramError if it fails.
    """
    board = variant.board
    (folder / "image.bin").write_bytes(image)
    numbers = (board.flash.origin, board.ram.origin, waits, XIP.bytes, XIP.ways, XIP.line_bytes)
    done = subprocess.run(
        [simulated, "image.bin", *(str(n) for n in (*numbers, _MOST_CYCLES))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ProgramError(
            f"on the {variant.name} core: {done.stderr}", "compare with `lowtide run`"
        )
    return read_calls(done.stdout.splitlines())


def read_calls(lines: Sequence[str]) -> tuple[Call, ...]:
    """The calls that the simulation wrote down. Raises ValueError for lines of another form."""
    found = [re.fullmatch(r"call((?: \d+){7})", line) for line in lines]
    if not all(found):
        raise ValueError(f"the simulation said: {lines}")
    return tuple(Call(*(int(n) for n in match[1].split())) for match in found if match)


def rtl_tools() -> str:
    """With what it is measured."""
    verilator = subprocess.run(
        ["verilator", "--version"], capture_output=True, text=True, check=True
    )
    return f"the RTL of VexRiscv, Verilator {verilator.stdout.split()[1]}"

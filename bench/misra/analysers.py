"""GCC's static analyser and clang-tidy on a folder of C.

The analyser reads a bundle as this computer's compiler does, clang-tidy as one for a Cortex-M4 does. Of
clang-tidy's sets bugprone and cert, one check is left out: it warns of neighbouring parameters of one
type, and kernels take several numbers. Two checks are told that bytes of tensors are no characters.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.shared.outside import ROOT
from lowtide.errors import MissingToolError

_HEADERS: Final = ROOT / "src" / "lowtide" / "machines" / "boards" / "nolibc"
_CHECKS: Final = "-*,bugprone-*,cert-*,-bugprone-easily-swappable-parameters"
_NUMBERS: Final = ("bugprone-signed-char-misuse", "cert-str34-c")
_FOUND: Final = re.compile(r"^(\S+:\d+):\d+: (?:warning|error): (.*)$", re.MULTILINE)


def analysed(folder: Path) -> tuple[str, ...]:
    """What `gcc -fanalyzer` says of the .c files in `folder`: file, line and message."""
    with TemporaryDirectory() as place:
        flags = ["-std=c99", "-O2", "-fanalyzer", "-I", str(folder)]
        sources = sorted(folder.glob("*.c"))
        return _told([["gcc", *flags, "-c", str(source)] for source in sources], Path(place))


def tidied(folder: Path) -> tuple[str, ...]:
    """What clang-tidy says of them."""
    options = [{"key": f"{check}.CharTypdefsToIgnore", "value": "int8_t"} for check in _NUMBERS]
    command = ["clang-tidy", "--quiet", f"--checks={_CHECKS}"]
    command += [f"--config={json.dumps({'CheckOptions': options})}"]
    command += [str(source) for source in sorted(folder.glob("*.c"))]
    compiled = [
        "--target=thumbv7em-none-eabi",
        "-mcpu=cortex-m4",
        "-D__ARM_FEATURE_UNALIGNED",  # as GCC defines it
        "-std=c99",
        "-ffreestanding",
        f"-isystem{_HEADERS}",
    ]
    return _told([[*command, "--", *compiled]], folder)


def _told(commands: Sequence[Sequence[str]], folder: Path) -> tuple[str, ...]:
    """The warnings and errors of all commands; raises MissingToolError, and ValueError if one fails."""
    found: list[str] = []
    for command in commands:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        except FileNotFoundError:
            raise MissingToolError(
                f"{command[0]} is not installed",
                f"install it: sudo apt-get install {command[0]}",
            ) from None
        told = _FOUND.findall(done.stdout + done.stderr)
        if done.returncode and not told:
            raise ValueError(f"{command[0]} failed: {done.stdout}{done.stderr}")
        found += [f"{Path(place).name}: {message}" for place, message in told]
    return tuple(sorted(set(found)))

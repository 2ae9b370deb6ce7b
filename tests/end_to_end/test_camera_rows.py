"""examples/camera_rows, built as its README says, on this computer and on a board: scores are TFLM's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lowtide.commands.cutting import as_file, part_of
from networks import loaded
from stateful import Array, sequence

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "camera_rows"
LINES, LINE_BYTES = 96, 288
LOGITS = 87
_EMULATOR = (
    "qemu-system-arm",
    "-M",
    "mps2-an386",
    "-nographic",
    "-monitor",
    "none",
    "-serial",
    "none",
)
_CONSOLE = ("-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel")


def built(folder: Path, *flags: str, compiler: str) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = ["sh", str(EXAMPLE / "build.sh"), *flags, str(folder)]
    environment = {**os.environ, "PATH": path, "CC": compiler}
    subprocess.run(command, check=True, env=environment, capture_output=True)


def pictures() -> list[Array]:
    """What the made-up sensor of camera.c shows, twice, as the network has it: less 128."""
    noise, shown = 1, []
    for _ in range(2):
        lines = np.zeros((LINES, LINE_BYTES), np.int64)
        for line in range(LINES):
            for at in range(LINE_BYTES):
                noise = (noise * 1664525 + 1013904223) % 2**32
                lines[line, at] = ((noise >> 27) + 2 * (line + 1)) % 256
        shown.append((lines - 128).astype(np.int8).reshape(1, LINES, LINES, 3))
    return shown


@pytest.fixture(scope="module")
def wanted() -> list[tuple[int, ...]]:
    """TFLM's scores, before the softmax."""
    part = as_file(part_of(loaded("mobilenet-v1-0.25-96"), until=[LOGITS]), check=False)
    made = sequence(part, [(picture,) for picture in pictures()], (0,))
    return [tuple(np.frombuffer(out[0], np.int8).tolist()) for out in made]


def scores(text: str) -> list[tuple[int, ...]]:
    found = re.findall(r"^nobody (-?\d+), somebody (-?\d+); \d lines .* 0 were lost$", text, re.M)
    return [(int(one), int(other)) for one, other in found]


def last_line_in_readme(text: str) -> None:
    readme = (EXAMPLE / "README.md").read_text("utf-8")
    assert f"\n{text.splitlines()[-1]}\n" in readme


def test_on_this_computer(wanted: list[tuple[int, ...]], tmp_path: Path) -> None:
    built(tmp_path, compiler="gcc -Werror -fsanitize=address,undefined")
    done = subprocess.run([tmp_path / "camera"], check=True, capture_output=True, text=True)
    assert scores(done.stdout) == wanted
    assert wanted[0] != wanted[1]
    last_line_in_readme(done.stdout)


def test_on_a_board(wanted: list[tuple[int, ...]], tmp_path: Path) -> None:
    built(tmp_path, "--board", compiler="arm-none-eabi-gcc -Werror")
    command = [*_EMULATOR, *_CONSOLE, str(tmp_path / "camera.elf")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert scores(done.stdout) == wanted
    assert "2 lines waited at most, 0 were lost" in done.stdout
    last_line_in_readme(done.stdout)

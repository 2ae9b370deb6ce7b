"""examples/wake_window, built as its README says, on this computer and on a board: all is as in TFLM.

TFLM runs the network as it is, on each whole window of the features.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_wake_word import HOP, made_sound

from lowtide.oracle.samples import reference
from networks import loaded
from stateful import sequence

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "wake_window"
ROWS, WIDE = 30, 40


def built(folder: Path, hop: int, *flags: str, compiler: str) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "CC": compiler}
    given = [] if hop == 1 else ["zoo:audio-front-end", "zoo:wake-word-window", str(hop)]
    command = ["sh", str(EXAMPLE / "build.sh"), *flags, str(folder), *given]
    subprocess.run(command, check=True, env=environment, capture_output=True)


def told(hop: int) -> list[tuple[int, ...]]:
    """TFLM: (milliseconds, the outputs), at every hop of the window."""
    front, net = loaded("audio-front-end"), loaded("wake-word-window")
    sound = made_sound()
    count = len(sound) // HOP
    wide = front.graph.tensors[front.graph.inputs[0]].elements
    before = np.concatenate([np.zeros(wide - HOP, np.int16), sound])
    given = [(before[n * HOP : n * HOP + wide].reshape(1, wide),) for n in range(count)]
    features = np.frombuffer(b"".join(out[0] for out in sequence(front, given, (0,))), np.int8)
    rows = features.reshape(count, 1, WIDE)
    ends = range(ROWS, count + 1, hop)
    (tensor,), (made,) = net.graph.inputs, net.graph.outputs
    windows = [{tensor: rows[end - ROWS : end].reshape(1, ROWS, 1, WIDE)} for end in ends]
    quant = net.graph.tensors[made].quant
    assert quant is not None
    outputs = [sample[made].reshape(-1) for sample in reference(net, windows, [made]).samples]
    return [
        (10 * end, *(int(v) - quant.zero_point[0] for v in out))
        for end, out in zip(ends, outputs, strict=True)
    ]


def printed(text: str) -> list[tuple[int, ...]]:
    lines = re.findall(r"^ *(\d+) ms:((?: +-?\d+)+)$", text, re.MULTILINE)
    return [(int(at), *map(int, values.split())) for at, values in lines]


@pytest.mark.parametrize("hop", [1, 4])
def test_on_this_computer(hop: int, tmp_path: Path) -> None:
    built(tmp_path, hop, compiler="gcc -Werror -fsanitize=address,undefined")
    made_sound().tofile(tmp_path / "made.raw")
    command = [str(tmp_path / "wake_window"), str(tmp_path / "made.raw")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wanted = told(hop)
    assert len({said[1:] for said in wanted}) > 3  # the sound makes a difference
    assert printed(text) == wanted


def test_on_a_board(tmp_path: Path) -> None:
    built(tmp_path, 1, "--board", compiler="arm-none-eabi-gcc -Werror")
    made_sound().tofile(tmp_path / "sound.raw")
    emulator = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none"]
    emulator += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    command = [*emulator, "-kernel", "wake_window.elf"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert printed(done.stdout) == told(1)
    readme = (EXAMPLE / "README.md").read_text()
    for line in done.stdout.splitlines()[-4:]:
        assert f"\n{line}\n" in readme, line

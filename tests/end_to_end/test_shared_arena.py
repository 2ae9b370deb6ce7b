"""examples/shared_arena, built as its README says: every output against TFLM, one interpreter each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lowtide.ir import Model
from lowtide.tflite.read import load
from networks import loaded
from stateful import Array, sequence

ROOT = Path(__file__).resolve().parents[2]
WORLD = ROOT.parent / "shared" / "world"
ZOO = ("zoo:streaming-wake-word", "zoo:streaming-wake-word", "zoo:lstm-gestures")
REAL = tuple(
    str(WORLD / f"{n}.tflite") for n in ("mww_okay_nabu_v2", "mww_okay_nabu_v1", "mww_vad_v2")
)
TURNS = 70


def built(folder: Path, networks: tuple[str, ...]) -> str:
    """What the program prints."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "CC": "gcc -Werror -fsanitize=address,undefined"}
    build = ROOT / "examples" / "shared_arena" / "build.sh"
    subprocess.run(
        ["sh", str(build), str(folder), *networks], check=True, env=environment, capture_output=True
    )
    program = str(folder / "shared_arena")
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def wandering(models: list[Model]) -> list[list[Array]]:
    """The inputs of each network, as main.c makes them."""

    def numbers() -> Iterator[int]:
        random = 1
        while True:
            random = (random * 1664525 + 1013904223) % (1 << 32)
            yield (random >> 24) % 31 - 15

    steps = numbers()
    kinds = [model.graph.tensors[model.graph.inputs[0]] for model in models]
    heard = [np.zeros(kind.bytes, np.uint8) for kind in kinds]
    found: list[list[Array]] = [[] for _ in models]
    for _ in range(TURNS):
        for number, kind in enumerate(kinds):
            moved = [next(steps) for _ in range(kind.bytes)]
            heard[number] = (heard[number] + np.array(moved)).astype(np.uint8)
            found[number].append(heard[number].view(kind.dtype.name.lower()).reshape(kind.shape))
    return found


@pytest.mark.parametrize("networks", [ZOO, REAL], ids=["zoo", "others"])
def test_three_networks_in_one_arena(networks: tuple[str, ...], tmp_path: Path) -> None:
    if networks is REAL and not Path(REAL[0]).exists():
        pytest.skip("needs the wake words of the optional folder ../shared/world")
    printed = built(tmp_path, networks if networks is REAL else ())
    models = [
        loaded(n.removeprefix("zoo:")) if n.startswith("zoo:") else load(Path(n)) for n in networks
    ]
    for name, model, given in zip(
        ("first", "second", "voice"), models, wandering(models), strict=True
    ):
        lines = re.findall(rf"^{name} (.*)$", printed, re.MULTILINE)
        wanted = sequence(model, [(array,) for array in given], (0,))
        assert [bytes.fromhex(line) for line in lines] == [outputs[0] for outputs in wanted]
    readme = (ROOT / "examples" / "shared_arena" / "README.md").read_text()
    for line in printed.splitlines()[3 * TURNS :]:
        if not line.startswith(("instances", "in all")):  # which depend on this computer
            assert f"\n{line}\n" in readme

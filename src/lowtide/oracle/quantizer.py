"""litert-quantizer: the tool that makes integers of float networks, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import MissingToolError, ModelError, how_to_install
from lowtide.temporary import temporary_folder

_LINE_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to quantise: activations of `bits` (8 or 16), weights of 8; floats in or out if asked for."""

    bits: int = 8
    float_input: bool = False
    float_output: bool = False


@dataclass(frozen=True, slots=True)
class Quantizer:
    """What litert-quantizer made of a file, and its version."""

    file: bytes = field(repr=False)
    version: str


def quantize_file(
    model: bytes,
    key: str,
    samples: Sequence[Mapping[str, NDArray[Any]]],
    recipe: Recipe,
) -> Quantizer:
    """Quantise a .tflite file, calibrated on `samples`: name of each input of signature `key` -> array.

    Raises MissingToolError without litert-quantizer, ModelError with its words if it cannot.
    """
    with temporary_folder() as folder:
        names = list(samples[0])
        request = {
            "key": key,
            "bits": recipe.bits,
            "float_input": recipe.float_input,
            "float_output": recipe.float_output,
        }
        (folder / "model.tflite").write_bytes(model)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        keys = {f"input_{i}": name for i, name in enumerate(names)}
        (folder / "names.json").write_text(json.dumps(keys), encoding="utf-8")
        stacks: dict[str, Any] = {
            k: np.stack([s[name] for s in samples]) for k, name in keys.items()
        }
        np.savez(folder / "samples.npz", **stacks)
        printed, code = _start(folder)
        if code == 0:
            done = json.loads((folder / "done.json").read_text(encoding="utf-8"))
            return Quantizer((folder / "quantized.tflite").read_bytes(), done["version"])
        raise _error(folder, printed)


def _start(folder: Path) -> tuple[str, int]:
    # -P: a file named like a module, in the folder the user works in, must not be imported.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "lowtide.oracle.quantize_worker", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout, done.returncode


def _error(folder: Path, printed: str) -> MissingToolError | ModelError:
    report: dict[str, Any] = {}
    if (folder / "error.json").exists():
        report = json.loads((folder / "error.json").read_text(encoding="utf-8"))
    if report.get("missing"):
        return MissingToolError(
            f"litert-quantizer is not installed ({report['message']})",
            how_to_install("quantize"),
        )
    lines = [line.strip() for line in str(report.get("message") or printed).splitlines()]
    said = " / ".join(line for line in lines if line)[-_LINE_LENGTH:] or "nothing"
    return ModelError(
        f"litert-quantizer cannot quantise the network; it says: {said}",
        "quantise it with TensorFlow's converter (docs/quantize.md), or a part of it (--from, --until)",
    )

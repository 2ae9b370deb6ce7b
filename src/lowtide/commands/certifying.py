"""Certificates of compiled programs, and their check in a process that does not compile.

Compiled -> what the passes were answered, what its nodes compute -> prove/certificate.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from lowtide.commands.compiling import Compiled
from lowtide.commands.passing import answers_of, asked_of
from lowtide.commands.proving import claims_of
from lowtide.errors import FaultError, LowtideError, ModelError, UsageError
from lowtide.files import write_atomically
from lowtide.ir import Model
from lowtide.passes.pipeline import Answers, run
from lowtide.prove.certificate import RefusedError, Said, certificate, files_below
from lowtide.temporary import temporary_folder


def certified(compiled: Compiled, files: Mapping[str, bytes] | None = None) -> dict[str, Any]:
    """The certificate of a program; of the bundle `files` of it, if these are not its own. Raises
    RefusedError."""
    model, options = compiled.model, compiled.options
    answers = answers_of(options)
    prices: list[float] = []
    kernels: list[bool] = []
    price = None if answers.price is None else _noted(answers.price, prices)
    run(model.graph, asked_of(options), Answers(price, _noted(answers.has_kernel, kernels)))
    said = Said(
        compiled.name,
        claims_of(compiled.assembly, options.preserve_input),
        asked_of(options),
        None if model.whole is None else (tuple(model.graph.inputs), tuple(model.graph.outputs)),
        None if price is None else tuple(prices),
        tuple(kernels),
    )
    return certificate(model.source, compiled.files if files is None else files, said)


def _noted(ask: Callable[..., Any], answers: list[Any]) -> Callable[..., Any]:
    """`ask`, whose answers are kept."""

    def asked(*of: object) -> Any:
        answers.append(ask(*of))
        return answers[-1]

    return asked


def bundle_in(folder: Path) -> dict[str, bytes]:
    """The C files of the bundle or package in a folder, by their names. Raises UsageError."""
    try:
        return files_below(folder)
    except OSError as error:
        raise UsageError(
            f"cannot read the bundle in {folder}: {error.strerror}",
            "name the folder that `lowtide compile -o` wrote",
        ) from None


def check_files(folder: Path, files: Mapping[str, bytes], made: Mapping[str, bytes]) -> None:
    """Raise RefusedError if a C file in `folder`, one of `files`, is not as the same command makes it
    now: what a certificate does not prove is then proved of nothing."""
    for path, content in made.items():
        name = PurePath(path).name
        if name.endswith((".c", ".h")) and files.get(name) != content:
            lacks = "differs from the file" if name in files else "is missing: it is a file"
            raise RefusedError(
                f"not proved: {name} in {folder} {lacks} that `lowtide compile` writes for this model",
                "restore it, line ends included, or compile the model again to that folder",
            )


def strangers(folder: Path, document: Mapping[str, Any]) -> tuple[str, ...]:
    """The C files in a folder that a certificate of the bundle there is not about."""
    return tuple(sorted(bundle_in(folder).keys() - document["files"].keys()))


def checked(document: Path, model: Model, bundle: Path) -> dict[str, Any]:
    """Check a certificate in a process that imports the checker alone; returns the certificate.

    Raises RefusedError, UsageError or ModelError as it says.
    """
    with temporary_folder() as folder:
        source = folder / "model.tflite"
        write_atomically(source, model.source)
        words = [sys.executable, "-P", "-m", "lowtide.prove", document, source, bundle]
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, check=False
        )
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    kinds: dict[int, type[LowtideError]] = {1: RefusedError, 2: UsageError, 3: ModelError}
    cause, _, remedy = done.stderr.strip().partition("\n  remedy: ")
    if done.returncode not in kinds or not remedy:
        raise FaultError(
            f"the checker failed with exit code {done.returncode}: {done.stderr.strip()[-400:]}"
        )
    raise kinds[done.returncode](cause, remedy)

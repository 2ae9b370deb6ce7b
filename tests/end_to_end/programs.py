"""Builds programs as a user would: generated folders, a main of one's own, a C compiler.

Why not lowtide's own harness: these tests look at the interface from outside, with calls in every
order, several models and several instances, and inputs where the caller wants them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from built import build_program
from lowtide.commands.compiling import Compiled
from lowtide.emit.misra import DEVIATIONS
from lowtide.ir import Model
from lowtide.machines.host import CHECKED
from lowtide.machines.toolchain import WARNINGS
from lowtide.oracle.samples import reference, sample_inputs
from networks import model_of

STRICT = ("-std=c99", *WARNINGS, "-Werror")

_START = """
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("line %d: %s\\n", __LINE__, #x); return 1; } } while (0)
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes of all inputs and outputs of one inference, as the oracle has them."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


@cache
def samples(network: str | int, count: int = 3) -> tuple[Sample, ...]:
    """Inputs of the network with the outputs that TFLM has for them."""
    return samples_of(model_of(network), count)


def samples_of(model: Model, count: int = 3) -> tuple[Sample, ...]:
    """Inputs of `model` with the outputs that TFLM has for them."""
    given = sample_inputs(model, count)
    graph = model.graph
    wanted = reference(model, given, [*graph.inputs, *graph.outputs])
    return tuple(
        Sample(
            tuple(values[t].tobytes() for t in graph.inputs),
            tuple(values[t].tobytes() for t in graph.outputs),
        )
        for values in wanted.samples
    )


def merged(*programs: Compiled) -> dict[str, bytes]:
    """The files of several bundles in one folder; what they share must be the same in all."""
    files: dict[str, bytes] = {}
    for program in programs:
        for name, content in program.files.items():
            if name in ("LICENSE", "README.md", DEVIATIONS):
                continue
            assert files.setdefault(name, content) == content, name
    return files


def c_array(name: str, data: bytes) -> str:
    """A constant array of bytes, at an odd address' mercy: no alignment is asked for."""
    return f"static const uint8_t {name}[] = {{{', '.join(map(str, data))}}};\n"


def c_samples(prefix: str, network: str, count: int = 3) -> str:
    """Arrays PREFIX_in[] and PREFIX_out[] of pointers to each sample's first input and output."""
    found = samples(network, count)
    text = "".join(
        c_array(f"{prefix}_{kind}_{i}", values[0])
        for i, sample in enumerate(found)
        for kind, values in (("in", sample.inputs), ("out", sample.outputs))
    )
    for kind in ("in", "out"):
        names = ", ".join(f"{prefix}_{kind}_{i}" for i in range(count))
        text += f"static const uint8_t *const {prefix}_{kind}[] = {{{names}}};\n"
    return text


def c_arena(name: str, program: str) -> str:
    """An arena of exactly the size that `program` asks for."""
    upper = program.upper()
    return (
        f"static uint8_t {name}[{upper}_ARENA_SIZE]"
        f" __attribute__((aligned({upper}_ARENA_ALIGN)));\n"
    )


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put `files` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def run_main(
    folder: Path,
    programs: Sequence[Compiled],
    body: str,
    declarations: str = "",
    flags: Sequence[str] = (),
) -> str:
    """Build `programs` and a main with `body` as `run_with`."""
    includes = "".join(f'#include "{program.name}.h"\n' for program in programs)
    return run_with(folder, merged(*programs), body, includes + declarations, flags)


def run_with(
    folder: Path,
    files: Mapping[str, bytes],
    body: str,
    declarations: str,
    flags: Sequence[str] = (),
) -> str:
    """Build `files` and a main with `body` under sanitizers, run it, and return what it printed.

    CHECK(x) in the body ends the program, and fails the test, if x does not hold.
    """
    main = f"{_START}{declarations}\nint main(void)\n{{\n{body}\n    return 0;\n}}\n"
    program, warnings = build_program(
        {**files, "main.c": main.encode()}, folder, [*CHECKED, *flags]
    )
    assert warnings == "", warnings
    ran = subprocess.run(
        [program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[:4000]
    return ran.stdout

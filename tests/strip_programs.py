"""Many programs in one: each plan's C under a name of its own, the kernels compiled once.

Why: a build with sanitizers takes seconds, most of them for kernels that all plans share.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from built import build_program
from lowtide.emit.bundle import bundle
from lowtide.emit.misra import DEVIATIONS
from lowtide.ir import Model
from lowtide.machines.host import CHECKED, TRACED
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.program.assemble import Assembly
from lowtide.program.tables import NO_TENSOR

Array = NDArray[Any]
Rows = dict[tuple[int, int, int], dict[int, list[bytes]]]
"""(program, sample, tensor) -> row -> what was made of it, each time; outputs count from -1 down."""

_HEAD = struct.Struct("=5i")
_MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lowtide.h"
static FILE *in, *out;
static int program, sample;
void lt_trace(int tensor, int row, const void *data, int bytes)
{
    int head[5] = {program, sample, tensor, row, bytes};
    fwrite(head, sizeof head[0], 5, out);
    fwrite(data, 1, (size_t)bytes, out);
}
static void *given(size_t bytes)
{
    void *data = malloc(bytes);
    if (!data || fread(data, 1, bytes, in) != bytes) exit(20);
    return data;
}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A plan of a model, assembled."""

    model: Model
    assembly: Assembly


def run_all(programs: Sequence[Program], folder: Path, samples: int) -> list[str]:
    """Build and run all programs under sanitizers; what is not the oracle's, a line each."""
    given = [sample_inputs(program.model, samples, 1) for program in programs]
    rows = _run(programs, given, folder)
    lines = []
    wanted: dict[str, tuple[Mapping[int, Array], ...]] = {}
    for number, program in enumerate(programs):
        model, graph = program.model, program.assembly.graph
        if model.path not in wanted:
            made = [t for op in graph.ops for t in op.outputs]
            asked = dict.fromkeys([*graph.inputs, *made, *graph.outputs])
            wanted[model.path] = reference(model, given[number], list(asked)).samples
        for sample, values in enumerate(wanted[model.path]):
            where = f"{model.path}, program {number}, sample {sample}"
            lines += [
                f"{where}: {line}"
                for line in _compare(program.assembly, rows, (number, sample), values)
            ]
    return lines


def _run(
    programs: Sequence[Program], given: Sequence[Sequence[Mapping[int, Array]]], folder: Path
) -> Rows:
    main, body, inputs = _MAIN, "", b""
    files: dict[str, bytes] = {}
    for number, program in enumerate(programs):
        name, graph = f"net{number}", program.assembly.graph
        for file, content in bundle(program.assembly, name).items():
            if file != DEVIATIONS:  # each program has its own
                assert files.setdefault(file, content) == content
        main += f'#include "{name}.h"\n'
        body += _calls(number, program.assembly, len(given[number]))
        for sample in given[number]:
            inputs += b"".join(np.ascontiguousarray(sample[t]).tobytes() for t in graph.inputs)
    main += 'int main(void)\n{\n    in = fopen("in", "rb");\n    out = fopen("out", "wb");\n'
    files["main.c"] = f"{main}{body}    return 0;\n}}\n".encode()
    (folder / "in").write_bytes(inputs)
    built, warnings = build_program(files, folder, [*CHECKED, TRACED])
    assert warnings == ""
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    _done(
        subprocess.run(
            [built], cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
    )
    data, at = (folder / "out").read_bytes(), 0
    rows: Rows = {}
    while at < len(data):
        program_number, sample_number, tensor, row, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size + size
        made = rows.setdefault((program_number, sample_number, tensor), {})
        made.setdefault(row, []).append(data[at - size : at])
    return rows


def _calls(number: int, assembly: Assembly, samples: int) -> str:
    """C that runs all samples of a program, in an arena of its size and not a byte more."""
    name, graph = f"net{number}", assembly.graph
    size = f"NET{number}_ARENA_SIZE"
    lines = [f"program = {number};", f"static {name}_t m;", f"void *arena = malloc({size});"]
    lines += [f"if ({name}_init(&m, arena, {size}) != LT_OK) return 10;"]
    lines += [f"for (sample = 0; sample < {samples}; sample++) {{"]
    for i, tensor in enumerate(graph.inputs):
        lines.append(f"void *in{i} = given({graph.tensors[tensor].bytes});")
        if assembly.input_mode == "const":
            lines.append(f"if ({name}_set_input(&m, {i}, in{i}) != LT_OK) return 11;")
        else:
            lines.append(f"memcpy({name}_input(&m, {i}), in{i}, {graph.tensors[tensor].bytes});")
    lines.append(f"if ({name}_invoke(&m) != LT_OK) return 12;")
    for i, tensor in enumerate(graph.outputs):
        size = str(graph.tensors[tensor].bytes)
        lines.append(f"lt_trace({-1 - i}, 0, {name}_output(&m, {i}), {size});")
    lines += [f"free(in{i});" for i in range(len(graph.inputs))]
    lines += ["}", "free(arena);"]
    return "    {" + "\n    ".join(lines) + "}\n"


def _done(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stdout[-1000:] + result.stderr[:4000]


def _compare(
    assembly: Assembly, rows: Rows, at: tuple[int, int], wanted: Mapping[int, Array]
) -> list[str]:
    """Every tensor that a node made, in every strip, and every output; not the rows that blocks keep."""
    lines = []
    seen = {tensor for program, sample, tensor in rows if (program, sample) == at}
    for i, tensor in enumerate(assembly.graph.outputs):
        ((data,),) = rows[*at, -1 - i].values()
        if data != wanted[tensor].tobytes():
            lines.append(f"output {i} differs")
    kept = {t for op in assembly.program_graph.ops for t in op.intermediates}
    for tensor in sorted(t for t in seen - kept - {NO_TENSOR} if t >= 0):
        made = rows[*at, tensor]
        part = assembly.parts.get(tensor)
        if part is None:
            assert tensor < len(assembly.graph.tensors)
            want = wanted[tensor].tobytes() if tensor in wanted else None
            if want is not None and b"".join(made[r][-1] for r in sorted(made)) != want:
                lines.append(f"tensor {tensor} differs")
            continue
        whole = wanted[part.tensor]
        for number, columns in enumerate(part.columns):
            inside = whole.reshape(-1, *whole.shape[2:])[: part.rows, columns.start : columns.stop]
            want = np.ascontiguousarray(inside).tobytes()
            if any(len(made[r]) != len(part.columns) for r in made):
                lines.append(f"tensor {part.tensor} is not made {len(part.columns)} times")
            elif b"".join(made[r][number] for r in sorted(made)) != want:
                lines.append(f"tensor {part.tensor}, {columns} differs")
    assert set(assembly.parts) <= seen
    return lines

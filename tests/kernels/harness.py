"""Run a model as generated C on the host, sanitizers on, and compare every tensor with the oracle.

Why whole models: a kernel and its lowering are only right together. To keep tests fast, put many
operators that read the same input into one model: one compilation then checks them all.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assembled import assemble, assemble_lean
from built import build_program
from intervals import outside
from lowtide.emit.bundle import bundle
from lowtide.ir import Graph, Op
from lowtide.ir.state import writes_variables
from lowtide.lower import has_kernel
from lowtide.machines.host import CHECKED, TRACED
from lowtide.oracle.interpreters import Reference, random_inputs, reference_tensors
from lowtide.passes.flipping import FLIP, flip_bytes
from lowtide.passes.simplify.result import Simplified
from lowtide.program.assemble import Assembly
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse

_MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
static FILE *trace;
void lt_trace(int tensor, int row, const void *data, int bytes)
{
    int head[3] = {tensor, row, bytes};
    fwrite(head, sizeof head[0], 3, trace);
    fwrite(data, 1, (size_t)bytes, trace);
}
int main(int argc, char **argv)
{
    static const size_t sizes[] = {%s};
    char *memory = malloc(NET_ARENA_SIZE + NET_ARENA_ALIGN);
    void *arena = memory + (NET_ARENA_ALIGN - (size_t)memory %% NET_ARENA_ALIGN);
    net_t net;
    FILE *in = fopen(argv[argc - 2], "rb");
    trace = fopen(argv[argc - 1], "wb");
#ifdef NET_STATE_SIZE
    void *state = malloc(NET_STATE_SIZE); /* aligned for every type */
    int status = net_init(&net, arena, NET_ARENA_SIZE, state, NET_STATE_SIZE);
#else
    void *state = NULL;
    int status = net_init(&net, arena, NET_ARENA_SIZE);
#endif
    if (status != LT_OK) return 10;
    for (int i = 0; i < NET_INPUTS; i++) {
        if (fread(net_input(&net, i), 1, sizes[i], in) != sizes[i]) return 11;
    }
    if (net_invoke(&net) != LT_OK) return 12;
    fclose(in);
    fclose(trace);
    free(state);
    free(memory);
    return 0;
}
"""

Array = NDArray[Any]


def differences(
    data: bytes,
    *,
    samples: int = 4,
    inputs: Sequence[Mapping[int, Array]] | None = None,
    engine: Literal["auto", "tflm", "litert"] = "auto",
    rewrite: Callable[[Graph], Graph] = lambda graph: graph,
    target: Target = ANY,
    lean: bool = False,
) -> list[str]:
    """Every tensor of the model that is not bit for bit the oracle's, as one line each.

    `rewrite` is a pass over the graph that is compiled, in which convolutions of uint8 are then flipped;
    `target` is what it is compiled for: the host runs what stands in for its assembly. If `lean`,
    kernels that have a lean form run in it.
    Sample 0 of the default inputs is random, 1 to 3 are all least, all greatest and all zero.
    """
    rewritten = rewrite(parse(data).graph)
    flipped = flip_bytes(rewritten, has_kernel)
    graph = flipped.graph
    order = range(len(graph.ops))
    assembly = assemble_lean(graph, target) if lean else assemble(graph, order, target=target)
    if inputs is None:
        inputs = random_inputs(
            [(i, graph.tensors[i].shape, _dtype(graph, i)) for i in graph.inputs], samples, 1
        )
    made = [t for op in rewritten.ops for t in (*op.outputs, *_state(rewritten, op))]
    wanted = reference_tensors(data, inputs, made, engine=engine)
    stored = replace(wanted, samples=tuple(_stored(flipped, s) for s in wanted.samples))
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        program = _build(folder, assembly)
        lines = []
        for number, sample in enumerate(inputs):
            rows = _run(folder, program, graph, sample)
            lines += _compare(assembly, rows, stored, number)
    return lines + outside(rewritten, wanted)


def _state(graph: Graph, op: Op) -> list[int]:
    """The variables that an operator of many outputs changes in place, such as an LSTM's cell state."""
    if not writes_variables(op) or not op.outputs:
        return []
    return [t for t in op.inputs if t >= 0 and graph.tensors[t].is_variable]


def _stored(flipped: Simplified, sample: Mapping[int, Array]) -> dict[int, Array]:
    """What each tensor of the graph that operators make should hold."""
    found = {}
    for tensor, kept in zip(flipped.graph.tensors, flipped.kept, strict=True):
        value = None if kept.origin is None else sample.get(kept.origin)
        if value is not None:
            found[tensor.id] = (value ^ 0x80).view(np.int8) if tensor.flipped else value
    return found


def _dtype(graph: Graph, tensor: int) -> np.dtype[Any]:
    return np.dtype(graph.tensors[tensor].dtype.name.lower())


def _build(folder: Path, assembly: Assembly) -> Path:
    graph = assembly.graph
    sizes = ", ".join(str(graph.tensors[i].bytes) for i in graph.inputs)
    files = {**bundle(assembly, "net"), "main.c": (_MAIN % sizes).encode()}
    program, warnings = build_program(files, folder, [*CHECKED, TRACED])
    assert warnings == ""
    return program


def _run(
    folder: Path, program: Path, graph: Graph, sample: Mapping[int, Array]
) -> dict[int, dict[int, bytes]]:
    """Tensor -> row -> bytes, as the program traced them."""
    data = b"".join(np.ascontiguousarray(sample[i]).tobytes() for i in graph.inputs)
    (folder / "in").write_bytes(data)
    command = [str(program), str(folder / "in"), str(folder / "trace")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    raw, at = (folder / "trace").read_bytes(), 0
    rows: dict[int, dict[int, bytes]] = {}
    while at < len(raw):
        tensor, row, size = struct.unpack_from("<iii", raw, at)
        at += 12 + size
        rows.setdefault(tensor, {})[row] = raw[at - size : at]
    return rows


def _compare(
    assembly: Assembly, rows: Mapping[int, Mapping[int, bytes]], wanted: Reference, sample: int
) -> list[str]:
    lines = []
    for op in assembly.graph.ops:
        for tensor in (*op.outputs, *_state(assembly.graph, op)):
            # An input of the network, flipped, is made by no operator of the file.
            if tensor in assembly.views or (
                op.type == FLIP and tensor not in wanted.samples[sample]
            ):
                continue
            want = wanted.samples[sample][tensor]
            got = b"".join(data for _, data in sorted(rows.get(tensor, {}).items()))
            if got == want.tobytes():
                continue
            where = f"sample {sample}, operator {op.id} ({op.type}), tensor {tensor}"
            if len(got) != want.nbytes:
                lines.append(f"{where}: {len(got)} bytes instead of {want.nbytes}")
                continue
            values = np.frombuffer(got, want.dtype)
            bad = np.flatnonzero(values != want.reshape(-1))
            first = int(bad[0]) if bad.size else 0
            lines.append(
                f"{where}: {bad.size} of {want.size} elements, first {first}: "
                f"{values[first]} instead of {want.reshape(-1)[first]}"
            )
    return lines

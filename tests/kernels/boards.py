"""Run a model's C on emulated boards and compare its outputs with the oracle.

Why besides the host: kernels have variants for instruction sets that the host does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assembled import assemble, assemble_lean
from lowtide.emit.bundle import bundle
from lowtide.lower import has_kernel
from lowtide.machines.board import find_board
from lowtide.machines.qemu import run_on_board
from lowtide.oracle.interpreters import random_inputs, reference_tensors
from lowtide.passes.flipping import flip_bytes
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse

Array = NDArray[Any]


def board_differences(
    data: bytes,
    board: str,
    *,
    inputs: Sequence[Mapping[int, Array]] | None = None,
    engine: Literal["auto", "tflm", "litert"] = "auto",
    target: Target = ANY,
    plenty: bool = False,
    lean: bool = False,
) -> list[str]:
    """Every output of the model, compiled for `target`, that is not bit for bit the oracle's on `board`,
    one line each. Convolutions of uint8 are flipped. With `plenty`, the board has more memory than the
    real one, if its machine has not; if `lean`, kernels that have a lean form run in it."""
    graph = flip_bytes(parse(data).graph, has_kernel).graph
    if inputs is None:
        shapes = [
            (i, graph.tensors[i].shape, np.dtype(graph.tensors[i].dtype.name.lower()))
            for i in graph.inputs
        ]
        inputs = random_inputs(shapes, 4, 1)
    wanted = reference_tensors(data, inputs, graph.outputs, engine=engine)
    # Inputs are read again for every sample, so resident ones may be overwritten.
    order = range(len(graph.ops))
    made = assemble_lean(graph, target) if lean else assemble(graph, order, target=target)
    files = bundle(made, "net")
    samples = [[np.ascontiguousarray(s[i]).tobytes() for i in graph.inputs] for s in inputs]
    on = find_board(board)
    run = run_on_board(on.with_plenty if plenty else on, files, "net", samples)
    lines = [] if not run.warnings else [run.warnings]
    for number, outputs in enumerate(run.outputs):
        for tensor, got in zip(graph.outputs, outputs, strict=True):
            want = wanted.samples[number][tensor]
            values = np.frombuffer(got, want.dtype)
            bad = np.flatnonzero(values != want.reshape(-1))
            if bad.size:
                lines.append(
                    f"sample {number}, tensor {tensor}: {bad.size} of {want.size} elements, first "
                    f"{bad[0]}: {values[bad[0]]} instead of {want.reshape(-1)[bad[0]]}"
                )
    return lines

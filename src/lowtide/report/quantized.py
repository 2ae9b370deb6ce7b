"""Quantised networks: how far their outputs are from the float network's, and what they need."""

from __future__ import annotations

import math
from typing import Any

from lowtide.commands.compiling import Compiled
from lowtide.commands.quantizing import OutputError, Quantized
from lowtide.report.fields import fields_of
from lowtide.report.text import ENGINES, amount, counted, plain, shape_text, table

RANDOM_WARNING = (
    "the samples are random numbers, so the ranges of all tensors are made up: use the network to try "
    "size and speed only. For real use, give samples that cover the real input range with --data"
)


def quantized_text(result: Quantized, output: str = "") -> str:
    """The errors of the outputs, in a line what the network needs, and the file that was written."""
    rows = [
        (plain(o.name), shape_text(o.shape), decibels(o.snr_db), share(o.top1))
        for o in result.outputs
    ]
    count = counted(result.compared, "sample")
    held = (
        f"{count} held back" if result.held_back else f"the same {count}, because there are too few"
    )
    was = ", after its weights were converted to float" if result.was_hybrid else ""
    what = ": noise, which says nothing about real inputs" if result.data.is_random else ""
    return "\n".join(
        [
            f"{plain(result.before.path)}: int{result.bits} by litert-quantizer {result.version}, "
            f"calibrated on {counted(result.calibrated, 'sample')} ({result.data.kind}){was}",
            table(
                f"Against the float network, on {held}{what}; by {ENGINES[result.engine]}",
                ("output.", "shape.", "signal to noise", "same top-1"),
                rows,
            ),
            "",
            verdict_line(result),
            *([f"Wrote {plain(output)}."] if output else []),
        ]
    )


def verdict_line(result: Quantized) -> str:
    """What the network needs as a program, beside what TFLM needs for it."""
    if result.planned is None:
        return f"cannot be compiled: {result.refused}"
    compiled: Compiled = result.planned.compiled
    tflm = compiled.tflm_bytes.ram
    what = "arena and state" if compiled.state_bytes else "arena"
    graph = compiled.graph
    ends = " and ".join(
        f"{kind} {', '.join(dict.fromkeys(graph.tensors[t].dtype.name for t in ids))}"
        for kind, ids in (("input", graph.inputs), ("output", graph.outputs))
    )
    times = f", {tflm / max(1, compiled.ram_bytes):.1f} times as much" if tflm else ""
    return (
        f"now fits in {what} of {amount(compiled.ram_bytes)}, with {amount(graph.weights_bytes)} of "
        f"weights in flash, {ends} (TensorFlow Lite Micro, predicted: {amount(tflm)}{times})"
    )


def decibels(snr: float | None) -> str:
    """Signal to noise; None if there is no signal."""
    if snr is None:
        return "float output is 0"
    return "equal" if math.isinf(snr) else f"{snr:.1f} dB"


def share(part: float | None) -> str:
    """ "98.4%", or nothing for None."""
    return "" if part is None else f"{part:.1%}"


def quantized_document(result: Quantized, output: str) -> dict[str, Any]:
    """Schema lowtide.quantize/1; sizes in bytes. `snr_db` is null where it is no finite number."""
    planned = result.planned
    return {
        "schema": "lowtide.quantize/1",
        "model": result.before.path,
        "output": output,
        "bits": result.bits,
        "quantizer": {"name": "litert-quantizer", "version": result.version},
        "data": result.data.kind,
        "random": result.data.is_random,
        **fields_of(result, "calibrated", "compared", "held_back", "was_hybrid", "engine"),
        "outputs": [_output(output_error) for output_error in result.outputs],
        "arena_bytes": None if planned is None else planned.compiled.arena_bytes,
        "state_bytes": None if planned is None else planned.compiled.state_bytes,
        "tflm_bytes": None if planned is None else planned.compiled.tflm_bytes.ram,
        "refused": result.refused or None,
    }


def _output(error: OutputError) -> dict[str, Any]:
    finite = error.snr_db is not None and math.isfinite(error.snr_db)
    return {
        "name": error.name,
        "shape": list(error.shape),
        "equal": error.snr_db is not None and math.isinf(error.snr_db),
        "snr_db": error.snr_db if finite else None,
        "top1": error.top1,
    }

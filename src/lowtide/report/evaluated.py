"""How good a program is on a data set, as text and as JSON."""

from __future__ import annotations

import math
from typing import Any

from lowtide.commands.evaluating import Evaluated, Top1
from lowtide.commands.others import Distance, Figures
from lowtide.report.fields import fields_of
from lowtide.report.part import network_name, part_fields
from lowtide.report.quantized import decibels, share
from lowtide.report.text import ENGINES, counted, plain, shape_text, table

_GIVEN = {
    "real": "real numbers",
    "integers": "the network's integers",
    "mixed": "real numbers and the network's integers",
}


def evaluated_text(result: Evaluated) -> str:
    """Top-1, if there are labels; then a row for each output."""
    model = result.compiled.model
    count = counted(result.samples, "sample")
    lines = [
        f"{network_name(model)}: {count} ({_GIVEN[result.given]}), run by the C that "
        "`lowtide compile` writes",
    ]
    if result.sequence is not None:
        lines.append(
            "The network has state: the samples are a sequence."
            if result.sequence >= result.samples
            else "The network has state, which is reset after every sample."
            if result.sequence == 1
            else f"The network has state, which is reset every {result.sequence:,} samples."
        )
    if result.top1 is not None:
        lines.append(_top1(result.top1, result.against))
    columns = ["output.", "shape.", "least", "greatest"]
    title = "Outputs, as real numbers"
    if result.against is not None and result.engine is not None:
        title += f", against {plain(result.against)} in {ENGINES[result.engine]}"
        columns += ["same top-1", "greatest error", "mean error", "RMS error", "signal to noise"]
    rows = [
        (plain(o.name), shape_text(o.shape), _number(o.least), _number(o.greatest), *_distance(o))
        for o in result.outputs
    ]
    return "\n".join([*lines, "", table(title, tuple(columns), rows)])


def _top1(top1: Top1, against: str | None) -> str:
    """The line of what was labelled."""
    text = (
        f"top-1 {top1.correct / top1.places:.2%}: {top1.correct:,} of {top1.places:,} right, by "
        f"output {plain(top1.output)}"
    )
    if top1.against is not None and against is not None:
        text += f"; {plain(against)} {top1.against / top1.places:.2%}, {top1.against:,}"
    return text


def _distance(output: Figures) -> tuple[str, ...]:
    found = output.distance
    if found is None:
        return ()
    return (
        share(found.same_top1),
        *(_number(x) for x in (found.greatest, found.mean, found.rms)),
        decibels(found.snr_db),
    )


def _number(value: float) -> str:
    return f"{value:.4g}"


def evaluated_document(result: Evaluated) -> dict[str, Any]:
    """Schema lowtide.evaluate/1. Values that are no finite numbers are null."""
    compiled = result.compiled
    return {
        "schema": "lowtide.evaluate/1",
        "model": compiled.model.path,
        **part_fields(compiled.model),
        **fields_of(result, "samples", "given", "sequence"),
        "core": compiled.options.target.core,
        "rounding": compiled.options.rounding,
        "simplified": compiled.options.simplify,
        "top1": None if result.top1 is None else _top1_field(result.top1),
        **fields_of(result, "against", "engine"),
        "outputs": [_output(output) for output in result.outputs],
    }


def _top1_field(top1: Top1) -> dict[str, Any]:
    return {
        **fields_of(top1, "output", "correct", "places"),
        "share": top1.correct / top1.places,
        "correct_against": top1.against,
    }


def _output(output: Figures) -> dict[str, Any]:
    return {
        "name": output.name,
        "shape": list(output.shape),
        "least": _finite(output.least),
        "greatest": _finite(output.greatest),
        "distance": None if output.distance is None else _distance_field(output.distance),
    }


def _distance_field(found: Distance) -> dict[str, Any]:
    return {
        "equal": found.greatest == 0,
        "same_top1": found.same_top1,
        "greatest": _finite(found.greatest),
        "mean": _finite(found.mean),
        "rms": _finite(found.rms),
        "snr_db": None if found.snr_db is None else _finite(found.snr_db),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

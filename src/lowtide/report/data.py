"""Results as data for programs: JSON documents and CSV tables.

Every document names its schema; keys are only ever added to a schema, never renamed. The files in
schemas/ say what there is, in the form of json-schema.org; all documents that tests print are held
against them.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from lowtide.report.fields import csv_text, fields_of
from lowtide.report.saved import savings_document

if TYPE_CHECKING:  # the pipeline prints with this package, and a list of names needs none of it
    from lowtide.commands.analysis import Analysis, TensorUse, Timeline
    from lowtide.commands.reordering import Placements, Reordered
    from lowtide.place import Placement


_STEP: Final = ("operator", "type", "name", "working_set", "bytes", "macs")
_TENSOR: Final = ("id", "name", "shape", "type", "bytes", "role", "first_step", "last_step")


def to_json(document: dict[str, Any]) -> str:
    """The document as text, without a newline at the end; plain ASCII, for any terminal and pipe."""
    return json.dumps(document, indent=2)


def schema_of(name: str) -> dict[str, Any]:
    """The JSON schema of documents that are of schema `name`, such as "lowtide.plan/1".

    Raises FileNotFoundError if there is none.
    """
    file = f"{name.removeprefix('lowtide.').replace('/', '-')}.json"
    text = (resources.files("lowtide.report") / "schemas" / file).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def analysis_document(analysis: Analysis, placements: Placements | None = None) -> dict[str, Any]:
    """Schema lowtide.analysis/1. All sizes in bytes; steps and tensors in the file's order."""
    found, best = analysis.best_order, analysis.best
    document: dict[str, Any] = {
        "schema": "lowtide.analysis/1",
        "model": {
            "path": analysis.path,
            "operators": len(analysis.graph.ops),
            "tensors": len(analysis.graph.own_tensors),
            **fields_of(
                analysis, "macs", "weights_bytes", "variables_bytes", "tflm_variables_bytes"
            ),
        },
        "peak_bytes": analysis.peak_bytes,
        "peak_step": analysis.file.peak_step,
        "peak_tensors": list(analysis.file.peak_set),
        **fields_of(analysis, "tflm_greedy_arena_bytes", "stored_plan_bytes"),
        "best_order": {
            **fields_of(found, "peak_bytes", "lower_bound_bytes", "proved_optimal", "order"),
            "peak_step": best.peak_step,
            "peak_tensors": list(best.peak_set),
            "tflm_greedy_arena_bytes": best.tflm_greedy_arena_bytes,
            "step_bytes": [step.bytes for step in best.steps],
        },
        "steps": [fields_of(step, *_STEP) for step in analysis.file.steps],
        "tensors": [fields_of(tensor, *_TENSOR) for tensor in analysis.tensors],
    }
    if placements is not None:
        document["placements"] = {
            "order": "best_order",
            **{p.allocator: _placement(p) for p in _all(placements)},
        }
    savings = analysis.savings
    if savings is not None:
        document["simplify"] = savings_document(savings)
    return document


def _all(placements: Placements) -> tuple[Placement, ...]:
    return (placements.greedy, placements.planned, placements.compacting)


def _placement(placement: Placement) -> dict[str, Any]:
    sizes = ("arena_bytes", "lower_bound_bytes", "proved_optimal", "align", "moved_bytes")
    return {**fields_of(placement, *sizes), "moves": len(placement.moves)}


def reordered_document(result: Reordered, output: str | None) -> dict[str, Any]:
    """Schema lowtide.reorder/1. All sizes in bytes; `tflm_head` figures are TFLM's own.

    `output` is null if no file was written; the first of `ways` is the file as it is.
    """
    found, check = result.before.best_order, result.check
    return {
        "schema": "lowtide.reorder/1",
        "model": result.before.path,
        "output": output,
        **fields_of(result, "better", "changed"),
        "order": list(result.chosen.order),
        "peak_bytes": {"before": result.before.peak_bytes, "after": result.after.peak_bytes},
        **fields_of(found, "lower_bound_bytes", "proved_optimal"),
        "tflm_greedy_arena_bytes": {
            "before": result.before.tflm_greedy_arena_bytes,
            "after": result.after.tflm_greedy_arena_bytes,
        },
        "offline_plan": None if result.plan is None else _placement(result.plan),
        "arena_heads_measured": result.measured,
        "ways": [
            {
                "reordered": way.reordered,
                "offline_plan": way.plan is not None,
                "arena_head_bytes": way.head,
                "chosen": way is result.chosen,
            }
            for way in result.ways
        ],
        "check": None
        if check is None
        else {
            **fields_of(check, "engine", "samples", "tensors"),
            "samples_again": check.again,
            "bit_exact": True,
            "tflm_head_bytes": {"before": check.head_before, "after": check.head_after},
        },
    }


_STEPS: Final = ("step", "operator", "type", "name", "bytes", "macs", "working_set")
ANALYSIS_TABLES: Final = {
    "steps.csv": _STEPS,
    "best_order_steps.csv": _STEPS,
    "tensors.csv": ("tensor", *_TENSOR[1:]),
}
"""File name -> columns."""


def analysis_csv(analysis: Analysis) -> dict[str, str]:
    """File name -> CSV text: steps of both orders, and tensors. Lists are separated by spaces."""
    rows = {
        "steps.csv": _step_rows(analysis.file),
        "best_order_steps.csv": _step_rows(analysis.best),
        "tensors.csv": [_tensor_row(tensor) for tensor in analysis.tensors],
    }
    return {name: csv_text(header, rows[name]) for name, header in ANALYSIS_TABLES.items()}


def _tensor_row(tensor: TensorUse) -> tuple[Any, ...]:
    fields = fields_of(tensor, *_TENSOR)
    return tuple({**fields, "shape": "x".join(map(str, tensor.shape))}.values())


def _step_rows(line: Timeline) -> list[tuple[Any, ...]]:
    return [(at, *fields_of(step, *_STEPS[1:]).values()) for at, step in enumerate(line.steps)]

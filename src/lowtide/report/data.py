"""Results as data for programs: JSON documents and CSV tables.

Every document names its schema; keys are only ever added to a schema, never renamed. The files in
schemas/ say what there is, in the form of json-schema.org; all documents that tests print are held
against them.
"""

from __future__ import annotations

import csv
import io
import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from lowtide.report.saved import savings_document

if TYPE_CHECKING:  # the pipeline prints with this package, and a list of names needs none of it
    from lowtide.commands.analysis import Analysis, Step, Timeline
    from lowtide.commands.reordering import Placements, Reordered
    from lowtide.place import Placement


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
            "tensors": len(analysis.graph.tensors),
            "macs": analysis.macs,
            "weights_bytes": analysis.weights_bytes,
            "variables_bytes": analysis.variables_bytes,
            "tflm_variables_bytes": analysis.tflm_variables_bytes,
        },
        "peak_bytes": analysis.peak_bytes,
        "peak_step": analysis.file.peak_step,
        "peak_tensors": list(analysis.file.peak_set),
        "tflm_greedy_arena_bytes": analysis.tflm_greedy_arena_bytes,
        "stored_plan_bytes": analysis.stored_plan_bytes,
        "best_order": {
            "peak_bytes": found.peak_bytes,
            "lower_bound_bytes": found.lower_bound_bytes,
            "proved_optimal": found.proved_optimal,
            "order": list(found.order),
            "peak_step": best.peak_step,
            "peak_tensors": list(best.peak_set),
            "tflm_greedy_arena_bytes": best.tflm_greedy_arena_bytes,
            "step_bytes": [step.bytes for step in best.steps],
        },
        "steps": [_step(step) for step in analysis.file.steps],
        "tensors": [
            {
                "id": t.id,
                "name": t.name,
                "shape": list(t.shape),
                "type": t.type,
                "bytes": t.bytes,
                "role": t.role,
                "first_step": t.first_step,
                "last_step": t.last_step,
            }
            for t in analysis.tensors
        ],
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


def _step(step: Step) -> dict[str, Any]:
    return {
        "operator": step.operator,
        "type": step.type,
        "name": step.name,
        "working_set": list(step.working_set),
        "bytes": step.bytes,
        "macs": step.macs,
    }


def _placement(placement: Placement) -> dict[str, Any]:
    return {
        "arena_bytes": placement.arena_bytes,
        "lower_bound_bytes": placement.lower_bound_bytes,
        "proved_optimal": placement.proved_optimal,
        "align": placement.align,
        "moved_bytes": placement.moved_bytes,
        "moves": len(placement.moves),
    }


def reordered_document(result: Reordered, output: str | None) -> dict[str, Any]:
    """Schema lowtide.reorder/1. All sizes in bytes; `tflm_head` figures are TFLM's own.

    `output` is null if no file was written; the first of `ways` is the file as it is.
    """
    found, check = result.before.best_order, result.check
    return {
        "schema": "lowtide.reorder/1",
        "model": result.before.path,
        "output": output,
        "better": result.better,
        "changed": result.changed,
        "order": list(result.chosen.order),
        "peak_bytes": {"before": result.before.peak_bytes, "after": result.after.peak_bytes},
        "lower_bound_bytes": found.lower_bound_bytes,
        "proved_optimal": found.proved_optimal,
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
            "engine": check.engine,
            "samples": check.samples,
            "tensors": check.tensors,
            "samples_again": check.again,
            "bit_exact": True,
            "tflm_head_bytes": {"before": check.head_before, "after": check.head_after},
        },
    }


_STEPS: Final = ("step", "operator", "type", "name", "bytes", "macs", "working_set")
ANALYSIS_TABLES: Final = {
    "steps.csv": _STEPS,
    "best_order_steps.csv": _STEPS,
    "tensors.csv": ("tensor", "name", "shape", "type", "bytes", "role", "first_step", "last_step"),
}
"""File name -> columns."""


def analysis_csv(analysis: Analysis) -> dict[str, str]:
    """File name -> CSV text: steps of both orders, and tensors. Lists are separated by spaces."""
    tensors = [
        (
            t.id,
            t.name,
            "x".join(map(str, t.shape)),
            t.type,
            t.bytes,
            t.role,
            t.first_step,
            t.last_step,
        )
        for t in analysis.tensors
    ]
    rows = {
        "steps.csv": _step_rows(analysis.file),
        "best_order_steps.csv": _step_rows(analysis.best),
        "tensors.csv": tensors,
    }
    return {name: _csv(header, rows[name]) for name, header in ANALYSIS_TABLES.items()}


def _step_rows(line: Timeline) -> list[tuple[Any, ...]]:
    return [
        (number, s.operator, s.type, s.name, s.bytes, s.macs, " ".join(map(str, s.working_set)))
        for number, s in enumerate(line.steps)
    ]


def _csv(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()

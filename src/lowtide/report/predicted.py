"""Predicted instructions in reports: labelled as such, with the error that the model is known by."""

from __future__ import annotations

from typing import Any

from lowtide.commands.compiling import Compiled
from lowtide.plans.cost import CostModel
from lowtide.plans.placer import Point


def predicted_note(compiled: Compiled, *, always: bool = False) -> str:
    """Of which core, and how far off the model was where it was checked; as `predicted_fields`."""
    model = _model(compiled, always)
    if model is None:
        return ""
    return f"for a {model.core}; 95 of 100 operators measured are within {model.worst_error:.1%}"


def predicted_fields(compiled: Compiled, *, always: bool = False) -> dict[str, Any]:
    """Keys of a document; none if nothing is predicted: if plans do not cost instructions, but for
    `always`, or if there is no model of the core."""
    model = _model(compiled, always)
    if model is None:
        return {}
    return {
        "instructions_predicted": model.program(compiled.assembly.executed),
        "cost_model": {"core": model.core, "worst_error": model.worst_error},
    }


def predicted_of(compiled: Compiled, point: Point) -> int | None:
    """The instructions of another plan of the same network; None if there is no model of the core."""
    model = compiled.options.predictor
    return None if model is None else model.program(point.placed.rows.executed)


def _model(compiled: Compiled, always: bool) -> CostModel | None:
    return compiled.options.predictor if always else compiled.options.cost_model

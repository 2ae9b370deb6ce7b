"""Predicted instructions in reports: labelled as such, with the error that the model is known by."""

from __future__ import annotations

from typing import Any

from lowtide.commands.compiling import Compiled


def as_run(compiled: Compiled) -> str:
    """Whose instructions are predicted: of a program for any core those of one core that has a model."""
    core = compiled.options.predictor.core
    if compiled.options.target.core == core:
        return f"for a {core}"
    return f"for a {core} that runs the {_build(compiled)}"


def _build(compiled: Compiled) -> str:
    core = compiled.options.target.core
    return "portable build" if core == "any" else f"build for a {core}"


def work_of(compiled: Compiled) -> str:
    """What of a plan is predicted, and plans are chosen by: `Point.cost`."""
    return work_words(slow=compiled.options.target.flash is not None)


def work_words(*, slow: bool) -> str:
    """The same, of a part whose flash is `slow`, or of any other."""
    return "instructions with waiting for flash" if slow else "instructions"


def predicted_note(compiled: Compiled) -> str:
    """Of which core, and how far off the model was where it was checked."""
    model = compiled.options.predictor
    return f"for a {model.core}; the error is at most {model.worst_error:.1%} for 95% of operators"


def predicted_fields(compiled: Compiled) -> dict[str, Any]:
    """Keys of a document."""
    model = compiled.options.predictor
    return {
        "instructions_predicted": compiled.instructions_predicted,
        "cost_model": {"core": model.core, "worst_error": model.worst_error},
    }

"""Any result as the text that the command line prints for it."""

from __future__ import annotations

from lowtide.commands.analysis import Analysis
from lowtide.commands.checking import Ran, Verified
from lowtide.commands.compiling import Compiled
from lowtide.commands.estimating import Estimate
from lowtide.commands.evaluating import Evaluated
from lowtide.commands.planned import Planned
from lowtide.commands.quantizing import Quantized
from lowtide.commands.reordering import Reordered
from lowtide.commands.simplifying import SimplifiedFile
from lowtide.errors import UsageError
from lowtide.order import OrderResult
from lowtide.report.deployment import compiled_text, ran_text, verified_text
from lowtide.report.estimated import estimate_text
from lowtide.report.evaluated import evaluated_text
from lowtide.report.planned import plan_text
from lowtide.report.quantized import quantized_text
from lowtide.report.simplified import simplified_text
from lowtide.report.text import analysis_text, reordered_text

Shown = (
    Analysis
    | Reordered
    | SimplifiedFile
    | Compiled
    | Planned
    | Verified
    | Ran
    | Evaluated
    | Estimate
)
"""Results that show themselves in a notebook, too (notebook.py)."""

Result = Shown | OrderResult | Quantized


def describe(result: Result) -> str:
    """Describe a result in lines for a terminal. Raises UsageError for anything else."""
    match result:
        case Analysis():
            return analysis_text(result)
        case Reordered():
            return reordered_text(result)
        case SimplifiedFile():
            return simplified_text(result)
        case Compiled():
            return compiled_text(result)
        case Planned():
            return plan_text(result)
        case Verified():
            return verified_text(result.compiled, result)
        case Ran():
            return ran_text(result)
        case Evaluated():
            return evaluated_text(result)
        case Estimate():
            return estimate_text(result)
        case OrderResult():
            return f"{result}\nOrder of the operators: {' '.join(map(str, result.order))}"
        case Quantized():
            return quantized_text(result)
        case _:
            raise UsageError(
                f"{type(result).__name__} is not a result of lowtide",
                "give what lowtide.analyze, plan, compile, verify or another function returns",
            )

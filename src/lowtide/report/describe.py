"""Any result as the text that the command line prints for it."""

from __future__ import annotations

from typing import assert_never

from lowtide.commands.analysis import Analysis
from lowtide.commands.checking import Ran, Verified
from lowtide.commands.compiling import Compiled
from lowtide.commands.evaluating import Evaluated
from lowtide.commands.planned import Planned
from lowtide.commands.reordering import Reordered
from lowtide.commands.simplifying import SimplifiedFile
from lowtide.report.deployment import compiled_text, ran_text, verified_text
from lowtide.report.evaluated import evaluated_text
from lowtide.report.planned import plan_text
from lowtide.report.simplified import simplified_text
from lowtide.report.text import analysis_text, reordered_text

Result = Analysis | Reordered | SimplifiedFile | Compiled | Planned | Verified | Ran | Evaluated


def describe(result: Result) -> str:
    """Describe the result of a command in lines for a terminal."""
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
    assert_never(result)

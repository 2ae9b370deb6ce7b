"""What the documentation's page asks of lowtide in a browser: JSON in, JSON out, nothing raised.

Why apart from the command line: the page has a form in place of options, and no terminal, file system or
exit code. It runs in Pyodide, without threads, processes or sockets, with numpy as its only package
(tests/test_browser_python.py holds that).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from lowtide.advice.fitting import fits
from lowtide.advice.reporting import Reported, report_on
from lowtide.commands.estimating import MODES, Estimate, estimate
from lowtide.commands.options import Options
from lowtide.commands.reordering import place_tensors
from lowtide.errors import LowtideError
from lowtide.ir import Graph, Model
from lowtide.modes import InputMode
from lowtide.passes import drop_boundary_quantization
from lowtide.report.data import analysis_document
from lowtide.report.page import report_document, report_page
from lowtide.report.page_words import verdict_sentence
from lowtide.report.planned import plan_document
from lowtide.zoo.loading import load

Kind = Literal["look", "report", "fit"]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """The form as it was filled in.

    `model` and `compare` are names of files, or zoo:NAME; `max_ram` is a size as users write it. An
    empty text is no choice.
    """

    model: str
    compare: str = ""
    core: str = "any"
    input_mode: InputMode = "resident"
    quantized_io: bool = False
    max_ram: str = ""

    @property
    def options(self) -> Options:
        """The same as options of the planner. Raises UsageError as those do."""
        return Options(
            input_mode=self.input_mode,
            quantized_io=self.quantized_io,
            max_ram=self.max_ram or None,
            target=self.core,
        )


def answer(kind: Kind, asked: str, tell: Tell = lambda _: None) -> str:
    """What the page shows, as a JSON document: of "look" and "fit" the figures, of "report" the page.

    `asked` has the fields of `Asked`. What goes wrong is an answer too: "error", with its cause and a
    remedy.
    """
    try:
        found = _ANSWERS[kind](Asked(**json.loads(asked)), tell)
    except LowtideError as error:
        found = _wrong(error.cause, error.remedy)
    except MemoryError:
        found = _wrong(
            "the network needs more memory than the browser has",
            "install lowtide on your computer, and run it there",
        )
    except Exception as error:  # whatever it is, the page has to say it
        found = _wrong(
            f"internal error: {type(error).__name__}: {error}".splitlines()[0],
            "report it, with the model",
        )
    return json.dumps(found)


def _wrong(cause: str, remedy: str) -> dict[str, Any]:
    return {"error": {"cause": cause, "remedy": remedy}}


def _look(asked: Asked, tell: Tell) -> dict[str, Any]:
    """Estimates, which are there long before the report is."""
    tell("estimating")
    found = estimate(_ends(asked), target=asked.options.target, simplify=True)
    return {
        "core": found.target.core,
        "operators": found.operators,
        "macs": found.macs,
        "tflm_bytes": found.tflm_bytes,
        "budget": asked.options.max_ram,
        "needs": [_needs(found, mode) for mode in MODES],
    }


def _ends(asked: Asked) -> Model | Graph:
    model = load(asked.model)
    return drop_boundary_quantization(model.graph) if asked.quantized_io else model


def _needs(found: Estimate, mode: InputMode) -> dict[str, Any]:
    needs = found.needs[mode]
    return {
        "mode": mode,
        "arena_bytes": needs.ram_bytes,
        "ram_bytes": needs.total_ram_bytes,
        "flash_bytes": needs.flash_bytes,
        "instructions": needs.instructions,
    }


def _report(asked: Asked, tell: Tell) -> dict[str, Any]:
    options = asked.options
    names = [asked.model, *([asked.compare] if asked.compare else [])]
    reported: list[Reported] = []
    for name in names:
        say = tell if len(names) == 1 else lambda what, of=name: tell(f"{of}: {what}")
        reported.append(report_on(load(name), options, tell=say))
    tell("drawing")
    analysis = reported[0].analysis
    placements = place_tensors(analysis.graph, analysis.best.order)
    return {
        "verdicts": [verdict_sentence(each) for each in reported],
        "page": report_page(*reported),
        "report": report_document(*reported),
        "plan": plan_document(replace(reported[0].planned, points=None)),
        "analysis": analysis_document(analysis, placements),
    }


def _fit(asked: Asked, tell: Tell) -> dict[str, Any]:
    """The microcontrollers, without plans that compute anything twice: those take a search each."""
    tell("looking at microcontrollers")
    found = fits(load(asked.model), max_overhead=1.0)
    return {
        "parts": [
            {
                "name": fit.mcu.name,
                "core": fit.mcu.core,
                "ram_bytes": fit.mcu.ram_bytes,
                "flash_bytes": None if fit.mcu.external else fit.mcu.flash_bytes,
                "fits": fit.way != "not",
                "sentence": fit.sentence,
            }
            for fit in found
        ]
    }


_ANSWERS: dict[Kind, Callable[[Asked, Tell], dict[str, Any]]] = {
    "look": _look,
    "report": _report,
    "fit": _fit,
}

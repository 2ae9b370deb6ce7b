"""lowtide: run a quantised .tflite network in the least RAM, with bit-exact outputs.

    import lowtide

    model = lowtide.load("model.tflite")  # or "zoo:figure1"
    print(lowtide.describe(lowtide.analyze(model)))  # where the RAM goes
    lowtide.reorder(model).write("smaller.tflite")
    lowtide.simplify(model).write("simpler.tflite")  # constant channels removed, exactly
    lowtide.compile(model).write("folder")  # C; lowtide.verify and lowtide.run check and measure it
    program = lowtide.compile(model).load()  # the same C, to be called: program(array)

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lowtide import shown

if TYPE_CHECKING:
    from lowtide.commands.analysis import Analysis as Analysis
    from lowtide.commands.analysis import analyze as analyze
    from lowtide.commands.checking import Ran as Ran
    from lowtide.commands.checking import Verified as Verified
    from lowtide.commands.checking import run as run
    from lowtide.commands.checking import verify as verify
    from lowtide.commands.compiling import Compiled as Compiled
    from lowtide.commands.compiling import compile_model
    from lowtide.commands.cutting import part_of as part_of
    from lowtide.commands.estimating import Estimate as Estimate
    from lowtide.commands.estimating import Needs as Needs
    from lowtide.commands.estimating import estimate as estimate
    from lowtide.commands.evaluating import Evaluated as Evaluated
    from lowtide.commands.evaluating import evaluate as evaluate
    from lowtide.commands.loading import Program as Program
    from lowtide.commands.options import Options as Options
    from lowtide.commands.planned import Planned as Planned
    from lowtide.commands.planned import planned_model
    from lowtide.commands.quantizing import Quantized as Quantized
    from lowtide.commands.quantizing import quantize_model
    from lowtide.commands.quantizing import samples_for as samples_for
    from lowtide.commands.reordering import Reordered as Reordered
    from lowtide.commands.reordering import reorder as reorder
    from lowtide.commands.simplifying import SimplifiedFile as SimplifiedFile
    from lowtide.commands.simplifying import simplify_model
    from lowtide.errors import LowtideError as LowtideError
    from lowtide.estimates.builder import Shapes as Shapes
    from lowtide.ir import DType as DType
    from lowtide.ir import Graph as Graph
    from lowtide.ir import Model as Model
    from lowtide.ir import Op as Op
    from lowtide.ir import Tensor as Tensor
    from lowtide.order import OrderResult as OrderResult
    from lowtide.order import best_order as best_order
    from lowtide.report.describe import describe as describe
    from lowtide.zoo.loading import load as load

    __version__: str

    compile = compile_model  # noqa: A001  # as `re` has one
    plan = planned_model
    quantize = quantize_model
    simplify = simplify_model

HOMES = {
    "Analysis": ("lowtide.commands.analysis", "Analysis"),
    "Compiled": ("lowtide.commands.compiling", "Compiled"),
    "DType": ("lowtide.ir", "DType"),
    "Estimate": ("lowtide.commands.estimating", "Estimate"),
    "Evaluated": ("lowtide.commands.evaluating", "Evaluated"),
    "Graph": ("lowtide.ir", "Graph"),
    "LowtideError": ("lowtide.errors", "LowtideError"),
    "Model": ("lowtide.ir", "Model"),
    "Needs": ("lowtide.commands.estimating", "Needs"),
    "Op": ("lowtide.ir", "Op"),
    "Options": ("lowtide.commands.options", "Options"),
    "OrderResult": ("lowtide.order", "OrderResult"),
    "Planned": ("lowtide.commands.planned", "Planned"),
    "Program": ("lowtide.commands.loading", "Program"),
    "Quantized": ("lowtide.commands.quantizing", "Quantized"),
    "Ran": ("lowtide.commands.checking", "Ran"),
    "Reordered": ("lowtide.commands.reordering", "Reordered"),
    "Shapes": ("lowtide.estimates.builder", "Shapes"),
    "SimplifiedFile": ("lowtide.commands.simplifying", "SimplifiedFile"),
    "Tensor": ("lowtide.ir", "Tensor"),
    "Verified": ("lowtide.commands.checking", "Verified"),
    "analyze": ("lowtide.commands.analysis", "analyze"),
    "best_order": ("lowtide.order", "best_order"),
    "compile": ("lowtide.commands.compiling", "compile_model"),
    "describe": ("lowtide.report.describe", "describe"),
    "estimate": ("lowtide.commands.estimating", "estimate"),
    "evaluate": ("lowtide.commands.evaluating", "evaluate"),
    "load": ("lowtide.zoo.loading", "load"),
    "part_of": ("lowtide.commands.cutting", "part_of"),
    "plan": ("lowtide.commands.planned", "planned_model"),
    "quantize": ("lowtide.commands.quantizing", "quantize_model"),
    "reorder": ("lowtide.commands.reordering", "reorder"),
    "run": ("lowtide.commands.checking", "run"),
    "samples_for": ("lowtide.commands.quantizing", "samples_for"),
    "simplify": ("lowtide.commands.simplifying", "simplify_model"),
    "verify": ("lowtide.commands.checking", "verify"),
}
"""Public name -> where it is defined, and its name there."""

__all__ = [*HOMES, "__version__"]


def _html(result: Any) -> str:
    """A result in a notebook; what makes HTML of it is loaded when it is first asked for."""
    from lowtide.report.notebook import notebook_html

    return notebook_html(result)


shown.register(_html)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})


def __getattr__(name: str) -> Any:
    if name in HOMES:
        home, there = HOMES[name]
        return getattr(import_module(home), there)
    if name == "__version__":
        from importlib.metadata import version  # takes as long as all else of `lowtide --help`

        return version("lowtide")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""lowtide: run a quantised .tflite network in the least RAM, bit for bit the same.

    import lowtide

    model = lowtide.load("model.tflite")  # or "zoo:figure1"
    print(lowtide.analyze(model))  # where the RAM goes
    lowtide.reorder(model).write("smaller.tflite")

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lowtide.commands.analysis import Analysis as Analysis
    from lowtide.commands.analysis import analyze as analyze
    from lowtide.commands.reordering import Reordered as Reordered
    from lowtide.commands.reordering import load as load
    from lowtide.commands.reordering import reorder as reorder
    from lowtide.errors import LowtideError as LowtideError
    from lowtide.ir import DType as DType
    from lowtide.ir import Graph as Graph
    from lowtide.ir import Model as Model
    from lowtide.ir import Op as Op
    from lowtide.ir import Tensor as Tensor
    from lowtide.order import OrderResult as OrderResult
    from lowtide.order import best_order as best_order

__version__ = version("lowtide")

_HOMES = {
    "Analysis": "lowtide.commands.analysis",
    "DType": "lowtide.ir",
    "Op": "lowtide.ir",
    "Tensor": "lowtide.ir",
    "Graph": "lowtide.ir",
    "LowtideError": "lowtide.errors",
    "Model": "lowtide.ir",
    "OrderResult": "lowtide.order",
    "Reordered": "lowtide.commands.reordering",
    "analyze": "lowtide.commands.analysis",
    "best_order": "lowtide.order",
    "load": "lowtide.commands.reordering",
    "reorder": "lowtide.commands.reordering",
}

__all__ = [*_HOMES, "__version__"]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

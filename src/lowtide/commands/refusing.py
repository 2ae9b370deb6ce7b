"""Refusals that say what could be compiled instead: a part of the network, or its int8 form."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

from lowtide.commands.cutting import proposed
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.emit.names import stem
from lowtide.errors import FloatError, ModelError
from lowtide.ir import Model
from lowtide.passes.floats import is_float
from lowtide.zoo.loading import Named, load

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


def advising(
    compiles: Callable[Concatenate[Model, _Given], _Made],
) -> Callable[Concatenate[Named, _Given], _Made]:
    """`compiles`, which takes a model and `options`, of a model that is loaded, or of what `load` takes;
    and its refusals are `advised`."""

    @functools.wraps(compiles)
    def function(model: Named, *given: _Given.args, **named: _Given.kwargs) -> _Made:
        loaded = load(model)
        try:
            return compiles(loaded, *given, **named)
        except ModelError as error:
            of = inspect.signature(compiles).bind(loaded, *given, **named).arguments
            raise advised(error, loaded, of.get("options") or Options()) from None

    return function  # type: ignore[return-value]  # a name is more than mypy knows of


def advised(error: ModelError, model: Model, options: Options) -> ModelError:
    """The same refusal, with the part of the network that can be compiled, or what quantises it."""
    if isinstance(error, FloatError) and is_float(model.graph):
        nameless = model.path.startswith("<")  # made in memory
        file = "MODEL.tflite" if nameless else model.path
        made = f"{'NAME' if nameless else stem(model.path)}_int8.tflite"
        command = f"lowtide quantize {shlex.quote(file)} -o {shlex.quote(made)} --data SAMPLES.npz"
        return FloatError(error.cause, f"quantise it to int8: `{command}`")
    plain = replace(options, simplify=False)
    found = proposed(model, lambda part: passed(part, plain).graph)
    return error if found is None else ModelError(error.cause, f"{found}; or {error.remedy}")

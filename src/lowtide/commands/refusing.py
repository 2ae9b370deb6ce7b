"""Refusals that say what could be compiled instead: a part of the network, or its int8 form."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lowtide.commands.cutting import proposed
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.emit.names import stem
from lowtide.errors import FloatError, ModelError
from lowtide.ir import Model
from lowtide.passes.floats import is_float


@contextmanager
def advising(model: Model, options: Options) -> Iterator[None]:
    """Whatever refuses the model while it is compiled with `options` says what could be compiled."""
    try:
        yield
    except ModelError as error:
        raise advised(error, model, options) from None


def advised(error: ModelError, model: Model, options: Options) -> ModelError:
    """The same refusal, with the part of the network that can be compiled, or what quantises it."""
    floats = isinstance(error, FloatError) and is_float(model.graph)
    plain = replace(options, simplify=False)
    found = proposed(model, lambda part: passed(part, plain).graph, most=floats)
    if found is not None:
        return ModelError(error.cause, f"{found}; or {error.remedy}")
    if floats:
        nameless = model.path.startswith("<")  # made in memory
        file = "MODEL.tflite" if nameless else model.path
        made = f"{'NAME' if nameless else stem(model.path)}_int8.tflite"
        command = f"lowtide quantize {shlex.quote(file)} -o {shlex.quote(made)} --data SAMPLES.npz"
        return FloatError(error.cause, f"quantise it to int8: `{command}`")
    return error

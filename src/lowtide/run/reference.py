"""Reference values of a model: test inputs, and the engine that is right for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Model
from lowtide.run.oracle import Reference, random_inputs, reference_tensors
from lowtide.schedule.liveness import in_arena

Array = NDArray[Any]


def sample_inputs(model: Model, samples: int, seed: int = 1) -> list[dict[int, Array]]:
    """Inputs of `model` to test with, by tensor id: random ones, and all-least, all-greatest, zero.

    Raises ModelError for an input type of which no array can be made.
    """
    graph = model.graph
    return random_inputs(
        [(i, graph.tensors[i].shape, _numpy_type(graph, i)) for i in graph.inputs], samples, seed
    )


def reference(
    model: Model, inputs: Sequence[Mapping[int, Array]], tensors: Sequence[int]
) -> Reference:
    """`tensors` of `model` as TFLM computes them, or as LiteRT does what TFLM lacks."""
    graph = model.graph
    legacy = any(t.dtype is DType.UINT8 and in_arena(t) for t in graph.tensors)
    return reference_tensors(model.source, inputs, tensors, engine="litert" if legacy else "auto")


def _numpy_type(graph: Graph, tensor: int) -> np.dtype[Any]:
    name = graph.tensors[tensor].dtype.name.lower()
    try:
        return np.dtype(name)
    except TypeError:
        raise ModelError(
            f"graph input {tensor} has type {name.upper()}, for which no test input can be made",
            "leave this check out (`lowtide reorder --no-check`), or change the input's type",
        ) from None

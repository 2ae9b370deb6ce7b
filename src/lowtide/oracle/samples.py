"""Reference values of a model: test inputs, and the engine that is right for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Model, Op
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import Reference, random_inputs, reference_tensors, walking_inputs

Array = NDArray[Any]

# Operators that TFLM does not run on uint8 activations; to ask it first would only take time.
_LEGACY = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D"})


def sample_inputs(
    model: Model, samples: int, seed: int = 1, *, walking: bool = False
) -> list[dict[int, Array]]:
    """Inputs of `model` to test with, by tensor id: random ones, and all-least, all-greatest, zero.

    Of a part of a network, they are those of the whole one.
    With `walking`, most of them change slowly from one to the next: see `walking_inputs`.
    Raises ModelError for an input type of which no array can be made.
    """
    graph = model.file_graph
    kinds = [(i, graph.tensors[i].shape, _numpy_type(graph, i)) for i in graph.inputs]
    try:
        return (walking_inputs if walking else random_inputs)(kinds, samples, seed)
    except MemoryError:
        raise ModelError(
            "the model's inputs are too large for this computer's memory",
            "use a computer with more memory",
        ) from None


def reference(
    model: Model,
    inputs: Sequence[Mapping[int, Array]],
    tensors: Sequence[int],
    *,
    rounding: EngineName = "tflm",
    fresh: Sequence[int] | None = None,
) -> Reference:
    """`tensors` of `model`, or of the network that it is a part of, as TFLM computes them, or as LiteRT
    does what TFLM lacks.

    Where LiteRT's `rounding` is asked for, it is the one to ask. Which samples meet a `fresh`
    interpreter is as in `reference_tensors`: by default, all do.
    """
    graph = model.file_graph
    legacy = any(
        op.type in _LEGACY and graph.tensors[op.inputs[0]].dtype is DType.UINT8 for op in graph.ops
    )
    chance = any(_pads_by_chance(graph, op) for op in graph.ops)
    litert = legacy or chance or rounding == "litert"
    engine: Literal["auto", "litert"] = "litert" if litert else "auto"
    found = reference_tensors(model.source, inputs, tensors, engine=engine, fresh=fresh)
    return replace(found, passed_over=_CHANCE) if chance else found


_CHANCE = "its SPACE_TO_BATCH_ND pads with whatever bytes are in memory, not with the zero point"


def _pads_by_chance(graph: Graph, op: Op) -> bool:
    """Whether TFLM does not know what the operator pads with: it never sets that parameter."""
    if op.type != "SPACE_TO_BATCH_ND" or len(op.inputs) != 3 or not op.outputs:
        return False
    made, sides = graph.tensors[op.outputs[0]], graph.tensors[op.inputs[2]]
    zero = made.quant.zero_point[0] if made.quant is not None else 0
    return zero != 0 and (sides.data is None or any(sides.data))


def _numpy_type(graph: Graph, tensor: int) -> np.dtype[Any]:
    name = graph.tensors[tensor].dtype.name.lower()
    try:
        return np.dtype(name)
    except TypeError:
        raise ModelError(
            f"graph input {tensor} has type {name.upper()}, for which lowtide cannot make test inputs",
            "change the input's type"
            if any(tensor in op.inputs for op in graph.ops)
            else "nothing reads it: remove it from the model's list of inputs",
        ) from None

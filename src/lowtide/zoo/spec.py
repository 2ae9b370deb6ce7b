"""Plain values that describe a network before it is written as a .tflite file.

Why: the builder knows quantisation and shapes, the writer knows the schema, and these values are all
that passes between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Option = int | float | bool | str | tuple[int, ...]
"""The value of a field of an operator's options."""


@dataclass(frozen=True, slots=True)
class Quant:
    """Per-tensor int8 quantisation, real = scale * (q - zero_point); `scale` is a float32 value."""

    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True, eq=False)
class TensorSpec:
    """One tensor: `dtype` is a schema name (INT8, INT32), `data` the contents of a constant; a variable
    has none.

    `scales` has one float32 per tensor, or one per slice along `axis`; None where not quantised.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: NDArray[np.float32] | None = None
    zero_point: int = 0
    axis: int = 0
    data: NDArray[Any] | None = None
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One operator: `kind` is a schema name (CONV_2D), tensors are indices into the network's list.

    `options` are the fields of the schema's table `options_type`, in the schema's spelling. An
    omitted input is -1. An operator of kind CUSTOM has the name `custom`, and its options are integers.
    """

    kind: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: str
    options: Mapping[str, Option] = field(default_factory=dict)
    intermediates: tuple[int, ...] = ()
    custom: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NetSpec:
    """A whole network, operators in file order; `signature` is the key of its entry point, if any.

    `initial` has the name and the first contents of each variable that VAR_HANDLEs name.
    """

    name: str
    tensors: tuple[TensorSpec, ...]
    ops: tuple[OpSpec, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    signature: str | None = None
    initial: tuple[tuple[str, TensorSpec], ...] = ()

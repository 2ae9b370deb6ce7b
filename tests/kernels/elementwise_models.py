"""Small models for kernel tests: many operators that read the same inputs, one compilation for all.

Why not the zoo's builder: kernels must do what any converter may write, odd scales and shapes
included, so these models are put together from the schema's own objects, value by value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = Sequence[int]
Engine = Literal["tflm", "litert"]

_KINDS = {
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
    "float32": "FLOAT32",
}
_OPTIONS = {"AVERAGE_POOL_2D": "Pool2D", "MAX_POOL_2D": "Pool2D", "MINIMUM": "MaximumMinimum"}
_OPTIONS |= {"MAXIMUM": "MaximumMinimum", "LEAKY_RELU": "LeakyRelu"}
_OPTIONS |= {"L2_NORMALIZATION": "L2Norm", "ADD_N": "AddN", "CUMSUM": "Cumsum"}
_OPTIONS |= dict.fromkeys(
    ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"), "Reducer"
)
_PLAIN = {"RELU", "RELU6", "LOGISTIC", "TANH", "PRELU", "ELU", "RSQRT"}


_PLAIN_TYPES = {"float32", "int32", "int64", "bool"}
"""Types that have a scale only if it is given and is not 1."""


class Net:
    """A model under construction; tensors are known by their ids."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.operators: list[Any] = []
        self.kinds: list[str] = []
        self.buffers: list[Any] = [schema.BufferT()]
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def tensor(
        self, shape: Shape, dtype: str = "int8", scale: float | None = 1.0, zero: int = 0
    ) -> int:
        """A tensor's id; `scale` None leaves it unquantised."""
        table = schema.TensorT(
            name=f"t{len(self.tensors)}",
            shape=list(shape),
            type=getattr(schema.TensorType, _KINDS[dtype]),
            hasRank=True,
        )
        if scale is not None and (dtype not in _PLAIN_TYPES or scale != 1.0):
            table.quantization = schema.QuantizationParametersT(
                scale=np.array([scale], np.float32), zeroPoint=np.array([zero], np.int64)
            )
        self.tensors.append(table)
        return len(self.tensors) - 1

    def input(self, *args: Any, **kwargs: Any) -> int:
        """A graph input, as `tensor`."""
        self.inputs.append(self.tensor(*args, **kwargs))
        return self.inputs[-1]

    def like(self, index: int, shape: Shape | None = None) -> int:
        """A tensor of the type and quantisation of another, and its shape unless one is given."""
        other = self.tensors[index]
        copy = schema.TensorT(
            name=f"t{len(self.tensors)}",
            shape=list(other.shape if shape is None else shape),
            type=other.type,
            hasRank=True,
            quantization=other.quantization,
        )
        self.tensors.append(copy)
        return len(self.tensors) - 1

    def constant(self, values: Array, scale: float | None = None, zero: int = 0) -> int:
        """A tensor with contents."""
        index = self.tensor(values.shape, values.dtype.name, scale, zero)
        self.tensors[index].buffer = len(self.buffers)
        self.buffers.append(schema.BufferT(data=np.frombuffer(values.tobytes(), np.uint8)))
        return index

    def add(self, kind: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        """An operator; returns `output`, which becomes a graph output as well."""
        name = _OPTIONS.get(kind, "".join(part.title() for part in kind.split("_")))
        table = schema.OperatorT(inputs=list(inputs), outputs=[output])
        if kind not in _PLAIN:
            table.builtinOptionsType = getattr(schema.BuiltinOptions, f"{name}Options")
            table.builtinOptions = getattr(schema, f"{name}OptionsT")(**options)
        if kind not in self.kinds:
            self.kinds.append(kind)
        table.opcodeIndex = self.kinds.index(kind)
        self.operators.append(table)
        self.outputs.append(output)
        return output

    def pack(self) -> bytes:
        """The .tflite file."""
        graph = schema.SubGraphT(
            name="main",
            tensors=self.tensors,
            operators=self.operators,
            inputs=self.inputs,
            outputs=self.outputs,
        )
        codes = []
        for kind in self.kinds:
            code = getattr(schema.BuiltinOperator, kind)
            codes.append(
                schema.OperatorCodeT(
                    builtinCode=code,
                    deprecatedBuiltinCode=min(code, 127),
                    version=1 if kind in ("PRELU", "HARD_SWISH", "REDUCE_ANY") else 2,
                )
            )
        model = schema.ModelT(
            version=3, operatorCodes=codes, subgraphs=[graph], buffers=self.buffers
        )
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def samples_of(
    net: Net, count: int = 3, seed: int = 1, bounds: Mapping[int, tuple[float, float]] | None = None
) -> list[dict[int, Array]]:
    """Inputs for a run: two samples at the ends of each type, then `count` random ones.

    `bounds` limits the random values of an input.
    """
    rng = np.random.default_rng(seed)
    kinds = {getattr(schema.TensorType, name): kind for kind, name in _KINDS.items()}
    found: list[dict[int, Array]] = [{} for _ in range(count + 2)]
    for index in net.inputs:
        shape = tuple(net.tensors[index].shape)
        dtype = np.dtype(kinds[net.tensors[index].type])
        ends: tuple[float, float] = (-1.0, 1.0)
        if dtype.kind == "b":
            ends = (0, 1)
        elif dtype.kind != "f":
            ends = (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        low, high = (bounds or {}).get(index, ends)
        for number, sample in enumerate(found):
            if number < 2:
                sample[index] = np.full(shape, (low, high)[number], dtype)
            elif dtype.kind == "f":
                sample[index] = rng.uniform(low, high, shape).astype(dtype)
            elif dtype.kind == "b":
                sample[index] = rng.integers(0, 2, shape).astype(dtype)
            else:
                sample[index] = rng.integers(int(low), int(high), shape, dtype, endpoint=True)
    return found

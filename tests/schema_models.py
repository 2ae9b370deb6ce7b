"""Models for tests, written operator by operator with the schema's object API, and inputs for them.

Why not the zoo's builder: kernels must do what any converter may write, odd scales and shapes included.
Each test puts dozens of operators that read the same inputs into one model, so that one compilation of
generated C covers them all.
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
_CODES: dict[np.dtype[Any], str] = {
    np.dtype(np.int8): "INT8",
    np.dtype(np.uint8): "UINT8",
    np.dtype(np.int16): "INT16",
    np.dtype(np.int32): "INT32",
    np.dtype(np.int64): "INT64",
    np.dtype(np.float32): "FLOAT32",
    np.dtype(np.bool_): "BOOL",
}


_OPTIONS = {"AVERAGE_POOL_2D": "Pool2D", "MAX_POOL_2D": "Pool2D", "MINIMUM": "MaximumMinimum"}
_OPTIONS |= {"MAXIMUM": "MaximumMinimum", "LEAKY_RELU": "LeakyRelu"}
_OPTIONS |= {"L2_NORMALIZATION": "L2Norm", "ADD_N": "AddN", "CUMSUM": "Cumsum"}
_OPTIONS |= dict.fromkeys(
    ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"), "Reducer"
)
_PLAIN = {"RELU", "RELU6", "LOGISTIC", "TANH", "PRELU", "ELU", "RSQRT"}
"""Operators without options."""
_SCALED = tuple(map(np.dtype, ("int8", "uint8", "int16")))
"""Types that usually have a scale; others only if one is given and is not 1."""
USUAL = -1.0
"""For a scale: the one that the net gives, if any."""


class Net:
    """A model under construction: tensors are known by index.

    Tensors of its own type have its scale and zero point where nothing else is said; with `every`, so
    have all of int8, uint8 and int16.
    """

    def __init__(
        self, dtype: Any = np.int8, scale: float = 0.5, zero: int = 3, *, every: bool = False
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.quant = (scale, 0 if self.dtype == np.int16 else zero)
        self.scaled = [kind for kind in _SCALED if every or kind == self.dtype]
        self.tensors: list[Any] = []
        self.buffers: list[Any] = [schema.BufferT()]
        self.operators: list[Any] = []
        self.codes: dict[str, int] = {}
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def tensor(
        self,
        shape: Shape,
        dtype: Any = None,
        scale: float | None = USUAL,
        zero: int = 0,
        *,
        quant: tuple[Any, Any] | None = None,
        data: NDArray[Any] | None = None,
        axis: int = 0,
        variable: bool = False,
    ) -> int:
        """A tensor; `quant` is (scale or scales, zero point). `scale` None leaves it unquantised."""
        kind = np.dtype(self.dtype if dtype is None else dtype)
        table = schema.TensorT(
            name=f"t{len(self.tensors)}",
            shape=list(shape),
            type=getattr(schema.TensorType, _CODES[kind]),
            isVariable=variable,
            hasRank=True,
        )
        if quant is None and scale == USUAL and kind in self.scaled:
            quant = (self.quant[0], zero) if zero else self.quant
        elif quant is None and scale not in (None, USUAL) and (kind in _SCALED or scale != 1.0):
            quant = (scale, zero)
        if quant is not None:
            scales = np.atleast_1d(np.array(quant[0], np.float32))
            zeros = np.broadcast_to(np.array(quant[1], np.int64), scales.shape)
            table.quantization = schema.QuantizationParametersT(
                scale=scales, zeroPoint=np.array(zeros), quantizedDimension=axis
            )
        if data is not None:
            table.buffer = len(self.buffers)
            raw = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.buffers.append(schema.BufferT(data=raw))
        self.tensors.append(table)
        return len(self.tensors) - 1

    def input(self, shape: Shape, *args: Any, **fields: Any) -> int:
        """A graph input, as `tensor`."""
        self.inputs.append(self.tensor(shape, *args, **fields))
        return self.inputs[-1]

    def const(self, values: Any, dtype: Any = np.int32, **fields: Any) -> int:
        data = np.array(values, dtype)
        return self.tensor(data.shape, data.dtype, data=data, **fields)

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
        """A tensor with contents, of their type; without a scale unless one is given."""
        return self.tensor(values.shape, values.dtype, scale, zero, data=values)

    def add(self, kind: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        """An operator; returns `output`, a tensor, which becomes a graph output as well."""
        name = _OPTIONS.get(kind, "".join(part.title() for part in kind.split("_")))
        made = None if kind in _PLAIN else getattr(schema, f"{name}OptionsT")(**options)
        self._operator(kind, inputs, [output], made)
        self.outputs.append(output)
        return output

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        *shapes: Shape | int,
        options: Any = None,
        output: bool = True,
        **fields: Any,
    ) -> int:
        """An operator and its outputs: new tensors of `shapes`; returns the first one's index.

        `output` makes them graph outputs; `fields` are those of `tensor`.
        """
        made = [len(self.tensors) + i for i in range(len(shapes))]
        for shape in shapes:
            self.tensor([shape] if isinstance(shape, int) else shape, **fields)
        self._operator(kind, inputs, made, options)
        if output:
            self.outputs += made
        return made[0] if made else -1

    def _operator(self, kind: str, inputs: Sequence[int], outputs: list[int], options: Any) -> None:
        self.operators.append(
            schema.OperatorT(
                opcodeIndex=self.codes.setdefault(kind, len(self.codes)),
                inputs=list(inputs),
                outputs=outputs,
                builtinOptionsType=0
                if options is None
                else getattr(schema.BuiltinOptions, type(options).__name__[:-1]),
                builtinOptions=options,
            )
        )

    def branch(self) -> Net:
        """A subgraph of the same file, to be given to `build`."""
        made = Net(self.dtype, self.quant[0], self.quant[1])
        made.buffers, made.codes = self.buffers, self.codes
        return made

    def build(self, *branches: Net) -> bytes:
        """The file; its subgraphs 1 and on are `branches`."""
        codes = [getattr(schema.BuiltinOperator, kind) for kind in self.codes]
        model = schema.ModelT(
            version=3,
            operatorCodes=[
                schema.OperatorCodeT(deprecatedBuiltinCode=min(c, 127), builtinCode=c, version=1)
                for c in codes
            ],
            subgraphs=[
                schema.SubGraphT(
                    name=f"branch{number}" if number else "main",
                    tensors=net.tensors,
                    operators=net.operators,
                    inputs=net.inputs,
                    outputs=net.outputs,
                )
                for number, net in enumerate((self, *branches))
            ],
            buffers=self.buffers,
        )
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def plain_net() -> Net:
    """A net that gives tensors of int8, uint8 and int16 scale 1 and zero point 0."""
    return Net(np.int8, 1.0, 0, every=True)


def samples_of(
    net: Net, count: int = 3, seed: int = 1, bounds: Mapping[int, tuple[float, float]] | None = None
) -> list[dict[int, Array]]:
    """Inputs for a run: two samples at the ends of each type, then `count` random ones.

    `bounds` limits the random values of an input.
    """
    rng = np.random.default_rng(seed)
    kinds = {getattr(schema.TensorType, name): kind for kind, name in _CODES.items()}
    found: list[dict[int, Array]] = [{} for _ in range(count + 2)]
    for index in net.inputs:
        shape = tuple(net.tensors[index].shape)
        dtype = kinds[net.tensors[index].type]
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

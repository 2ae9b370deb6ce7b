"""Models for the tests of data movement, written operator by operator with the schema's object API.

Why one class: each test puts dozens of operators that read the same inputs into one model, so that
one compilation of generated C covers them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
from numpy.typing import NDArray

Shape = Sequence[int]
_CODES = {
    np.dtype(np.int8): "INT8",
    np.dtype(np.uint8): "UINT8",
    np.dtype(np.int16): "INT16",
    np.dtype(np.int32): "INT32",
    np.dtype(np.int64): "INT64",
    np.dtype(np.float32): "FLOAT32",
    np.dtype(np.bool_): "BOOL",
}


class Net:
    """A model under construction: tensors are known by index. All activations have one type."""

    def __init__(self, dtype: Any = np.int8, scale: float = 0.5, zero: int = 3) -> None:
        self.dtype = np.dtype(dtype)
        self.quant = (scale, 0 if self.dtype == np.int16 else zero)
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
        *,
        quant: tuple[Any, Any] | None = None,
        data: NDArray[Any] | None = None,
        axis: int = 0,
        variable: bool = False,
    ) -> int:
        """A tensor; `quant` is (scale or scales, zero point), the net's own for its own type."""
        kind = np.dtype(self.dtype if dtype is None else dtype)
        table = schema.TensorT(
            name=f"t{len(self.tensors)}",
            shape=list(shape),
            type=getattr(schema.TensorType, _CODES[kind]),
            isVariable=variable,
        )
        if quant is None and kind == self.dtype and kind in (np.int8, np.uint8, np.int16):
            quant = self.quant
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

    def input(self, shape: Shape, dtype: Any = None, **fields: Any) -> int:
        self.inputs.append(self.tensor(shape, dtype, **fields))
        return self.inputs[-1]

    def const(self, values: Any, dtype: Any = np.int32, **fields: Any) -> int:
        data = np.array(values, dtype)
        return self.tensor(data.shape, data.dtype, data=data, **fields)

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
        self.operators.append(
            schema.OperatorT(
                opcodeIndex=self.codes.setdefault(kind, len(self.codes)),
                inputs=list(inputs),
                outputs=made,
                builtinOptionsType=0
                if options is None
                else getattr(schema.BuiltinOptions, type(options).__name__[:-1]),
                builtinOptions=options,
            )
        )
        if output:
            self.outputs += made
        return made[0] if made else -1

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

"""Small models for the loader's tests, written with the schema's own object API.

Why not the zoo's builder: the loader must read what other tools write, so its tests make their
files with code that shares nothing with lowtide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

from lowtide.ir import Model
from lowtide.tflite.read import parse


def tensor(shape: Sequence[int] = (1, 4), dtype: str = "INT8", **fields: Any) -> Any:
    """A tensor; `fields` are those of the object API."""
    return schema.TensorT(shape=list(shape), type=getattr(schema.TensorType, dtype), **fields)


def operator(
    inputs: Sequence[int], outputs: Sequence[int], code: int = 0, options: Any = None, **fields: Any
) -> Any:
    """An operator of the model's operator code `code`; `options` is e.g. AddOptionsT()."""
    kind = 0 if options is None else getattr(schema.BuiltinOptions, type(options).__name__[:-1])
    return schema.OperatorT(
        opcodeIndex=code,
        inputs=list(inputs),
        outputs=list(outputs),
        builtinOptionsType=kind,
        builtinOptions=options,
        **fields,
    )


def opcode(kind: str | int, custom: str | None = None, version: int = 1) -> Any:
    """An operator code as converters write it: in both fields, the old one at most 127."""
    code = getattr(schema.BuiltinOperator, kind) if isinstance(kind, str) else kind
    return schema.OperatorCodeT(
        deprecatedBuiltinCode=min(code, 127), builtinCode=code, customCode=custom, version=version
    )


def subgraph(
    tensors: Sequence[Any],
    operators: Sequence[Any],
    inputs: Sequence[int] = (0,),
    outputs: Sequence[int] = (),
    name: str | None = "main",
) -> Any:
    return schema.SubGraphT(
        tensors=list(tensors),
        operators=list(operators),
        inputs=list(inputs),
        outputs=list(outputs),
        name=name,
    )


def model(
    *subgraphs: Any, codes: Sequence[Any] = (), buffers: Sequence[bytes] = (), **fields: Any
) -> Any:
    """A model; `codes` are ADD if left out, `buffers` follow the empty buffer 0."""
    return schema.ModelT(
        version=fields.pop("version", 3),
        operatorCodes=list(codes) or [opcode("ADD")],
        subgraphs=list(subgraphs),
        buffers=[
            schema.BufferT(),
            *(schema.BufferT(data=np.frombuffer(data, np.uint8)) for data in buffers),
        ],
        **fields,
    )


def pack(built: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(built.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def read(*subgraphs: Any, **fields: Any) -> Model:
    """The model, packed and loaded."""
    return parse(pack(model(*subgraphs, **fields)))


def chain(count: int = 3, **fields: Any) -> Any:
    """A subgraph of `count` tensors, each but the first made from the one before by an ADD."""
    return subgraph(
        [tensor(name=f"t{i}", **fields) for i in range(count)],
        [operator((i, i), (i + 1,), options=schema.AddOptionsT()) for i in range(count - 1)],
        outputs=(count - 1,),
    )

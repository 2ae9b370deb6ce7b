"""Turns a network description into the bytes of a .tflite file.

Why our own: the only other writers are converters, which bring a whole training framework. The
schema's object API does the encoding, except for constants, whose alignment it does not handle.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Protocol

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec

_FILE_IDENTIFIER = b"TFL3"
_SCHEMA_VERSION = 3
_DATA_ALIGNMENT = 16
_LAST_SHORT_CODE = 127


class _Packed(Protocol):
    """What the object API asks of a part of the model: pack yourself, return your offset."""

    def Pack(self, builder: Any) -> int:  # noqa: N802 (the object API's name)
        ...


def write(net: NetSpec) -> bytes:
    """The file for `net`; constants start at multiples of 16 bytes, as kernels expect of them."""
    codes: dict[tuple[str, int], int] = {}
    for op in net.ops:
        codes.setdefault((op.kind, op.version), len(codes))
    buffers: list[_Packed] = [_buffer(None)]  # buffer 0 is by convention the empty one

    subgraph = schema.SubGraphT()
    subgraph.name = "main"
    subgraph.tensors = [_tensor(tensor, buffers) for tensor in net.tensors]
    subgraph.inputs = list(net.inputs)
    subgraph.outputs = list(net.outputs)
    subgraph.operators = [_operator(op, codes[op.kind, op.version]) for op in net.ops]

    model = schema.ModelT()
    model.version = _SCHEMA_VERSION
    model.description = f"lowtide zoo: {net.name}"
    model.operatorCodes = [_operator_code(kind, version) for kind, version in codes]
    model.subgraphs = [subgraph]
    model.buffers = buffers
    if net.signature is not None:
        model.signatureDefs = [_signature(net, net.signature)]

    constants = sum(t.data.nbytes for t in net.tensors if t.data is not None)
    builder = flatbuffers.Builder(constants + (1 << 16))
    builder.Finish(model.Pack(builder), _FILE_IDENTIFIER)
    return bytes(builder.Output())


def _buffer(data: bytes | None) -> _Packed:
    def pack(builder: Any) -> int:
        vector = None
        if data is not None:
            builder.Prep(_DATA_ALIGNMENT, len(data))  # what ForceVectorAlignment does in C++
            vector = builder.CreateByteVector(data)
        schema.BufferStart(builder)
        if vector is not None:
            schema.BufferAddData(builder, vector)
        return int(schema.BufferEnd(builder))

    return SimpleNamespace(Pack=pack)


def _tensor(tensor: TensorSpec, buffers: list[_Packed]) -> Any:
    table = schema.TensorT()
    table.name = tensor.name
    table.shape = list(tensor.shape)
    table.type = getattr(schema.TensorType, tensor.dtype)
    table.hasRank = True
    table.isVariable = tensor.is_variable
    if tensor.scales is not None:
        quantization = schema.QuantizationParametersT()
        quantization.scale = tensor.scales
        quantization.zeroPoint = np.full(len(tensor.scales), tensor.zero_point, np.int64)
        quantization.quantizedDimension = tensor.axis
        table.quantization = quantization
    if tensor.data is not None:
        table.buffer = len(buffers)
        little = tensor.data.astype(tensor.data.dtype.newbyteorder("<"), copy=False)
        buffers.append(_buffer(little.tobytes()))
    return table


def _operator_code(kind: str, version: int) -> Any:
    code = getattr(schema.BuiltinOperator, kind)
    table = schema.OperatorCodeT()
    table.builtinCode = code
    table.deprecatedBuiltinCode = min(code, _LAST_SHORT_CODE)  # the field old runtimes read
    table.version = version
    return table


def _operator(op: OpSpec, opcode_index: int) -> Any:
    table = schema.OperatorT()
    table.opcodeIndex = opcode_index
    table.inputs = list(op.inputs)
    table.outputs = list(op.outputs)
    table.builtinOptionsType = getattr(schema.BuiltinOptions, op.options_type)
    table.builtinOptions = getattr(schema, f"{op.options_type}T")()
    for name, value in op.options.items():
        assert hasattr(table.builtinOptions, name), f"{op.options_type} has no field {name}"
        setattr(table.builtinOptions, name, list(value) if isinstance(value, tuple) else value)
    return table


def _signature(net: NetSpec, key: str) -> Any:
    def tensor_maps(prefix: str, tensors: tuple[int, ...]) -> list[Any]:
        maps = []
        for position, index in enumerate(tensors):
            entry = schema.TensorMapT()
            entry.name = f"{prefix}_{position}"
            entry.tensorIndex = index
            maps.append(entry)
        return maps

    table = schema.SignatureDefT()
    table.signatureKey = key
    table.inputs = tensor_maps("input", net.inputs)
    table.outputs = tensor_maps("output", net.outputs)
    return table

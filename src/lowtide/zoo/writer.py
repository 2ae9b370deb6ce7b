"""Turns a network description into the bytes of a .tflite file.

Why our own: the only other writers are converters, which bring a whole training framework.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lowtide.tflite.flexbuffers import pack_map
from lowtide.tflite.pack import pack
from lowtide.tflite.schema import schema
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec

_SCHEMA_VERSION = 3
_LAST_SHORT_CODE = 127


def write(net: NetSpec) -> bytes:
    """The file for `net`; constants start at multiples of 16 bytes, as kernels expect of them."""
    parts = [net]
    if net.initial:
        call = OpSpec("CALL_ONCE", 1, (), (), "CallOnceOptions", {"init_subgraph_index": 1})
        parts = [replace(net, ops=(call, *net.ops)), _beginning(net)]
    codes: dict[tuple[str, int, str], int] = {}
    for op in (op for part in parts for op in part.ops):
        codes.setdefault((op.kind, op.version, op.custom), len(codes))
    buffers: list[dict[str, Any]] = [{}]  # buffer 0 is by convention the empty one
    subgraphs = [
        {
            "name": "main" if part is parts[0] else part.name,
            "tensors": [_tensor(tensor, buffers) for tensor in part.tensors],
            "inputs": part.inputs,
            "outputs": part.outputs,
            "operators": [_operator(op, codes[op.kind, op.version, op.custom]) for op in part.ops],
        }
        for part in parts
    ]
    return pack(
        {
            "version": _SCHEMA_VERSION,
            "description": f"lowtide zoo: {net.name}",
            "operator_codes": [_operator_code(*code) for code in codes],
            "subgraphs": subgraphs,
            "buffers": buffers,
            "signature_defs": None if net.signature is None else [_signature(net, net.signature)],
        }
    )


def _beginning(net: NetSpec) -> NetSpec:
    """What is run once before all else: it gives variables their first contents."""
    tensors: list[TensorSpec] = []
    ops = []
    for name, first in net.initial:
        handle, value = len(tensors), len(tensors) + 1
        tensors += [TensorSpec(name, (), "RESOURCE"), first]
        options = {"shared_name": name}
        ops += [
            OpSpec("VAR_HANDLE", 1, (), (handle,), "VarHandleOptions", options),
            OpSpec("ASSIGN_VARIABLE", 1, (handle, value), (), "AssignVariableOptions"),
        ]
    return NetSpec("initialise", tuple(tensors), tuple(ops), (), ())


def _tensor(tensor: TensorSpec, buffers: list[dict[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "name": tensor.name,
        "shape": tensor.shape,
        "type": _value("TensorType", tensor.dtype),
        "is_variable": tensor.is_variable,
        "has_rank": True,
    }
    if tensor.scales is not None:
        table["quantization"] = {
            "scale": tensor.scales.tolist(),
            "zero_point": [int(tensor.zero_point)] * len(tensor.scales),
            "quantized_dimension": tensor.axis,
        }
    if tensor.data is not None:
        table["buffer"] = len(buffers)
        little = tensor.data.astype(tensor.data.dtype.newbyteorder("<"), copy=False)
        buffers.append({"data": little.tobytes()})
    return table


def _operator_code(kind: str, version: int, custom: str) -> dict[str, Any]:
    code = _value("BuiltinOperator", kind)
    return {
        "custom_code": custom or None,
        "builtin_code": code,
        "deprecated_builtin_code": min(code, _LAST_SHORT_CODE),  # the field old runtimes read
        "version": version,
    }


def _operator(op: OpSpec, opcode_index: int) -> dict[str, Any]:
    table: dict[str, Any] = {
        "opcode_index": opcode_index,
        "inputs": op.inputs,
        "outputs": op.outputs,
        "intermediates": op.intermediates or None,
    }
    if op.custom:
        integers = {name: value for name, value in op.options.items() if isinstance(value, int)}
        return {**table, "custom_options": pack_map(integers)}
    return {**table, "builtin_options": (op.options_type, op.options)}


def _signature(net: NetSpec, key: str) -> dict[str, Any]:
    def tensor_maps(prefix: str, tensors: tuple[int, ...]) -> list[dict[str, Any]]:
        return [
            {"name": f"{prefix}_{position}", "tensor_index": index}
            for position, index in enumerate(tensors)
        ]

    return {
        "signature_key": key,
        "inputs": tensor_maps("input", net.inputs),
        "outputs": tensor_maps("output", net.outputs),
    }


def _value(enum: str, name: str) -> int:
    return next(value for value, known in schema().enums[enum].items() if known == name)

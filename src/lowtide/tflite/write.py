"""A file's main subgraph replaced by another graph of it, all else kept: what `lowtide simplify` writes.

Why the file is packed anew: a graph with fewer channels has other weights, and the old ones are to go.
What nothing refers to any more, tensors, buffers and kinds of operators, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from lowtide.errors import ModelError
from lowtide.ir.graph import DType, Graph, Model, Op, Signature, Tensor
from lowtide.tflite.options import options_of
from lowtide.tflite.pack import pack
from lowtide.tflite.schema import schema
from lowtide.tflite.table import File
from lowtide.tflite.unpack import unpack

_LAST_SHORT_CODE = 127

Table = dict[str, Any]


def with_graph(
    model: Model,
    graph: Graph,
    origins: Sequence[int | None],
    without: Collection[str] = (),
    *,
    signatures: Sequence[Signature] | None = None,
    every_tensor: bool = False,
) -> bytes:
    """The file of `model` with `graph` as its main subgraph, and no metadata of the names `without`.

    `origins[i]` is the tensor of the file that tensor i of `graph` is, some channels aside; None if the
    file has none. `signatures`, with tensors by their numbers in `graph`, take the place of the file's.
    With `every_tensor`, tensors that nothing refers to stay, so that all keep their numbers.

    Raises ModelError for a file that keeps data outside of itself, or that has fields that are not known
    here.
    """
    values = unpack(File(model.source).root)
    _refuse_outside_data(values)
    main = values["subgraphs"][0]
    buffers = _Buffers(values.get("buffers") or [{}])
    if signatures is not None:
        values["signature_defs"] = [_signature(entry) for entry in signatures] or None
    used = [t.id for t in graph.tensors] if every_tensor else _used(graph, values)
    number = {tensor: i for i, tensor in enumerate(used)}
    codes = _Codes(values.get("operator_codes") or [])
    tensors = [
        _tensor(model, main, graph.tensors[tensor], origins[tensor], buffers) for tensor in used
    ]
    operators = [_operator(model, main, op, number, codes) for op in graph.ops]
    others = values["subgraphs"][1:]
    for subgraph in others:
        for tensor in subgraph.get("tensors") or ():
            tensor["buffer"] = buffers.kept(tensor.get("buffer", 0))
        for operator in subgraph.get("operators") or ():
            operator["opcode_index"] = codes.kept(operator.get("opcode_index", 0))
    main |= {
        "tensors": tensors,
        "operators": operators,
        "inputs": [number[t] for t in graph.inputs],
        "outputs": [number[t] for t in graph.outputs],
    }
    metadata = [e for e in values.get("metadata") or () if e.get("name") not in without]
    for entry in metadata:
        entry["buffer"] = buffers.kept(entry.get("buffer", 0))
    for signature in values.get("signature_defs") or ():
        if signature.get("subgraph_index", 0) == 0:
            for entry in (*(signature.get("inputs") or ()), *(signature.get("outputs") or ())):
                entry["tensor_index"] = number[entry.get("tensor_index", 0)]
    old = values.get("metadata_buffer")
    values |= {
        "subgraphs": [main, *others],
        "metadata": metadata or None,
        "metadata_buffer": None if old is None else [buffers.kept(b) for b in old],
        "operator_codes": codes.made,
        "buffers": buffers.made,
    }
    return pack(values)


def _used(graph: Graph, values: Mapping[str, Any]) -> list[int]:
    """The tensors that something refers to."""
    used = {*graph.inputs, *graph.outputs}
    for op in graph.ops:
        used.update((*op.inputs, *op.outputs, *op.intermediates))
    for signature in values.get("signature_defs") or ():
        if signature.get("subgraph_index", 0) == 0:
            entries = (*(signature.get("inputs") or ()), *(signature.get("outputs") or ()))
            used.update(entry.get("tensor_index", 0) for entry in entries)
    return sorted(used - {-1})


class _Buffers:
    """The buffers of the new file; the first is empty, as is the custom."""

    def __init__(self, old: Sequence[Table]) -> None:
        self.old = old
        self.made: list[Table] = [{}]
        self.known: dict[object, int] = {0: 0}

    def kept(self, index: int) -> int:
        """A buffer of the old file; empty ones are all the first."""
        return self._number(index, lambda: self.old[index]) if self.old[index].get("data") else 0

    def added(self, data: bytes) -> int:
        return self._number(data, lambda: {"data": data})

    def _number(self, key: object, table: Callable[[], Table]) -> int:
        if key not in self.known:
            self.known[key] = len(self.made)
            self.made.append(table())
        return self.known[key]


class _Codes:
    """The kinds of operators of the new file."""

    def __init__(self, old: Sequence[Table]) -> None:
        self.old = old
        self.made: list[Table] = []
        self.known: dict[object, int] = {}

    def kept(self, index: int) -> int:
        """A kind of the old file, in both fields: some readers know the new one alone, and take an
        operator of an old file, which has not got it, for an ADD."""
        old = self.old[index]
        code = max(old.get("builtin_code", 0), old.get("deprecated_builtin_code", 0))
        both = {"builtin_code": code, "deprecated_builtin_code": min(code, _LAST_SHORT_CODE)}
        return self._number(index, {**old, **both})

    def added(self, kind: str, version: int) -> int:
        code = _value("BuiltinOperator", kind)
        table = {
            "builtin_code": code,
            "deprecated_builtin_code": min(code, _LAST_SHORT_CODE),  # what old runtimes read
            "version": version,
        }
        same = (i for i, known in enumerate(self.old) if {**known, **table} == known)
        return (
            self._number((kind, version), table)
            if (i := next(same, None)) is None
            else self.kept(i)
        )

    def _number(self, key: object, table: Table) -> int:
        if key not in self.known:
            self.known[key] = len(self.made)
            self.made.append(table)
        return self.known[key]


def _tensor(
    model: Model, main: Table, tensor: Tensor, origin: int | None, buffers: _Buffers
) -> Table:
    if origin is None:
        table: Table = {"name": tensor.name, "type": _type(tensor.dtype), "has_rank": True}
        if tensor.quant is not None:
            table["quantization"] = {
                "scale": tensor.quant.scale,
                "zero_point": tensor.quant.zero_point,
                "quantized_dimension": tensor.quant.dimension,
            }
    else:
        table = dict(main["tensors"][origin])
    old = None if origin is None else model.graph.tensors[origin]
    if old is not None and old.name != tensor.name:
        table["name"] = tensor.name
    if old is None or old.shape != tensor.shape:
        table["shape"] = tensor.shape
        if table.get("shape_signature"):
            table["shape_signature"] = [*table["shape_signature"][:-1], tensor.shape[-1]]
    if tensor.data is None or (old is not None and old.data == tensor.data):
        table["buffer"] = buffers.kept(table.get("buffer", 0))
    else:
        table["buffer"] = buffers.added(tensor.data)
    return table


def _signature(signature: Signature) -> Table:
    def pairs(entries: Sequence[tuple[str, int]]) -> list[Table]:
        return [{"name": name, "tensor_index": tensor} for name, tensor in entries]

    return {
        "signature_key": signature.key,
        "subgraph_index": signature.subgraph,
        "inputs": pairs(signature.inputs),
        "outputs": pairs(signature.outputs),
    }


def _operator(model: Model, main: Table, op: Op, number: Mapping[int, int], codes: _Codes) -> Table:
    """The file's operator that makes the same tensor in the same way, or a new one."""
    same = (
        old
        for old in model.graph.ops
        if (old.type, old.custom) == (op.type, op.custom) and old.outputs == op.outputs
    )
    old = next(same, None)
    if old is not None:
        table = dict(main["operators"][old.id])
        table["opcode_index"] = codes.kept(table.get("opcode_index", 0))
    else:
        assert op.custom is None, "its options are not known"
        table = {"opcode_index": codes.added(op.type, op.version)}
    if op.options and (old is None or dict(old.options) != dict(op.options)):
        table["builtin_options"] = (options_of(op.type, "NONE"), dict(op.options))
    table["inputs"] = [number.get(t, -1) for t in op.inputs]
    table["outputs"] = [number[t] for t in op.outputs]
    if op.intermediates:
        table["intermediates"] = [number.get(t, -1) for t in op.intermediates]
    return table


def _type(dtype: DType) -> int:
    return _value("TensorType", dtype.name)


def _value(enum: str, name: str) -> int:
    return next(value for value, known in schema().enums[enum].items() if known == name)


def _refuse_outside_data(values: Mapping[str, Any]) -> None:
    operators = [op for s in values["subgraphs"] for op in s.get("operators") or ()]
    said = [b.get("offset") or b.get("size") for b in values.get("buffers") or ()]
    said += [op.get("large_custom_options_size") for op in operators]
    if any(said) or values.get("external_buffers"):
        raise ModelError(
            "the file stores data after the flatbuffer, as files over 2 GiB do",
            "convert the model without that option",
        )

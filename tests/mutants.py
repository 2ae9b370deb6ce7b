"""Mutants of networks that mean something else, or nothing: sound files with odd contents.

Why beside tests/load/test_fuzz.py: damaged bytes seldom get beyond the reader. Here shapes, types,
scales, zero points, axes, options and lists of the graph are changed one by one, in a part of a network,
so that every later stage meets them. Every number is drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

from lowtide import zoo
from moving_nets import moving_network
from networks import contents
from variable_nets import variable_network

_MOST_OPERATORS = 8
_TYPES = (
    "INT8",
    "UINT8",
    "INT16",
    "INT32",
    "INT64",
    "FLOAT32",
    "BOOL",
    "INT4",
    "STRING",
    "FLOAT16",
)
_INTEGERS = (0, 1, -1, 2, 3, -2, 4, 5, 7, 16, 100, -128, 1 << 16, (1 << 31) - 1, -(1 << 31))
_SCALES = (0.0, -0.5, 1e-38, 1e-9, 0.25, 1.0, 3.0, 1e9, 3e38, float("inf"), float("nan"))
_TINY = 64  # bytes: constants that say what an operator does

Mutation = Callable[[Any, Random], None]


def mutant(seed: int) -> bytes:
    """The mutant number `seed`: part of a network of the zoo, or a random one, with 1 to 3 changes."""
    rng = Random(seed)
    if rng.random() < 0.7:
        model = _part(_unpacked(contents(rng.choice(zoo.names()))), rng)
    else:
        network = rng.choice((moving_network, variable_network))
        model = _unpacked(network(rng.randrange(1000)))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_MUTATIONS)(model, rng)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _unpacked(source: bytes) -> Any:
    return schema.ModelT.InitFromPackedBuf(source)


def _part(model: Any, rng: Random) -> Any:
    """Some operators in a row, with what they need as inputs and what others need of them as outputs;
    networks whose variables are set up before the first run stay whole."""
    graph = model.subgraphs[0]
    count = len(graph.operators)
    if len(model.subgraphs) > 1 or count <= 2:
        return model
    size = min(count, rng.randint(1, _MOST_OPERATORS))
    first = rng.randrange(count - size + 1)
    part = graph.operators[first : first + size]
    made = {t for op in part for t in op.outputs}
    read = [t for op in part for t in op.inputs if t >= 0]
    given = [t for t in dict.fromkeys(read) if t not in made and _free(model, t)]
    inside = set(read)
    graph.operators = part
    graph.inputs = given
    graph.outputs = [t for t in made if t not in inside or t in graph.outputs] or sorted(made)[-1:]
    model.signatureDefs = None
    return model


def _free(model: Any, tensor: int) -> bool:
    """Whether a tensor has no contents of its own."""
    value = model.subgraphs[0].tensors[tensor]
    data = model.buffers[value.buffer].data
    return (data is None or len(data) == 0) and not value.isVariable


def _tensor(model: Any, rng: Random) -> Any:
    """A tensor that an operator reads or makes."""
    graph = model.subgraphs[0]
    used = [t for op in graph.operators for t in (*op.inputs, *op.outputs) if t >= 0]
    return graph.tensors[rng.choice(used)] if used else rng.choice(graph.tensors)


def _operator(model: Any, rng: Random) -> Any:
    return rng.choice(model.subgraphs[0].operators)


def _changed(value: int, rng: Random) -> int:
    return rng.choice((value + 1, value - 1, 2 * value, rng.choice(_INTEGERS)))


def _shape(model: Any, rng: Random) -> None:
    tensor = _tensor(model, rng)
    shape = [int(n) for n in tensor.shape] if tensor.shape is not None else []
    match rng.randrange(5):
        case 0 | 1 if shape:
            at = rng.randrange(len(shape))
            value = _changed(shape[at], rng)
            shape[at] = value if abs(value) < 1 << 31 else 1
        case 2 if shape:
            rng.shuffle(shape)
        case 3 if shape:
            del shape[rng.randrange(len(shape))]
        case _:
            shape.insert(rng.randint(0, len(shape)), rng.choice((1, 1, 2, 0)))
    tensor.shape = np.array(shape, np.int32)


def _type(model: Any, rng: Random) -> None:
    _tensor(model, rng).type = getattr(schema.TensorType, rng.choice(_TYPES))


def _scale(model: Any, rng: Random) -> None:
    quant = _tensor(model, rng).quantization
    if quant is None:
        return
    old = [1.0] if quant.scale is None else [float(scale) for scale in quant.scale]
    match rng.randrange(5):
        case 0:
            quant.scale = None
        case 1:
            quant.scale = np.array(old[:-1] if rng.random() < 0.5 else [*old, 0.5], np.float32)
        case 2 if old:
            old[rng.randrange(len(old))] = rng.choice(_SCALES)
            quant.scale = np.array(old, np.float32)
        case _:
            factor = rng.choice((0.5, 2.0, 1e-3, 1e3))
            quant.scale = np.array([scale * factor for scale in old], np.float32)


def _zero_point(model: Any, rng: Random) -> None:
    tensor = _tensor(model, rng)
    if tensor.quantization is None:
        return
    zeros = tensor.quantization.zeroPoint
    old = [0] if zeros is None else [int(zero) for zero in zeros]
    if rng.random() < 0.2 or not old:
        new = rng.choice(([], [*old, 0], old[:-1]))
    else:
        at = rng.randrange(len(old))
        new = [*old[:at], rng.choice((5, -5, 127, -128, 128, 255, 1 << 40)), *old[at + 1 :]]
    tensor.quantization.zeroPoint = np.array(new, np.int64)


def _dimension(model: Any, rng: Random) -> None:
    quant = _tensor(model, rng).quantization
    if quant is not None:
        quant.quantizedDimension = rng.choice((0, 1, 2, 3, 4, -1, 1 << 20))


def _operand(model: Any, rng: Random) -> None:
    """A number of a small constant: axes, sizes, paddings, where a slice begins."""
    tensors = model.subgraphs[0].tensors
    small = [
        (tensors[t], model.buffers[tensors[t].buffer])
        for op in model.subgraphs[0].operators
        for t in op.inputs
        if t >= 0 and not _free(model, t) and tensors[t].type == schema.TensorType.INT32
    ]
    small = [(t, b) for t, b in small if b.data is not None and 0 < len(b.data) <= _TINY]
    if small:
        _, buffer = rng.choice(small)
        values = np.frombuffer(bytes(buffer.data), "<i4").copy()
        at = rng.randrange(len(values))
        values[at] = np.clip(_changed(int(values[at]), rng), -(1 << 31), (1 << 31) - 1)
        buffer.data = np.frombuffer(values.tobytes(), np.uint8)


def _contents(model: Any, rng: Random) -> None:
    """A constant that is longer or shorter than its shape, or none, or a tensor that is one."""
    tensor = _tensor(model, rng)
    buffer = model.buffers[tensor.buffer]
    match rng.randrange(4):
        case 0 if buffer.data is not None and len(buffer.data):
            buffer.data = np.array(buffer.data, np.uint8)[: rng.choice((-1, -4, 1))]
        case 1 if buffer.data is not None and len(buffer.data):
            buffer.data = np.append(np.array(buffer.data, np.uint8), [1, 2, 3, 4]).astype(np.uint8)
        case 2:
            tensor.buffer = rng.randrange(len(model.buffers))
        case _:
            tensor.isVariable = not tensor.isVariable


def _option(model: Any, rng: Random) -> None:
    """A field of an operator's options; sometimes the table of another operator."""
    op = _operator(model, rng)
    if rng.random() < 0.15 or op.builtinOptions is None:
        other = _operator(model, rng)
        op.builtinOptions, op.builtinOptionsType = other.builtinOptions, other.builtinOptionsType
        return
    fields = [k for k, v in vars(op.builtinOptions).items() if isinstance(v, int | float | bool)]
    if not fields:
        return
    name = rng.choice(sorted(fields))
    value = getattr(op.builtinOptions, name)
    if isinstance(value, bool):
        setattr(op.builtinOptions, name, not value)
    elif isinstance(value, float):
        setattr(op.builtinOptions, name, rng.choice((*_SCALES, -3.0)))
    elif "activation" in name.lower() or name in ("padding", "mode", "weightsFormat"):
        setattr(op.builtinOptions, name, rng.randrange(-1, 7))
    elif "type" in name.lower():
        setattr(op.builtinOptions, name, rng.randrange(0, 12))
    else:
        setattr(
            op.builtinOptions, name, int(np.clip(_changed(value, rng), -(1 << 31), (1 << 31) - 1))
        )


def _list(model: Any, rng: Random) -> None:
    """Inputs or outputs of an operator or of the graph: another, twice, left out, one more."""
    graph = model.subgraphs[0]
    of, name = rng.choice(
        ((_operator(model, rng), "inputs"),) * 3
        + ((_operator(model, rng), "outputs"), (graph, "inputs"), (graph, "outputs"))
    )
    ids = [int(t) for t in getattr(of, name)]
    other = rng.choice((-1, rng.randrange(len(graph.tensors)), rng.randrange(len(graph.tensors))))
    match rng.randrange(5):
        case 0 if ids:
            ids[rng.randrange(len(ids))] = other
        case 1 if ids:
            del ids[rng.randrange(len(ids))]
        case 2 if ids:
            ids.append(rng.choice(ids))
        case 3:
            ids.append(other)
        case _:
            rng.shuffle(ids)
    setattr(of, name, ids)


def _operators(model: Any, rng: Random) -> None:
    """An operator less, one of another kind, or two in another order."""
    graph = model.subgraphs[0]
    at = rng.randrange(len(graph.operators))
    match rng.randrange(3):
        case 0 if len(graph.operators) > 1:
            del graph.operators[at]
        case 1:
            graph.operators[at].opcodeIndex = rng.randrange(len(model.operatorCodes))
        case _:
            op = graph.operators.pop(at)
            graph.operators.insert(rng.randint(0, len(graph.operators)), op)


def _kind(model: Any, rng: Random) -> None:
    """All operators of a kind are of another, that lowtide may know or not."""
    code = rng.choice(model.operatorCodes)
    code.builtinCode = rng.randrange(0, 160)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)


_MUTATIONS: tuple[Mutation, ...] = (
    *(_shape, _shape, _shape, _type, _type, _scale, _scale, _zero_point, _dimension),
    *(_operand, _operand, _operand, _contents, _option, _option, _option, _list, _list, _list),
    *(_operators, _kind),
)

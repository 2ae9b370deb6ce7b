"""Networks with state, and what TFLM makes of a sequence of their inputs, its interpreter kept."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Model
from lowtide.tflite.read import parse
from schema_models import Net, Shape

Array = NDArray[Any]


def handle(net: Net, name: str) -> int:
    options = schema.VarHandleOptionsT(container="", sharedName=name)
    made = net.op("VAR_HANDLE", [], (), options=options, output=False)
    net.tensors[made].type = schema.TensorType.RESOURCE
    net.tensors[made].quantization = None
    return made


def read(net: Net, variable: int, shape: Shape) -> int:
    options = schema.ReadVariableOptionsT()
    return net.op("READ_VARIABLE", [variable], shape, options=options)


def assign(net: Net, variable: int, value: int) -> None:
    net.op("ASSIGN_VARIABLE", [variable, value], options=schema.AssignVariableOptionsT())


def set_up(data: bytes, values: dict[str, Any], *, odd: bool = False) -> bytes:
    """The model with a CALL_ONCE before all else, whose subgraph assigns constants to variables."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    codes = {code.builtinCode: index for index, code in enumerate(model.operatorCodes)}
    for name in ("CALL_ONCE", "VAR_HANDLE", "ASSIGN_VARIABLE"):
        number = getattr(schema.BuiltinOperator, name)
        if number not in codes:
            codes[number] = len(model.operatorCodes)
            low = min(number, 127)
            made = schema.OperatorCodeT(deprecatedBuiltinCode=low, builtinCode=number, version=1)
            model.operatorCodes.append(made)
    init = Net()
    for name, value in values.items():
        assign(init, handle(init, name), init.const(value, np.asarray(value).dtype))
    if odd:
        init.op("PAD", [init.const([[1, 2]], np.int8), init.const([[0, 0], [0, 1]])], (1, 3))
    part = schema.ModelT.InitFromObj(schema.Model.GetRootAs(init.build(), 0))
    for tensor in part.subgraphs[0].tensors:
        if tensor.buffer:
            model.buffers.append(part.buffers[tensor.buffer])
            tensor.buffer = len(model.buffers) - 1
    for op in part.subgraphs[0].operators:
        number = part.operatorCodes[op.opcodeIndex].builtinCode
        if number not in codes:
            codes[number] = len(model.operatorCodes)
            model.operatorCodes.append(part.operatorCodes[op.opcodeIndex])
        op.opcodeIndex = codes[number]
    part.subgraphs[0].outputs = []
    model.subgraphs.append(part.subgraphs[0])
    call = schema.OperatorT(
        opcodeIndex=codes[schema.BuiltinOperator.CALL_ONCE],
        inputs=[],
        outputs=[],
        builtinOptionsType=schema.BuiltinOptions.CallOnceOptions,
        builtinOptions=schema.CallOnceOptionsT(initSubgraphIndex=1),
    )
    model.subgraphs[0].operators.insert(0, call)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def ring(kept: int, *, first: Mapping[str, Any] | None = None, zero: int = 3) -> Model:
    """Keeps the last `kept` rows: state and two new rows, of which the greatest of all; and the state's
    sum with the new rows, where it is read again after it was assigned. `first` are first values."""
    net = Net(np.int8, zero=zero)
    rows = net.input((1, 2, 1, 4))
    state = handle(net, "ring")
    old = read(net, state, (1, kept, 1, 4))
    joined = net.op(
        "CONCATENATION",
        [old, rows],
        (1, kept + 2, 1, 4),
        options=schema.ConcatenationOptionsT(axis=1),
    )
    last = net.op(
        "STRIDED_SLICE",
        [joined, *map(net.const, ([0, 2, 0, 0], [1, kept + 2, 1, 4], [1, 1, 1, 1]))],
        (1, kept, 1, 4),
        options=schema.StridedSliceOptionsT(),
    )
    assign(net, state, last)
    pool = schema.Pool2DOptionsT(
        padding=schema.Padding.VALID,
        strideW=1,
        strideH=1,
        filterWidth=1,
        filterHeight=kept + 2,
        fusedActivationFunction=0,
    )
    net.outputs = [net.op("MAX_POOL_2D", [joined], (1, 1, 1, 4), options=pool)]
    net.op(
        "ADD",
        [read(net, state, (1, kept, 1, 4)), last],
        (1, kept, 1, 4),
        options=schema.AddOptionsT(),
    )
    data = net.build()
    return parse(data if first is None else set_up(data, dict(first)), path="ring")


_SEQUENCE = """
import pickle, sys
from tflite_micro import runtime
model, resets, samples = pickle.load(sys.stdin.buffer)
found = []
for number, inputs in enumerate(samples):
    if number in resets:
        interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    for i, array in enumerate(inputs):
        interpreter.set_input(array, i)
    interpreter.invoke()
    outputs = []
    while True:
        try:
            outputs.append(interpreter.get_output(len(outputs)).tobytes())
        except IndexError:
            break
    found.append(tuple(outputs))
sys.stdout.buffer.write(pickle.dumps(found))
"""


def sequence(
    model: Model, samples: Sequence[Sequence[Array]], resets: Sequence[int] = (0,)
) -> list[tuple[bytes, ...]]:
    """Each sample's outputs, of one interpreter of TFLM's; a fresh one before the samples `resets`."""
    request = pickle.dumps((model.source, set(resets), [list(s) for s in samples]))
    done = subprocess.run(
        [sys.executable, "-c", _SEQUENCE], input=request, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    found: list[tuple[bytes, ...]] = pickle.loads(done.stdout)
    return found


def slow_inputs(model: Model, count: int, seed: int = 1) -> tuple[tuple[Array, ...], ...]:
    """Inputs that change slowly, a random walk, so that a state does not saturate."""
    rng = np.random.default_rng(seed)
    tensors = [model.graph.tensors[t] for t in model.graph.inputs]
    walks = [np.zeros(t.shape) for t in tensors]
    samples = []
    for _ in range(count):
        walks = [np.clip(w + rng.normal(0, 12, w.shape), -128, 127) for w in walks]
        samples.append(
            tuple(
                w.round().astype(t.dtype.name.lower()) for w, t in zip(walks, tensors, strict=True)
            )
        )
    return tuple(samples)

"""Models of other tools' making, which lowtide cannot compile: what they are is said, and what to do."""

from __future__ import annotations

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from tiny import opcode, operator, read, subgraph, tensor

from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.reordering import compare
from lowtide.errors import ModelError
from lowtide.ir import Model
from lowtide.tflite.read import parse
from schema_models import Net


def refusal(model: Model) -> tuple[str, str]:
    with pytest.raises(ModelError) as caught:
        compile_model(model)
    return caught.value.cause, caught.value.remedy


def test_what_vela_made() -> None:
    op = operator((0,), (1,))
    codes = [opcode("CUSTOM", custom="ethos-u")]
    assert refusal(read(subgraph([tensor(), tensor()], [op], outputs=(1,)), codes=codes)) == (
        "operator 0 (ethos-u): Vela compiled it for an Ethos-U, and only an Ethos-U can run it",
        "use the .tflite file from before Vela",
    )


_QUANTIZE = (
    "quantise it to int8: `lowtide quantize MODEL.tflite -o NAME_int8.tflite --data SAMPLES.npz`"
)


@pytest.mark.parametrize("first", ["FULLY_CONNECTED", "RELU"])
def test_a_hybrid_model(first: str) -> None:
    """Whichever operator is refused first."""
    net = Net(np.float32)
    x = net.input((1, 4))
    if first == "RELU":
        x = net.op("RELU", [x], (1, 4), output=False)
    weights = net.const(np.ones((3, 4)), np.int8, quant=(0.5, 0))
    net.op("FULLY_CONNECTED", [x, weights, -1], (1, 3), options=schema.FullyConnectedOptionsT())
    cause, remedy = refusal(parse(net.build()))
    assert cause.startswith(f"operator 0 ({first}): its type is FLOAT32, but its kernels are for ")
    assert cause.endswith("; the model is hybrid: its weights are integers, its activations floats")
    assert remedy == _QUANTIZE


def test_a_hybrid_model_whose_weights_are_made_floats() -> None:
    net = Net(np.float32)
    weights = net.op(
        "DEQUANTIZE",
        [net.const(np.ones((1, 4)), np.int8, quant=(0.5, 0))],
        (1, 4),
        options=schema.DequantizeOptionsT(),
        output=False,
    )
    net.op("ADD", [net.input((1, 4)), weights], (1, 4), options=schema.AddOptionsT())
    assert "; the model is hybrid: " in refusal(parse(net.build()))[0]


def test_a_float_model_is_not_called_hybrid() -> None:
    net = Net(np.float32)
    net.op("ADD", [net.input((1, 4)), net.input((1, 4))], (1, 4), options=schema.AddOptionsT())
    cause, remedy = refusal(parse(net.build()))
    assert "hybrid" not in cause
    assert remedy == _QUANTIZE


@pytest.mark.parametrize("used", [True, False])
def test_an_input_of_which_no_test_can_be_made(used: bool) -> None:
    """Only `reorder` can leave its check out; what else helps depends on whether it is read."""
    ops = [operator((0, 0), (1,))]
    ops += [operator((2, 2), (3,))] if used else []
    tensors = [tensor(), tensor(), tensor(dtype="INT4"), tensor(dtype="INT4")]
    outputs = (1, 3) if used else (1,)
    model = read(subgraph(tensors, ops, (0, 2), outputs), codes=[opcode("ADD")])
    cause = "graph input 2 has type INT4, for which lowtide cannot make test inputs"
    remedy = (
        "change the input's type"
        if used
        else "nothing reads it: remove it from the model's list of inputs"
    )
    with pytest.raises(ModelError) as caught:
        compare(model, model)
    assert (caught.value.cause, caught.value.remedy) == (
        cause,
        f"leave this check out (`lowtide reorder --no-check`); or: {remedy}",
    )
    if not used:
        with pytest.raises(ModelError) as caught:
            checking.verify(compile_model(_quantised()))
        assert (caught.value.cause, caught.value.remedy) == (cause.replace("2", "1", 1), remedy)


def _quantised() -> Model:
    """A model that compiles, and has an INT4 input that nothing reads."""
    net = Net(np.int8)
    x = net.input((1, 4))
    odd = net.input((1, 5))
    net.tensors[odd].type = schema.TensorType.INT4
    net.op("ADD", [x, x], (1, 4), options=schema.AddOptionsT())
    return parse(net.build())

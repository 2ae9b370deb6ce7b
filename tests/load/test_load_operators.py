"""Operators keep their kind, version and options, also those of another schema version.

Why apart: the list of operators grows with every release of the format, and a model that uses a
newer one must still load, since ordering needs no more than tensors.
"""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import pytest
from tiny import model, opcode, operator, pack, read, subgraph, tensor

from lowtide.errors import ModelError
from lowtide.ir import Op
from lowtide.ir.soundness import CONTROL_FLOW
from lowtide.tflite.read import parse

CODES = {v: k for k, v in vars(schema.BuiltinOperator).items() if not k.startswith("_")}


def single(code: Any, options: Any = None, **fields: Any) -> Op:
    """The only operator of a model, as loaded."""
    op = operator((0,), (1,), options=options, **fields)
    (found,) = read(subgraph([tensor(), tensor()], [op], outputs=(1,)), codes=[code]).graph.ops
    return found


def test_every_operator_code_has_its_name() -> None:
    for code, name in CODES.items():
        if name in CONTROL_FLOW:
            with pytest.raises(ModelError, match="runs another subgraph"):
                single(opcode(code))
        else:
            assert single(opcode(code)).type == name
            assert single(opcode(code)).label == name


def test_control_flow_names_are_names_of_the_schema() -> None:
    assert set(CODES.values()) >= CONTROL_FLOW


@pytest.mark.parametrize("code", [max(CODES) + 1, 300, 2**31 - 1])
def test_a_code_newer_than_the_schema_has_its_number(code: int) -> None:
    assert single(opcode(code)).type == f"BUILTIN_{code}"


def test_a_code_in_the_old_field_alone() -> None:
    """As written before the second field existed: the new one holds its default, 0 (ADD)."""
    old = schema.OperatorCodeT(deprecatedBuiltinCode=schema.BuiltinOperator.SOFTMAX)
    assert single(old).type == "SOFTMAX"


def test_a_code_in_the_new_field_alone() -> None:
    new = schema.OperatorCodeT(builtinCode=schema.BuiltinOperator.GELU)
    assert single(new).type == "GELU"


def test_a_custom_operator_goes_by_its_code() -> None:
    found = single(opcode("CUSTOM", custom="TFLite_Detection_PostProcess"))
    assert (found.type, found.custom) == ("CUSTOM", "TFLite_Detection_PostProcess")
    assert found.label == "TFLite_Detection_PostProcess"


def test_a_custom_operator_without_a_code() -> None:
    found = single(opcode("CUSTOM"))
    assert (found.custom, found.label) == (None, "CUSTOM")


def test_a_custom_code_on_a_builtin_operator_means_nothing() -> None:
    found = single(opcode("RELU", custom="stray"))
    assert (found.custom, found.label) == (None, "RELU")


def test_versions_and_intermediates() -> None:
    assert single(opcode("ADD", version=7)).version == 7
    assert single(opcode("ADD")).version == 1
    assert single(opcode("ADD"), intermediates=[1, 0]).intermediates == (1, 0)
    assert single(opcode("ADD")).intermediates == ()


def test_options_have_names_in_snake_case() -> None:
    options = schema.Conv2DOptionsT(
        padding=schema.Padding.VALID,
        strideW=2,
        strideH=3,
        fusedActivationFunction=schema.ActivationFunctionType.RELU6,
        dilationWFactor=4,
        dilationHFactor=5,
    )
    assert single(opcode("CONV_2D"), options).options == {
        "padding": 1,
        "stride_w": 2,
        "stride_h": 3,
        "fused_activation_function": 3,
        "dilation_w_factor": 4,
        "dilation_h_factor": 5,
        "quantized_bias_type": 0,
    }


@pytest.mark.parametrize(
    ("code", "options", "expected"),
    [
        ("RESHAPE", schema.ReshapeOptionsT(newShape=[1, -1]), {"new_shape": (1, -1)}),
        ("RESHAPE", schema.ReshapeOptionsT(), {"new_shape": None}),
        ("SQUEEZE", schema.SqueezeOptionsT(squeezeDims=[2, 3]), {"squeeze_dims": (2, 3)}),
        ("SOFTMAX", schema.SoftmaxOptionsT(beta=0.5), {"beta": 0.5}),
        ("MEAN", schema.ReducerOptionsT(keepDims=True), {"keep_dims": True}),
        (
            "VAR_HANDLE",
            schema.VarHandleOptionsT(container="", sharedName="counter"),
            {"container": "", "shared_name": "counter"},
        ),
        (
            "BATCH_MATMUL",
            schema.BatchMatMulOptionsT(adjX=True, adjY=False, asymmetricQuantizeInputs=True),
            {"adj_x": True, "adj_y": False, "asymmetric_quantize_inputs": True},
        ),
    ],
)
def test_options_of_every_kind_of_value(code: str, options: Any, expected: dict[str, Any]) -> None:
    assert single(opcode(code), options).options == expected


def test_an_operator_without_options() -> None:
    assert single(opcode("RELU")).options == {}


def test_options_in_the_second_field() -> None:
    options = schema.StablehloConcatenateOptionsT(dimension=3)
    found = single(
        opcode("STABLEHLO_CONCATENATE"),
        builtinOptions2Type=schema.BuiltinOptions2.StablehloConcatenateOptions,
        builtinOptions2=options,
    )
    assert found.options == {"dimension": 3}


def test_options_newer_than_the_schema_are_left_out() -> None:
    """The type of the options is one byte in the file; another value stands for a newer kind."""
    kind = schema.BuiltinOptions.SoftmaxOptions
    source = bytearray(
        pack(
            model(
                subgraph(
                    [tensor(), tensor()], [operator((0,), (1,), options=schema.SoftmaxOptionsT())]
                ),
                codes=[opcode("SOFTMAX")],
            )
        )
    )
    table = schema.Model.GetRootAs(source, 0).Subgraphs(0).Operators(0)._tab
    at = table.Pos + table.Offset(10)
    assert source[at] == kind
    source[at] = 250
    (op,) = parse(bytes(source)).graph.ops
    assert (op.type, op.options) == ("SOFTMAX", {})


def test_every_kind_of_options_in_the_schema_can_be_read() -> None:
    kinds = {v: k for k, v in vars(schema.BuiltinOptions).items() if not k.startswith("_") and v}
    for name in kinds.values():
        options = getattr(schema, f"{name}T")()
        found = single(opcode("RELU"), options).options
        assert len(found) == len(vars(options)), name
        assert all(key == key.lower() for key in found), name

"""A model that lowtide cannot use is refused with the cause and with what to do about it.

Why whole messages: they are the user interface of every failure, and the only part of it that most
users ever read. Each test damages one thing in an otherwise sound model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import pytest
from tiny import chain, model, opcode, operator, pack, subgraph, tensor

from lowtide.errors import LowtideError, ModelError
from lowtide.tflite.read import load, parse

EXPORT_AGAIN = "export the model again with a current converter; the file may be damaged"
NOT_A_MODEL = "pass a .tflite file as a converter wrote it; this one may be cut off or damaged"


def fails(source: bytes, cause: str, remedy: str) -> None:
    """Assert that `source` is refused with exactly this message, and with exit code 3."""
    with pytest.raises(ModelError) as info:
        parse(source, path="net.tflite")
    assert info.value.cause == cause
    assert info.value.remedy == remedy
    assert str(info.value) == f"{cause}\n  remedy: {remedy}"
    assert info.value.exit_code == 3
    assert isinstance(info.value, LowtideError)


def refused(cause: str, remedy: str, *subgraphs: Any, **fields: Any) -> None:
    """As `fails`, for a model that can be read but breaks a rule."""
    fails(pack(model(*subgraphs, **fields)), f"net.tflite: {cause}", remedy)


def tensors(count: int) -> list[Any]:
    return [tensor() for _ in range(count)]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as info:
        load(tmp_path / "none.tflite")
    assert str(info.value) == (
        f"cannot read {tmp_path / 'none.tflite'}: No such file or directory\n"
        "  remedy: check the path, or name a built-in network as zoo:NAME (see `lowtide zoo`)"
    )
    assert info.value.exit_code == 3


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"^cannot read {tmp_path}: Is a directory\n"):
        load(tmp_path)


def test_a_path_that_no_file_can_have() -> None:
    with pytest.raises(ModelError, match=r"^cannot read "):
        load("net\0.tflite")


def test_an_empty_file() -> None:
    fails(b"", "net.tflite is empty", NOT_A_MODEL)


@pytest.mark.parametrize(
    "source", [b"x", b"TFL3", b"12 TFL3", b"a text, no model\n" * 9, bytes(999), b"\x10\0\0\0TFL2"]
)
def test_a_file_of_another_kind(source: bytes) -> None:
    fails(source, "net.tflite is not a .tflite file (no TFL3 identifier)", NOT_A_MODEL)


@pytest.mark.parametrize("version", [0, 2, 4])
def test_another_schema_version(version: int) -> None:
    refused(f"schema version {version} is not 3", NOT_A_MODEL, chain(), version=version)


def test_no_subgraph() -> None:
    refused("the file holds no subgraph", NOT_A_MODEL)


@pytest.mark.parametrize("count", [0, 2])
def test_no_operators(count: int) -> None:
    refused(
        "the model's main subgraph has no operators: there is nothing to schedule",
        "check that the export kept the network, and not only its signature",
        subgraph(tensors(count), [], ()),
    )


@pytest.mark.parametrize("bad", [-2, 3, 2**31 - 1, -(2**31)])
def test_a_tensor_index_out_of_range(bad: int) -> None:
    for where, inputs, outputs, graph_inputs, graph_outputs in [
        ("the list of graph inputs", (0,), (1,), (0, bad), (1,)),
        ("the list of graph outputs", (0,), (1,), (0,), (bad,)),
        ("operator 0 (ADD), input,", (0, bad), (1,), (0,), (1,)),
        ("operator 0 (ADD), output,", (0,), (1, bad), (0,), (1,)),
    ]:
        refused(
            f"{where} refers to tensor {bad}, but the model has 3 tensors",
            EXPORT_AGAIN,
            subgraph(tensors(3), [operator(inputs, outputs)], graph_inputs, graph_outputs),
        )


def test_only_an_operator_s_input_may_be_omitted() -> None:
    refused(
        "operator 0 (ADD), output, refers to tensor -1, but the model has 2 tensors",
        EXPORT_AGAIN,
        subgraph(tensors(2), [operator((0,), (-1,))]),
    )


def test_a_tensor_that_nothing_makes() -> None:
    refused(
        "operator 1 (RELU) reads tensor 2, which nothing makes: it is not a graph input, a "
        "constant or an operator's output",
        EXPORT_AGAIN,
        subgraph(tensors(4), [operator((0,), (1,)), operator((1, 2), (3,))]),
        codes=[opcode("RELU")],
    )


def test_a_graph_output_that_nothing_makes() -> None:
    refused(
        "nothing makes tensor 2, which is a graph output",
        EXPORT_AGAIN,
        subgraph(tensors(3), [operator((0,), (1,))], outputs=(1, 2)),
    )


@pytest.mark.parametrize("size", [4, 0], ids=["", "of zero-size tensors"])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_cycle(size: int, length: int) -> None:
    """Operator k reads what operator k + 1 makes, and the last what the first makes."""
    ring = [tensor((size,)) for _ in range(length)]
    ops = [operator(((k + 1) % length,), (k,)) for k in range(length)]
    refused(
        f"operator 0 (ADD) reads tensor {1 % length} before operator {1 % length} (ADD) makes it: "
        "the operators form a cycle or stand in an order that cannot run",
        EXPORT_AGAIN,
        subgraph(ring, ops, inputs=()),
    )


@pytest.mark.parametrize("size", [4, 0], ids=["", "of zero-size tensors"])
def test_operators_in_an_order_that_cannot_run(size: int) -> None:
    refused(
        "operator 0 (ADD) reads tensor 1 before operator 1 (ADD) makes it: the operators form a "
        "cycle or stand in an order that cannot run",
        EXPORT_AGAIN,
        subgraph(
            [tensor(), tensor((size,)), tensor()], [operator((1,), (2,)), operator((0,), (1,))]
        ),
    )


def test_two_makers() -> None:
    refused(
        "tensor 1 is made by operator 0 (ADD) and by operator 2 (my_op)",
        EXPORT_AGAIN,
        subgraph(
            tensors(3), [operator((0,), (1,)), operator((1,), (2,)), operator((0,), (1,), code=1)]
        ),
        codes=[opcode("ADD"), opcode("CUSTOM", custom="my_op")],
    )


def test_one_operator_that_makes_a_tensor_twice() -> None:
    refused(
        "tensor 1 is made by operator 0 (ADD) and by operator 0 (ADD)",
        EXPORT_AGAIN,
        subgraph(tensors(2), [operator((0,), (1, 1))]),
    )


def test_writes_to_what_is_not_to_be_written() -> None:
    mixed = [tensor(), tensor(buffer=1), tensor(isVariable=True)]
    for target, kind in [(0, "a graph input"), (1, "a constant"), (2, "a variable tensor")]:
        refused(
            f"operator 0 (ADD) writes tensor {target}, which is {kind}",
            EXPORT_AGAIN,
            subgraph(mixed, [operator((0,), (target,))]),
            buffers=[b"abcd"],
        )


def test_a_dimension_that_is_not_known() -> None:
    for name, shown in [("x", "x"), (None, "no name")]:
        refused(
            f"tensor 1 ({shown}) has shape [1, -1, 8]: lowtide plans memory ahead, so every "
            "dimension must be known",
            "export the model with a fixed input shape (batch 1)",
            subgraph([tensor(), tensor((1, -1, 8), name=name)], [operator((0,), (1,))]),
        )


def test_a_size_that_no_microcontroller_has() -> None:
    refused(
        "tensor 1 has shape [1048576, 1048576]: 1099511627776 bytes are too many for a "
        "microcontroller",
        EXPORT_AGAIN,
        subgraph([tensor(), tensor((1 << 20, 1 << 20))], [operator((0,), (1,))]),
    )


@pytest.mark.parametrize("held", [1, 11, 13])
def test_a_constant_of_another_size_than_its_shape(held: int) -> None:
    refused(
        f"tensor 1 (w), INT32 of shape [1, 3], needs 12 bytes, but its buffer holds {held}",
        EXPORT_AGAIN,
        subgraph(
            [tensor(), tensor((1, 3), dtype="INT32", name="w", buffer=1), tensor()],
            [operator((0, 1), (2,))],
        ),
        buffers=[bytes(held)],
    )


@pytest.mark.parametrize("kind", ["IF", "WHILE", "CALL", "STABLEHLO_COMPOSITE"])
def test_control_flow(kind: str) -> None:
    refused(
        f"operator 1 ({kind}) runs another subgraph, but lowtide schedules only the main subgraph",
        "inline or unroll the control flow before the conversion",
        subgraph(tensors(3), [operator((0,), (1,)), operator((1,), (2,), code=1)]),
        chain(),
        codes=[opcode("ADD"), opcode(kind)],
    )


def test_contents_in_another_file() -> None:
    refused(
        "tensor 1 has its contents in another file",
        "export the model as one file",
        subgraph([tensor(), tensor(externalBuffer=1)], [operator((0,), (1,))]),
    )


def test_an_element_type_newer_than_the_schema() -> None:
    new = schema.TensorT(shape=[1], type=77)
    refused(
        "tensor 1 has element type 77, which the schema does not name",
        "update lowtide, or export the model with another converter version",
        subgraph([tensor(), new], [operator((0,), (1,))]),
    )


def test_contradictions() -> None:
    """The file refers to a part of itself that is not there."""
    quantization = schema.QuantizationParametersT(scale=[1.0, 2.0, 3.0], zeroPoint=[1, 2])
    ops = [operator((0,), (1,))]
    for cause, built in [
        ("buffer 9 does not exist (it has 1)", model(subgraph([tensor(buffer=9), tensor()], ops))),
        (
            "operator 0 uses operator code 5, of 1",
            model(subgraph(tensors(2), [operator((0,), (1,), 5)])),
        ),
        (
            "it has 3 scales, but 2 zero points",
            model(subgraph([tensor(quantization=quantization), tensor()], ops)),
        ),
    ]:
        fails(pack(built), f"net.tflite is damaged: {cause}", NOT_A_MODEL)
    built = model(chain())
    built.operatorCodes = []
    fails(pack(built), "net.tflite is damaged: it has operators but no operator codes", NOT_A_MODEL)

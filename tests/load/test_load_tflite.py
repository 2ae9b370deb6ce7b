"""What a file says is what the frozen values say.

Each test writes a file that uses one feature of the format, often one that converters use rarely,
and reads it back. The real models then show that nothing in them is lost.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from tiny import chain, model, opcode, operator, pack, read, subgraph, tensor

from lowtide.commands.analysis import analyze
from lowtide.ir import DType, Metadata, Quant, Signature
from lowtide.order import best_order
from lowtide.tflite.read import load, parse
from networks import NETWORKS, contents, loaded

ANY = [opcode("CUSTOM", "anything")]
"""An operator of which nothing is known, and that may so have any shapes."""
TYPES = {k: v for k, v in vars(schema.TensorType).items() if not k.startswith("_")}
CODES = {k: v for k, v in vars(schema.BuiltinOperator).items() if not k.startswith("_")}
BITS = {
    "FLOAT32": 32, "FLOAT16": 16, "INT32": 32, "UINT8": 8, "INT64": 64, "STRING": 0, "BOOL": 8,
    "INT16": 16, "COMPLEX64": 64, "INT8": 8, "FLOAT64": 64, "COMPLEX128": 128, "UINT64": 64,
    "RESOURCE": 0, "VARIANT": 0, "UINT32": 32, "UINT16": 16, "INT4": 4, "BFLOAT16": 16, "INT2": 2,
    "UINT4": 4, "FLOAT8_E4M3FN": 8, "FLOAT8_E5M2": 8,
}  # fmt: skip


def test_a_file_on_disk_reads_as_its_bytes_do(tmp_path: Path) -> None:
    source = pack(model(chain(), description="three tensors"))
    path = tmp_path / "model.tflite"
    path.write_bytes(source)
    assert load(path) == load(str(path))
    assert load(path).path == str(path)
    assert load(path).source == source
    assert load(path).graph == parse(source).graph
    assert load(path).description == "three tensors"
    assert parse(source).path == "<bytes>"
    assert parse(source, path="x").path == "x"


def test_ids_count_from_zero_in_file_order() -> None:
    graph = read(chain(5)).graph
    assert [t.id for t in graph.tensors] == [0, 1, 2, 3, 4]
    assert [t.name for t in graph.tensors] == ["t0", "t1", "t2", "t3", "t4"]
    assert [op.id for op in graph.ops] == [0, 1, 2, 3]
    assert [(op.inputs, op.outputs) for op in graph.ops] == [((i, i), (i + 1,)) for i in range(4)]
    assert (graph.name, graph.inputs, graph.outputs) == ("main", (0,), (4,))


def test_names_may_be_absent_or_not_unicode() -> None:
    tensors = [tensor(), tensor(name=b"caf\xe9"), tensor(name="größe")]
    ops = [operator((0,), (1,)), operator((1,), (2,))]
    graph = read(subgraph(tensors, ops, outputs=(2,), name=None)).graph
    assert [t.name for t in graph.tensors] == ["", "caf\ufffd", "größe"]
    assert graph.name == ""


def test_an_omitted_optional_input_is_none() -> None:
    graph = read(subgraph([tensor(), tensor()], [operator((0, -1, 0, -1), (1,))])).graph
    op = graph.ops[0]
    assert op.inputs == (0, -1, 0, -1)
    found = [graph.tensor(op, k) for k in range(5)]
    assert found == [graph.tensors[0], None, graph.tensors[0], None, None]


def test_operators_with_several_outputs_and_none() -> None:
    tensors = [tensor() for _ in range(4)]
    ops = [operator((0,), (3, 1, 2)), operator((1, 2), ())]
    graph = read(subgraph(tensors, ops, outputs=(3,))).graph
    assert [op.outputs for op in graph.ops] == [(3, 1, 2), ()]
    assert best_order(graph).peak_bytes == 16


def test_inputs_and_outputs_that_are_also_used_elsewhere() -> None:
    """The input has three readers, one output is read again, the input is an output as well."""
    tensors = [tensor() for _ in range(4)]
    ops = [operator((0, 0), (1,)), operator((0, 1), (2,)), operator((1, 2), (3,))]
    graph = read(subgraph(tensors, ops, outputs=(3, 1, 0))).graph
    assert graph.outputs == (3, 1, 0)
    assert analyze(graph).peak_bytes == 16


def test_a_dead_operator_is_loaded_and_scheduled() -> None:
    tensors = [tensor(), tensor((1, 64)), tensor()]
    ops = [operator((0,), (1,)), operator((0,), (2,))]
    graph = read(subgraph(tensors, ops, outputs=(2,))).graph
    result = best_order(graph)
    assert sorted(result.order) == [0, 1]
    assert result.peak_bytes == 68


def test_variable_tensors_have_no_contents_and_live_outside_the_arena() -> None:
    tensors = [tensor(), tensor((3, 5), isVariable=True), tensor((1, 2))]
    graph = read(subgraph(tensors, [operator((0, 1), (2,))], outputs=(2,)), codes=ANY).graph
    assert [t.is_variable for t in graph.tensors] == [False, True, False]
    assert graph.variables_bytes == 15
    assert graph.weights_bytes == 0
    assert analyze(graph).peak_bytes == 6


def test_constants_hold_their_bytes_and_a_shared_buffer_counts_once() -> None:
    tensors = [tensor(), tensor(buffer=1), tensor((4,), buffer=1), tensor((2,), buffer=2), tensor()]
    ops = [operator((0, 1, 2, 3), (4,))]
    graph = read(subgraph(tensors, ops, outputs=(4,)), buffers=[b"abcd", b"xy"]).graph
    assert [t.data for t in graph.tensors] == [None, b"abcd", b"abcd", b"xy", None]
    assert [t.buffer for t in graph.tensors] == [0, 1, 1, 2, 0]
    assert [t.is_constant for t in graph.tensors] == [False, True, True, True, False]
    assert graph.weights_bytes == 6


def test_many_tensors_may_share_one_large_buffer() -> None:
    """Converters store equal constants once; forty of them exceed the file's size many times."""
    shared = bytes(100_000)
    tensors = [tensor(), tensor(), *(tensor((100_000,), buffer=1) for _ in range(40))]
    ops = [operator((0, *range(2, 42)), (1,))]
    graph = read(subgraph(tensors, ops, outputs=(1,)), buffers=[shared], codes=ANY).graph
    assert all(t.data == shared for t in graph.tensors[2:])
    assert graph.weights_bytes == 100_000


def test_a_scalar_has_one_element() -> None:
    scalar = schema.TensorT(type=schema.TensorType.INT32, buffer=1)  # no shape at all
    tensors = [tensor(), scalar, tensor((), dtype="FLOAT32")]
    graph = read(
        subgraph(tensors, [operator((0, 1), (2,))], outputs=(2,)), buffers=[bytes(4)], codes=ANY
    ).graph
    assert [t.shape for t in graph.tensors] == [(1, 4), (), ()]
    assert [(t.elements, t.bytes) for t in graph.tensors[1:]] == [(1, 4), (1, 4)]


def test_zero_size_tensors() -> None:
    tensors = [tensor(), tensor((0,)), tensor((4, 0, 2)), tensor()]
    ops = [operator((0, 1), (2,)), operator((2, 0), (3,))]
    graph = read(subgraph(tensors, ops, outputs=(3,)), codes=ANY).graph
    assert [t.bytes for t in graph.tensors] == [4, 0, 0, 4]
    assert analyze(graph).peak_bytes == 8


@pytest.mark.parametrize(("elements", "size"), [(1, 1), (2, 1), (3, 2), (8, 4), (9, 5)])
def test_int4_is_packed(elements: int, size: int) -> None:
    tensors = [tensor(), tensor((elements,), dtype="INT4", buffer=1), tensor()]
    graph = read(
        subgraph(tensors, [operator((0, 1), (2,))], outputs=(2,)), buffers=[bytes(size)], codes=ANY
    ).graph
    assert graph.tensors[1].bytes == size


def test_every_element_type_of_the_schema_has_its_width() -> None:
    assert set(TYPES) <= set(BITS)
    assert {t.name: t.bits for t in DType} == BITS
    for name in TYPES:
        graph = read(subgraph([tensor((8,), dtype=name), tensor()], [operator((0,), (1,))])).graph
        assert graph.tensors[0].dtype is DType[name]
        assert graph.tensors[0].bytes == BITS[name]


def test_quantisation_per_tensor_and_per_channel() -> None:
    def quantised(**fields: Any) -> Any:
        return tensor((2, 3), quantization=schema.QuantizationParametersT(**fields))

    tensors = [
        quantised(scale=[0.5], zeroPoint=[-3]),
        quantised(scale=[0.5, 0.25, 1.0], zeroPoint=[1, 2, 3], quantizedDimension=1),
        quantised(scale=[2.0, 4.0], zeroPoint=[7]),  # one zero point for all
        quantised(scale=[2.0]),  # none: 0
        quantised(min=[0.0], max=[1.0]),  # a range for training only
        tensor((2, 3)),
    ]
    graph = read(subgraph(tensors, [operator((0, 0), (1,))], outputs=(1,))).graph
    assert [t.quant for t in graph.tensors] == [
        Quant((0.5,), (-3,), 0),
        Quant((0.5, 0.25, 1.0), (1, 2, 3), 1),
        Quant((2.0, 4.0), (7, 7), 0),
        Quant((2.0,), (0,), 0),
        None,
        None,
    ]


def test_sparse_constants_keep_their_compressed_bytes() -> None:
    sparse = tensor((100,), buffer=1, sparsity=schema.SparsityParametersT())
    graph = read(
        subgraph([tensor(), sparse, tensor()], [operator((0, 1), (2,))]),
        buffers=[b"abc"],
        codes=ANY,
    ).graph
    assert graph.tensors[1].is_sparse
    assert graph.tensors[1].data == b"abc"


def test_metadata_and_signatures() -> None:
    def named(name: str, index: int) -> Any:
        return schema.TensorMapT(name=name, tensorIndex=index)

    signature = schema.SignatureDefT(
        signatureKey="serving_default",
        subgraphIndex=0,
        inputs=[named("x", 0)],
        outputs=[named("y", 2), named("z", 1)],
    )
    metadata = [
        schema.MetadataT(name="min_runtime_version", buffer=1),
        schema.MetadataT(name="empty", buffer=0),
    ]
    found = read(chain(), buffers=[b"1.5.0\0"], metadata=metadata, signatureDefs=[signature])
    assert found.metadata == (Metadata("min_runtime_version", b"1.5.0\0"), Metadata("empty", b""))
    assert found.signatures == (Signature("serving_default", 0, (("x", 0),), (("y", 2), ("z", 1))),)


def test_only_the_main_subgraph_is_scheduled() -> None:
    found = read(chain(3), chain(7))
    assert len(found.graph.ops) == 2
    assert found.subgraph_tensors == (3, 7)


def test_call_once_is_kept_though_it_names_another_subgraph() -> None:
    options = schema.CallOnceOptionsT(initSubgraphIndex=1)
    main = subgraph([tensor(), tensor()], [operator((), (), 1, options), operator((0,), (1,))])
    graph = read(main, chain(), codes=[opcode("ADD"), opcode("CALL_ONCE")]).graph
    assert [op.type for op in graph.ops] == ["CALL_ONCE", "ADD"]
    assert graph.ops[0].options == {"init_subgraph_index": 1}


@pytest.mark.parametrize("name", NETWORKS)
def test_real_files_agree_with_the_schema_s_own_reader(name: str) -> None:
    main = schema.ModelT.InitFromPackedBuf(contents(name), 0)
    source, graph = main.subgraphs[0], loaded(name).graph
    assert len(graph.tensors) == len(source.tensors)
    for found, given in zip(graph.tensors, source.tensors, strict=True):
        shape = () if given.shape is None else tuple(int(d) for d in given.shape)
        data = main.buffers[given.buffer].data
        assert (found.shape, found.name) == (shape, given.name.decode())
        assert found.bytes == math.prod(shape) * BITS[found.dtype.name] // 8
        assert TYPES[found.dtype.name] == given.type
        assert found.data == (None if data is None or not len(data) else data.tobytes())
        if found.quant is not None:
            assert np.array_equal(
                np.asarray(found.quant.scale, np.float32), given.quantization.scale
            )
            assert found.quant.zero_point == tuple(given.quantization.zeroPoint)
    assert len(graph.ops) == len(source.operators)
    for op, given in zip(graph.ops, source.operators, strict=True):
        code = main.operatorCodes[given.opcodeIndex]
        assert CODES[op.type] == max(code.builtinCode, code.deprecatedBuiltinCode)
        assert (op.inputs, op.outputs) == (tuple(given.inputs), tuple(given.outputs))
    assert (graph.inputs, graph.outputs) == (tuple(source.inputs), tuple(source.outputs))

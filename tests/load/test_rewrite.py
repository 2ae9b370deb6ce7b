"""Rewritten files differ from their source in what was asked for, and in nothing else.

Checked at the bytes, through the schema's own object API, and by running both files in the real
interpreters. Models: small ones built here, and every real one in ../shared/models, where present.
"""

from __future__ import annotations

import heapq
import io
import random
import struct
import zipfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
import pytest

from lowtide.errors import LowtideError, ModelError, UsageError
from lowtide.oracle.interpreters import (
    OracleError,
    Reference,
    first_difference,
    random_inputs,
    reference_tensors,
    tflm_arena,
    tflm_outputs,
)
from lowtide.tflite.rewrite import permute_operators, set_metadata

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
OFFLINE = "OfflineMemoryAllocation"
ELEMENTS = 32
TYPES: dict[int, np.dtype[Any]] = {
    schema.TensorType.FLOAT32: np.dtype(np.float32),
    schema.TensorType.UINT8: np.dtype(np.uint8),
    schema.TensorType.INT8: np.dtype(np.int8),
}


def pack(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def unpack(source: bytes) -> Any:
    return schema.ModelT.InitFromPackedBuf(source)


def subgraph(name: str) -> Any:
    """1 = 0 + constant, 2 = 0 + 0, 3 = 1 + 2: the first two operators may change places."""

    def tensor(name: str, scale: float, buffer: int = 0) -> Any:
        quantization = schema.QuantizationParametersT(scale=[scale], zeroPoint=[0])
        return schema.TensorT(
            shape=[1, ELEMENTS],
            type=schema.TensorType.INT8,
            buffer=buffer,
            name=name.encode(),
            quantization=quantization,
        )

    def add(a: int, b: int, out: int) -> Any:
        return schema.OperatorT(
            opcodeIndex=0,
            inputs=[a, b],
            outputs=[out],
            builtinOptionsType=schema.BuiltinOptions.AddOptions,
            builtinOptions=schema.AddOptionsT(),
        )

    return schema.SubGraphT(
        tensors=[
            tensor("in", 0.5),
            tensor("a", 0.5),
            tensor("b", 0.75),
            tensor("out", 1.0),
            tensor("constant", 0.25, buffer=1),
        ],
        inputs=[0],
        outputs=[3],
        operators=[add(0, 4, 1), add(0, 0, 2), add(1, 2, 3)],
        name=name.encode(),
    )


def model(*metadata: tuple[str, bytes], signature: bool = False, subgraphs: int = 1) -> Any:
    code = schema.BuiltinOperator.ADD
    built = schema.ModelT(
        version=3,
        operatorCodes=[schema.OperatorCodeT(deprecatedBuiltinCode=code, builtinCode=code)],
        subgraphs=[subgraph(f"graph{i}") for i in range(subgraphs)],
        description=b"three additions",
        buffers=[
            schema.BufferT(),
            schema.BufferT(data=np.arange(-8, ELEMENTS - 8, dtype=np.int8).view(np.uint8)),
        ],
    )
    if metadata:
        built.metadata = []
    for name, data in metadata:
        built.metadata.append(schema.MetadataT(name=name.encode(), buffer=len(built.buffers)))
        built.buffers.append(schema.BufferT(data=np.frombuffer(data, np.uint8)))
    if signature:
        built.signatureDefs = [
            schema.SignatureDefT(
                inputs=[schema.TensorMapT(name=b"x", tensorIndex=0)],
                outputs=[schema.TensorMapT(name=b"y", tensorIndex=3)],
                signatureKey=b"serving_default",
            )
        ]
    return built


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as stored:
        stored.writestr(zipfile.ZipInfo("labels.txt"), "cat\ndog\n")
    return file.getvalue()


PLAN = struct.pack("<8i", 1, 0, 5, 0, 512, 1024, 2048, -1)

MODELS: dict[str, bytes] = {
    "no_metadata": pack(model()),
    "metadata": pack(model(("min_runtime_version", b"1.5.0"), ("note", b"n" * 33))),
    "offline": pack(model(("note", b""), (OFFLINE, PLAN), ("note2", b"2"))),
    "offline_twice": pack(model((OFFLINE, PLAN), ("note", b"1"), (OFFLINE, PLAN))),
    "signature": pack(model(signature=True)),
    "zip_tail": pack(model(("note", b"1"))) + archive(),
    "two_subgraphs": pack(model(signature=True, subgraphs=2)),
    **{path.stem: path.read_bytes() for path in sorted(SHARED.glob("*.tflite"))},
}
every_model = pytest.mark.parametrize("name", MODELS)


def plain(value: Any) -> Any:
    """An object-API value as plain data that can be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tobytes())
    if isinstance(value, list):
        return [plain(item) for item in value]
    if hasattr(value, "__dict__"):
        return {key: plain(item) for key, item in vars(value).items()}
    return value


def other_order(graph: Any) -> list[int]:
    """A topological order that takes the last ready operator, so branches change places."""
    maker = {int(t): i for i, op in enumerate(graph.operators) for t in op.outputs}
    needs = [{maker[int(t)] for t in op.inputs if int(t) in maker} for op in graph.operators]
    order: list[int] = []
    ready = [-i for i, before in enumerate(needs) if not before]
    heapq.heapify(ready)
    while ready:
        order.append(-heapq.heappop(ready))
        for i, before in enumerate(needs):
            if order[-1] in before:
                before.remove(order[-1])
                if not before:
                    heapq.heappush(ready, -i)
    return order


def run(source: bytes) -> list[Reference]:
    """All activations of the main subgraph, from each engine that runs the model."""
    graph = unpack(source).subgraphs[0]
    spec = [(int(i), graph.tensors[i]) for i in graph.inputs]
    inputs = random_inputs([(i, tuple(t.shape), TYPES[t.type]) for i, t in spec], 2, seed=1)
    made = [int(t) for op in graph.operators for t in op.outputs]
    references = []
    for engine in ("tflm", "litert"):
        try:
            references.append(reference_tensors(source, inputs, sorted(made), engine=engine))
        except OracleError:
            continue
    return references


@cache
def run_source(name: str) -> list[Reference]:
    return run(MODELS[name])


def check_runs_alike(name: str, rewritten: bytes) -> None:
    expected, found = run_source(name), run(rewritten)
    assert expected
    assert [r.engine for r in found] == [r.engine for r in expected]
    assert [first_difference(a, b) for a, b in zip(expected, found, strict=True)] == [None] * len(
        found
    )


@every_model
def test_identity_order_gives_the_same_bytes(name: str) -> None:
    source = MODELS[name]
    for i, graph in enumerate(unpack(source).subgraphs):
        assert permute_operators(source, range(len(graph.operators)), i) == source


@every_model
def test_permuting_changes_the_order_and_nothing_else(name: str) -> None:
    source = MODELS[name]
    for i, graph in enumerate(unpack(source).subgraphs):
        order = list(range(len(graph.operators)))
        random.Random(i).shuffle(order)
        permuted = permute_operators(source, order, i)
        assert len(permuted) == len(source)

        expected = unpack(source)
        operators = expected.subgraphs[i].operators
        expected.subgraphs[i].operators = [operators[k] for k in order]
        assert plain(unpack(permuted)) == plain(expected)

        changed = [k for k, (a, b) in enumerate(zip(source, permuted, strict=True)) if a != b]
        span = changed[-1] - changed[0] if changed else 0
        assert span < 4 * len(order), "a byte outside the list of operators changed"
        inverse = [order.index(k) for k in range(len(order))]
        assert permute_operators(permuted, inverse, i) == source


@every_model
def test_a_permuted_model_runs_alike(name: str) -> None:
    order = other_order(unpack(MODELS[name]).subgraphs[0])
    check_runs_alike(name, permute_operators(MODELS[name], order))


@every_model
@pytest.mark.parametrize(
    ("key", "data"),
    [("lowtide", b"any contents"), (OFFLINE, b"\x01" * 52), ("", b""), ("note", bytes(range(256)))],
)
def test_metadata_is_the_only_change(name: str, key: str, data: bytes) -> None:
    source = MODELS[name]
    rewritten = set_metadata(source, key, data)
    assert (len(rewritten) - len(source)) % 64 == 0
    assert rewritten.endswith(source)

    expected, found = unpack(source), unpack(rewritten)
    names = [entry.name for entry in expected.metadata or []]
    assert [e.name for e in found.metadata].count(key.encode()) == 1
    (entry,) = [entry for entry in found.metadata if entry.name == key.encode()]
    assert entry.buffer == len(expected.buffers)
    assert found.buffers[entry.buffer].data.tobytes() == data
    if key.encode() in names:
        assert found.metadata.index(entry) == names.index(key.encode())

    def others(model: Any) -> Any:
        return [e for e in model.metadata or [] if e.name != key.encode()]

    assert plain(others(found)) == plain(others(expected))
    found.metadata = expected.metadata = None
    del found.buffers[-1]
    assert plain(found) == plain(expected)


@every_model
def test_metadata_keeps_alignment(name: str) -> None:
    source = MODELS[name]

    def positions(source: bytes) -> list[int]:
        root = schema.Model.GetRootAs(source, 0)
        tables = [root.Buffers(i)._tab for i in range(root.BuffersLength())]
        return [tab.Vector(tab.Offset(4)) if tab.Offset(4) else 0 for tab in tables]

    rewritten = set_metadata(source, "lowtide", b"x" * 100)
    *old, new = positions(rewritten)
    before = positions(source)
    assert new % 16 == 0
    assert [at % 64 for at in old] == [at % 64 for at in before]


@every_model
def test_a_model_with_new_metadata_runs_alike(name: str) -> None:
    order = other_order(unpack(MODELS[name]).subgraphs[0])
    rewritten = set_metadata(MODELS[name], "lowtide", b"x" * 100)
    check_runs_alike(name, permute_operators(rewritten, order))


def test_setting_twice_keeps_the_last_only() -> None:
    rewritten = set_metadata(set_metadata(MODELS["metadata"], "a", b"1"), "a", b"2")
    found = unpack(rewritten)
    (entry,) = [entry for entry in found.metadata if entry.name == b"a"]
    assert found.buffers[entry.buffer].data.tobytes() == b"2"
    assert [e.name for e in found.metadata] == [b"min_runtime_version", b"note", b"a"]


def test_an_appended_archive_can_still_be_read() -> None:
    rewritten = set_metadata(MODELS["zip_tail"], "lowtide", b"1")
    assert rewritten.endswith(archive())
    with zipfile.ZipFile(io.BytesIO(rewritten)) as stored:
        assert stored.read("labels.txt") == b"cat\ndog\n"


def test_tflm_honours_an_offline_plan_that_was_set() -> None:
    source = MODELS["no_metadata"]
    last = 4096
    plan = struct.pack("<8i", 1, 0, 5, 0, 512, 1024, last, -1)
    assert tflm_arena(source).head < last
    planned = set_metadata(source, OFFLINE, plan)
    assert tflm_arena(planned).head >= last + ELEMENTS
    inputs = random_inputs([(0, (1, ELEMENTS), np.dtype(np.int8))], 3, seed=2)
    assert first_difference(tflm_outputs(source, inputs), tflm_outputs(planned, inputs)) is None


def test_this_code_knows_every_field_of_the_root_table() -> None:
    assert len(vars(schema.ModelT())) == 10
    # One more field than the schema has, as a newer writer might add.
    builder = flatbuffers.Builder(64)
    buffer = schema.BufferT().Pack(builder)
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(buffer)
    buffers = builder.EndVector()
    builder.StartObject(11)
    builder.PrependUint32Slot(0, 3, 0)
    builder.PrependUOffsetTRelativeSlot(4, buffers, 0)
    builder.PrependUint32Slot(10, 7, 0)
    builder.Finish(builder.EndObject(), b"TFL3")
    with pytest.raises(ModelError, match="does not know"):
        set_metadata(bytes(builder.Output()), "lowtide", b"")


def outside_buffer(built: Any) -> None:
    built.buffers[1].offset, built.buffers[1].size = 4096, 32


def outside_options(built: Any) -> None:
    built.subgraphs[0].operators[1].largeCustomOptionsOffset = 4096


def no_buffers(built: Any) -> None:
    built.buffers = []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (outside_buffer, "after the flatbuffer"),
        (outside_options, "after the flatbuffer"),
        (no_buffers, "no buffers"),
    ],
)
def test_what_cannot_be_shifted_is_refused(change: Callable[[Any], None], cause: str) -> None:
    built = model()
    change(built)
    with pytest.raises(ModelError, match=cause):
        set_metadata(pack(built), "lowtide", b"1")


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [-1, 0, 1], []])
def test_an_order_must_be_a_permutation(order: Sequence[int]) -> None:
    with pytest.raises(UsageError, match="each of the 3 operators once"):
        permute_operators(MODELS["no_metadata"], order)


@pytest.mark.parametrize("subgraph", [-1, 2])
def test_an_unknown_subgraph_is_refused(subgraph: int) -> None:
    with pytest.raises(UsageError, match="no subgraph"):
        permute_operators(MODELS["two_subgraphs"], [0, 1, 2], subgraph)


def test_an_operator_in_front_of_its_slot_is_refused() -> None:
    """Two slots, one operator between them: they cannot change places."""
    file = bytearray(80)
    struct.pack_into("<I4s", file, 0, 24, b"TFL3")
    struct.pack_into("<5H", file, 8, 10, 8, 0, 0, 4)  # Model vtable: subgraphs at 4
    struct.pack_into("<iIII", file, 24, 16, 4, 1, 16)  # Model, its vector of one, SubGraph at 52
    struct.pack_into("<6H", file, 40, 12, 8, 0, 0, 0, 4)  # SubGraph vtable: operators at 4
    struct.pack_into("<iI", file, 52, 12, 4)  # SubGraph
    struct.pack_into("<III", file, 60, 2, 4, 8)  # operators at 68 (the second slot!) and 76
    patched = permute_operators(bytes(file), [0, 1])
    assert patched == bytes(file)
    with pytest.raises(ModelError, match="before the list"):
        permute_operators(bytes(file), [1, 0])


@pytest.mark.parametrize("name", ["metadata", "two_subgraphs"])
def test_damage_is_reported_as_such(name: str) -> None:
    """Cut at any byte, or with any bytes changed: a result or an error for the user, no more."""
    source = MODELS[name]
    rng = random.Random(7)
    damaged = [source[:n] for n in range(len(source))]
    for _ in range(3000):
        changed = bytearray(source)
        for _ in range(rng.choice([1, 1, 2, 8])):
            byte = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            changed[rng.randrange(len(changed))] = byte
        damaged.append(bytes(changed))
    rewrites: list[Callable[[bytes], bytes]] = [
        lambda file: permute_operators(file, [1, 0, 2]),
        lambda file: set_metadata(file, "note", b"1"),
    ]
    errors = 0
    for file in damaged:
        for rewrite in rewrites:
            try:
                rewrite(file)
            except LowtideError as error:
                errors += 1
                assert error.remedy
    assert errors > len(source)

"""Operators that only rearrange, against the oracle: blocks, batches, mirrors, indices, broadcast."""

from __future__ import annotations

from typing import Any, Literal

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from lowtide.lower import lower_op
from lowtide.lower.nodes import Node
from lowtide.tflite.read import parse
from schema_models import Net

Engine = Literal["tflm", "litert"]


def blocks(net: Net, source: int, block: int, *, apart: bool) -> int:
    batch, height, width, deep = net.tensors[source].shape
    if apart:
        options = schema.DepthToSpaceOptionsT(blockSize=block)
        shape = (batch, height * block, width * block, deep // block**2)
        return net.op("DEPTH_TO_SPACE", [source], shape, options=options)
    options = schema.SpaceToDepthOptionsT(blockSize=block)
    shape = (batch, height // block, width // block, deep * block**2)
    return net.op("SPACE_TO_DEPTH", [source], shape, options=options)


def to_batch(net: Net, source: int, sizes: list[int], sides: list[list[int]]) -> int:
    batch, *rest = net.tensors[source].shape
    for i, (size, side) in enumerate(zip(sizes, sides, strict=True)):
        batch *= size
        rest[i] = (rest[i] + sum(side)) // size
    sources = [source, net.const(sizes), net.const(sides)]
    options = schema.SpaceToBatchNDOptionsT()
    return net.op("SPACE_TO_BATCH_ND", sources, (batch, *rest), options=options)


def to_space(net: Net, source: int, sizes: list[int], sides: list[list[int]]) -> int:
    batch, *rest = net.tensors[source].shape
    for i, (size, side) in enumerate(zip(sizes, sides, strict=True)):
        batch //= size
        rest[i] = rest[i] * size - sum(side)
    sources = [source, net.const(sizes), net.const(sides)]
    options = schema.BatchToSpaceNDOptionsT()
    return net.op("BATCH_TO_SPACE_ND", sources, (batch, *rest), options=options)


def mirrored(net: Net, source: int, sides: list[list[int]], mode: int) -> int:
    shape = [n + sum(side) for n, side in zip(net.tensors[source].shape, sides, strict=True)]
    options = schema.MirrorPadOptionsT(mode=mode)
    return net.op("MIRROR_PAD", [source, net.const(sides)], shape, options=options)


def reversed_along(net: Net, source: int, axes: list[int]) -> int:
    options = schema.ReverseV2OptionsT()
    shape = net.tensors[source].shape
    return net.op("REVERSE_V2", [source, net.const(axes)], shape, options=options)


def gathered(net: Net, source: int, indices: Any) -> int:
    index = np.array(indices)
    shape = (*index.shape[:-1], *net.tensors[source].shape[index.shape[-1] :])
    options = schema.GatherNdOptionsT()
    return net.op("GATHER_ND", [source, net.const(index)], shape, options=options)


def filled(net: Net, value: int, shape: tuple[int, ...], **fields: Any) -> int:
    return net.op("FILL", [net.const(shape), value], shape, options=schema.FillOptionsT(), **fields)


def tiled(net: Net, source: int, times: list[int]) -> int:
    shape = [n * t for n, t in zip(net.tensors[source].shape, times, strict=True)]
    return net.op("TILE", [source, net.const(times)], shape, options=schema.TileOptionsT())


def test_blocks() -> None:
    net = Net()
    for shape in ((1, 4, 6, 4), (2, 2, 2, 9), (1, 6, 6, 36), (1, 12, 1, 16)):
        source = net.input(shape)
        for block in (1, 2, 3):
            if not (shape[1] % block or shape[2] % block):
                blocks(net, source, block, apart=False)
            if not shape[3] % block**2:
                blocks(net, source, block, apart=True)
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize(
    ("dtype", "zero", "engine"),
    [
        *((np.int8, 0, "tflm"), (np.float32, 0, "tflm")),
        *((np.int8, -7, "litert"), (np.uint8, 7, "litert")),  # which TFLM pads with chance bytes
    ],
)
def test_batches(dtype: Any, zero: int, engine: Engine) -> None:
    net = Net(dtype, zero=zero)
    for shape in ((1, 4, 6, 3), (2, 5, 4, 2), (1, 7, 8, 1)):
        source = net.input(shape)
        for sizes in ([1, 1], [2, 2], [2, 1], [3, 2], [4, 4]):
            for extra in (0, 1):
                sides = [
                    [extra, (-shape[1] - extra) % sizes[0]],
                    [(-shape[2] - extra) % sizes[1], extra],
                ]
                to_batch(net, source, sizes, sides)
    for shape in ((4, 4, 3, 3), (8, 2, 5, 2), (12, 3, 2, 1)):
        source = net.input(shape)
        for sizes in ([1, 1], [2, 2], [4, 1], [1, 2]):
            for sides in ([[0, 0], [0, 0]], [[0, 1], [1, 0]]):
                to_space(net, source, sizes, sides)
    line = net.input((1, 9, 4))
    to_batch(net, line, [3], [[0, 0]])
    to_batch(net, line, [2], [[1, 2]])
    to_space(net, net.input((4, 3, 5)), [2], [[1, 0]])
    assert differences(net.build(), engine=engine) == []


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_mirrors(dtype: Any) -> None:
    net = Net(dtype)
    image, line = net.input((1, 5, 4, 3)), net.input((2, 6))
    for mode in (0, 1):
        mirrored(net, image, [[0, 0], [1, 2], [3, 0], [0, 0]], mode)
        mirrored(net, image, [[0, 0], [4, 4], [1, 1], [2, 1]], mode)
        mirrored(net, line, [[1, 0], [0, 5]], mode)
        mirrored(net, line, [[0, 0], [0, 0]], mode)
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_reversed(dtype: Any) -> None:
    net = Net(dtype)
    image, line = net.input((2, 5, 4, 3)), net.input((7,))
    for axes in ([0], [1], [2], [3], [1, 2], [-1], [0, 1, 2, 3]):
        reversed_along(net, image, axes)
    reversed_along(net, line, [0])
    assert differences(net.build(), samples=1, engine="tflm") == []


def test_gather_nd() -> None:
    net = Net()
    image, flat = net.input((2, 4, 3, 5)), net.input((6,))
    gathered(net, image, [[0], [1], [0]])
    gathered(net, image, [[0, 3], [1, 0]])
    gathered(net, image, [[[0, 3, 2], [1, 0, 0]], [[1, 3, 1], [0, 0, 0]]])
    gathered(net, image, [[0, 3, 2, 4], [1, 0, 0, 1]])
    gathered(net, flat, [[5], [0], [2], [2]])
    gathered(net, flat, [3])
    assert differences(net.build(), engine="tflm") == []


def test_gather_nd_by_indices_made_at_run_time() -> None:
    net = Net()
    image, words = net.input((2, 4, 3, 5)), net.const(np.arange(54).reshape(9, 6), np.int8)
    rng, sizes = np.random.default_rng(3), {}
    for source in (image, words):
        shape = net.tensors[source].shape
        for parts in range(1, len(shape) + 1):
            for lead in ((), (3,), (2, 2)):
                index = net.input((*lead, parts), np.int32)
                sizes[index] = shape[:parts]
                made = (*lead, *shape[parts:])
                net.op("GATHER_ND", [source, index], made, options=schema.GatherNdOptionsT())
    samples = []
    for _ in range(4):
        sample = {image: rng.integers(-128, 128, (2, 4, 3, 5)).astype(np.int8)}
        for index, of in sizes.items():
            sample[index] = rng.integers(0, of, net.tensors[index].shape).astype(np.int32)
        samples.append(sample)
    assert differences(net.build(), inputs=samples, engine="tflm") == []


def test_rows_far_apart() -> None:
    """A step that needs rows too far apart is given the whole input; others only their window."""
    net = Net()
    tall = net.input((40, 3))
    gathered(net, tall, [[[0, 2], [39, 1]], [[5, 0], [22, 1]]])
    gathered(net, tall, [[[0, 2], [1, 1]], [[21, 0], [22, 0]], [[38, 1], [39, 1]]])
    assert differences(net.build(), engine="tflm") == []
    graph = parse(net.build()).graph
    (far,), (near,) = (lower_op(graph, op).nodes for op in graph.ops)
    assert isinstance(far, Node)
    assert isinstance(near, Node)
    assert [(port.rows, port.count) for port in (*far.inputs, *near.inputs)] == [(1, 1), (40, 2)]


def test_broadcast() -> None:
    net = Net(np.int32)
    options = schema.BroadcastToOptionsT()
    for shape, to in (
        ((1, 1, 3), (2, 4, 3)),
        ((4, 1), (2, 4, 3)),
        ((1,), (5, 7)),
        ((2, 1, 3, 1), (2, 4, 3, 5)),
    ):
        net.op("BROADCAST_TO", [net.input(shape), net.const(to)], to, options=options)
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_filled(dtype: Any) -> None:
    net = Net(dtype)
    value = net.input(())
    filled(net, value, (2, 3, 4))
    filled(net, value, (5,))
    filled(net, net.const(3, dtype, quant=net.quant if dtype == np.int8 else None), (1, 4, 2, 3))
    source = net.input((1, 3, 2, 2))
    net.op("ZEROS_LIKE", [source], (1, 3, 2, 2), options=schema.ZerosLikeOptionsT())
    assert differences(net.build(), engine="tflm") == []


def test_known() -> None:
    """What is known beforehand is written all the same."""
    net = Net()
    source = net.input((2, 3, 1, 5))
    options = schema.ShapeOptionsT(outType=schema.TensorType.INT32)
    net.op("SHAPE", [source], (4,), options=options, dtype=np.int32)
    sides = net.const([3, 1]), net.const([2, 3, 4])
    net.op("BROADCAST_ARGS", sides, (3,), dtype=np.int32)
    assert differences(net.build(), engine="tflm") == []


def test_tiled() -> None:
    net = Net()
    source, line = net.input((1, 3, 2, 4)), net.input((5,))
    for times in ([1, 1, 1, 2], [1, 1, 3, 1], [1, 2, 1, 1], [2, 2, 2, 2]):
        tiled(net, source, times)
    tiled(net, line, [3])
    assert differences(net.build(), engine="litert") == []


def test_refusals() -> None:
    net = Net()
    options = schema.SpaceToDepthOptionsT(blockSize=2)
    net.op("SPACE_TO_DEPTH", [net.input((1, 3, 4, 1))], (1, 1, 2, 4), options=options)
    assert refusal(net.build()) == "3 x 4 does not divide into blocks of 2"
    net = Net()
    apart = schema.DepthToSpaceOptionsT(blockSize=2)
    net.op("DEPTH_TO_SPACE", [net.input((1, 3, 4, 6))], (1, 6, 8, 1), options=apart)
    assert refusal(net.build()) == "6 channels do not divide into blocks of 2 x 2"
    net = Net()
    net.op("SPACE_TO_DEPTH", [net.input((4, 4))], (2, 8), options=options)
    assert refusal(net.build()) == "its tensors should have 4 dimensions"
    net = Net()
    to_batch(net, net.input((1, 5, 4, 2)), [2, 2], [[0, 0], [0, 0]])
    assert refusal(net.build()) == "[5, 4] does not divide into blocks of [2, 2]"
    net = Net(np.int16)
    net.quant = (0.5, 3)
    to_batch(net, net.input((1, 5, 4, 2)), [2, 2], [[1, 0], [0, 0]])
    assert refusal(net.build()) == "it pads with the zero point 3, which takes more than one byte"
    net = Net()
    to_space(net, net.input((3, 5, 4, 2)), [2, 1], [[0, 0], [0, 0]])
    assert refusal(net.build()) == "a batch of 3 does not divide into blocks of [2, 1]"
    net = Net()
    to_batch(net, net.input((1, 4, 4, 2)), [2, 2, 2], [[0, 0], [0, 0], [0, 0]])
    assert (
        refusal(net.build()) == "its block sizes and its paddings or crops do not match its input"
    )
    net = Net()
    to_space(net, net.input((2, 2, 4, 2)), [2, 1], [[2, 2], [0, 0]])
    assert refusal(net.build()) == "its crops leave nothing"
    net = Net()
    mirrored(net, net.input((2, 3)), [[0, 0], [3, 0]], 0)
    assert refusal(net.build()) == "it pads with more elements than its input has to mirror"
    net = Net()
    gathered(net, net.input((2, 3)), [[0, 3]])
    assert refusal(net.build()) == "an index is outside [2, 3]"
    net = Net()
    net.op("GATHER_ND", [net.input((2, 3)), net.input((4, 3), np.int32)], (4,))
    assert refusal(net.build()) == "its indices have 3 parts"
    net = Net()
    net.op("GATHER_ND", [net.input((2, 3)), net.input((4, 1), np.int64)], (4, 3))
    assert refusal(net.build()) == "its indices are of type INT64"
    net = Net()
    filled(net, net.input((2,)), (3, 2))
    assert refusal(net.build()) == "it fills with 2 values"
    net = Net()
    shape = net.const((3, 5))
    net.op("BROADCAST_TO", [net.input((2,)), shape], (3, 5))
    assert refusal(net.build()) == "it cannot make [3, 5] from [2]"

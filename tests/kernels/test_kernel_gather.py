"""GATHER with constant indices against the reference kernels: every axis, batch dimensions."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences

from assembled import refusal
from schema_models import Net


def gather(net: Net, source: int, indices: Any, axis: int, batch: int = 0) -> int:
    shape, index = net.tensors[source].shape, np.array(indices)
    at = axis % len(shape)
    kept = index.shape[batch + index.ndim if batch < 0 else batch :]
    out = (*shape[:at], *kept, *shape[at + 1 :])
    options = schema.GatherOptionsT(axis=axis, batchDims=batch)
    return net.op("GATHER", [source, net.const(index)], out, options=options)


def gathers(net: Net) -> None:
    image, rows = net.input((1, 6, 5, 4)), net.input((3, 4, 5))
    matrix, flat, deep = net.input((2, 7)), net.input((8,)), net.input((2, 3, 2, 3, 4))
    for axis in (0, 1, 2, 3, -1, -3):
        last = net.tensors[image].shape[axis] - 1
        gather(net, image, [last, 0, last], axis)
        gather(net, image, last, axis)
        gather(net, image, [[0, last], [last, 0]], axis)
    for axis in range(5):
        gather(net, deep, [1, 0, 1], axis)
    gather(net, rows, [2, 2, 0, 1], 0)
    gather(net, rows, [3], 1)
    gather(net, rows, [4, 0, 4, 1, 2], 2)
    gather(net, matrix, [1, 1, 0], 0)
    gather(net, matrix, [6, 5, 0], 1)
    gather(net, flat, [7, 0, 3, 3], 0)
    gather(net, flat, [[7], [0]], -1)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_gather(dtype: Any) -> None:
    net = Net(dtype)
    gathers(net)
    gather(net, net.const(np.arange(40).reshape(10, 4), dtype), [9, 0, 3], 0)
    assert differences(net.build(), engine="tflm") == []


@pytest.mark.parametrize("dtype", [np.int16, np.uint8])
def test_other_types(dtype: Any) -> None:
    net = Net(dtype)
    gathers(net)
    assert differences(net.build(), samples=1, engine="litert") == []


def test_batch_dimensions() -> None:
    net = Net()
    rows, deep = net.input((2, 3, 5)), net.input((2, 3, 2, 4))
    gather(net, rows, [[2, 0], [1, 1]], 1, 1)
    gather(net, rows, [[4, 0, 0], [1, 1, 3]], 2, 1)
    gather(net, rows, [[[4], [0], [1]], [[2], [2], [3]]], 2, 2)
    gather(net, rows, [[4, 0, 1], [2, 2, 3]], 2, 2)
    gather(net, deep, [[1, 0], [0, 0]], 2, 1)
    gather(net, deep, [[3, 0], [1, 2]], 3, 1)
    gather(net, deep, np.arange(12).reshape(2, 3, 2) % 4, 3, 3)
    gather(net, deep, [[1, 0], [0, 2]], 1, -1)
    assert differences(net.build(), engine="tflm") == []


def test_indices_made_at_run_time() -> None:
    """From a constant, of words say, and from what is made; embeddings."""
    net = Net()
    rng = np.random.default_rng(4)
    words = net.const(rng.integers(-128, 128, (9, 6)), np.int8, quant=net.quant)
    image, flat = net.input((1, 4, 3, 5)), net.input((8,))
    line, grid, one = (net.input(s, np.int32) for s in ((4,), (2, 2), ()))
    at = dict.fromkeys((line, grid, one), 3)
    for index in (line, grid, one):
        own = tuple(net.tensors[index].shape)
        for source, axis in ((words, 0), (words, 1), (image, 1), (image, 2), (image, 3), (flat, 0)):
            shape = net.tensors[source].shape
            made = (*shape[:axis], *own, *shape[axis + 1 :])
            net.op("GATHER", [source, index], made, options=schema.GatherOptionsT(axis=axis))
    net.op("EMBEDDING_LOOKUP", [line, words], (4, 6))
    samples = [
        {
            i: rng.integers(*((0, at[i]) if i in at else (-128, 128)), net.tensors[i].shape).astype(
                np.int32 if i in at else np.int8
            )
            for i in net.inputs
        }
        for _ in range(4)
    ]
    assert differences(net.build(), inputs=samples, engine="tflm") == []


def test_refusals() -> None:
    net = Net()
    gather(net, net.input((2, 7)), [0, 7], 1)
    assert refusal(net.build()) == "an index is out of range for axis 1, whose size is 7"
    net = Net()
    gather(net, net.input((2, 7)), [[0, 1], [1, 0], [1, 1]], 1, 1)
    assert refusal(net.build()) == "its 1 batch dimensions do not fit its operands"
    net = Net()
    net.op("GATHER", [net.input((2, 7)), net.input((3,), np.int64)], (3, 7))
    assert refusal(net.build()) == "its indices are of type INT64"
    net = Net()
    options = schema.GatherOptionsT(axis=1, batchDims=1)
    net.op("GATHER", [net.input((2, 7)), net.input((2,), np.int32)], (2,), options=options)
    assert refusal(net.build()) == "its indices are made at run time, and it has batch dimensions"
    net = Net()
    net.op("GATHER", [net.input((2, 7)), net.input((3,), np.int32)], (4, 7))
    assert refusal(net.build()) == "it cannot make [4, 7] from [2, 7]"
    net = Net()
    net.op("GATHER", [net.input((2, 7)), net.const([1])], (2, 7))
    assert refusal(net.build()) == "it cannot make [2, 7] from [2, 7]"

"""Files whose outputs contradict their operators are refused when they are read, with both shapes."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lowtide.errors import ModelError
from lowtide.ir.soundness import MOST_BYTES
from lowtide.tflite.read import load, parse
from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

_ONE = np.ones(1, np.float32)
_STRIDES: dict[str, Option] = {"stride_w": 2, "stride_h": 1, "padding": 1}


def _tensor(*shape: int) -> TensorSpec:
    return TensorSpec("x", shape, "INT8", _ONE)


def _numbers(*values: object) -> TensorSpec:
    data = np.array(values, np.int32)
    return TensorSpec("n", data.shape, "INT32", data=data)


def _weights(*shape: int) -> TensorSpec:
    return TensorSpec("w", shape, "INT8", _ONE, data=np.ones(shape, np.int8))


def _file(
    kind: str,
    options_type: str,
    given: Sequence[TensorSpec],
    outs: Sequence[tuple[int, ...]],
    **options: Option,
) -> bytes:
    tensors = (*given, *(_tensor(*shape) for shape in outs))
    count = len(given)
    made = tuple(range(count, len(tensors)))
    op = OpSpec(kind, 1, tuple(range(count)), made, options_type, options)
    inputs = tuple(i for i, tensor in enumerate(given) if tensor.data is None)
    return write(NetSpec("net", tensors, (op,), inputs, made))


_Shape = tuple[int, ...]
_Case = tuple[str, list[TensorSpec], _Shape, _Shape, dict[str, Option]]

RIGHT_AND_WRONG: dict[str, _Case] = {
    "ADD": ("AddOptions", [_tensor(1, 4, 3), _tensor(3)], (1, 4, 3), (1, 4, 0), {}),
    "CONCATENATION": (
        "ConcatenationOptions",
        [_tensor(1, 2), _tensor(1, 3)],
        (1, 5),
        (1, 6),
        {"axis": -1},
    ),
    "CONV_2D": (
        "Conv2DOptions",
        [_tensor(1, 5, 7, 2), _weights(4, 3, 3, 2)],
        (1, 3, 3, 4),
        (1, 3, 4259842, 4),
        _STRIDES,
    ),
    "DEPTHWISE_CONV_2D": (
        "DepthwiseConv2DOptions",
        [_tensor(1, 5, 7, 2), _weights(1, 3, 3, 4)],
        (1, 3, 3, 4),
        (1, 3, 0, 4),
        _STRIDES,
    ),
    "MAX_POOL_2D": (
        "Pool2DOptions",
        [_tensor(1, 5, 7, 2)],
        (1, 4, 3, 2),
        (1, 4, 3, 3),
        {**_STRIDES, "filter_height": 2, "filter_width": 2},
    ),
    "FULLY_CONNECTED": (
        "FullyConnectedOptions",
        [_tensor(2, 6), _weights(5, 6)],
        (2, 5),
        (2, 6),
        {},
    ),
    "MEAN": ("ReducerOptions", [_tensor(1, 3, 9, 5), _numbers(2)], (1, 3, 5), (1, 3, 10, 5), {}),
    "PAD": ("PadOptions", [_tensor(2, 3), _numbers([0, 1], [2, 0])], (3, 5), (3, 4), {}),
    "RESHAPE": ("ReshapeOptions", [_tensor(2, 3), _numbers(3, 2)], (3, 2), (3, 3), {}),
    "RESIZE_BILINEAR": (
        "ResizeBilinearOptions",
        [_tensor(1, 2, 2, 3), _numbers(4, 5)],
        (1, 4, 5, 3),
        (1, 4, 4, 3),
        {},
    ),
    "SLICE": ("SliceOptions", [_tensor(4, 4), _numbers(1, 1), _numbers(2, 2)], (2, 2), (5, 5), {}),
    "SPLIT": ("SplitOptions", [_numbers(1), _tensor(2, 4)], (2, 4), (2, 3), {"num_splits": 1}),
    "TILE": ("TileOptions", [_tensor(2, 3), _numbers(2, 1)], (4, 3), (4, 4), {}),
    "TRANSPOSE": (
        "TransposeOptions",
        [_tensor(2, 3, 4), _numbers(2, 0, 1)],
        (4, 2, 3),
        (4, 3, 2),
        {},
    ),
    "UNPACK": ("UnpackOptions", [_tensor(1, 3)], (3,), (4,), {"axis": 0, "num": 1}),
    "PACK": (
        "PackOptions",
        [_tensor(3), _tensor(3)],
        (3, 2),
        (2, 3),
        {"axis": 1, "values_count": 2},
    ),
    "GATHER": ("GatherOptions", [_tensor(4, 3), _numbers(1, 1)], (2, 3), (3, 3), {"axis": 0}),
    "BATCH_MATMUL": (
        "BatchMatMulOptions",
        [_tensor(2, 3, 4), _tensor(2, 4, 5)],
        (2, 3, 5),
        (2, 3, 4),
        {},
    ),
}


@pytest.mark.parametrize("kind", RIGHT_AND_WRONG)
def test_an_output_of_another_size(kind: str) -> None:
    options_type, given, right, wrong, options = RIGHT_AND_WRONG[kind]
    parse(_file(kind, options_type, given, [right], **options))
    parse(_file(kind, options_type, given, [(1, *right)], **options))  # ones are not looked at
    with pytest.raises(ModelError) as caught:
        parse(_file(kind, options_type, given, [wrong], **options), path="net.tflite")
    assert caught.value.cause.startswith(f"net.tflite: operator 0 ({kind}): of [")
    assert caught.value.cause.endswith(f"its output says {list(wrong)}")
    assert caught.value.remedy == (
        "export the model again with a current converter; the file contradicts itself"
    )


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (_file("CONCATENATION", "ConcatenationOptions", [], [(1,)]), "it has no inputs"),
        (
            _file("CONCATENATION", "ConcatenationOptions", [_tensor(), _tensor()], [()], axis=1),
            "axis 1 does not exist in 0 dimensions",
        ),
        (
            _file("ADD", "AddOptions", [_tensor(2), _tensor(3)], [(3,)]),
            "[2] and [3] do not broadcast",
        ),
        (
            _file("CONV_2D", "Conv2DOptions", [_tensor(1, 4, 4, 3), _weights(1, 1, 1, 2)], [()]),
            "filters of 2 channels do not divide 3",
        ),
    ],
    ids=["no inputs", "no axis", "no broadcast", "no filters"],
)
def test_operators_that_make_no_sense(source: bytes, cause: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(source)
    assert caught.value.cause.endswith(f"): {cause}")


def test_a_tensor_as_large_as_can_be() -> None:
    parse(_file("ABS", "AbsOptions", [_tensor(MOST_BYTES)], [(MOST_BYTES,)]))
    with pytest.raises(ModelError, match="are too many for a microcontroller"):
        parse(_file("ABS", "AbsOptions", [_tensor(MOST_BYTES + 1)], [(MOST_BYTES + 1,)]))


def test_files_above_the_limit_are_not_read(tmp_path: Path) -> None:
    source = _file("ABS", "AbsOptions", [_tensor(2)], [(2,)])
    path = tmp_path / "net.tflite"
    path.write_bytes(source)
    size = len(source)
    assert load(path, max_file=size).source == source
    with pytest.raises(ModelError) as caught:
        load(path, max_file=size - 1)
    assert caught.value.cause == f"{path} has {size:,} bytes, more than the limit of {size - 1:,}"
    assert caught.value.remedy == (
        "check that it is the model; to read a larger one, raise the limit, such as --max-file 4G"
    )
    with pytest.raises(ModelError) as caught:
        load("/dev/zero")
    assert caught.value.cause == "/dev/zero is a device, not a file"


def test_a_pipe_is_read_up_to_the_limit(tmp_path: Path) -> None:
    source = _file("ABS", "AbsOptions", [_tensor(2)], [(2,)])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for limit in (len(source), len(source) - 1):
        writer = threading.Thread(target=pipe.write_bytes, args=(source,))
        writer.start()
        if limit == len(source):
            assert load(pipe, max_file=limit).source == source
        else:
            with pytest.raises(ModelError) as caught:
                load(pipe, max_file=limit)
            assert caught.value.cause == f"{pipe} has more bytes than the limit of {limit:,}"
        writer.join()

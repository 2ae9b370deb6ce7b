"""Convolutions of int8 that flip the uint8 they gather: a QUANTIZE before them takes no memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conv_models import SAME, VALID, Layer, Models
from harness import differences

from lowtide.machines.board import find_target
from lowtide.passes.flipping import flip_bytes
from lowtide.tflite.read import parse
from lowtide.zoo.spec import OpSpec

ZERO = -17


def _of_bytes(net: Models, *shape: int) -> int:
    """An input of uint8, and what QUANTIZE makes of it."""
    x = net.input(*shape, zero=ZERO)
    given = replace(net.tensors[x], dtype="UINT8", zero_point=ZERO + 128)
    net.tensors[x] = given
    scales = np.array(given.scales, np.float32)
    made = replace(given, name=f"{given.name}/s8", dtype="INT8", scales=scales, zero_point=ZERO)
    net.tensors.append(made)
    net.ops.append(OpSpec("QUANTIZE", 1, (x,), (len(net.tensors) - 1,), "QuantizeOptions", {}))
    return len(net.tensors) - 1


def _file(net: Models) -> bytes:
    return net.bytes(tuple(op.outputs[0] for op in net.ops if op.kind != "QUANTIZE"))


@pytest.mark.parametrize("core", ["any", "cortex-m3", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("lean", [False, True])
def test_windows(core: str, lean: bool) -> None:
    net = Models(1)
    for channels in (1, 3, 4):
        x = _of_bytes(net, 1, 7, 9, channels)
        for kernel in [(3, 3), (1, 5), (4, 2)]:
            for padding in (SAME, VALID):
                layer = Layer(stride=(2, 1), padding=padding, zero=5)
                net.conv(x, 5, kernel, layer)
                net.conv(x, 4, kernel, replace(layer, dilation=(1, 2), stride=(1, 1)))
                if channels == 1:
                    net.depthwise(x, 6, kernel, layer)
                elif channels == 4:
                    net.conv(x, 4, kernel, layer, groups=2)
    data = _file(net)
    assert {op.type for op in flip_bytes(parse(data).graph).graph.ops} <= {
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
    }
    assert differences(data, target=find_target(core), lean=lean) == []


def test_what_gathers_nothing_reads_flipped_bytes() -> None:
    net = Models(2)
    x = _of_bytes(net, 1, 5, 6, 3)
    net.conv(x, 4, (1, 1))
    net.depthwise(x, 1, (3, 3))
    net.conv(x, 4, (3, 3))
    data = _file(net)
    ops = flip_bytes(parse(data).graph).graph.ops
    assert [op.type for op in ops] == ["FLIP", "CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
    assert differences(data) == []

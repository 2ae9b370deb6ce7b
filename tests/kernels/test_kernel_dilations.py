"""Dilated convolutions that a file spells out: compiled as one, against the reference on the file."""

from __future__ import annotations

from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from test_kernel_pad_folded import differences
from test_kernel_rearranged import to_batch, to_space

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.passes import fold_dilations
from lowtide.tflite.read import parse
from schema_models import Net

CASES = (  # input, block, kernel, crops beyond what divides
    ((1, 8, 6, 3), (2, 2), (3, 3), 0),
    ((1, 9, 7, 3), (2, 2), (3, 3), 1),
    ((1, 12, 5, 2), (4, 1), (3, 1), 0),
    ((1, 11, 11, 2), (3, 2), (2, 3), 1),
    ((3, 7, 6, 2), (2, 2), (3, 3), 1),
)


def framed(
    net: Net,
    source: int,
    block: tuple[int, int],
    kernel: tuple[int, int],
    crop: int,
    *,
    depthwise: bool = False,
    same: bool = True,
    **changed: Any,
) -> int:
    """SPACE_TO_BATCH_ND, a convolution, BATCH_TO_SPACE_ND; padded as SAME would, and to whole blocks."""
    rng = np.random.default_rng(len(net.tensors))
    _, *size, channels = net.tensors[source].shape
    sides, crops = [], []
    for n, b, k in zip(size, block, kernel, strict=True):
        total = (k - 1) * b if same else 0
        before = total // 2 + crop
        after = total - total // 2
        extra = -(n + before + after) % b
        sides.append([before, after + extra])
        crops.append([crop, extra])
    sorted_ = to_batch(net, source, list(block), sides)
    net.outputs.pop()
    batch, height, width, _ = net.tensors[sorted_].shape
    shape = (1, *kernel, channels) if depthwise else (channels, *kernel, channels)
    scales = rng.uniform(0.001, 0.003, channels).astype(np.float32)
    weights = rng.integers(-127, 128, shape)
    filters = net.const(weights, np.int8, quant=(scales, 0), axis=3 if depthwise else 0)
    bias = net.const(rng.integers(-999, 999, channels), quant=(scales * np.float32(0.5), 0))
    kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    maker = schema.DepthwiseConv2DOptionsT if depthwise else schema.Conv2DOptionsT
    options = maker(padding=1, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1)
    if depthwise:
        options.depthMultiplier = 1
    for name, value in changed.items():
        setattr(options, name, value)
    made = (batch, height - kernel[0] + 1, width - kernel[1] + 1, channels)
    sources = [sorted_, filters, bias]
    summed = net.op(kind, sources, made, options=options, output=False)
    return to_space(net, summed, list(block), crops)


@pytest.mark.parametrize("depthwise", [False, True])
def test_folded(depthwise: bool) -> None:
    net = Net(zero=0)
    for shape, block, kernel, crop in CASES:
        source = net.input(shape)
        framed(net, source, block, kernel, crop, depthwise=depthwise)
        framed(net, source, block, kernel, 0, depthwise=depthwise, same=False)
    data = net.build()
    graph = fold_dilations(parse(data).graph)
    assert {op.type for op in graph.ops} == {"DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"}
    assert differences(data, graph) == []


def test_left_alone() -> None:
    """What is read by others, strided, or cropped further than it was padded."""

    def kinds(net: Net) -> set[str]:
        return {op.type for op in fold_dilations(parse(net.build()).graph).ops}

    every = {"SPACE_TO_BATCH_ND", "CONV_2D", "BATCH_TO_SPACE_ND"}
    net = Net()
    framed(net, net.input((1, 8, 6, 3)), (2, 2), (3, 3), 0)
    assert kinds(net) == {"CONV_2D"}
    net.outputs.append(net.operators[0].outputs[0])
    assert kinds(net) == every
    net = Net()
    framed(net, net.input((1, 8, 6, 3)), (2, 2), (3, 3), 0, dilationHFactor=2)
    assert kinds(net) == every
    net = Net()
    cropped = framed(net, net.input((1, 8, 6, 3)), (2, 2), (3, 3), 0)
    net.tensors[net.operators[2].inputs[2]].buffer = len(net.buffers)
    crops = np.array([[3, 0], [0, 0]], np.int32)
    net.buffers.append(schema.BufferT(data=np.frombuffer(crops.tobytes(), np.uint8)))
    net.tensors[cropped].shape = [1, 5, 6, 3]
    assert kinds(net) == every


def test_verified_with_the_reference_that_knows_what_it_pads_with() -> None:
    net = Net(zero=-100)
    framed(net, net.input((1, 8, 6, 3)), (2, 2), (3, 3), 0)
    result = verify(compile_model(parse(net.build()), Options(name="net")), samples=3)
    assert result.bit_exact
    assert result.engine == "litert"
    assert result.passed_over == (
        "its SPACE_TO_BATCH_ND pads with whatever bytes are in memory, not with the zero point"
    )

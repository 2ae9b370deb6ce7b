"""Weights of four bits, against the oracle on the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from harness import differences
from test_kernel_strips import in_strips

from lowtide.commands.checking import verify
from lowtide.commands.compiling import Options, compile_model
from lowtide.errors import ModelError
from lowtide.ir import Graph
from lowtide.lower import lower_op
from lowtide.lower.nodes import Array
from lowtide.machines.board import find_target
from lowtide.passes import normalise_windows, unpack_weights
from lowtide.program.assemble import assemble
from lowtide.tflite.read import parse
from move_models import Net
from strip_programs import Program, run_all


def rewritten(graph: Graph) -> Graph:
    return normalise_windows(unpack_weights(graph))


def nibbles(net: Net, values: Any, scales: Any, axis: int = 0) -> int:
    """A constant of four bits."""
    made = net.const(values, np.int8, quant=(scales, 0), axis=axis)
    flat = np.resize(np.asarray(values).reshape(-1), -(-np.size(values) // 2) * 2) & 15
    packed = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
    net.tensors[made].type = schema.TensorType.INT4
    net.buffers[net.tensors[made].buffer] = schema.BufferT(data=packed)
    return made


def every(zero: int = 4) -> Net:
    net, rng = Net(scale=0.05, zero=4), np.random.default_rng(2)
    image, flat = net.input((1, 6, 5, 3), quant=(0.05, zero)), net.input((2, 7), quant=(0.05, zero))
    window = {"padding": 0, "strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}
    for channels, kernel in ((5, (3, 3)), (2, (1, 1)), (1, (2, 3))):
        scales = rng.uniform(0.01, 0.02, channels).astype(np.float32)
        weights = nibbles(net, rng.integers(-8, 8, (channels, *kernel, 3)), scales)
        bias = net.const(rng.integers(-99, 99, channels), quant=(scales * 0.05, 0))
        made = (1, 6, 5, channels)
        options = schema.Conv2DOptionsT(**window)
        net.op("CONV_2D", [image, weights, bias], made, options=options)
    scales = rng.uniform(0.01, 0.02, 3).astype(np.float32)
    weights = nibbles(net, rng.integers(-8, 8, (1, 3, 3, 3)), scales, axis=3)
    bias = net.const(rng.integers(-99, 99, 3), quant=(scales * 0.05, 0))
    options = schema.DepthwiseConv2DOptionsT(depthMultiplier=1, **window)
    net.op("DEPTHWISE_CONV_2D", [image, weights, bias], (1, 6, 5, 3), options=options)
    weights = nibbles(net, rng.integers(-8, 8, (3, 7)), 0.02)
    bias = net.const(rng.integers(-99, 99, 3), quant=(0.001, 0))
    dense = schema.FullyConnectedOptionsT()
    net.op("FULLY_CONNECTED", [flat, weights, bias], (2, 3), options=dense)
    return net


@pytest.mark.parametrize("zero", [4, -128, 127])
def test_weights(zero: int) -> None:
    data = every(zero).build()
    assert differences(data, engine="tflm", rewrite=rewritten) == []
    graph = rewritten(parse(data).graph)
    kernels = [lower_op(graph, op).nodes[0].kernel for op in graph.ops]
    assert kernels == 3 * ["lt_conv_w4_s8_row"] + [kernels[3], "lt_conv_w4_s8_row"]


def test_flash_has_four_bits() -> None:
    """Of 5 filters of 27 weights, 2 and 1 of 3 and 18, and 3 of 7: each filter begins with a byte."""
    graph = rewritten(parse(every().build()).graph)
    weights = [dict(lower_op(graph, op).nodes[0].params.fields)["weights"] for op in graph.ops]
    sizes = [w.values.nbytes for w in weights if isinstance(w, Array)]
    assert sizes[:3] + sizes[4:] == [5 * 14, 2 * 2, 9, 3 * 4]


def test_in_strips(tmp_path: Path) -> None:
    net = Net(scale=0.05, zero=4)
    rng = np.random.default_rng(3)
    window = {"padding": 0, "strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}
    for kernels in (((3, 3), (1, 1)), ((1, 2), (3, 2)), ((1, 1), (3, 3))):
        x, deep = net.input((1, 6, 9, 3)), 3
        for number, kernel in enumerate(kernels):
            scales = rng.uniform(0.01, 0.02, 5).astype(np.float32)
            weights = nibbles(net, rng.integers(-8, 8, (5, *kernel, deep)), scales)
            bias = net.const(rng.integers(-99, 99, 5), quant=(scales * 0.05, 0))
            options = schema.Conv2DOptionsT(**window)
            last = number == 1
            given = [x, weights, bias]
            x = net.op("CONV_2D", given, (1, 6, 9, 5), options=options, output=last)
            deep = 5
    data = net.build()
    model = parse(data, path="nibbles")
    graph = rewritten(model.graph)
    programs = [
        Program(model, in_strips(graph, width, lean=lean))
        for width, lean in ((1, False), (2, True), (4, False))
    ]
    assert run_all(programs, tmp_path, samples=3) == []


def test_blocks_and_simplification() -> None:
    """What calls another kernel has weights of eight bits, and channels may go."""
    model = parse(every().build(), path="nibbles")
    for given in (Options(), Options(target=find_target("cortex-m4"), max_overhead=2.0)):
        assert verify(compile_model(model, given)).bit_exact
    net = Net(scale=0.05, zero=4)
    rng = np.random.default_rng(3)
    x = net.input((1, 12, 16, 4))
    window = {"padding": 0, "strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1}
    for kind, deep, wide in (("CONV_2D", 4, 40), ("DEPTHWISE", 40, 40), ("CONV_2D", 40, 4)):
        scales = rng.uniform(0.01, 0.02, wide).astype(np.float32)
        bias = net.const(rng.integers(-99, 99, wide), quant=(scales * 0.05, 0))
        plain = kind == "CONV_2D"
        shape = (wide, 1, 1, deep) if plain else (1, 3, 3, wide)
        weights = nibbles(net, rng.integers(-8, 8, shape), scales, 0 if plain else 3)
        maker = schema.Conv2DOptionsT if plain else schema.DepthwiseConv2DOptionsT
        options = maker(**window) if plain else maker(depthMultiplier=1, **window)
        name = kind if plain else "DEPTHWISE_CONV_2D"
        made = (1, 12, 16, wide)
        x = net.op(name, [x, weights, bias], made, options=options, output=wide == 4)
    model = parse(net.build(), path="block")
    least = compile_model(model, Options(max_overhead=1.0))
    most = compile_model(model, Options(schedule="operators"))
    assert verify(least).bit_exact
    assert verify(most).bit_exact
    assert "lt_block.h" in least.files
    assert "lt_conv_w4.h" not in least.files
    assert "lt_conv_w4.h" in most.files


def test_what_is_no_weight_stays() -> None:
    net = Net()
    made = nibbles(net, np.arange(6).reshape(1, 6), 0.5)
    net.op("ADD", [net.input((1, 6)), made], (1, 6))
    graph = parse(net.build()).graph
    assert unpack_weights(graph) is graph
    with pytest.raises(ModelError, match="of different types"):
        assemble(graph, range(len(graph.ops)))

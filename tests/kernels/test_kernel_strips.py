"""Every kernel that strips may run, in strips of every width, against the oracle.

Why here: in a strip an operator has fewer columns, other padding, and rows that lie further apart than
they are long, at any address. Each case is a chain whose last operator has a window, so that the one
under test makes columns twice.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import conv_models
import numpy as np
import pytest
from conv_models import SAME, VALID, Layer
from test_kernel_pad_folded import convolution, depthwise, max_pool, padded

import schema_models
from assembled import assemble_rows, smallest_forms
from lowtide.ir import Graph, Model
from lowtide.machines.board import find_target
from lowtide.modes import InputMode
from lowtide.passes import fold_pads
from lowtide.program.assemble import Assembly
from lowtide.rows.prepare import prepare
from lowtide.rows.stages import Choice
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse
from strip_programs import Program, run_all

WIDTHS = (1, 2, 3, 5)


def chains(graph: Graph) -> list[tuple[int, ...]]:
    """The operators that each output is made of."""
    makers = {op.outputs[0]: op for op in graph.ops}
    found = []
    for tensor in graph.outputs:
        chain = []
        while tensor in makers:
            chain.append(makers[tensor].id)
            tensor = makers[tensor].inputs[0]
        found.append(tuple(reversed(chain)))
    return found


def in_strips(graph: Graph, width: int, *, lean: bool, target: Target = ANY) -> Assembly:
    """Each chain as a stage in strips of `width` columns."""
    order = [op for chain in chains(graph) for op in chain]
    assert sorted(order) == list(range(len(graph.ops)))
    mode: InputMode = "const" if width % 2 else "resident"
    of = prepare(graph, order, input_mode=mode, target=target)
    choices = [
        Choice(chain, width, limits=smallest_forms(chain) if lean else ())
        for chain in chains(graph)
    ]
    program = assemble_rows(of, choices)
    ran = {entry.node.op for entry in program.kernels}
    assert ran.isdisjoint(range(len(graph.ops)))
    assert {program.members[op] for op in ran} == {(op.id,) for op in graph.ops}
    return program


def differences(data: bytes, folder: Path, target: Target = ANY) -> list[str]:
    model = parse(data, path="strips")
    graph = fold_pads(model.graph)
    programs = [
        Program(
            Model("strips", model.graph, model.source),
            in_strips(graph, width, lean=lean, target=target),
        )
        for width, lean in zip(WIDTHS, (False, True, False, True), strict=True)
    ]
    return run_all(programs, folder, samples=4)


def pooled(net: schema_models.Net, x: int) -> int:
    """The greatest of three neighbours; the only output of a chain."""
    net.outputs.pop()
    sizes = {"filterWidth": 3, "filterHeight": 1, "strideW": 1, "strideH": 1}
    return net.add("MAX_POOL_2D", [x], net.like(x), padding=SAME, **sizes)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_elementwise(dtype: str, tmp_path: Path) -> None:
    net = schema_models.plain_net()
    wide = dtype == "int16"
    scale, zero, unit = (1 / 4096, 0, 1 / 32768) if wide else (0.04, 5, 1 / 256)
    shape = (1, 4, 11, 3)
    rng = np.random.default_rng(1)

    def begin() -> int:
        """Every chain begins with an operator of its own."""
        source = net.input(shape, dtype, scale, zero)
        made = net.add("RELU", [source], net.like(source))
        net.outputs.pop()
        return made

    kinds = {"RELU": {}, "RELU6": {}, "LEAKY_RELU": {"alpha": 0.3}}
    for kind, options in kinds.items():
        x = begin()
        pooled(net, net.add(kind, [x], net.like(x), **options))
    for kind in () if wide else ("ABS", "ELU", "HARD_SWISH"):
        x = begin()
        pooled(net, net.add(kind, [x], net.tensor(shape, dtype, scale * 1.3, -7)))
    x = begin()
    pooled(net, net.add("LOGISTIC", [x], net.tensor(shape, dtype, unit, 0 if wide else -128)))
    x = begin()
    pooled(net, net.add("TANH", [x], net.tensor(shape, dtype, unit * (1 if wide else 2), 0)))
    for kind in ("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"):
        options = {} if kind[1] in "IA" and kind != "MUL" else {"fusedActivationFunction": 0}
        x = begin()
        out = net.like(x) if kind[0:2] in ("MI", "MA") else net.tensor(shape, dtype, 0.06, 0)
        pooled(net, net.add(kind, [x, x], out, **(options if kind[:2] != "MI" else {})))
        values = rng.integers(-100, 100, (1, 1, 1, 3)).astype(dtype)
        x = begin()
        constant = net.constant(values, scale, zero)
        pooled(net, net.add(kind, [x, constant], net.like(out), **options))
    x = begin()
    pooled(net, net.add("QUANTIZE", [x], net.tensor(shape, dtype, scale * 2, 0 if wide else 9)))
    x = begin()
    net.add("DEQUANTIZE", [x], net.tensor(shape, "float32"))
    assert differences(net.build(), tmp_path) == []


@pytest.mark.parametrize("dtype", ["INT8", "INT16"])
def test_convolutions(dtype: str, tmp_path: Path) -> None:
    """Those of uint8 are of int8 where they run: see end_to_end/test_bytes.py."""
    zero = {"INT8": -5, "INT16": 0}[dtype]
    net = conv_models.Models(3, dtype)
    outputs = []
    more: dict[str, Any] = {}
    if dtype == "INT16":
        more = {"bias_type": "INT64"}
    for kernel, stride, dilation, padding in product(
        ((1, 1), (3, 3), (2, 5)), (1, 2), (1, 2), (SAME, VALID)
    ):
        if dilation > 1 and stride > 1:
            continue
        layer = Layer((stride, stride), (dilation, dilation), padding, zero=zero, **more)
        same = Layer(zero=zero, **more)
        for multiple in (0, 1, 2):
            x = net.input(1, 6, 13, 3, zero=zero)
            x = net.conv(x, 3, (1, 3), same)
            x = (
                net.depthwise(x, multiple, kernel, layer)
                if multiple
                else net.conv(x, 5, kernel, layer)
            )
            outputs.append(net.conv(x, 2, (1, 3), same))
    data = net.file("strips", outputs)
    assert differences(data, tmp_path) == []


def test_kernels_for_dsp(tmp_path: Path) -> None:
    """The kernels that only programs for a core with DSP instructions use."""
    net = conv_models.Models(4)
    outputs = []
    for channels, kernel, stride, padding in product(
        (4, 6), ((1, 1), (3, 3)), (1, 2), (SAME, VALID)
    ):
        layer = Layer((stride, stride), (1, 1), padding, zero=-5)
        same = Layer(zero=-5)
        for by_channel in (False, True):
            x = net.input(1, 6, 13, 3, zero=-5)
            x = net.conv(x, channels, (1, 3), same)
            x = net.depthwise(x, 1, kernel, layer) if by_channel else net.conv(x, 5, kernel, layer)
            outputs.append(net.conv(x, 2, (1, 3), same))
    data = net.file("strips", outputs)
    assert differences(data, tmp_path, find_target("cortex-m4")) == []


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_pools_and_joins(dtype: type, tmp_path: Path) -> None:
    net = schema_models.Net(dtype, zero=5)
    for kind, window, stride, padding in product(
        ("AVERAGE_POOL_2D", "MAX_POOL_2D"), ((1, 2), (3, 3), (2, 6)), (1, 2), (0, 1)
    ):
        x = net.input((1, 6, 13, 3))
        for size, step, way in ((window, stride, padding), ((1, 3), 1, 0)):
            _, high, wide, deep = net.tensors[x].shape
            options = schema.Pool2DOptionsT(
                padding=way, strideH=step, strideW=step, filterHeight=size[0], filterWidth=size[1]
            )
            last = (high, wide) if way == 0 else (high - size[0] + 1, wide - size[1] + 1)
            shape = (1, -(-last[0] // step), -(-last[1] // step), deep)
            x = net.op(kind, [x], shape, options=options, output=size == (1, 3))
    join = schema.ConcatenationOptionsT(axis=3, fusedActivationFunction=0)
    a = net.input((1, 6, 13, 3))
    options = schema.Pool2DOptionsT(padding=0, strideH=1, strideW=1, filterHeight=1, filterWidth=3)
    b = net.op("MAX_POOL_2D", [a], (1, 6, 13, 3), options=options, output=False)
    b = net.op("CONCATENATION", [b, a, b], (1, 6, 13, 9), options=join, output=False)
    net.op("MAX_POOL_2D", [b], (1, 6, 13, 9), options=options)
    assert differences(net.build(), tmp_path) == []


def test_padding_of_its_own(tmp_path: Path) -> None:
    """Convolutions and pools that do the PAD before them."""
    net = schema_models.Net(zero=-128)
    after = schema.Pool2DOptionsT(padding=0, strideH=1, strideW=1, filterHeight=1, filterWidth=3)
    for sides, stride in product(((1, 1, 1, 1), (0, 2, 3, 0), (2, 0, 0, 2)), (1, 2)):
        image = net.input((1, 7, 11, 3))
        made = (
            convolution(net, padded(net, image, sides), (3, 3), stride, 1),
            convolution(net, padded(net, image, sides), (2, 3), stride, 2),
            depthwise(net, padded(net, image, sides), (3, 4), stride),
            max_pool(net, padded(net, image, sides), (3, 4), stride),
        )
        for x in made:
            net.outputs.remove(x)
            net.op("MAX_POOL_2D", [x], net.tensors[x].shape, options=after)
    data = net.build()
    assert "PAD" not in {op.type for op in fold_pads(parse(data).graph).ops}
    assert differences(data, tmp_path) == []

"""What kernels are said to do, which the search for plans prices: as a golden file.

Why: a count that is a little off makes no program wrong, only plans a little worse, so nothing else
would fail. The file has some lines of each kernel to read, and a digest of all lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from conv_models import SAME, Layer, Models
from drawn_convs import drawn, of_nibbles
from test_kernel_transpose_conv import transpose_conv

from golden_files import assert_golden
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.lower.nodes import Node
from lowtide.machines.board import find_target
from lowtide.plans.cost import features
from lowtide.rows.prepare import prepare
from lowtide.tflite.read import parse
from moving_nets import moving_network
from networks import contents
from recurrent import svdf
from schema_models import Net

CORES = ("any", "cortex-m0", "cortex-m4", "cortex-m55")
NETWORKS = (
    *("ds-cnn-kws", "resnet8", "mobilenet-v2-0.35-144", "attention-block", "audio-front-end"),
    "lstm-gestures",
)


def odd_block(dtype: str) -> bytes:
    """Blocks whose channels are no multiple of four."""
    net = Models(1, dtype)
    bias = "INT64" if dtype == "INT16" else "INT32"
    layer = Layer(per_channel=dtype != "UINT8", padding=SAME, bias_type=bias)
    x = net.input(1, 9, 11, 3)
    for expanded, kernel, stride, projected in ((6, (3, 3), (1, 1), 5), (7, (5, 3), (2, 2), 9)):
        x = net.conv(x, expanded, (1, 1), layer)
        x = net.depthwise(x, 1, kernel, replace(layer, stride=stride))
        x = net.conv(x, projected, (1, 1), layer)
    return net.bytes((x,))


def transposed(dtype: str) -> bytes:
    """Transposed convolutions of several strides."""
    net = Net(np.dtype(dtype), scale=0.05)
    for x in (net.input((1, 5, 6, 8)), net.input((1, 5, 6, 3))):
        for kernel, stride in (((3, 3), (2, 2)), ((2, 4), (1, 2)), ((4, 4), (3, 3))):
            transpose_conv(net, x, kernel, stride, channels=5)
    return net.build()


def transposed_far() -> bytes:
    """Transposed convolutions of int16 whose sums are too large for 32 bits."""
    net = Net(np.dtype("int16"), scale=0.05)
    transpose_conv(net, net.input((1, 3, 4, 131)), (3, 3), (2, 2), channels=5)
    return net.build()


def grouped() -> bytes:
    """Convolutions of int16 in groups."""
    net = Models(2, "INT16")
    x = net.input(1, 5, 6, 8)
    for kernel in ((1, 1), (3, 3)):
        net.conv(x, 6, kernel, Layer(bias_type="INT64"), groups=2)
    return net.bytes()


def loud() -> bytes:
    """Layers whose factors are 1/2 and more."""
    net = Models(3)
    x = net.input(1, 7, 9, 8)
    for kernel in ((1, 1), (3, 3)):
        net.conv(x, 6, kernel, Layer(loud=(1, 4)))
    for kernel in ((3, 3), (5, 1), (5, 5)):
        net.depthwise(x, 1, kernel, Layer(loud=(0, 5)))
    net.dense(net.input(1, 24), 5, 24, Layer(real=1.3))
    return net.bytes()


def long_windows() -> bytes:
    """Depthwise convolutions of windows with more taps than vectors have lanes."""
    net = Models(4)
    x = net.input(1, 27, 41, 6)
    for kernel in ((1, 40), (25, 3), (9, 9)):
        net.depthwise(x, 1, kernel, Layer())
    return net.bytes()


def wide_windows() -> bytes:
    """Depthwise convolutions of five and seven columns, which have loops of their own for vectors."""
    net = Models(5)
    x = net.input(1, 13, 14, 8)
    for kernel in ((5, 5), (7, 7), (3, 5), (1, 7), (5, 1)):
        for stride in ((1, 1), (2, 2)):
            net.depthwise(x, 1, kernel, Layer(padding=SAME, stride=stride))
    return net.bytes()


def far_from_words() -> bytes:
    """Rows that a PAD copies: of 25 bytes, so only each fourth begins at a word."""
    net = Net(np.int8)
    net.op("PAD", [net.input((1, 9, 25)), net.const([[0, 0], [2, 1], [0, 3]])], (1, 12, 28))
    return net.build()


def apart() -> bytes:
    """Convolutions of int16 whose columns are apart, of few channels."""
    net = Models(6, "INT16")
    x = net.input(1, 5, 9, 3)
    for kernel in ((1, 3), (3, 3)):
        net.conv(x, 6, kernel, Layer(dilation=(1, 2), bias_type="INT64"))
    return net.bytes()


def planes() -> bytes:
    """Planes of an image to pixels and back, which join and split runs of one value."""
    net = Net(np.int8)
    pixels = net.op("TRANSPOSE", [net.input((1, 3, 6, 5)), net.const([0, 2, 3, 1])], (1, 6, 5, 3))
    net.op("TRANSPOSE", [pixels, net.const([0, 3, 1, 2])], (1, 3, 6, 5))
    return net.build()


def with_memory() -> bytes:
    """An SVDF, whose state moves on."""
    net = Net(scale=0.02)
    svdf(net, net.input((1, 40)), 4, 1, 30, np.int8)
    return net.build()


def blocks_of_pixels() -> bytes:
    """Blocks of pixels to channels, which are picked in pieces."""
    net = Net(np.int8)
    options = schema.SpaceToDepthOptionsT(blockSize=2)
    net.op("SPACE_TO_DEPTH", [net.input((1, 4, 6, 3))], (1, 2, 3, 12), options=options)
    return net.build()


def test_what_moves_planes_joins_and_splits_elements_of_each_plane() -> None:
    told = {line.partition(" ")[0]: line for line in lines_of(planes(), "cortex-m4")}
    joined, split = told["lt_concat_row"], told["lt_split_row"]
    assert " parts=18 " in joined and " singles=90 " in joined, joined
    assert " parts=18 " in split and " singles=90 " in split, split


def models() -> Iterator[bytes]:
    """Networks of the zoo, blocks of odd channels, convolutions of all kinds, and what moves values."""
    yield from map(transposed, ("int8", "int16"))
    yield from map(contents, NETWORKS)
    yield from map(odd_block, ("INT8", "UINT8", "INT16"))
    yield from (drawn(1, dtype, 60) for dtype in ("INT8", "UINT8"))
    yield transposed_far()
    yield grouped()
    yield loud()
    yield long_windows()
    yield wide_windows()
    yield far_from_words()
    yield apart()
    yield planes()
    yield blocks_of_pixels()
    yield with_memory()
    yield from map(moving_network, range(60))


def lines_of(data: bytes, core: str) -> Iterator[str]:
    """A line for each form of each operator and block: all of its columns, three, and one of padding."""
    target, model = find_target(core), parse(data)
    options = Options(target=target, simplify=False)
    graph = passed(replace(model, graph=of_nibbles(model.graph)), options).graph
    ready = prepare(graph, range(len(graph.ops)), target=target)
    for of in (*ready.lowered.values(), *ready.within.values()):
        for node in of.nodes:
            if isinstance(node, Node):
                for form in (node, *node.forms):
                    yield _line(form)


def _line(node: Node) -> str:
    counts = [features(node), features(node, 3, 0), features(node, 1, 1)]
    told = "; ".join(" ".join(f"{k}={v:g}" for k, v in sorted(of.items()) if v) for of in counts)
    narrow = f"{node.narrow_scratch[:3]} of {len(node.narrow_scratch)} widths"
    return f"{node.kernel} {node.scratch} B, {narrow}: {told}"


@pytest.mark.parametrize("core", CORES)
def test_what_kernels_are_said_to_do(core: str, pytestconfig: pytest.Config) -> None:
    lines = list(dict.fromkeys(line for data in models() for line in lines_of(data, core)))
    shown: dict[str, list[str]] = {}
    for line in lines:
        shown.setdefault(line.partition(" ")[0], []).append(line)
    told = [line for kernel in sorted(shown) for line in shown[kernel][:2]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    told.append(f"all {len(lines)} lines: {digest}")
    assert_golden(f"work-{core}.txt", "\n".join(told), pytestconfig)

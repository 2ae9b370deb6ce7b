"""Depthwise convolutions that make several channels of each, by kernels that make one."""

from __future__ import annotations

from itertools import product

import pytest
from boards import board_differences
from conv_models import RELU6, VALID, Layer, Models
from harness import differences

from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse

CORES = ("cortex-m3", "cortex-m4", "cortex-m55")


def several(dtype: str = "INT8") -> bytes:
    """Two channels of each and more; windows of all sorts, padded on every side; rows that are no
    multiple of what is moved at once."""
    net = Models(21, dtype)
    per_channel = dtype == "INT8"
    x = net.input(1, 7, 9, 8)
    net.depthwise(x, 2, (5, 5), Layer(per_channel=per_channel))
    net.depthwise(x, 3, (5, 1), Layer(padding=VALID, zero=9, per_channel=per_channel))
    net.depthwise(x, 4, (1, 5), Layer(stride=(1, 2), activation=RELU6, per_channel=per_channel))
    net.depthwise(x, 2, (3, 3), Layer(dilation=(2, 2), per_channel=per_channel))
    net.depthwise(net.input(1, 5, 3, 7), 5, (2, 4), Layer(stride=(2, 1), per_channel=per_channel))
    net.depthwise(net.input(1, 6, 1, 3), 2, (4, 1), Layer(per_channel=per_channel))
    net.depthwise(net.input(2, 5, 5, 2), 17, (4, 4), Layer(per_channel=per_channel))
    return net.bytes()


def loud() -> bytes:
    """Factors of 1/2 and more, of all channels, or of those of one kernel alone."""
    net = Models(22)
    x = net.input(1, 7, 9, 8)
    net.depthwise(x, 2, (5, 5), Layer(real=0.8))
    net.depthwise(x, 2, (5, 1), Layer(loud=(1, 3, 7)))
    net.depthwise(x, 3, (3, 3), Layer(loud=tuple(range(0, 24, 3))))
    return net.bytes()


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
def test_several_of_each(core: str, dtype: str) -> None:
    assert differences(several(dtype), samples=3, target=find_target(core)) == []


@pytest.mark.parametrize("core", CORES)
def test_loud_channels_of_each(core: str) -> None:
    assert differences(loud(), samples=3, target=find_target(core)) == []


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_on_boards(board: str) -> None:
    core = {"mps2-an386": "cortex-m4", "mps3-an547": "cortex-m55"}[board]
    for model in (several(), several("UINT8"), loud()):
        assert board_differences(model, board, target=find_target(core)) == []


@pytest.mark.parametrize("core", ["any", *CORES])
def test_a_form_takes_no_scratch_memory(core: str) -> None:
    """All forms need more than that of one channel of each, but for the last."""
    graph = passed(parse(several()), Options(simplify=False)).graph
    kernels = set()
    for op in graph.ops:
        (node,) = lower_op(graph, op, target=find_target(core)).nodes
        kernels.add(node.kernel)
        assert node.leaner.scratch == 0
        if "each" in node.works.name:
            row = graph.tensors[op.outputs[0]].shape
            made = row[2] * graph.tensors[op.inputs[0]].shape[3]
            assert all(form.scratch >= made for form in (node, *node.forms[:-1]))
            assert node.narrow_scratch[-1] == node.scratch > node.narrow_scratch[1] or row[2] == 1
    assert any("each" in kernel for kernel in kernels) == (core != "any")


@pytest.mark.parametrize("core", CORES)
def test_of_many_of_each_one_kernel_makes_all(core: str) -> None:
    """However many there are: params lie only so deep in each other."""
    net = Models(23)
    x = net.input(1, 5, 5, 8)
    for multiple in (64, 65, 340):
        net.depthwise(x, multiple, (5, 5))
    graph, target = parse(net.bytes()).graph, find_target(core)
    made = [lower_op(graph, op, target=target).nodes[0].kernel for op in graph.ops]
    assert ["each" in kernel for kernel in made] == [True, False, False]
    assert differences(net.bytes(), samples=1, target=target) == []


@pytest.mark.parametrize("core", CORES)
def test_single_columns_need_no_more_than_is_said(core: str) -> None:
    """Of a layer in strips, whose single columns other kernels may make."""
    for kernel, channels, real in product([(3, 3), (1, 2), (5, 5)], (3, 8, 64), (None, 0.8)):
        net = Models(24)
        for width in (kernel[1], kernel[1] + 6):
            layer = Layer(padding=VALID, real=real)
            net.depthwise(net.input(1, 7, width, channels), 2, kernel, layer)
        graph, target = parse(net.bytes()).graph, find_target(core)
        one, wide = (lower_op(graph, op, target=target).nodes[0] for op in graph.ops)
        assert one.scratch <= wide.narrow_scratch[1]

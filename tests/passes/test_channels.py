"""Which channels are left out, what is claimed of them, and what becomes of those who read them.

That no output changes is tested on programs: end_to_end/test_left_out.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowtide.ir import Graph, Op
from lowtide.ir.macs import graph_macs
from lowtide.passes import fold_pads
from lowtide.passes.simplify.channels import drop_channels
from lowtide.passes.simplify.result import Always
from lowtide.tflite.read import parse
from planted_nets import Planted, planted_network

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"


def test_planted_networks_lose_channels() -> None:
    """So that the tests above cannot pass for want of anything to do."""
    saved = [dict(drop_channels(parse(planted_network(seed)).graph).saved) for seed in range(10)]
    assert sum(found.get("constant channels", 0) for found in saved) > 50
    assert sum(found.get("unread channels", 0) for found in saved) > 5


def _graph(net: Planted, *outputs: int) -> Graph:
    return fold_pads(parse(net.finish(*outputs)).graph)


def _filters(net: Planted, x: int, weights: object, bias: object) -> int:
    """A 1 x 1 convolution with these weights [outputs, inputs] and biases."""
    values = np.array(weights, np.int8)
    scales = np.array([0.02], np.float32)
    sources = (
        x,
        net.constant(values[:, None, None, :], "INT8", scales=scales),
        net.constant(bias, "INT32", scales=scales),
    )
    shape = (*net.shape(x)[:3], len(values))
    options = {"padding": 1, "stride_h": 1, "stride_w": 1}
    return net.add("CONV_2D", sources, net.tensor(shape), "Conv2DOptions", **options)


def test_a_constant_goes_into_the_bias_of_what_reads_it() -> None:
    net = Planted(0, "INT8")
    x = net.input((1, 2, 2, 2))
    y = _filters(net, x, [[5, 3], [0, 0], [7, -2]], [0, 400, 0])
    z = _filters(net, y, [[1, 2, 3]], [10])
    result = drop_channels(_graph(net, z))
    assert result.kept[y].channels == (0, 2)
    value = net.zero + 400 // 50
    (claim,) = [entry for entry in result.dropped if entry.tensor == y]
    assert (claim.channels, claim.claim) == ((1,), Always((value,)))
    weights, bias = (result.graph.tensors[t] for t in result.graph.ops[1].inputs[1:])
    assert np.frombuffer(weights.data or b"", np.int8).tolist() == [1, 3]
    assert np.frombuffer(bias.data or b"", "<i4").tolist() == [10 + 2 * 8]
    assert result.saved == (("constant channels", 1),)


def test_a_bias_that_would_leave_its_type_is_not_folded() -> None:
    net = Planted(0, "INT8")
    x = net.input((1, 2, 2, 2))
    y = _filters(net, x, [[5, 3], [0, 0]], [0, 400])
    z = _filters(net, y, [[1, 100]], [2**31 - 100])
    graph = _graph(net, z)
    assert drop_channels(graph).graph is graph


def test_a_slice_is_cut_as_what_it_takes_from() -> None:
    """Channels 1 to 3 of four, the first of which is constant and read by nobody."""
    net = Planted(0, "INT8")
    x = net.input((1, 2, 2, 2))
    y = _filters(net, x, [[0, 0], [5, 3], [7, -2], [1, 1]], [400, 0, 0, 0])
    where = [net.constant(values, "INT32") for values in ([0, 0, 0, 1], [1, 2, 2, 3])]
    z = net.add("SLICE", (y, *where), net.tensor((1, 2, 2, 3)))
    result = drop_channels(_graph(net, z))
    assert result.kept[y].channels == (1, 2, 3)
    begin, size = (result.graph.tensors[t] for t in result.graph.ops[1].inputs[1:])
    assert np.frombuffer(begin.data or b"", "<i4").tolist() == [0, 0, 0, 0]
    assert np.frombuffer(size.data or b"", "<i4").tolist() == [1, 2, 2, 3]


@pytest.mark.parametrize("seed", range(6))
def test_constants_of_other_bytes_are_other_buffers(seed: int) -> None:
    graph = drop_channels(parse(planted_network(seed)).graph).graph
    found: dict[int, bytes] = {}
    for tensor in graph.tensors:
        if tensor.data is not None:
            assert found.setdefault(tensor.buffer, tensor.data) == tensor.data


def test_a_channel_with_weights_of_zero_alone_is_not_computed() -> None:
    net = Planted(0, "INT8")
    x = net.input((1, 2, 2, 2))
    y = _filters(net, x, [[5, 3], [1, 1]], [0, 0])
    z = _filters(net, y, [[1, 0], [2, 0]], [10, 10])
    result = drop_channels(_graph(net, z))
    assert (result.kept[y].channels, result.saved) == ((0,), (("unread channels", 1),))


def test_a_constant_that_a_border_would_miss_stays() -> None:
    """Unless it is the zero point; it is then made without its inputs."""
    for bias, channels in ((400, None), (0, (0,))):
        net = Planted(0, "INT8")
        y = _filters(net, net.input((1, 3, 3, 2)), [[5, 3], [0, 0]], [0, bias])
        weights = net.constant(np.ones((1, 3, 3, 2)), "INT8", scales=np.array([0.02], np.float32))
        options = {"padding": 0, "stride_h": 1, "stride_w": 1}
        z = net.add("CONV_2D", (y, weights), net.tensor((1, 3, 3, 1)), "Conv2DOptions", **options)
        assert drop_channels(_graph(net, z)).kept[y].channels == channels


def test_channels_are_left_out_through_a_pad_that_stays() -> None:
    net = Planted(0, "INT8")
    y = _filters(net, net.input((1, 2, 2, 2)), [[5, 3], [1, 1]], [0, 0])
    sides = net.constant([[0, 0], [1, 0], [0, 2], [0, 0]], "INT32")
    padded = net.add("PAD", (y, sides), net.tensor((1, 3, 4, 2)))
    z = net.add("LEAKY_RELU", (padded,), net.tensor((1, 3, 4, 2)), "LeakyReluOptions", alpha=0.1)
    result = drop_channels(_graph(net, _filters(net, z, [[1, 0], [2, 0]], [10, 10])))
    assert [result.kept[t].channels for t in (y, padded, z)] == [(0,)] * 3
    assert result.saved == (("unread channels", 1),)


@pytest.mark.parametrize("odd", [1, 9])
def test_a_constant_channel_stays_where_that_is_cheaper(odd: int) -> None:
    """Where numbers of channels that four does not divide cost `odd` times as much."""
    net = Planted(0, "INT8")
    weights = [[5, 3], [0, 0], [7, -2], [1, 1], [2, -1]]
    y = _filters(net, net.input((1, 2, 2, 2)), weights, [0, 400, 0, 0, 0])
    z = _filters(net, y, [[1, 0, 3, 1, 0]] * 4, [10] * 4)
    graph = _graph(net, z)

    def price(_: Graph, op: Op, read: int | None, made: int) -> float:
        return float((read or 1) * made * (odd if op.id == 0 and made % 4 else 1))

    kept = drop_channels(graph, price=price).kept[y].channels
    assert kept == ((0, 2, 3) if odd == 1 else (0, 1, 2, 3))


def test_a_transposed_convolution_is_told_the_shape_that_is_left() -> None:
    """Of three channels, one has weights of zero alone in the layer that reads them."""
    net = Planted(0, "INT8")
    x = net.input((1, 2, 2, 2))
    filters = net.constant(np.full((3, 2, 2, 2), 5), "INT8", scales=np.array([0.02], np.float32))
    shape = net.constant([1, 4, 4, 3], "INT32")
    options = {"padding": 1, "stride_h": 2, "stride_w": 2}
    made = net.tensor((1, 4, 4, 3))
    y = net.add("TRANSPOSE_CONV", (shape, filters, x), made, "TransposeConvOptions", **options)
    result = drop_channels(_graph(net, _filters(net, y, [[1, 0, 2]], [10])))
    assert result.kept[y].channels == (0, 2)
    wanted, weights = (result.graph.tensors[t] for t in result.graph.ops[0].inputs[:2])
    assert np.frombuffer(wanted.data or b"", "<i4").tolist() == [1, 4, 4, 2]
    assert weights.shape == (2, 2, 2, 2)


def test_the_mean_of_a_constant_channel_is_constant() -> None:
    net = Planted(0, "INT8")
    y = _filters(net, net.input((1, 2, 2, 2)), [[5, 3], [0, 0], [7, -2]], [0, 400, 0])
    axes = net.constant([1, 2], "INT32")
    mean = net.add("MEAN", (y, axes), net.tensor((1, 1, 1, 3)), "ReducerOptions", keep_dims=True)
    result = drop_channels(_graph(net, _filters(net, mean, [[1, 2, 3]], [10])))
    assert [result.kept[t].channels for t in (y, mean)] == [(0, 2)] * 2


def test_an_operand_that_is_constant_is_no_longer_computed() -> None:
    net = Planted(0, "INT8")
    x = net.input((1, 3, 3, 2))
    y = _filters(net, x, [[0, 0], [0, 0]], [400, -100])
    z = net.add("ADD", (x, y), net.tensor((1, 3, 3, 2)), fused_activation_function=0)
    result = drop_channels(_graph(net, z))
    assert [op.type for op in result.graph.ops] == ["ADD"]
    other = result.graph.tensors[result.graph.ops[0].inputs[1]]
    assert other.shape == (1, 1, 1, 2)
    assert np.frombuffer(other.data or b"", np.int8).tolist() == [net.zero + 8, net.zero - 2]


@pytest.mark.parametrize(
    ("name", "before", "most"),
    [
        ("mlperf_vww_96_int8", 7_489_664, 3_850_000),
        ("te_vww", 11_578_816, 10_941_981),
        ("mlperf_resnet8_int8", 12_501_632, 12_501_632),
        ("mlperf_kws_int8", 2_656_768, 2_656_768),
    ],
)
def test_what_is_left_of_real_networks(name: str, before: int, most: int) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip("the real models are not here")
    graph = fold_pads(parse(path.read_bytes()).graph)
    assert graph_macs(graph) == before
    left = drop_channels(graph, both_roundings=True)
    assert graph_macs(left.graph) <= most
    assert (left.graph is graph) == (before == most)
    assert drop_channels(left.graph, both_roundings=True).graph is left.graph

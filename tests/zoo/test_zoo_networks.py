"""The networks have the architecture they claim, and their files are what a converter would write."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from quantised import QUANTISED

from lowtide import zoo
from lowtide.errors import UsageError
from lowtide.zoo.catalogue import BUILDERS
from lowtide.zoo.kernels import same_padding

_PAPER_MODELS = Path(__file__).parents[3] / "shared" / "data" / "paper_models.json"
_CHAINS = {
    # name: (key in the papers' data, layers, weight elements, input, output)
    "mbv2-w0.35-144-chain": ("MBV2-w0.35", 53, 280140, (1, 144, 144, 3), (1, 5, 5, 448)),
    "mn2-vww5-80-chain": ("MN2-vww5", 45, 420200, (1, 80, 80, 3), (1, 3, 3, 160)),
    "mn2-320k-176-chain": ("MN2-320K", 54, 561032, (1, 176, 176, 3), (1, 6, 6, 160)),
}
_COPYING = (
    *("MAX_POOL_2D", "AVERAGE_POOL_2D", "RESHAPE", "TRANSPOSE", "CONCATENATION"),
    *("STRIDED_SLICE", "SPLIT_V"),
)
_KIND_OF = {"conv2d": "CONV_2D", "depthwise_conv2d": "DEPTHWISE_CONV_2D"}


@dataclass(frozen=True, slots=True)
class Read:
    """One operator as read back: kind, activation inputs, constants, output, options."""

    kind: str
    inputs: tuple[int, ...]
    constants: tuple[int, ...]
    output: int
    options: Any


@dataclass(frozen=True, slots=True)
class Network:
    """A network as read back."""

    model: Any
    tensors: list[Any]
    ops: list[Read]

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(int(side) for side in self.tensors[index].shape)

    def kinds(self) -> list[str]:
        return [op.kind for op in self.ops]

    def count(self, kind: str) -> int:
        return self.kinds().count(kind)


@cache
def _read(name: str) -> Network:
    model = schema.ModelT.InitFromPackedBuf(zoo.build(name), 0)
    graph = model.subgraphs[0]
    codes = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    ops = []
    for op in graph.operators:
        code = model.operatorCodes[op.opcodeIndex]
        assert code.deprecatedBuiltinCode == min(code.builtinCode, 127)
        constant = [bool(graph.tensors[i].buffer) for i in op.inputs]
        ops.append(
            Read(
                codes[code.builtinCode],
                tuple(int(i) for i, fixed in zip(op.inputs, constant, strict=True) if not fixed),
                tuple(int(i) for i, fixed in zip(op.inputs, constant, strict=True) if fixed),
                int(op.outputs[0]) if len(op.outputs) else -1,
                op.builtinOptions,
            )
        )
    return Network(model, graph.tensors, ops)


def _peak(network: Network, order: Sequence[int]) -> int:
    """Largest sum of live activation bytes when operators run in `order`."""
    uses: dict[int, int] = {}
    for op in network.ops:
        for index in set(op.inputs):
            uses[index] = uses.get(index, 0) + 1
    live, peak = {int(i) for i in network.model.subgraphs[0].inputs}, 0
    for position in order:
        op = network.ops[position]
        live.add(op.output)
        peak = max(peak, sum(math.prod(network.shape(i)) for i in live))
        for index in set(op.inputs):
            uses[index] -= 1
            if not uses[index]:
                live.discard(index)
    return peak


def test_names_and_descriptions() -> None:
    assert tuple(BUILDERS) == zoo.names()
    for name in zoo.names():
        assert zoo.describe(name)
        assert "\n" not in zoo.describe(name)


@pytest.mark.parametrize("ask", [zoo.describe, zoo.build])
def test_unknown_name_lists_the_closest(ask: Any) -> None:
    with pytest.raises(UsageError, match="resnet8"):
        ask("resnet-8")
    with pytest.raises(UsageError, match="figure1"):
        ask("")


def test_listing_imports_nothing_heavy() -> None:
    script = (
        "import sys; from lowtide import zoo; zoo.names();"
        "assert not {'numpy', 'flatbuffers', 'ai_edge_litert'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_build_is_deterministic_across_processes() -> None:
    script = (
        "import hashlib; from lowtide import zoo;"
        "print(*(hashlib.sha256(zoo.build(n)).hexdigest() for n in zoo.names()))"
    )
    single = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=single, capture_output=True, text=True, check=True
    )
    here = [hashlib.sha256(zoo.build(name)).hexdigest() for name in zoo.names()]
    assert done.stdout.split() == here


@pytest.mark.parametrize("name", zoo.names())
def test_file_is_what_a_converter_writes(name: str) -> None:
    contents = zoo.build(name)
    assert contents[4:8] == b"TFL3"
    root = schema.Model.GetRootAs(contents, 0)
    assert root.Version() == 3
    assert root.Buffers(0).DataLength() == 0
    starts = np.frombuffer(contents, np.uint8).ctypes.data
    for i in range(1, root.BuffersLength()):
        data = root.Buffers(i).DataAsNumpy()
        assert (data.ctypes.data - starts) % 16 == 0
    network = _read(name)
    names = [tensor.name for tensor in network.tensors]
    assert len(set(names)) == len(names)
    graph = network.model.subgraphs[0]
    assert names[graph.inputs[0]] == b"serving_default_input_0:0"
    assert names[graph.outputs[0]] == b"StatefulPartitionedCall:0"


@pytest.mark.parametrize("name", QUANTISED)
def test_quantisation_follows_the_int8_specification(name: str) -> None:
    network = _read(name)
    quant = [tensor.quantization for tensor in network.tensors]
    for op in network.ops:
        if op.output < 0 or op.kind == "VAR_HANDLE":
            continue
        ours = (quant[op.output].scale[0], quant[op.output].zeroPoint[0])
        if op.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            weights, bias = op.constants
            product = np.float64(quant[op.inputs[0]].scale[0]) * quant[weights].scale
            np.testing.assert_array_equal(quant[bias].scale, product.astype(np.float32))
            assert not quant[weights].zeroPoint.any()
            assert not quant[bias].zeroPoint.any()
        elif op.kind in _COPYING:
            for index in op.inputs:
                assert (quant[index].scale[0], quant[index].zeroPoint[0]) == ours
        elif op.kind == "SOFTMAX":
            assert ours == (1 / 256, -128)


@pytest.mark.parametrize("name", _CHAINS)
def test_chain_totals(name: str) -> None:
    _, layers, weights, source, target = _CHAINS[name]
    network = _read(name)
    assert len(network.ops) == layers
    assert set(network.kinds()) == {"CONV_2D", "DEPTHWISE_CONV_2D"}
    assert sum(math.prod(network.shape(op.constants[0])) for op in network.ops) == weights
    assert network.shape(network.ops[0].inputs[0]) == source
    assert network.shape(network.ops[-1].output) == target
    for op, following in zip(network.ops, network.ops[1:], strict=False):
        assert following.inputs == (op.output,)
    for op in network.ops:
        assert op.options.fusedActivationFunction == 0
        bias = network.model.buffers[network.tensors[op.constants[1]].buffer].data
        assert not np.any(bias)


@pytest.mark.parametrize("name", _CHAINS if _PAPER_MODELS.exists() else ())
def test_chain_layers_against_the_papers_data(name: str) -> None:
    layers = json.loads(_PAPER_MODELS.read_text())[_CHAINS[name][0]]["layers"]
    network = _read(name)
    for op, layer in zip(network.ops, layers, strict=True):
        kernel, stride = layer["kernel"], layer["stride"]
        assert op.kind == _KIND_OF[layer["kind"]]
        assert network.shape(op.inputs[0]) == (1, *layer["in_shape"])
        assert network.shape(op.output) == (1, *layer["out_shape"])
        assert network.shape(op.constants[0])[1:3] == (kernel, kernel)
        assert math.prod(network.shape(op.constants[0])) == layer["weight_elements"]
        assert (op.options.strideH, op.options.strideW) == (stride, stride)
        padded = layer["in_shape"][0] + 2 * layer["pad"]
        same, _, _ = same_padding(layer["in_shape"][0], kernel, stride)
        assert (padded - kernel) // stride + 1 == same


@pytest.mark.parametrize("name", _CHAINS)
def test_classifier_begins_with_its_chain(name: str) -> None:
    chain, full = _read(name), _read(name.removesuffix("-chain"))
    for op, same in zip(chain.ops, full.ops, strict=False):
        assert op.kind == same.kind
        for ours, theirs in zip(op.constants, same.constants, strict=True):
            data = chain.model.buffers[chain.tensors[ours].buffer].data
            other = full.model.buffers[full.tensors[theirs].buffer].data
            np.testing.assert_array_equal(data, other)
    head = full.kinds()[len(chain.ops) :]
    assert head in (
        ["MEAN", "FULLY_CONNECTED", "SOFTMAX"],
        ["AVERAGE_POOL_2D", "RESHAPE", "FULLY_CONNECTED", "SOFTMAX"],
    )


def test_figure1_is_the_papers_example() -> None:
    network = _read("figure1")
    sizes = [math.prod(network.shape(op.output)) for op in network.ops]
    assert sizes == [3136, 1568, 512, 512, 256, 256, 512]
    made_by = {op.output: number for number, op in enumerate(network.ops, 1)}
    reads = [[made_by.get(i, 0) for i in op.inputs] for op in network.ops]
    assert reads == [[0], [1], [2], [1], [3], [4], [5, 6]]
    assert _peak(network, range(7)) == 5216
    assert _peak(network, (0, 3, 5, 1, 2, 4, 6)) == 4960


def test_branchy_cell_is_in_a_wasteful_order() -> None:
    network = _read("branchy-cell")
    assert 30 <= len(network.ops) <= 42
    assert network.count("CONCATENATION") >= 8
    # A good order by hand: the first cell branch by branch, the rest as it is.
    names = [network.tensors[op.output].name.decode().split("/")[0] for op in network.ops]
    front = ["stem", "a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "d3", "g1", "g2"]
    order = [names.index(name) for name in front]
    order += [i for i in range(len(names)) if i not in order]
    assert _peak(network, order) < 0.85 * _peak(network, range(len(names)))


@pytest.mark.parametrize(
    ("name", "counts", "output"),
    [
        ("mobilenet-v2-0.35-144", {"CONV_2D": 35, "DEPTHWISE_CONV_2D": 17, "ADD": 10}, (1, 1000)),
        ("mobilenet-v1-0.25-96", {"CONV_2D": 14, "DEPTHWISE_CONV_2D": 13}, (1, 2)),
        ("resnet8", {"CONV_2D": 9, "ADD": 3, "AVERAGE_POOL_2D": 1}, (1, 10)),
        ("ds-cnn-kws", {"CONV_2D": 5, "DEPTHWISE_CONV_2D": 4}, (1, 12)),
        ("attention-block", {"BATCH_MATMUL": 2, "FULLY_CONNECTED": 4, "ADD": 1}, (1, 64, 64)),
        ("attention-block-256", {"BATCH_MATMUL": 2, "TRANSPOSE": 4}, (1, 256, 64)),
    ],
)
def test_architecture(name: str, counts: dict[str, int], output: tuple[int, ...]) -> None:
    network = _read(name)
    assert {kind: network.count(kind) for kind in counts} == counts
    assert network.shape(network.ops[-1].output) == output


def test_weights_of_known_networks() -> None:
    """Parameter counts of the published architectures, without biases."""
    weights = {
        name: sum(
            math.prod(network.shape(op.constants[0]))
            for op in network.ops
            if op.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
        )
        for name in ("resnet8", "ds-cnn-kws", "mobilenet-v1-0.25-96")
        for network in [_read(name)]
    }
    assert weights["resnet8"] == 432 + 2 * 2304 + 4608 + 9216 + 512 + 18432 + 36864 + 2048 + 640
    assert weights["ds-cnn-kws"] == 2560 + 4 * (576 + 4096) + 768
    assert 200_000 < weights["mobilenet-v1-0.25-96"] < 220_000

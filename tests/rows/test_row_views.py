"""Which bytes views, and parts of joined tensors, are: against arrays that are viewed and cut like them.

Why beside the networks that are run: of random ones hardly any has parts of parts that begin in the
middle of a row, and what all stages get wrong alike, runs on labels do not show.
"""

from __future__ import annotations

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from numpy.typing import NDArray

from lowtide.ir import Graph, Op
from lowtide.ir.operands import integers_of
from lowtide.lower.nodes import Exchange
from lowtide.rows.prepare import Prepared, prepare
from lowtide.tflite.read import parse
from moving_nets import Drawn, Shape, moving_network
from schema_models import Net

Labels = NDArray[np.int64]


def parts_of_parts(seed: int) -> bytes:
    """A map, maybe viewed twice, cut along rows or columns, some parts again, and parts of these."""
    drawn = Drawn(seed, "INT8")
    rng = drawn.rng
    shape: Shape = (1, 8, 6, 2)
    x = drawn.tensor(shape)
    drawn.inputs.append(x)
    x = drawn.leaky_relu(x)
    if rng.random() < 0.5:
        for shape in ((1, 96), rng.choice([(1, 6, 8, 2), (1, 12, 4, 2)])):
            x = drawn.add("RESHAPE", (x, drawn.integers(shape)), shape)
    leaves = [x]
    for _ in range(3):
        x = leaves.pop(rng.randrange(len(leaves)))
        leaves += drawn.parts(x)[1]
    return drawn.written([drawn.leaky_relu(leaf) for leaf in leaves])


def made_ready(network: bytes) -> Prepared:
    graph = parse(network, path="net").graph
    return prepare(graph, range(len(graph.ops)))


def whole_of(ready: Prepared, operator: int) -> int:
    """What a concatenation makes, or what a split or a slice reads."""
    join = ready.lowered[operator].join
    assert join is not None
    return join.whole


def label(graph: Graph, tensor: int) -> Labels:
    """A number for each byte of a tensor, in the shape of its elements."""
    of = graph.tensors[tensor]
    return np.arange(of.bytes).reshape(*of.shape, of.dtype.bits // 8)


def cut(graph: Graph, op: Op, whole: Labels) -> dict[int, Labels]:
    """What the parts of a concatenation, a split or a slice are of the whole, by what the file says."""

    def operand(at: int) -> list[int]:
        values = integers_of(graph.tensors[op.inputs[at]])
        assert values is not None
        return list(values)

    match op.type:
        case "SLICE" | "STRIDED_SLICE":
            box = zip(operand(1), graph.tensors[op.outputs[0]].shape, strict=True)
            return {op.outputs[0]: whole[tuple(slice(b, b + n) for b, n in box)]}
        case "CONCATENATION":
            parts, given = op.inputs, op.options["axis"]
        case _:
            parts, given = op.outputs, operand(0 if op.type == "SPLIT" else 2)[0]
    assert isinstance(given, int)
    axis = given % (whole.ndim - 1)
    edges = np.cumsum([graph.tensors[part].shape[axis] for part in parts])[:-1]
    return dict(zip(parts, np.split(whole, edges, axis), strict=True))


def labelled(ready: Prepared) -> dict[int, tuple[int, Labels]]:
    """Tensor -> whose bytes it has, and which, step by step; views and parts alone."""
    graph = ready.graph
    sources = dict(pair for low in ready.lowered.values() for pair in low.views)
    inside: dict[int, Op] = {}
    for number in ready.joined.operators:
        op = graph.ops[number]
        inside |= dict.fromkeys(op.inputs if op.type == "CONCATENATION" else op.outputs, op)
    known: dict[int, tuple[int, Labels]] = {}

    def find(tensor: int) -> tuple[int, Labels]:
        if tensor in known:
            return known[tensor]
        own = label(graph, tensor)
        if tensor in sources:
            root, bytes_ = find(sources[tensor])
            known[tensor] = root, bytes_.reshape(own.shape)
        elif tensor in inside:
            op = inside[tensor]
            root, bytes_ = find(whole_of(ready, op.id))
            known[tensor] = root, cut(graph, op, bytes_)[tensor]
        else:
            return tensor, own
        return known[tensor]

    for tensor in (*sources, *inside):
        find(tensor)
    return known


def check(ready: Prepared) -> int:
    """Compare every view and every part; returns how many are parts of parts not at their beginning."""
    known, deep = labelled(ready), 0
    assert known.keys() == ready.views.keys() | ready.joined.crops.keys()
    for tensor, root in ready.views.items():
        assert root == known[tensor][0]
    wholes = {whole_of(ready, number) for number in ready.joined.operators}
    for tensor, crop in ready.joined.crops.items():
        root, bytes_ = known[tensor]
        assert crop.tensor == root == ready.roots[tensor]
        rows = ready.graph.tensors[tensor].shape[1]
        first = (np.arange(rows) + crop.row) * crop.pitch + crop.offset
        each = ready.graph.tensors[tensor].bytes // rows
        assert (first[:, None] + np.arange(each) == bytes_.reshape(rows, each)).all(), tensor
        deep += tensor in wholes and crop.offset > 0 and crop.row > 0
    return deep


def test_views_and_parts_of_random_networks() -> None:
    for seed in range(60):
        check(made_ready(moving_network(seed)))


def test_parts_of_parts() -> None:
    deep = [check(made_ready(parts_of_parts(seed))) for seed in range(40)]
    assert sum(deep) >= 5


def test_streamed_rows_of_a_batch_are_those_of_all_images() -> None:
    """Though nothing but a transpose reads them, which has its input in one piece."""
    drawn, shape = Drawn(0, "INT8"), (2, 3, 4, 5)
    drawn.inputs.append(drawn.tensor(shape))
    order = drawn.integers([0, 3, 1, 2])
    made = drawn.add("TRANSPOSE", (drawn.inputs[0], order), (2, 5, 3, 4))
    graph = parse(drawn.written([made]), path="net").graph
    ready = prepare(graph, range(len(graph.ops)), input_mode="streamed", output_mode="streamed")
    ports = [p for n in ready.nodes if isinstance(n, Exchange) for p in (*n.inputs, *n.outputs)]
    cuts = {cut.tensor: cut.count for cut in ready.table.cuts}
    assert cuts[graph.inputs[0]] == 1
    assert [(port.rows, port.row_bytes) for port in ports] == [(6, 20), (10, 12)]


@pytest.mark.parametrize("whole", [False, True])
def test_parts_that_others_read_whole_stay_by_themselves(whole: bool) -> None:
    """A transpose of rows and columns reads its input in one piece, and a RELU row by row."""
    net = Net()
    parts = [
        net.op("RELU", [net.input((1, 4, 3, 5))], (1, 4, 3, 5), output=False) for _ in range(2)
    ]
    net.op("CONCATENATION", parts, (1, 4, 6, 5), options=schema.ConcatenationOptionsT(axis=2))
    if whole:
        net.op("TRANSPOSE", [parts[0], net.const([0, 2, 1, 3])], (1, 3, 4, 5))
    else:
        net.op("RELU", [parts[0]], (1, 4, 3, 5))
    crops = made_ready(net.build()).joined.crops
    assert crops.keys() == (set() if whole else set(parts))

"""Windows that slide along columns: rows of the program are columns of the file's maps.

The oracle computes the file as it is, on windows whose columns move on.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.turning import index_in_file, turned, turned_back
from lowtide.errors import ModelError, UsageError
from lowtide.ir.macs import graph_macs
from lowtide.tflite.read import parse
from lowtide.zoo.builder import Act
from lowtide.zoo.spec import OpSpec, TensorSpec
from networks import model_of
from random_nets import RELU6, Maker
from schema_models import Net

COLUMNS = Options(hop=2, hop_axis=2, name="net", effort=0.1)


def added(net: Maker, x: Act, name: str, shape: tuple[int, ...]) -> Act:
    """`x` and a constant of `shape`."""
    data = np.arange(np.prod(shape)).astype(np.int8).reshape(shape)
    scale, zero = np.array([x.quant.scale], np.float32), x.quant.zero_point
    constant = net._add(TensorSpec(f"{name}/constant", shape, "INT8", scale, zero, data=data))
    made = net._add_activation(f"{name}/sum", x.shape, x.quant)
    options = {"fused_activation_function": 0}
    net._ops.append(OpSpec("ADD", 2, (x.id, constant), (made,), "AddOptions", options))
    return Act(made, x.shape, x.quant, x.q)


def reduced(net: Maker, x: Act, name: str, axes: tuple[int, ...], *, keep: bool) -> Act:
    """MEAN along `axes`."""
    q = x.q.max(axis=axes, keepdims=keep)
    made = net._add_activation(f"{name}/mean", (1, *q.shape[1:]), x.quant)
    sources = x.id, net._int32(f"{name}/axes", axes)
    net._ops.append(OpSpec("MEAN", 2, sources, (made,), "ReducerOptions", {"keep_dims": keep}))
    return Act(made, (1, *q.shape[1:]), x.quant, q)


def taken(net: Maker, x: Act, name: str, begin: tuple[int, ...], size: tuple[int, ...]) -> Act:
    """SLICE."""
    rows, columns = (slice(b, b + n) for b, n in zip(begin[1:3], size[1:3], strict=True))
    made = net._add_activation(f"{name}/slice", size, x.quant)
    given = (net._int32(f"{name}/{what}", to) for what, to in (("begin", begin), ("size", size)))
    net._ops.append(OpSpec("SLICE", 1, (x.id, *given), (made,), "SliceOptions", {}))
    return Act(made, size, x.quant, np.ascontiguousarray(x.q[:, rows, columns]))


def of_all_kinds() -> bytes:
    """Every operator that columns can be rows for, and two for which they are turned back: a RESHAPE to
    other rows, and an output."""
    net = Maker("columns")
    x = net.conv(net.input((1, 5, 20, 2)), "conv", 4, (2, 3), (1, 1), RELU6, same=False)
    x = net.pad(added(net, x, "add", (4, 1, 4)), "pad", (1, 0, 2, 1))
    x = net.max_pool(x, "pool", (2, 3), (1, 2), same=True)
    x = net.add(x, net.depthwise(x, "depthwise", (3, 5), 1, RELU6), "sum", RELU6)
    both = net.concat([x, net.concat([x, x], "columns", 2)], "rows", 2)
    x = taken(net, both, "slice", (0, 1, 0, 0), (1, 3, 8, 4))
    heads = [
        net.softmax(reduced(net, x, "over columns", (2,), keep=True), "softmax"),
        reduced(net, x, "over rows", (1,), keep=False),
        net.mean(x, "mean"),
        net.fully_connected(x, "of pixels", 3, keep_num_dims=True),
        net.fully_connected(net.reshape(x, "flat", (1, 96)), "dense", 3),
        net.reshape(x, "tokens", (1, 24, 4)),
        net.fully_connected(net.reshape(x, "left out", (1, 96)), "of the map", 2),
    ]
    dense = net._ops.pop()
    net._ops[-1] = replace(dense, inputs=(x.id, *dense.inputs[1:]))
    return net.finish(*heads)


@pytest.mark.parametrize("simplify", [True, False])
def test_operators_by_columns(simplify: bool) -> None:
    model = parse(of_all_kinds(), path="net")
    asked = Options(hop=2, hop_axis=2, simplify=simplify, effort=0.1, slices=simplify)
    compiled = compile_model(model, asked)
    assert compiled.proof.data_flow
    back = [op for op in compiled.graph.ops if op.type == "TRANSPOSE"]
    assert len(back) == 2, "of what becomes tokens, and of the output of pixels"
    assert checking.verify(compiled).bit_exact


@pytest.mark.parametrize("keep", [False, True])
def test_a_mean_of_rows_and_columns_needs_no_turning_back(keep: bool) -> None:
    net = Net(np.int8)
    x = net.op("RELU", [net.input((1, 4, 8, 3))], (1, 4, 8, 3), output=False)
    shape = (1, 1, 1, 3) if keep else (1, 3)
    net.op("MEAN", [x, net.const([1, 2])], shape, options=schema.ReducerOptionsT(keepDims=keep))
    compiled = compile_model(parse(net.build(), path="net"), COLUMNS)
    types = {op.type for op in compiled.graph.ops}
    assert "TOTAL" in types
    assert "TRANSPOSE" not in types
    assert checking.verify(compiled).bit_exact


def test_only_new_columns_are_computed() -> None:
    net = Maker("line camera")
    x = net.conv(net.input((1, 12, 40, 1)), "conv", 4, (3, 3), (1, 1), RELU6, same=False)
    model = parse(net.finish(net.mean(x, "mean")), path="net")
    compiled = compile_model(model, COLUMNS)
    assert graph_macs(compiled.graph) == 2 * 10 * 9 * 4
    header = compiled.files["net.h"].decode()
    assert "/* Input 0: its rows are the columns of the file's input, {1, 12, 40, 1}. */" in header
    assert "#define NET_INPUT_0_SHAPE {1, 40, 12, 1}" in header
    assert "#define NET_INPUT_0_ROWS 40\n#define NET_INPUT_0_ROW_BYTES 12\n" in header
    assert checking.verify(compiled).bit_exact


def test_recorded_windows_of_columns(tmp_path: Path) -> None:
    """They have the shape of the file's input."""
    compiled = compile_model(model_of("ds-cnn-kws"), COLUMNS)
    columns = np.random.default_rng(2).integers(-128, 128, (49, 24, 1), np.int8)
    windows = np.stack([columns[:, at : at + 10] for at in range(0, 14, 2)])
    file = tmp_path / "windows.npy"
    np.save(file, windows)
    assert checking.verify(compiled, windows=file).bit_exact
    windows[3, 40, 5, 0] ^= 1
    np.save(file, windows)
    with pytest.raises(
        UsageError, match=r"column 5 of window 3 of .* differs from column 7 of the window"
    ):
        checking.verify(compiled, windows=file)


def test_a_difference_is_where_the_file_has_it() -> None:
    compiled = compile_model(model_of("ds-cnn-kws"), COLUMNS)
    tensor = min(compiled.graph.turned)
    of_file = np.arange(compiled.model.graph.tensors[tensor].elements)
    own = turned(compiled.graph, tensor, of_file)
    places = [index_in_file(compiled.graph, tensor, at) for at in range(-1, own.size)]
    assert places == [-1, *own.reshape(-1).tolist()] != [-1, *of_file.tolist()]
    assert turned_back(compiled.graph, tensor, own).reshape(-1).tolist() == of_file.tolist()


def test_what_columns_end_at() -> None:
    net = Maker("rows as channels")
    x = net.reshape(net.input((1, 4, 30, 2)), "folded", (1, 4, 1, 60))
    model = parse(net.finish(net.mean(net.conv(x, "conv", 3, (2, 1), 1), "mean")), path="net")
    with pytest.raises(ModelError) as caught:
        compile_model(model, COLUMNS)
    assert str(caught.value) == (
        "--hop 2: only the input can be kept: the RESHAPE that makes tensor 2 (folded/Reshape) "
        "reads the whole window at once\n  remedy: leave out --hop"
    )

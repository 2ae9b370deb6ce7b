"""Programs without the TRANSPOSE of PyTorch's exporters: `--input-layout`, `--output-layout`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options, from_plan
from lowtide.commands.planned import planned_model
from lowtide.errors import UsageError
from lowtide.ir import DType, Graph, Model, Op, Tensor
from lowtide.modes import InputMode
from lowtide.passes import channels_last
from lowtide.passes.rewriting import with_ops
from lowtide.plans.file import read_plan
from lowtide.report.data import to_json
from lowtide.report.planned import plan_document
from lowtide.tflite.read import parse
from lowtide.tflite.write import with_graph
from networks import loaded

TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def turned(model: Model, *, inputs: bool = True, outputs: bool = False, dtype: str = "") -> Model:
    """The network with its image given or taken with channels first; with `dtype` as floats, which are
    converted on the model's side of the TRANSPOSE."""
    graph = model.graph
    for is_input in [True] * inputs + [False] * outputs:
        graph = _with_turn(graph, is_input)
        if dtype:
            graph = _with_floats(graph, is_input)
    count = len(model.graph.tensors)
    origins = [t.id if t.id < count else None for t in graph.tensors]
    return parse(with_graph(model, graph, origins, signatures=()), path="turned.tflite")


def _added(graph: Graph, tensors: Sequence[Tensor], op: Op, *, first: bool) -> Graph:
    ops = (op, *graph.ops) if first else (*graph.ops, op)
    return with_ops(replace(graph, tensors=(*graph.tensors, *tensors)), ops)


def _with_turn(graph: Graph, is_input: bool) -> Graph:
    end = graph.tensors[(graph.inputs if is_input else graph.outputs)[0]]
    count = len(graph.tensors)
    shape = tuple(end.shape[axis] for axis in TO_FIRST)
    order = np.array(TO_LAST if is_input else TO_FIRST, "<i4")
    other = replace(end, id=count, name=f"{end.name}_nchw", shape=shape)
    axes = Tensor(count + 1, f"axes_{count}", (4,), DType.INT32, data=order.tobytes())
    ends = (count, end.id) if is_input else (end.id, count)
    op = Op(0, "TRANSPOSE", (ends[0], count + 1), (ends[1],), version=2)
    graph = _added(graph, (other, axes), op, first=is_input)
    return replace(graph, inputs=(count,)) if is_input else replace(graph, outputs=(count,))


def _with_floats(graph: Graph, is_input: bool) -> Graph:
    end = graph.tensors[(graph.inputs if is_input else graph.outputs)[0]]
    count = len(graph.tensors)
    other = replace(end, id=count, name=f"{end.name}_float", dtype=DType.FLOAT32, quant=None)
    kind, ends = ("QUANTIZE", (count, end.id)) if is_input else ("DEQUANTIZE", (end.id, count))
    graph = _added(graph, (other,), Op(0, kind, ends[:1], ends[1:], version=2), first=is_input)
    return replace(graph, inputs=(count,)) if is_input else replace(graph, outputs=(count,))


def image_network() -> Model:
    """figure1, whose output is an image as well."""
    model = loaded("figure1")
    assert len(model.graph.tensors[model.graph.outputs[0]].shape) == 4
    return model


def test_the_transpose_goes_and_nothing_else_changes() -> None:
    plain = compile_model(image_network())
    model = turned(image_network(), outputs=True)
    options = Options(input_layout="nhwc", output_layout="nhwc")
    compiled = compile_model(model, options)
    assert compiled.arena_bytes == plain.arena_bytes < compile_model(model).arena_bytes
    found = verify(compiled, samples=4)
    assert found.bit_exact
    assert verify(compile_model(model), samples=2).bit_exact


def test_the_header_and_the_readme_say_so() -> None:
    compiled = compile_model(
        turned(image_network(), outputs=True), Options(input_layout="nhwc", output_layout="nhwc")
    )
    header = compiled.files["turned.h"].decode()
    assert "#define TURNED_INPUT_0_SHAPE {1, 7, 7, 32}" in header
    note = "with its channels last; the file has them first, {1, 32, 7, 7}"
    assert f"/* Input 0: {note}. */\n#define TURNED_INPUT_0_BYTES" in header
    assert "/* Output 0: with its channels last; the file has them first, {1, " in header
    assert f"; {note} | 1568 |" in compiled.files["README.md"].decode()
    other = compile_model(turned(image_network(), outputs=True))
    assert "channels last" not in other.files["turned.h"].decode()


@pytest.mark.parametrize("mode", ["const", "streamed"])
def test_other_homes_of_the_input(mode: InputMode) -> None:
    options = Options(input_layout="nhwc", input_mode=mode)
    assert verify(compile_model(turned(image_network()), options), samples=2).bit_exact


def test_a_plan_file_has_the_layouts(tmp_path: Path) -> None:
    model, path = turned(image_network(), outputs=True), tmp_path / "plan.json"
    options = Options(input_layout="nhwc", output_layout="nhwc")
    path.write_text(to_json(plan_document(planned_model(model, options))))
    fields = read_plan(path, model, from_plan)
    assert (fields["input_layout"], fields["output_layout"]) == ("nhwc", "nhwc")
    assert verify(compile_model(model, Options(**fields)), samples=2).bit_exact


def test_with_a_conversion_of_floats() -> None:
    model = turned(image_network(), outputs=True, dtype="float")
    options = Options(input_layout="nhwc", output_layout="nhwc", quantized_io=True)
    compiled = compile_model(model, options)
    assert compiled.arena_bytes == compile_model(image_network()).arena_bytes
    assert verify(compiled, samples=2).bit_exact
    with pytest.raises(UsageError) as caught:
        compile_model(model, replace(options, quantized_io=False))
    assert str(caught.value) == (
        "--input-layout nhwc: no input of the network passes through a TRANSPOSE between "
        "channels first and last\n"
        "  remedy: give --quantized-io as well, because a conversion from or to floats is in between"
    )


@pytest.mark.parametrize("which", ["input", "output"])
def test_nothing_to_drop(which: str) -> None:
    nhwc = {"input": Options(input_layout="nhwc"), "output": Options(output_layout="nhwc")}
    options = nhwc[which]
    with pytest.raises(UsageError) as caught:
        compile_model(image_network(), options)
    assert str(caught.value) == (
        f"--{which}-layout nhwc: no {which} of the network passes through a TRANSPOSE between "
        f"channels first and last\n"
        f"  remedy: leave it out: the program uses the file's layout of the {which}"
    )


def _graph(
    op: str, before: tuple[int, ...], after: tuple[int, ...], axes: tuple[int, ...]
) -> Graph:
    data = np.array(axes if op == "TRANSPOSE" else after, "<i4").tobytes()
    tensors = (
        Tensor(0, "in", before, DType.INT8),
        Tensor(1, "axes", (len(after),), DType.INT32, data=data),
        Tensor(2, "middle", after, DType.INT8),
        Tensor(3, "out", after, DType.INT8),
    )
    ops = (Op(0, op, (0, 1), (2,)), Op(1, "RELU", (2,), (3,)))
    return Graph("g", tensors, ops, (0,), (3,))


@pytest.mark.parametrize(
    ("op", "before", "after", "axes", "goes"),
    [
        ("TRANSPOSE", (1, 3, 8, 9), (1, 8, 9, 3), (0, 2, 3, 1), True),
        ("TRANSPOSE", (1, 3, 8), (1, 8, 3), (0, 2, 1), True),
        ("TRANSPOSE", (1, 8, 8, 8), (1, 8, 8, 8), (0, 3, 2, 1), False),
        ("TRANSPOSE", (8, 9), (9, 8), (1, 0), False),
        ("RESHAPE", (1, 1, 8, 9), (1, 8, 9, 1), (), True),
        ("RESHAPE", (1, 8, 1, 1), (1, 1, 1, 8), (), True),
        ("RESHAPE", (1, 3, 8, 9), (1, 8, 9, 3), (), False),
        ("RESHAPE", (1, 1, 8, 9), (1, 72), (), False),
    ],
)
def test_which_operators_turn(
    op: str, before: tuple[int, ...], after: tuple[int, ...], axes: tuple[int, ...], goes: bool
) -> None:
    graph = _graph(op, before, after, axes)
    found = channels_last(graph, inputs=True)
    assert (found.inputs == (2,)) is goes
    assert (found is graph) is not goes
    two = replace(graph, ops=(*graph.ops, Op(2, "RELU", (0,), ())))
    assert channels_last(two, inputs=True) is two
    assert channels_last(graph) is graph

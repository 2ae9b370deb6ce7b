"""Float and hybrid networks quantised: bit-exact as programs, and near to the floats."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lowtide import zoo
from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.cutting import part_of
from lowtide.commands.datasets import Dataset, random_samples
from lowtide.commands.quantizing import EndType, Quantized, _error, quantize_model, samples_for
from lowtide.errors import FloatError, ModelError, UsageError
from lowtide.ir import DType, Model, Op
from lowtide.oracle.interpreters import reference_tensors
from lowtide.oracle.quantizer import Recipe, quantize_file
from lowtide.passes.floats import is_float
from lowtide.passes.rewriting import with_ops
from lowtide.tflite.pack import pack
from lowtide.tflite.read import parse
from lowtide.tflite.table import File
from lowtide.tflite.unpack import unpack
from lowtide.tflite.write import with_graph
from networks import contents, loaded


@cache
def floats(name: str = "figure1") -> Model:
    return parse(zoo.build(name, floats=True), path=f"{name}.tflite")


def noise(count: int = 8) -> Dataset:
    return random_samples(floats().graph, count)


@cache
def quantized(
    bits: int = 8, input_type: EndType | None = None, output_type: EndType | None = None
) -> Quantized:
    return quantize_model(
        floats(), noise(), bits=bits, input_type=input_type, output_type=output_type
    )


def ends(model: Model) -> tuple[DType, DType]:
    graph = model.graph
    return graph.tensors[graph.inputs[0]].dtype, graph.tensors[graph.outputs[0]].dtype


def test_the_zoo_with_floats_computes_the_same() -> None:
    """As near as int8 comes: the same network before it is quantised."""
    model, own = floats(), loaded("figure1")
    (sample,) = random_samples(model.graph, 1).samples
    found = reference_tensors(model.source, [sample], model.graph.outputs, engine="litert")
    quant = own.graph.tensors[own.graph.inputs[0]].quant
    assert quant is not None
    q = np.rint(sample[model.graph.inputs[0]] / quant.scale[0]) + quant.zero_point[0]
    given = {own.graph.inputs[0]: q.clip(-128, 127).astype(np.int8)}
    integers = reference_tensors(own.source, [given], own.graph.outputs)
    out = own.graph.tensors[own.graph.outputs[0]].quant
    assert out is not None
    real = found.samples[0][model.graph.outputs[0]]
    stored = integers.samples[0][own.graph.outputs[0]].astype(float) - out.zero_point[0]
    error = np.abs(stored * out.scale[0] - real).max() / np.abs(real).max()
    assert error < 0.03
    assert is_float(model.graph)


@pytest.mark.parametrize("name", ["streaming-wake-word", "lstm-gestures"])
def test_a_network_with_state_has_no_floats(name: str) -> None:
    with pytest.raises(UsageError, match=f"^zoo:{name} has state, so it has no float version"):
        zoo.build(name, floats=True)


@pytest.mark.parametrize(
    ("bits", "given", "taken", "types"),
    [
        (8, None, None, (DType.INT8, DType.INT8)),
        (8, "uint8", None, (DType.UINT8, DType.INT8)),
        (8, "uint8", "uint8", (DType.UINT8, DType.UINT8)),
        (8, "float32", "float32", (DType.FLOAT32, DType.FLOAT32)),
        (8, "float32", "uint8", (DType.FLOAT32, DType.UINT8)),
        (16, None, None, (DType.INT16, DType.INT16)),
        (16, "float32", None, (DType.FLOAT32, DType.INT16)),
    ],
)
def test_types_of_inputs_and_outputs(
    bits: int, given: EndType | None, taken: EndType | None, types: tuple[DType, DType]
) -> None:
    result = quantized(bits, given, taken)
    assert ends(result.model) == types
    (output,) = result.outputs
    assert output.shape == (1, 4, 4, 32)
    assert output.snr_db is not None
    assert output.snr_db > (60 if bits == 16 else 30)
    assert output.top1 is not None
    assert output.top1 > 0.9
    assert (result.calibrated, result.compared, result.held_back) == (6, 2, True)
    assert result.planned is not None
    assert verify(result.planned.compiled, samples=2).bit_exact


def test_the_same_samples_give_the_same_file() -> None:
    again = quantize_model(floats(), noise())
    assert again.model.source == quantized().model.source


def test_samples_held_back_change_no_range() -> None:
    """Sample 3 of 8 is compared and not calibrated with."""
    data = noise()
    loud = [{t: a * 9 if i == 3 else a for t, a in s.items()} for i, s in enumerate(data.samples)]
    other = quantize_model(floats(), replace(data, samples=tuple(loud)))
    assert other.model.source == quantized().model.source
    assert other.outputs != quantized().outputs


def test_ranges_have_all_that_was_seen() -> None:
    """The greatest value that any sample has is represented, and not the average of such values."""
    data = noise(4)
    samples = [{t: a / 50 for t, a in s.items()} for s in data.samples]
    samples[1] = dict(data.samples[1])
    result = quantize_model(floats(), replace(data, samples=tuple(samples)))
    quant = result.model.graph.tensors[result.model.graph.inputs[0]].quant
    assert quant is not None
    reach = (127 - quant.zero_point[0]) * quant.scale[0]
    assert reach == pytest.approx(1.0, abs=0.02)


def test_samples_for_a_model(tmp_path: Path) -> None:
    (shape,) = (floats().graph.tensors[t].shape for t in floats().graph.inputs)
    np.save(tmp_path / "a.npy", np.zeros((5, *shape[1:])))
    assert len(samples_for(floats(), tmp_path / "a.npy", most=3).samples) == 3
    assert len(samples_for(floats(), str(tmp_path / "a.npy")).samples) == 5
    noise_of = samples_for(floats())
    assert (noise_of.is_random, len(noise_of.samples)) == (True, 64)


def test_few_samples_are_compared_on_themselves() -> None:
    result = quantize_model(floats(), noise(2))
    assert (result.calibrated, result.compared, result.held_back) == (2, 2, False)


def _hybrid() -> bytes:
    """The float network with int8 weights, as of dynamic range quantisation, and operators named in
    the field of old files alone."""
    values, own = unpack(File(floats().source).root), unpack(File(contents("figure1")).root)
    main, other = values["subgraphs"][0], own["subgraphs"][0]
    for i, (tensor, stored) in enumerate(zip(main["tensors"], other["tensors"], strict=True)):
        if stored.get("type") == 9 and own["buffers"][stored.get("buffer", 0)].get("data"):
            main["tensors"][i] = stored
            values["buffers"][tensor["buffer"]] = own["buffers"][stored["buffer"]]
    for code in values["operator_codes"]:
        code["builtin_code"] = 0
    return pack(values)


def test_a_hybrid_network() -> None:
    model = parse(_hybrid(), path="hybrid.tflite")
    with pytest.raises(FloatError, match="the model is hybrid"):
        compile_model(model)
    result = quantize_model(model, noise())
    assert result.was_hybrid
    (output,) = result.outputs
    assert output.snr_db is not None
    assert output.snr_db > 30
    biases = [
        result.model.graph.tensors[op.inputs[2]].dtype
        for op in result.model.graph.ops
        if op.type == "CONV_2D"
    ]
    assert set(biases) == {DType.INT32}
    assert not quantized().was_hybrid


def with_abs(at: int) -> Model:
    """The float network with an ABS, which litert-quantizer does not know, before operator `at`."""
    model = floats()
    graph, count = model.graph, len(model.graph.tensors)
    source = graph.ops[at].inputs[0]
    new = replace(graph.tensors[source], id=count, name="abs")
    ops = list(graph.ops)
    ops[at] = replace(ops[at], inputs=(count, *ops[at].inputs[1:]))
    ops.insert(at, Op(0, "ABS", (source,), (count,)))
    changed = with_ops(replace(graph, tensors=(*graph.tensors, new)), ops)
    origins = [t.id if t.id < count else None for t in changed.tensors]
    return parse(with_graph(model, changed, origins), path="abs.tflite")


def test_an_operator_that_stays_in_floats() -> None:
    """The first operator of the network: what is behind it can be quantised."""
    model = with_abs(0)
    made = model.graph.ops[0].outputs[0]
    with pytest.raises(ModelError) as caught:
        quantize_model(model, noise())
    assert caught.value.cause.startswith("litert-quantizer 0.")
    assert caught.value.cause.endswith("cannot quantise ABS to int8, and leaves floats there")
    assert caught.value.remedy == (
        f"everything from tensor {made} can be quantised: `--from {made}`; or TensorFlow's converter "
        "may quantise it (docs/quantize.md); `lowtide ops` lists what can be compiled"
    )
    part = part_of(model, begin=[made])
    result = quantize_model(part, random_samples(part.graph, 8))
    assert result.planned is not None


def test_what_is_quantised_already() -> None:
    with pytest.raises(UsageError) as caught:
        quantize_model(loaded("figure1"), noise())
    assert str(caught.value) == (
        "figure1 is already quantised: most of its operators produce integers\n"
        "  remedy: compile it as it is"
    )


@pytest.mark.parametrize(
    ("bits", "kind", "remedy"),
    [
        (8, "int16", "add --int16"),
        (16, "int8", "leave out --int16"),
        (16, "uint8", "leave out --int16"),
    ],
)
def test_types_that_do_not_go_together(bits: int, kind: EndType, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        quantize_model(floats(), noise(), bits=bits, output_type=kind)
    assert str(caught.value) == (
        f"{kind} inputs or outputs cannot be combined with {bits}-bit activations\n  remedy: {remedy}"
    )


def test_what_the_quantizer_says_is_passed_on() -> None:
    with pytest.raises(ModelError) as caught:
        quantize_file(b"no model", "key", [{"x": np.zeros(1, np.float32)}], Recipe())
    assert caught.value.cause.startswith("litert-quantizer cannot quantise the network; it says: ")
    assert caught.value.remedy == (
        "quantise it with TensorFlow's converter (docs/quantize.md), or a part of it (--from, --until)"
    )


def test_errors_of_outputs() -> None:
    tensor = floats().graph.tensors[floats().graph.outputs[0]]
    tensor = replace(tensor, shape=(1, 2))
    want = np.array([[[1.0, 0.0]], [[0.0, 2.0]]])
    assert _error(tensor, want, want).snr_db == math.inf
    found = _error(tensor, want, want + np.array([0.5, 0.0]))
    assert found.snr_db == pytest.approx(10 * math.log10(5 / 0.5))
    assert found.top1 == 1.0
    assert _error(tensor, want, -want).top1 == 0.0
    assert _error(tensor, want * 0, want).snr_db is None
    assert _error(replace(tensor, shape=(1, 1)), want[..., :1], want[..., :1]).top1 is None

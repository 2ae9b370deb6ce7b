"""Accuracy on a data set: against labels, the float network, and in sequences where there is state."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lowtide import zoo
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.datasets import random_samples
from lowtide.commands.evaluating import data_for, evaluate, labels_from
from lowtide.commands.options import Options
from lowtide.commands.quantizing import quantize_model
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.oracle.interpreters import reference_tensors
from lowtide.report.describe import describe
from lowtide.report.evaluated import evaluated_document
from lowtide.tflite.read import parse
from networks import compiled, model_of
from signal_models import Signals
from stateful import ring, slow_inputs

Array = NDArray[Any]


@cache
def floats() -> Model:
    return parse(zoo.build("figure1", floats=True), path="figure1_float.tflite")


@cache
def quantized() -> Compiled:
    """figure1 with floats at its ends, and integers within."""
    made = quantize_model(floats(), random_samples(floats().graph, 16))
    return compile_model(made.model)


def reals(count: int) -> Array:
    shape = floats().graph.tensors[floats().graph.inputs[0]].shape
    return np.random.default_rng(5).uniform(-1, 1, (count, *shape)).astype(np.float32)


def outputs_of(model: Model, inputs: Array) -> Array:
    graph = model.graph
    samples = [{graph.inputs[0]: sample} for sample in inputs]
    found = reference_tensors(model.source, samples, graph.outputs, engine="litert")
    return np.stack([sample[graph.outputs[0]] for sample in found.samples])


def test_labels_and_the_float_network() -> None:
    given, told = reals(130), []
    wanted = outputs_of(floats(), given)
    with quantized().load() as program:
        made = program.real_many(given)
    labels = made.argmax(-1)
    labels[:13] = (labels[:13] + 1) % made.shape[-1]
    result = evaluate(
        quantized(), given, labels=labels, against=floats(), tell=lambda text: told.append(text)
    )
    top1, (output,) = result.top1, result.outputs
    assert top1 is not None
    assert top1.places == labels.size
    assert top1.correct == labels.size - labels[:13].size
    assert top1.against == int((wanted.argmax(-1) == labels).sum())
    assert (result.samples, result.given, result.sequence) == (130, "real", None)
    assert (result.against, result.engine) == ("figure1_float.tflite", "litert")
    assert (output.least, output.greatest) == (made.min(), made.max())
    error, found = np.abs(made.astype(np.float64) - wanted), output.distance
    assert found is not None
    assert found.same_top1 == (made.argmax(-1) == wanted.argmax(-1)).mean()
    assert found.greatest == error.max()
    assert found.mean == pytest.approx(error.mean())
    assert found.rms == pytest.approx(math.sqrt((error**2).mean()))
    assert found.snr_db is not None
    assert 10 < found.snr_db < 60
    assert told[:3] == ["64 of 130 samples", "128 of 130 samples", "130 of 130 samples"]
    assert told[-1] == "130 of 130 samples in the reference interpreter"
    text = describe(result)
    assert text.startswith(
        "figure1_float.tflite: 130 samples (real numbers), run by the C that `lowtide compile` writes\n"
        f"top-1 {top1.correct / top1.places:.2%}: {top1.correct:,} of {top1.places:,} right, by output "
    )
    assert "against figure1_float.tflite in LiteRT's reference kernels" in text
    assert f"{found.snr_db:.1f} dB" in text
    assert (result._repr_html_() or "").startswith("<div")


def test_its_own_file_is_equal() -> None:
    """Bit for bit, on integers and on what they stand for."""
    program = compiled("figure1")
    shape = program.graph.tensors[program.graph.inputs[0]].shape
    given = np.random.default_rng(1).integers(-128, 128, (20, *shape), dtype=np.int8)
    tensor = program.graph.tensors[program.graph.inputs[0]]
    assert tensor.quant is not None
    real = (given.astype(np.float64) - tensor.quant.zero_point[0]) * tensor.quant.scale[0]
    for data, kind in ((given, "integers"), (real, "real")):
        result = evaluate(program, data, against=model_of("figure1"))
        (output,) = result.outputs
        assert result.given == kind
        assert output.distance is not None
        assert output.distance.greatest == output.distance.mean == output.distance.rms == 0
        assert output.distance.snr_db == math.inf
        assert output.distance.same_top1 in (1, None)
        assert evaluated_document(result)["outputs"][0]["distance"]["equal"] is True


def test_what_the_interpreter_leaves_as_it_is_does_not_count() -> None:
    """TFLM writes the energies from a beginning to an end alone."""
    net = Signals()
    bins = net.rfft(net.input([64]), 64)
    (energy,) = net.signal("Energy", [bins], ((33,), "UINT32"), start_index=5, end_index=20)
    network = parse(net.build(), path="energy.tflite")
    given = np.random.default_rng(3).integers(-9000, 9000, (4, 64), dtype=np.int16)
    told = reference_tensors(network.source, [{0: row} for row in given], [energy])
    assert any(sample[energy][5:20].any() for sample in told.samples)
    for output in evaluate(network, given, against=network).outputs:
        assert output.distance is not None
        assert output.distance.greatest == 0


@pytest.mark.parametrize(
    "options", [Options(input_mode="streamed", output_mode="streamed"), Options(input_type="uint8")]
)
def test_other_ways_to_compile_are_as_good(options: Options) -> None:
    given = reals(9)
    plain = evaluate(quantized(), given, against=floats())
    other = evaluate(compile_model(quantized().model, options), given, against=floats())
    assert other.outputs == plain.outputs


def test_state_makes_a_sequence() -> None:
    model = ring(3)
    program = compile_model(model)
    given = np.stack([sample[0] for sample in slow_inputs(model, 70)])
    for every, sequence in ((None, 70), (8, 8), (100, 100)):
        result = evaluate(program, given, against=model, reset_every=every)
        assert result.sequence == sequence
        assert all(o.distance is not None and o.distance.greatest == 0 for o in result.outputs)
    assert "The network has state: the samples are a sequence.\n" in describe(result)
    result = evaluate(program, given, reset_every=8)
    assert "The network has state, which is reset every 8 samples.\n" in describe(result)
    with pytest.raises(
        UsageError, match=r"has no state to reset\n  remedy: leave out --reset-every"
    ):
        evaluate(compiled("figure1"), given, reset_every=3)


@pytest.mark.parametrize(
    ("labels", "cause", "remedy"),
    [
        (np.zeros(3, np.int64), r"labels have shape \[3\], but there are 4 samples", "give"),
        (np.zeros((), np.int64), r"labels have shape \[\], but there are 4 samples", "give"),
        ("low", "labels are from -1 to 0", "number the classes from 0 to 15"),
        ("high", "labels are from 0 to 16", "number the classes from 0 to 15"),
        ("half", "labels are not whole numbers", "number the classes from 0 to 15"),
        ("text", "labels are not whole numbers", "number the classes from 0 to 15"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, cause: str, remedy: str) -> None:
    program = quantized()
    shape = program.graph.tensors[program.graph.outputs[0]].shape
    if isinstance(labels, str):
        odd = {"low": -1, "high": shape[-1], "half": 0.5, "text": "a"}[labels]
        labels = np.zeros((4, *shape[:-1]), type(odd))
        labels.flat[0] = odd
    remedy = remedy.replace("15", str(shape[-1] - 1))
    cause = cause.replace("16", str(shape[-1]))
    with pytest.raises(UsageError, match=f"{cause}\n  remedy: {remedy}"):
        evaluate(program, reals(4), labels=labels)


def test_what_does_not_go_together() -> None:
    with pytest.raises(
        UsageError, match="there are no samples to evaluate\n  remedy: give at least one"
    ):
        evaluate(quantized(), reals(0))
    holes = reals(3)
    holes[2].flat[5] = np.nan
    with pytest.raises(UsageError, match=r"input '.*' contains NaN\n  remedy: give numbers"):
        evaluate(quantized(), holes)
    with pytest.raises(UsageError, match=r"the input '.*' has shape .*\n.*that it was made from"):
        evaluate(quantized(), reals(3), against=model_of("ds-cnn-kws"))
    with pytest.raises(
        UsageError, match=r"has 2 inputs, but the program has 1\n.*that it was made from"
    ):
        evaluate(quantized(), reals(3), against=model_of(15))


def test_data_from_files(tmp_path: Path) -> None:
    program, given = quantized(), reals(5)
    (name,) = (end.name for end in program.load().inputs)
    np.savez(tmp_path / "one.npz", anything=given)
    more: dict[str, Any] = {name: given[:, 0], "labels": np.arange(9)}
    np.savez(tmp_path / "two.npz", **more)
    np.save(tmp_path / "x.npy", given)
    (tmp_path / "folder").mkdir()
    for i, sample in enumerate(given):
        np.save(tmp_path / "folder" / f"{i}.npy", sample)
    for file in ("one.npz", "two.npz", "x.npy", "folder"):
        found = data_for(program, tmp_path / file)
        assert list(found) == [name]
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], given)
    np.savez(tmp_path / "none.npz", a=given, b=given)
    with pytest.raises(UsageError, match=r"has no array for the input .*; it has a, b\n"):
        data_for(program, tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    with pytest.raises(UsageError, match=r"cannot read .*bad\.npz"):
        data_for(program, tmp_path / "bad.npz")
    with pytest.raises(UsageError, match=r"does not exist\n"):
        data_for(program, tmp_path / "no such file.txt")


def test_labels_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", [1, 2])
    np.savez(tmp_path / "y.npz", y=[1, 2])
    np.savez(tmp_path / "two.npz", y=[1, 2], z=[3])
    for file in ("y.npy", "y.npz"):
        assert labels_from(tmp_path / file).tolist() == [1, 2]
    with pytest.raises(
        UsageError, match=r"two\.npz has 2 arrays\n  remedy: give labels as a \.npy file"
    ):
        labels_from(tmp_path / "two.npz")
    with pytest.raises(
        UsageError, match=r"cannot read .*: No such file.*\n  remedy: give labels as"
    ):
        labels_from(tmp_path / "y.txt")

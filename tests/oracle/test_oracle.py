"""The reference engines: they agree where they should, and fail as errors, not as crashes."""

from __future__ import annotations

import itertools
import os
import struct
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
import pytest
from packaging.requirements import Requirement

from lowtide.errors import LowtideError, MissingToolError
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import (
    WHEELS,
    Difference,
    OracleError,
    first_difference,
    random_inputs,
    reference_tensors,
    tflm_arena,
    tflm_outputs,
)

ROOT = Path(__file__).parents[2]
SHAPE = (1, 24)
INT8 = np.dtype(np.int8)
ENGINES: list[Literal["tflm", "litert"]] = ["tflm", "litert"]
TYPES = {np.dtype(np.int8): schema.TensorType.INT8, np.dtype(np.uint8): schema.TensorType.UINT8}


def model(
    *,
    dtype: np.dtype[Any] = INT8,
    added: int = 1,
    second: int = 0,
    offline: tuple[int, ...] = (),
) -> bytes:
    """2 = 0 + constant 1, whose elements are all `added`; 3 = 2 + `second`. Scales are all 1."""
    tensors = [
        schema.TensorT(
            shape=list(SHAPE),
            type=TYPES[dtype],
            buffer=1 if name == "constant" else 0,
            name=name.encode(),
            quantization=schema.QuantizationParametersT(scale=[1.0], zeroPoint=[0]),
        )
        for name in ("in", "constant", "middle", "out")
    ]
    operators = [
        schema.OperatorT(
            inputs=list(inputs),
            outputs=[output],
            builtinOptionsType=schema.BuiltinOptions.AddOptions,
            builtinOptions=schema.AddOptionsT(),
        )
        for inputs, output in (((0, 1), 2), ((2, second), 3))
    ]
    code = schema.BuiltinOperator.ADD
    data = np.full(SHAPE, added, np.uint8).reshape(-1)
    built = schema.ModelT(
        version=3,
        operatorCodes=[schema.OperatorCodeT(deprecatedBuiltinCode=code, builtinCode=code)],
        subgraphs=[schema.SubGraphT(tensors=tensors, inputs=[0], outputs=[3], operators=operators)],
        buffers=[schema.BufferT(), schema.BufferT(data=data)],
    )
    if offline:
        plan = struct.pack(f"<{3 + len(offline)}i", 1, 0, len(offline), *offline)
        built.metadata = [schema.MetadataT(name=b"OfflineMemoryAllocation", buffer=2)]
        built.buffers.append(schema.BufferT(data=np.frombuffer(plan, np.uint8)))
    builder = flatbuffers.Builder(1024)
    builder.Finish(built.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def inputs(samples: int = 4, dtype: np.dtype[Any] = INT8) -> list[dict[int, Any]]:
    return random_inputs([(0, SHAPE, dtype)], samples, seed=3)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_tensor_has_the_value_expected(engine: Literal["tflm", "litert"]) -> None:
    given = inputs()
    found = reference_tensors(model(added=5), given, [3, 2, 1, 0], engine=engine)
    assert found.engine == engine
    assert len(found.samples) == len(given)
    for sample, arrays in zip(given, found.samples, strict=True):
        middle = np.clip(sample[0].astype(int) + 5, -128, 127)
        out = np.clip(sample[0].astype(int) + middle, -128, 127)
        assert list(arrays) == [3, 2, 1, 0]
        assert all(array.dtype == INT8 for array in arrays.values())
        assert np.array_equal(arrays[0], sample[0])
        assert np.array_equal(arrays[1], np.full(SHAPE, 5))
        assert np.array_equal(arrays[2], middle)
        assert np.array_equal(arrays[3], out)
        with pytest.raises(ValueError, match="read-only"):
            arrays[3][0] = 1


def test_both_engines_agree() -> None:
    tflm, litert = (
        reference_tensors(model(), inputs(), [0, 1, 2, 3], engine=engine) for engine in ENGINES
    )
    assert first_difference(tflm, litert) is None


def test_auto_prefers_tflm_and_falls_back_to_litert() -> None:
    assert reference_tensors(model(), inputs(1), [3]).engine == "tflm"
    unsigned = np.dtype(np.uint8)
    found = reference_tensors(model(dtype=unsigned), inputs(1, unsigned), [3])
    assert found.engine == "litert"


def test_models_that_differ_are_told_apart() -> None:
    given = [{0: np.zeros(SHAPE, np.int8)}]
    a, b = (reference_tensors(model(added=k), given, [0, 2, 3]) for k in (1, 2))
    assert first_difference(a, a) is None
    assert first_difference(a, b) == Difference(sample=0, tensor=2, index=0, left=1, right=2)


def test_no_samples_and_no_tensors() -> None:
    assert reference_tensors(model(), [], [3]).samples == ()
    assert [dict(s) for s in reference_tensors(model(), inputs(1), []).samples] == [{}]


def test_calls_may_run_in_parallel() -> None:
    given = [{0: np.zeros(SHAPE, np.int8)}]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda k: reference_tensors(model(added=k), given, [2]), range(8))
        assert [int(r.samples[0][2][0, 0]) for r in found] == list(range(8))


@pytest.mark.parametrize("content", [b"", b"abc", bytes(200), b"\x10\0\0\0TFL3" + b"\xff" * 400])
@pytest.mark.parametrize("engine", ["auto", "tflm", "litert"])
def test_garbage_is_an_error(content: bytes, engine: Literal["auto", "tflm", "litert"]) -> None:
    with pytest.raises(OracleError) as caught:
        reference_tensors(content, inputs(1), [3], engine=engine)
    message = str(caught.value)
    assert caught.value.exit_code == 1
    assert "Traceback" not in message
    assert ("TensorFlow Lite Micro" in message) == (engine != "litert")
    assert ("LiteRT" in message) == (engine != "tflm")
    with pytest.raises(OracleError, match="TensorFlow Lite Micro"):
        tflm_arena(content)


def test_a_crash_is_an_error_that_names_both_causes() -> None:
    with pytest.raises(OracleError) as caught:
        reference_tensors(model(second=10**6), inputs(1), [3])
    assert "TensorFlow Lite Micro crashed (SIG" in caught.value.cause
    assert "LiteRT failed: Invalid tensor index 1000000" in caught.value.cause


def test_the_engines_own_words_are_passed_on() -> None:
    unsigned = np.dtype(np.uint8)
    with pytest.raises(OracleError, match="Node ADD"):
        reference_tensors(model(dtype=unsigned), inputs(1, unsigned), [3], engine="tflm")


@pytest.mark.parametrize("engine", ENGINES)
def test_unusable_requests_are_errors(engine: Literal["tflm", "litert"]) -> None:
    with pytest.raises(OracleError, match="inputs are tensors"):
        reference_tensors(model(), [{}], [3], engine=engine)
    with pytest.raises(OracleError, match="inputs are tensors"):
        reference_tensors(model(), [{1: np.zeros(SHAPE, np.int8)}], [3], engine=engine)
    with pytest.raises(OracleError, match="Cannot set tensor"):
        reference_tensors(model(), [{0: np.zeros((1, 23), np.int8)}], [3], engine=engine)
    for missing in (4, -1):
        with pytest.raises(OracleError):
            reference_tensors(model(), inputs(1), [missing], engine=engine)


def test_a_time_out_is_an_error() -> None:
    with pytest.raises(OracleError) as caught:
        reference_tensors(model(), inputs(1), [3], timeout=0.001)
    assert caught.value.cause.count("did not finish within 0.001 s") == 2


def without(monkeypatch: pytest.MonkeyPatch, folder: Path, *packages: str) -> None:
    """Make importing `packages` fail in the processes started from here on."""
    for package in packages:
        (folder / f"{package}.py").write_text("raise ImportError('hidden by the test')\n")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without(monkeypatch, tmp_path, "tflite_micro")
    found = reference_tensors(model(), inputs(1), [3])
    assert found.engine == "litert"
    assert found.passed_over == "TensorFlow Lite Micro is not installed"
    with pytest.raises(MissingToolError) as caught:
        tflm_arena(model())
    assert str(caught.value) == (
        "TensorFlow Lite Micro is not installed (hidden by the test)\n"
        '  remedy: install TensorFlow Lite Micro: run `pip install ".[verify]"` in your checkout of '
        "lowtide"
    )
    assert caught.value.exit_code == 4
    with pytest.raises(OracleError) as mixed:
        reference_tensors(b"abc", inputs(1), [3])
    assert "LiteRT failed" in mixed.value.cause
    assert mixed.value.remedy.endswith(
        '; or install TensorFlow Lite Micro: run `pip install ".[verify]"` in your checkout of lowtide'
    )

    without(monkeypatch, tmp_path, "ai_edge_litert")
    with pytest.raises(MissingToolError) as both:
        reference_tensors(model(), inputs(1), [3])
    assert isinstance(both.value, LowtideError)
    assert both.value.remedy == (
        'install TensorFlow Lite Micro or LiteRT: run `pip install ".[verify]"` in your checkout of '
        "lowtide"
    )


def test_an_engine_that_no_package_exists_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(monkeypatch, tmp_path, "tflite_micro", "ai_edge_litert")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    for machine, remedy in [
        ("arm64", 'install LiteRT: run `pip install ".[verify]"` in your checkout of lowtide'),
        (
            "x86_64",
            "use another computer, such as Linux on x86_64: there is no package of TensorFlow Lite "
            "Micro or LiteRT for Darwin on x86_64",
        ),
    ]:
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        with pytest.raises(MissingToolError) as caught:
            reference_tensors(model(), inputs(1), [3])
        assert caught.value.remedy == remedy


def test_the_extra_brings_the_engines_that_exist() -> None:
    """The markers in pyproject.toml and `WHEELS` say the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {
        requirement.name: requirement.marker
        for requirement in map(Requirement, project["optional-dependencies"]["verify"])
    }
    packages: dict[EngineName, str] = {"tflm": "tflite-micro", "litert": "ai-edge-litert"}
    assert set(wanted) == set(packages.values())
    for system, machine in itertools.product(
        ("Linux", "Windows", "Darwin"), ("x86_64", "AMD64", "aarch64", "arm64", "ARM64")
    ):
        here = {"platform_system": system, "platform_machine": machine}
        for engine, package in packages.items():
            marker = wanted[package]
            assert marker is not None
            assert marker.evaluate(here) == ((system, machine) in WHEELS[engine]), here


def test_an_offline_plan_is_followed_for_outputs_and_left_aside_for_tensors() -> None:
    plain, planned = model(), model(offline=(0, -1, 2048, 4096))
    given = inputs()
    preserved = reference_tensors(planned, given, [0, 2, 3], engine="tflm")
    assert first_difference(preserved, reference_tensors(plain, given, [0, 2, 3])) is None
    outputs = reference_tensors(plain, given, [3])
    assert first_difference(tflm_outputs(planned, given), outputs) is None
    assert tflm_arena(planned).head >= 4096 + SHAPE[1] > tflm_arena(plain).head


def test_a_harmful_offline_plan_is_seen() -> None:
    """Tensor 2 is planned over the input, which the second operator still reads."""
    given = inputs(1)
    outputs = tflm_outputs(model(offline=(0, -1, 0, 512)), given)
    assert first_difference(outputs, tflm_outputs(model(), given)) is not None


def test_outputs_errors_are_reported() -> None:
    with pytest.raises(OracleError, match="TensorFlow Lite Micro failed"):
        tflm_outputs(b"abc", inputs(1))


def test_the_arena_is_split_into_head_and_tail() -> None:
    arena = tflm_arena(model())
    assert arena.total == arena.head + arena.tail
    assert arena.head >= 2 * SHAPE[1]
    assert arena.tail > 0

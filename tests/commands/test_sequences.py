"""Networks with state are compared as sequences; what goes wrong in a state, at any call, is found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowtide.commands import checking, originals
from lowtide.commands.checking import Verified
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.sequences import inputs_of
from lowtide.ir import Model
from lowtide.machines.board import find_board
from lowtide.oracle.interpreters import Reference, engine_package, reference_tensors, walking_inputs
from lowtide.oracle.samples import sample_inputs
from lowtide.report.deployment import (
    NOT_PROVED,
    PORTABLE_RAN,
    ran_text,
    verified_document,
    verified_text,
)
from lowtide.tflite.read import load
from networks import loaded

WORLD = Path(__file__).resolve().parents[3] / "shared" / "world"
STATEFUL = ["streaming-wake-word", "lstm-gestures"]
REAL = ["mww_okay_nabu_v1", "mww_okay_nabu_v2", "mww_vad_v2", "tflm_mnist_lstm_int8"]
STREAMED = Options(input_mode="streamed", output_mode="streamed")


@cache
def _compiled(name: str, options: Options | None = None) -> Compiled:
    return compile_model(replace(loaded(name), path=f"zoo:{name}"), options)


def _changed(name: str, what: str, where: str, text: str) -> Compiled:
    """The program with `text` behind the last of the lines `where` of the function NAME_`what`."""
    program = _compiled(name)
    file = f"{program.name}.c"
    source = program.files[file].decode()
    start = source.index(f"int {program.name}_{what}(")
    found = re.compile(where).search(source, start)
    assert found is not None
    source = source[: found.start()] + text + source[found.end() :]
    return replace(program, files={**program.files, file: source.encode()})


def _state(name: str) -> str:
    """Where the program has its state."""
    program = _compiled(name)
    found = re.search(
        r"memset\((m->bases\[\d+\]) \+ 0,", program.files[f"{program.name}.c"].decode()
    )
    assert found is not None
    return found[1]


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.parametrize("options", [None, Options(schedule="operators"), STREAMED])
def test_state_is_carried(name: str, options: Options | None) -> None:
    program = _compiled(name, options)
    result = checking.verify(program)
    assert result.bit_exact
    assert result.state is not None
    assert result.state.bytes == sum(v.size for v in program.assembly.variables) > 0
    assert result.state.bytes <= program.state_bytes  # there is room for the newest rows as well
    assert result.samples == result.state.invocations >= 16
    assert result.state.again == 4


def test_what_is_said_of_it() -> None:
    result = checking.verify(_compiled("lstm-gestures"))
    text = verified_text(result.compiled, result)
    assert text == (
        "zoo:lstm-gestures: bit-exact. All 6 tensors are those of TensorFlow Lite Micro "
        f"({engine_package('tflm')}), byte for byte, on 16 inputs, the C built for this computer with "
        "AddressSanitizer and UndefinedBehaviorSanitizer.\n"
        "The network has state, 48 B in 2 tensors (lstm/hidden 16 B, lstm/cell 32 B): carried over 16 "
        "invocations; after a reset, the first 4 inputs gave the same results again.\n"
        f"{PORTABLE_RAN}\n{NOT_PROVED}"
    )
    assert verified_document(result.compiled, result)["state"] == {
        "bytes": 48,
        "tensors": [{"name": "lstm/hidden", "bytes": 16}, {"name": "lstm/cell", "bytes": 32}],
        "invocations": 16,
        "invocations_after_reset": 4,
    }
    one = checking.verify(_compiled("lstm-gestures"), samples=1)
    assert verified_text(one.compiled, one).endswith(
        "carried over 1 invocation; after a reset, the first input gave the same results again.\n"
        f"{PORTABLE_RAN}\n{NOT_PROVED}"
    )
    stateless = checking.verify(_compiled("figure1"), samples=1)
    assert stateless.state is None
    assert verified_document(stateless.compiled, stateless)["state"] is None
    assert "state" not in verified_text(stateless.compiled, stateless)


@pytest.mark.parametrize("name", STATEFUL)
def test_a_state_that_goes_wrong_at_the_fifth_call_is_found(name: str) -> None:
    wrong = f"for (int i = 0; i < 40; i++) {{ {_state(name)}[i] ^= 0x40; }}"
    spoil = f"static int calls;\n    if (++calls == 5) {{ {wrong} }}\n    "
    result = checking.verify(
        _changed(name, "invoke", r"lt_position at;", spoil + "lt_position at;")
    )
    assert _sample(result) == 4


@pytest.mark.parametrize("name", STATEFUL)
def test_a_reset_that_leaves_something_is_found(name: str) -> None:
    once = r"static int calls;\n    if (calls++ == 0) { \g<0> }"
    found = re.compile(r"\(void\)memset\(m->bases[^;]*;")
    program = _compiled(name)
    file = f"{program.name}.c"
    source = found.sub(once, program.files[file].decode(), count=1)
    result = checking.verify(replace(program, files={**program.files, file: source.encode()}))
    assert result.state is not None
    assert _sample(result) >= result.state.invocations
    assert "again, after a reset: " in verified_text(result.compiled, result)


def test_what_the_last_invocation_left_is_seen() -> None:
    """Of one invocation: what it assigned is read by one more."""
    name = STATEFUL[1]
    program = _compiled(name)
    file = f"{program.name}.c"
    source = program.files[file].decode()
    start = source.index(f"int {program.name}_invoke(")
    end = source.rindex("return", start, source.index("\n}", start))
    source = source[:end] + f"{_state(name)}[0] ^= 64; " + source[end:]
    spoilt = replace(program, files={**program.files, file: source.encode()})
    result = checking.verify(spoilt, samples=1)
    assert _sample(result) == 1
    assert result.samples == 1


def _sample(result: Verified) -> int:
    """The first sample that differs."""
    assert result.mismatch is not None
    return result.mismatch.difference.sample


def test_an_oracle_that_forgets_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(
        model: Model,
        inputs: Sequence[Mapping[int, Any]],
        tensors: Sequence[int],
        **how: object,
    ) -> Reference:
        assert how["fresh"] == (17,)
        return reference_tensors(model.source, inputs, tensors)

    monkeypatch.setattr(originals, "reference", forgetful)
    assert _sample(checking.verify(_compiled("lstm-gestures"))) == 1


def test_one_interpreter_goes_on_until_a_fresh_one() -> None:
    model = loaded("lstm-gestures")
    [same] = sample_inputs(model, 1)
    out = model.graph.outputs[0]
    kept, new = (
        [
            s[out].tobytes()
            for s in reference_tensors(model.source, [same] * 6, [out], fresh=f).samples
        ]
        for f in ((3,), None)
    )
    assert kept[:3] == kept[3:]
    assert len(set(kept)) == 3
    assert new == kept[:1] * 6


def test_seeds_give_other_inputs() -> None:
    program = _compiled("lstm-gestures")
    one, same, other = (inputs_of(program, 20, 8, seed) for seed in (1, 1, 2))
    tensor = program.graph.inputs[0]
    assert len(one.samples) == 25
    assert (one.counted, one.restart) == (20, 21)
    for a, b in zip(one.samples, same.samples, strict=True):
        np.testing.assert_array_equal(a[tensor], b[tensor])
    assert not np.array_equal(one.samples[0][tensor], other.samples[0][tensor])
    for first, again in zip(one.samples, one.samples[21:], strict=False):
        np.testing.assert_array_equal(first[tensor], again[tensor])


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64", "float32", "bool"])
def test_walks_are_slow_and_stay_inside(name: str) -> None:
    dtype = np.dtype(name)
    samples = [s[0] for s in walking_inputs([(0, (40,), dtype)], 40, seed=1)]
    assert all(s.dtype == dtype and s.shape == (40,) for s in samples)
    if dtype.kind == "b":
        return
    low, high = (np.iinfo(name).min, np.iinfo(name).max) if dtype.kind in "iu" else (-1, 1)
    values = np.array([s.astype(np.float64) for s in samples])
    assert low <= values.min()
    assert values.max() <= float(high)
    span = float(high) - float(low)
    steps = np.abs(np.diff(values, axis=0)).max(axis=1)
    walked = [n for n in range(39) if n % 16 not in (7, 8, 9, 10, 11, 15)]
    assert all(0 < steps[n] <= span / 16 + 1 for n in walked)
    assert (samples[8] == low).all()
    assert (samples[9] == high).all()
    assert not samples[10].any()


def test_on_a_board() -> None:
    program = _compiled("lstm-gestures")
    result = checking.run(program, find_board("mps2-an386"))
    assert result.bit_exact
    assert result.state is not None
    assert (result.samples, len(result.measured.instructions)) == (16, 21)
    assert result.measured.ram.state_bytes == 48
    assert "carried over 16 invocations; after a reset" in ran_text(result)
    assert "instructions of one inference, at most" in ran_text(result)
    spoil = f"static int calls;\n    if (++calls == 5) {{ {_state('lstm-gestures')}[0] ^= 64; }}\n"
    spoilt = _changed("lstm-gestures", "invoke", r"lt_position at;", spoil + "    lt_position at;")
    wrong = checking.run(spoilt, find_board("mps2-an386"))
    assert wrong.difference is not None
    assert wrong.difference.sample == 4


@pytest.mark.parametrize("name", [n for n in REAL if (WORLD / f"{n}.tflite").exists()])
def test_real_networks(name: str) -> None:
    program = compile_model(load(WORLD / f"{name}.tflite"))
    result = checking.verify(program, seed=2)
    assert result.bit_exact
    assert result.state is not None
    assert result.state.invocations >= 16

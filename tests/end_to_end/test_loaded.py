"""Programs that are called from Python: what they give is what the reference kernels give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs import Sample, samples

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.loading import Program
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from lowtide.machines.failures import ProgramError
from lowtide.machines.host import host_build, host_trace, rounds_of
from networks import compiled
from stateful import ring, sequence, slow_inputs

CORE = Options(target=find_target("cortex-m4"))
MODES = {
    "resident": Options(),
    "preserved": Options(preserve_input=True),
    "const": Options(input_mode="const"),
    "in": Options(input_mode="streamed"),
    "out": Options(output_mode="streamed"),
    "both": Options(input_mode="streamed", output_mode="streamed"),
    "slices": replace(CORE, slices=True),
    "strips": Options(max_overhead=1.5),
    "operators": Options(schedule="operators"),
    "core": CORE,
    "bytes": Options(input_type="uint8"),
}


def _arrays(program: Program, sample: Sample, *, flip: bool) -> tuple[NDArray[Any], ...]:
    """The inputs of a sample; as the program takes them, whose int8 are uint8 if `flip`."""
    arrays = []
    for end, data in zip(program.inputs, sample.inputs, strict=True):
        stored = np.frombuffer(data, np.uint8)
        flipped = stored ^ 0x80 if flip and end.dtype == np.uint8 else stored
        arrays.append(flipped.view(end.dtype).reshape(end.shape))
    return tuple(arrays)


def _bytes(made: Any) -> tuple[bytes, ...]:
    return tuple(each.tobytes() for each in (made if isinstance(made, tuple) else (made,)))


def _right(network: str | int, options: Options, *, sanitize: bool = False) -> None:
    found = samples(network)
    flip = options.input_type == "uint8"
    with compiled(network, options).load(sanitize=sanitize) as program:
        given = [_arrays(program, sample, flip=flip) for sample in found]
        assert [_bytes(program(arrays)) for arrays in given] == [s.outputs for s in found]
        many = program.many(tuple(np.stack(each) for each in zip(*given, strict=True)))
        wanted = tuple(b"".join(parts) for parts in zip(*(s.outputs for s in found), strict=True))
        assert _bytes(many) == wanted


@pytest.mark.parametrize("seed", [3, 7, 15])  # 15 has two inputs and three outputs
@pytest.mark.parametrize("mode", MODES)
def test_random_networks_in_every_mode(mode: str, seed: int) -> None:
    _right(seed, MODES[mode])


@pytest.mark.parametrize("mode", ["resident", "both", "const"])
def test_the_same_with_sanitizers(mode: str) -> None:
    _right(15, MODES[mode], sanitize=True)


def test_state_is_carried_on_and_reset() -> None:
    model = ring(3)
    wanted = sequence(model, slow_inputs(model, 6))
    for sanitize in (False, True):
        with compile_model(model).load(sanitize=sanitize) as program:
            for _ in range(2):
                for given, outputs in zip(slow_inputs(model, 6), wanted, strict=True):
                    assert _bytes(program(given)) == outputs
                program.reset()


def test_a_library_traces_what_a_sanitized_program_does(tmp_path: Path) -> None:
    program = compiled(15)
    given = [sample.inputs for sample in samples(15)]
    traces = []
    for shared in (False, True):
        folder = tmp_path / str(shared)
        folder.mkdir()
        built = host_build(program.files, program.name, folder, shared=shared, trace=True)
        assert built.warnings == ""
        traces.append(host_trace(built, given))
        traces.append(host_trace(built, given))  # each starts anew
    assert all(trace == traces[0] for trace in traces)
    assert {sample for sample, _ in traces[0].rounds} >= {0, 1, 2}


def test_records_are_those_since_the_last_time(tmp_path: Path) -> None:
    program = compiled("figure1")
    given = np.frombuffer(samples("figure1")[0].inputs[0], np.uint8)
    for shared in (False, True):
        folder = tmp_path / str(shared)
        folder.mkdir()
        built = host_build(program.files, program.name, folder, shared=shared, trace=True)
        running = built.start()
        running.records()
        found = []
        for number in (4, 5):
            running.run([given], 1, first=number)
            found.append(rounds_of(running.records()))
            assert running.records() == b""
        running.close()
        assert {sample for sample, _ in found[0]} == {4}
        assert [rows for _, rows in sorted(found[0].items())] == [
            rows for _, rows in sorted(found[1].items())
        ]


def _damaged(program: Compiled) -> Compiled:
    """The same, but what it returns as output 0 is where its arena ends."""
    source = f"{program.name}.c"
    text = program.files[source].decode()
    right = "return m->bases[0] + "
    assert right in text
    wrong = text.replace(right, f"return m->bases[0] + {program.arena_bytes} + ")
    return replace(program, files={**program.files, source: wrong.encode()})


def test_a_sanitizer_finds_what_is_wrong() -> None:
    program = _damaged(compiled("figure1"))
    with program.load(sanitize=True) as loaded:
        given = np.zeros(loaded.inputs[0].shape, loaded.inputs[0].dtype)
        with pytest.raises(ProgramError, match="heap-buffer-overflow"):
            loaded(given)
        with pytest.raises(ProgramError, match="heap-buffer-overflow"):  # it says so again
            loaded(given)

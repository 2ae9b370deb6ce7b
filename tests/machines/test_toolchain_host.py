"""Building for the host: outputs, sanitizers, and the trace of every row."""

from __future__ import annotations

from pathlib import Path

import pytest
from board_bundles import INCREMENT, bundle, outside

from lowtide.machines.failures import ProgramError
from lowtide.machines.host import host_build, host_run, host_trace

SAMPLES = [[bytes([1, 2, 3, 4])], [bytes([5, 6, 7, 255])]]
OUTPUTS = ((bytes([2, 3, 4, 5]),), (bytes([6, 7, 8, 0]),))
TRACE = """
#ifdef LT_TRACE
void lt_trace(int tensor, int row, const void *data, int bytes);
#define TRACE(tensor, row, data, bytes) lt_trace(tensor, row, data, bytes)
#else
#define TRACE(tensor, row, data, bytes) ((void)0)
#endif
"""


@pytest.mark.parametrize("sanitize", [True, False])
def test_outputs(sanitize: bool, tmp_path: Path) -> None:
    program = host_build(bundle(INCREMENT), "tiny", tmp_path, sanitize=sanitize)
    assert program.warnings == ""
    assert host_run(program, SAMPLES) == OUTPUTS
    assert host_run(program, SAMPLES[1:]) == OUTPUTS[1:]
    assert host_run(program, []) == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("out[in[0] + 59] = 1;", "heap-buffer-overflow"),  # one byte beyond the arena
        (
            "int high = 0x7fffffff; high += in[0]; out[0] = (uint8_t)high;",
            "signed integer overflow",
        ),
        ("out[0] = (uint8_t)(1 << (in[0] + 31));", "shift exponent 32 is too large"),
        ("return in[0];", "lowtide: invoke 1"),
    ],
)
def test_faults_are_found(body: str, words: str, tmp_path: Path) -> None:
    program = host_build(bundle(body), "tiny", tmp_path)
    with pytest.raises(ProgramError) as caught:
        host_run(program, SAMPLES)
    assert words in caught.value.cause
    assert caught.value.cause.startswith("the program failed on the host (exit 1):\n    ")


def test_a_bad_init_and_a_hang(tmp_path: Path) -> None:
    model = bundle("for (;;) { }", init="if (size == 80) { return 4; }")
    program = host_build(model, "tiny", tmp_path)
    with pytest.raises(ProgramError, match=r"did not end within 0\.5 s on the host"):
        host_run(program, SAMPLES, timeout=0.5)
    (tmp_path / "again").mkdir()
    program = host_build({**model, **bundle(init="return 4;")}, "tiny", tmp_path / "again")
    with pytest.raises(ProgramError, match="lowtide: init 4"):
        host_run(program, SAMPLES)


def test_an_input_outside_the_model(tmp_path: Path) -> None:
    program = host_build(outside(6), "tiny", tmp_path)
    assert program.warnings == ""
    assert host_run(program, [[b"\1\2\3\4\5\6"]]) == ((b"\25\0\0\0",),)


def test_a_trace_puts_rows_in_order(tmp_path: Path) -> None:
    # Tensor 3 has two rows, made last row first; row 1 is made twice. Tensor 4 is empty.
    body = f"""{INCREMENT}
    TRACE(3, 1, in, 2);
    TRACE(3, 1, out + 2, 2);
    TRACE(3, 0, out, 2);
    TRACE(4, 0, out, 0);"""
    model = bundle(body, globals_=TRACE, init="TRACE(9, 0, &size, 0);")
    program = host_build(model, "tiny", tmp_path, trace=True)
    assert program.warnings == ""
    trace = host_trace(program, SAMPLES)
    assert trace.outputs == OUTPUTS
    rows = {(0, 3): OUTPUTS[0][0], (0, 4): b"", (1, 3): OUTPUTS[1][0], (1, 4): b"", (-1, 9): b""}
    assert trace.tensors == rows


def test_a_trace_needs_a_program_that_traces(tmp_path: Path) -> None:
    program = host_build(bundle(INCREMENT, globals_=TRACE), "tiny", tmp_path)
    with pytest.raises(ValueError, match="without trace=True"):
        host_trace(program, SAMPLES)

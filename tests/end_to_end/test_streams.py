"""Streamed rows in and out: the outputs are those of the reference kernels, however rows are given.

Why callers in C of the tests' own: lowtide's harness gives rows in one way; here each program is run
pulling, pushing one row at a time and pushing bunches, and every row must be the next of its tensor.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from programs import run_main, samples
from streams import BOTH_USED, CALLER, c_data, c_run

from lowtide.commands import checking
from lowtide.commands.options import Options
from lowtide.machines.board import find_board
from lowtide.machines.host import host_build, host_run
from networks import compiled

BOTH = Options(input_mode="streamed", output_mode="streamed")
MODES = {
    "in": Options(input_mode="streamed"),
    "out": Options(output_mode="streamed"),
    "const_out": Options(input_mode="const", output_mode="streamed"),
    "both": BOTH,
}
SEEDS = 12


def _every_mode(network: str | int, folder: Path) -> None:
    """All modes in one binary."""
    found = samples(network)
    declarations, body = CALLER + c_data("data", found), BOTH_USED
    programs = [compiled(network, replace(MODES[name], name=f"net_{name}")) for name in MODES]
    for program in programs:
        more, run = c_run(program, "data", found)
        declarations += more
        body += run
    run_main(folder, programs, body, declarations)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_networks_in_every_mode(seed: int, tmp_path: Path) -> None:
    _every_mode(seed, tmp_path)


@pytest.mark.parametrize("network", ["figure1", "ds-cnn-kws", "resnet8", "attention-block"])
def test_networks_of_the_zoo_in_every_mode(network: str, tmp_path: Path) -> None:
    _every_mode(network, tmp_path)


@pytest.mark.parametrize(
    ("network", "options"),
    [
        ("figure1", BOTH),
        ("branchy-cell", MODES["in"]),
        ("attention-block", MODES["out"]),
        (15, BOTH),  # two inputs, three outputs
    ],
)
def test_lowtides_own_harness(network: str | int, options: Options, tmp_path: Path) -> None:
    """Every tensor as `verify` sees it, and what was handed over."""
    program = compiled(network, options)
    assert checking.verify(program, samples=4).mismatch is None
    found = samples(network)
    build = host_build(program.files, program.name, tmp_path)
    assert build.warnings == ""
    assert host_run(build, [sample.inputs for sample in found]) == tuple(s.outputs for s in found)


@pytest.mark.parametrize(
    ("options", "file", "right", "wrong"),
    [
        (MODES["out"], "lt_stream.c", "stream->at.row, row)", "stream->at.row, (char *)row + 4)"),
        (Options(), "figure1.c", "return m->bases[0] + ", "return m->bases[0] + 0 * "),
    ],
    ids=["taken", "left"],
)
def test_verify_finds_an_output_that_is_not_handed_over(
    options: Options, file: str, right: str, wrong: str
) -> None:
    program = compiled("figure1", options)
    assert program.files[file].decode().count(right) >= 1
    broken = {**program.files, file: program.files[file].replace(right.encode(), wrong.encode())}
    assert not checking.verify(replace(program, files=broken), samples=2).bit_exact


@pytest.mark.parametrize("board", ["mps2-an386", "rv32-virt"])
@pytest.mark.parametrize("network", ["figure1", 15])
def test_boards(network: str | int, board: str) -> None:
    result = checking.run(compiled(network, BOTH), find_board(board), samples=3)
    assert result.bit_exact
    assert result.measured.warnings == ""


@pytest.mark.parametrize("network", ["figure1", "ds-cnn-kws", "resnet8", "mobilenet-v1-0.25-96"])
def test_streaming_takes_no_more_ram(network: str) -> None:
    """Neither an input nor an output is ever there as a whole."""
    for mode in ("in", "both"):
        assert (
            compiled(network, MODES[mode]).arena_bytes <= compiled(network, Options()).arena_bytes
        )


def test_strips_beside_a_stream(tmp_path: Path) -> None:
    """The first stage runs in strips, and the last hands over its rows."""
    network = "mobilenet-v1-0.25-96"
    program = compiled(network, replace(MODES["const_out"], max_overhead=math.inf))
    plan = program.assembly.plan
    assert plan is not None
    assert any(stage.strip_width is not None for stage in plan.stages)
    found = samples(network)
    declarations, body = c_run(program, "data", found)
    declarations = CALLER + c_data("data", found) + declarations
    run_main(tmp_path, [program], BOTH_USED + body, declarations)

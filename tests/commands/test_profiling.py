"""Profiles of generated programs: all instructions and MACs are some operator's, or said not to be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lowtide.commands.checking import Ran, run
from lowtide.commands.options import Options
from lowtide.commands.profiling import CALLER, STEP_PROGRAM, Profile
from lowtide.machines.board import find_board
from lowtide.machines.executed import NOTHING
from lowtide.machines.profiled import Program, Unprofiled
from lowtide.modes import InputMode
from lowtide.report.describe import describe
from networks import compiled

BOARD = "mps2-an386"
TARGET = find_board(BOARD).core.target
WAYS = {
    "rows": Options(),
    "operators": Options(schedule="operators"),
    "compacting": Options(schedule="operators", allocator="compacting"),
    "streamed": Options(input_mode="streamed", output_mode="streamed"),
    "strips": Options(input_mode="const", max_overhead=1.3),
}


def _ran(network: str, options: Options, board: str = BOARD) -> tuple[Ran, Profile]:
    target = find_board(board).core.target
    ran = run(compiled(network, replace(options, target=target)), board, samples=1, profile=True)
    assert isinstance(ran.profile, Profile), ran.profile
    return ran, ran.profile


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("network", ["branchy-cell", "ds-cnn-kws"])
def test_everything_is_some_operators(network: str, way: str) -> None:
    ran, profile = _ran(network, WAYS[way])
    graph = ran.compiled.graph

    assert ran.bit_exact
    assert abs(profile.instructions - ran.measured.max_instructions) <= 40  # of a tick
    for shares in (profile.operators, profile.kernels, profile.functions):
        assert sum(share.instructions for share in shares) == profile.instructions
        assert sum((s.cycles for s in shares if s.cycles), NOTHING) == profile.cycles
    for shares in (profile.operators, profile.kernels):
        assert sum(share.macs for share in shares) == profile.macs == ran.macs
    shown = {op for share in profile.operators for op in share.operators}
    assert shown >= {op.id for op in graph.ops if op.label in ("CONV_2D", "SOFTMAX")}
    for share in profile.operators:
        assert share.type == " + ".join(dict.fromkeys(graph.ops[i].label for i in share.operators))
        assert bool(share.kernels) == bool(share.operators) or share.name == "moves of tensors"
    names = {share.name for share in profile.operators if not share.operators}
    assert (
        {STEP_PROGRAM, CALLER}
        <= names
        <= {*(STEP_PROGRAM, CALLER, "rows given and taken", "moves of tensors")}
    )
    kernels = {kernel for share in profile.operators for kernel in share.kernels}
    assert kernels == {share.name for share in profile.kernels if share.kernels}


@pytest.mark.parametrize("mode", ["streamed", "const"])
def test_the_profile_of_a_window_that_slides_is_of_a_hop(mode: InputMode) -> None:
    """First windows take far more than hops: the one at the start, and the one after the reset."""
    ring = Options(hop=2, input_mode=mode, target=TARGET)
    ran = run(compiled("wake-word-window", ring), BOARD, profile=True)
    measured, profile = ran.measured, ran.profile
    assert isinstance(profile, Profile), profile
    assert measured.first_instructions > 5 * measured.max_instructions > 0
    assert len(measured.whole) == 2
    assert abs(profile.instructions - measured.max_instructions) <= 40  # of a tick
    assert profile.macs == ran.macs
    kernels = [share.name for share in profile.kernels if share.kernels]
    assert kernels and not any(name.startswith(("lt_hop", "lt_stream")) for name in kernels)
    assert f"{profile.instructions:,} instructions of one hop, counted" in describe(ran)


def test_a_program_whose_nodes_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program, "nodes", None)
    ran = run(compiled("figure1", Options(target=TARGET)), BOARD, samples=1, profile=True)
    why = "could not tell which node runs: no read of the table of nodes"
    assert ran.profile == Unprofiled(why)
    assert ran.bit_exact


def test_an_operator_alone_takes_what_its_kernel_takes() -> None:
    """There is one softmax, at the end, and it is the only one of its kernel."""
    _, profile = _ran("ds-cnn-kws", Options())
    (operator,) = [share for share in profile.operators if share.type == "SOFTMAX"]
    (kernel,) = [share for share in profile.kernels if share.name == operator.kernels[0]]
    assert operator.instructions == kernel.instructions > 500
    assert operator.cycles == kernel.cycles


def test_equal_operators_take_the_same() -> None:
    """The four depthwise layers of ds-cnn-kws are of one shape; their rows lie elsewhere."""
    _, profile = _ran("ds-cnn-kws", Options(), "rv32-virt")
    alike = [share for share in profile.operators if share.type == "DEPTHWISE_CONV_2D"]
    assert len(alike) == 4
    most, least = (of(share.instructions for share in alike) for of in (max, min))
    assert most <= 1.01 * least

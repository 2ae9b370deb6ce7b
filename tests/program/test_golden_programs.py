"""Programs as they were planned last: a golden file, so that nothing about plans changes unseen.

Why: a plan that is a little worse is as right as the one before, so no other test fails. A line says
what a program takes; its digest is of all that is planned: where rows lie, their ports, the turns.
"""

from __future__ import annotations

import hashlib

import pytest

from golden_files import assert_golden
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from lowtide.program.assemble import Assembly
from lowtide.program.tables import called
from networks import compiled

M4 = find_target("cortex-m4")
PROGRAMS: dict[str, tuple[str | int, Options]] = {
    "branchy-cell": ("branchy-cell", Options()),
    "branchy-cell, operators": ("branchy-cell", Options(schedule="operators")),
    "branchy-cell, compacting": (
        "branchy-cell",
        Options(schedule="operators", allocator="compacting"),
    ),
    "ds-cnn-kws, cortex-m4": ("ds-cnn-kws", Options(target=M4)),
    "ds-cnn-kws, 1.3 times the MACs": ("ds-cnn-kws", Options(target=M4, max_overhead=1.3)),
    "resnet8, slices": ("resnet8", Options(target=M4, slices=True)),
    "resnet8, fastest": ("resnet8", Options(fastest=True)),
    "wake-word-window, hop": ("wake-word-window", Options(hop=2)),
    "streaming-wake-word": ("streaming-wake-word", Options()),
    "audio-front-end": ("audio-front-end", Options()),
    "lstm-gestures": ("lstm-gestures", Options()),
    "attention-block": ("attention-block", Options(target=find_target("cortex-m55"))),
    **{
        f"random {number}, {told}": (number, options)
        for number, (told, options) in enumerate(
            (
                ("default", Options()),
                ("streamed", Options(input_mode="streamed", output_mode="streamed")),
                ("twice the MACs", Options(max_overhead=2.0)),
                ("const", Options(input_mode="const")),
                ("preserved", Options(preserve_input=True)),
            )
            * 3
        )
    },
}


def _digest(of: Assembly) -> str:
    kernels = [called(entry) for entry in of.nodes]
    nodes = [None if node is None else (node.kernel, node.scratch) for node in kernels]
    planned = (of.rows, of.ports, nodes, of.turns, of.pointers, of.counters, of.bases, of.costs)
    return hashlib.sha256(repr(planned).encode()).hexdigest()[:12]


@pytest.mark.parametrize("part", range(3))
def test_programs(part: int, pytestconfig: pytest.Config) -> None:
    lines = []
    for name, (network, options) in list(PROGRAMS.items())[part::3]:
        made = compiled(network, options)
        of = made.assembly
        lines.append(
            f"{name}: arena {made.arena_bytes:,} B, state {made.state_bytes:,} B,"
            f" {len(of.nodes)} nodes, {len(of.turns)} turns, {len(of.rows)} cuts, {_digest(of)}"
        )
    assert_golden(f"programs-{part}.txt", "\n".join(lines), pytestconfig)

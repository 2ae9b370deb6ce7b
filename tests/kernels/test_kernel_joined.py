"""Concatenations along channels, put together where a block reads them, against the operators alone."""

from __future__ import annotations

from itertools import product

import pytest
from block_models import LIMITS, Chain, Unit, differences
from conv_models import RELU6, VALID

from lowtide.machines.board import find_target
from lowtide.target import ANY

POINTWISE = (
    Unit(core=False, joins=(3,), project=5, expand=0),
    Unit(core=False, joins=(4, 8), project=8, expand=0, activations=(RELU6, RELU6, RELU6)),
    Unit(core=False, joins=(1, 2, 5), project=1, expand=0),
)
DEPTHWISE = (
    Unit(joins=(4,), project=8, expand=0),
    Unit(joins=(2, 3), project=16, expand=0, stride=(2, 2)),
    Unit(joins=(8,), project=4, expand=0, kernel=(5, 3), padding=(2, 2, 1, 1)),
    Unit(joins=(4,), project=7, expand=0, kernel=(2, 2), padding=VALID),
)
TARGETS = {"any": ANY, **{core: find_target(core) for core in ("cortex-m4", "cortex-m55")}}


def chains(units: tuple[Unit, ...]) -> list[Chain]:
    """Each within limits of scratch memory, of widths of one piece and several, whole and in strips."""
    shapes = product(((6, 9, 4), (6, 17, 3), (5, 40, 8)), (0, 5))
    cases = product(units, shapes, LIMITS[::2])
    return [
        Chain((unit,), shape, strip=strip, limit=limit)
        for unit, (shape, strip), limit in cases
        if unit.reads_all(shape[0])
    ]


@pytest.mark.parametrize("core", TARGETS)
@pytest.mark.parametrize("units", [POINTWISE, DEPTHWISE], ids=["pointwise", "depthwise"])
def test_joined(core: str, units: tuple[Unit, ...]) -> None:
    assert differences(chains(units), target=TARGETS[core]) == []


@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_on_boards(board: str) -> None:
    target = TARGETS["cortex-m4" if board == "mps2-an386" else "cortex-m55"]
    for units in (POINTWISE, DEPTHWISE):
        assert differences(chains(units)[::5], board=board, target=target) == []


def test_streamed() -> None:
    every = [*chains(POINTWISE)[::4], *chains(DEPTHWISE)[::4]]
    whole = [chain for chain in every if not chain.strip]
    assert differences(whole, input_mode="streamed", output_mode="streamed") == []

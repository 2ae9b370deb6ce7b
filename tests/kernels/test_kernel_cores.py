"""Convolutions by the kernels for one kind of core: on the host, and on that core.

Which: with DSP instructions by fours of channels and by columns; with Helium by lanes of sixteen
products or four channels; without either with bytes as weights. The host runs the C beside the assembly,
and of bytes the loops in which two pixels share a multiplication, as on RISC-V; a Cortex-M3 and a
Cortex-M0 have loops of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from boards import board_differences
from conv_models import Layer, Models
from core_models import (
    arithmetic,
    channels,
    depthwise_arithmetic,
    depthwise_channels,
    depthwise_kernels,
    depthwise_rows,
    depthwise_tall,
    model,
    windows,
)
from harness import differences

from lowtide.lower import lower_op
from lowtide.lower.families import depthwise_vector
from lowtide.machines.board import find_target
from lowtide.target import Target
from lowtide.tflite.read import parse

Case = Callable[[Models], None]
DENSE: tuple[Case, ...] = (windows, channels, arithmetic)
DSP, HELIUM = {"cortex-m4": "mps2-an386"}, {"cortex-m55": "mps3-an547"}
PLAIN = {"cortex-m3": "mps2-an385", "cortex-m0": "microbit", "rv32imac": "rv32-virt"}


@dataclass(frozen=True)
class Family:
    """A family of kernels: the cores it is for with a board of each, and what is asked of it."""

    boards: Mapping[str, str]
    cases: tuple[Case, ...]

    @property
    def target(self) -> Target:
        """Its first core."""
        return find_target(next(iter(self.boards)))


FAMILIES = {
    "conv_4x2": Family(DSP, DENSE),
    "conv_vector": Family(HELIUM, DENSE),
    "conv_scalar": Family(PLAIN, DENSE),
    "depthwise_3x3": Family(DSP, (depthwise_rows, depthwise_arithmetic)),
    "depthwise_columns": Family(DSP, (depthwise_channels, depthwise_kernels)),
    "depthwise_planes": Family(
        HELIUM,
        (
            depthwise_rows,
            depthwise_channels,
            depthwise_kernels,
            depthwise_tall,
            depthwise_arithmetic,
        ),
    ),
    "depthwise_vector": Family(HELIUM, ()),  # the lean form of planes, for most shapes
    "depthwise_scalar": Family(
        PLAIN, (depthwise_channels, depthwise_kernels, depthwise_arithmetic)
    ),
}
CASES = [(name, case) for name, family in FAMILIES.items() for case in family.cases]
BOARDS = [(case, core) for name, case in CASES for core in FAMILIES[name].boards]


def _shown(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("family", "case"), CASES, ids=_shown)
def test_on_the_host(family: str, case: Case) -> None:
    assert differences(model(case), target=FAMILIES[family].target) == []


@pytest.mark.parametrize("case", [windows, channels])
def test_lean_on_the_host(case: Case) -> None:
    target = FAMILIES["conv_scalar"].target
    assert differences(model(case), target=target, lean=True) == []


@pytest.mark.parametrize("case", FAMILIES["depthwise_planes"].cases)
def test_lean_depthwise_on_the_host(case: Case) -> None:
    target = FAMILIES["depthwise_vector"].target
    assert differences(model(case), target=target, lean=True) == []


@pytest.mark.parametrize(("case", "core"), BOARDS, ids=_shown)
def test_on_boards(case: Case, core: str) -> None:
    board = {**DSP, **HELIUM, **PLAIN}[core]
    assert board_differences(model(case), board, target=find_target(core), plenty=True) == []


def test_lean_depthwise_with_a_rest_of_channels_on_a_board() -> None:
    """Some of the last four channels are made again, of all windows that have code of their own."""
    net = Models(1)
    for count in (5, 6, 7, 9):
        x = net.input(1, 7, 9, count, zero=-5)
        for kernel in [(3, 3), (5, 5), (7, 7), (2, 4), (5, 1)]:
            for stride in [(1, 1), (2, 2)]:
                net.depthwise(x, 1, kernel, Layer(stride=stride, zero=3))
    target = FAMILIES["depthwise_vector"].target
    graph = parse(net.bytes()).graph
    nodes = [lower_op(graph, op, target=target).nodes[0] for op in graph.ops]
    assert {node.leaner.kernel for node in nodes} == {depthwise_vector.REST}
    assert board_differences(net.bytes(), HELIUM["cortex-m55"], target=target, lean=True) == []


def _kernel(net: Models, target: Target) -> str:
    graph = parse(net.bytes()).graph
    (node,) = lower_op(graph, graph.ops[0], target=target).nodes
    return node.kernel


@pytest.mark.parametrize(
    ("in_c", "out_c", "kernel", "layer", "families"),
    [
        (8, 4, (1, 1), Layer(), "4x2 vector scalar"),
        (3, 5, (3, 3), Layer(), "4x2 vector scalar"),
        (1, 4, (5, 1), Layer(), "4x2 vector scalar"),
        (8, 4, (1, 1), Layer(real=2.0), ""),
        (8, 4, (1, 1), Layer(weights=np.array(-128)), "vector"),
        (8, 4, (1, 1), Layer(weights=np.array([-128, 1] * 4)), "vector scalar"),
        (3, 4, (1, 1), Layer(weights=np.array(-128)), "vector scalar"),
        (8, 2, (1, 1), Layer(bias=np.array([1 << 30, 0]), real=2.0**-24), "4x2 vector scalar"),
        (8, 2, (1, 1), Layer(bias=np.array([0, 9 << 20]), real=2.0**-18), "vector scalar"),
    ],
)
def test_which_convolutions_are_made_so(
    in_c: int, out_c: int, kernel: tuple[int, int], layer: Layer, families: str
) -> None:
    net = Models(1)
    net.conv(net.input(1, 9, 9, in_c), out_c, kernel, layer)
    _made_by(net, "conv", families)


@pytest.mark.parametrize(
    ("count", "kernel", "layer", "families"),
    [
        (8, (3, 3), Layer(), "3x3 planes scalar"),
        (8, (3, 3), Layer(stride=(2, 2), dilation=(1, 1)), "3x3 planes scalar"),
        (6, (3, 3), Layer(), "3x3 planes scalar"),
        (8, (3, 3), Layer(stride=(1, 3)), "planes scalar"),
        (8, (3, 3), Layer(dilation=(1, 2)), "planes scalar"),
        (8, (1, 3), Layer(), "3x3 planes scalar"),
        (8, (7, 7), Layer(), "planes scalar"),
        (8, (8, 3), Layer(), "planes scalar"),
        (8, (9, 9), Layer(), "vector scalar"),
        (3, (3, 3), Layer(), "3x3 planes scalar"),
        (8, (3, 3), Layer(real=2.0), ""),
        (5, (2, 5), Layer(weights=np.array(-128)), "columns planes scalar"),
        (8, (5, 1), Layer(), "columns planes scalar"),
    ],
)
def test_which_depthwise_convolutions_are_made_so(
    count: int, kernel: tuple[int, int], layer: Layer, families: str
) -> None:
    net = Models(1)
    net.depthwise(net.input(1, 9, 9, count), 1, kernel, layer)
    _made_by(net, "depthwise", families)


def _made_by(net: Models, operator: str, families: str) -> None:
    """Assert that of the families for this operator just those make the network, on their cores."""
    known = [name for name in FAMILIES if name.startswith(operator)]
    wanted = [f"{operator}_{family}" for family in families.split()]
    own = [name for name in known if _kernel(net, FAMILIES[name].target) == f"lt_{name}_s8_row"]
    assert own == wanted
    assert _kernel(net, find_target("any")) not in {f"lt_{name}_s8_row" for name in known}
    for name in wanted:
        others = {core for board in (DSP, HELIUM, PLAIN) for core in board}
        for core in others - set(FAMILIES[name].boards):
            assert _kernel(net, find_target(core)) != f"lt_{name}_s8_row"

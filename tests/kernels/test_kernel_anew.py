"""Channels that a kernel with packed weights cannot make, and that are made anew: factors above 1/2."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from boards import board_differences
from conv_models import VALID, Layer, Models
from harness import differences

from lowtide.machines.board import find_target

CORES = pytest.mark.parametrize("core", ["any", "cortex-m3", "cortex-m4", "cortex-m55"])


def convs() -> bytes:
    """All sorts of windows; loud channels first, last, in the midst and side by side."""
    net = Models(11)
    x = net.input(1, 9, 9, 8)
    net.conv(x, 12, (1, 1), Layer(loud=(0,)))
    net.conv(x, 13, (3, 3), Layer(loud=(12,)))
    net.conv(x, 31, (3, 3), Layer(loud=(4, 5), padding=VALID, zero=-7))
    net.conv(x, 12, (2, 3), Layer(loud=(11,), stride=(2, 1), dilation=(1, 2)))
    net.conv(net.input(1, 7, 6, 3), 10, (3, 3), Layer(loud=(7,), stride=(2, 2)))
    return net.bytes()


def depthwise() -> bytes:
    """The same; up to half of the channels are loud."""
    net = Models(12)
    x = net.input(1, 9, 9, 8)
    net.depthwise(x, 1, (3, 3), Layer(loud=(0, 3, 4, 7)))
    net.depthwise(x, 1, (3, 3), Layer(loud=(6,), stride=(2, 2), zero=5))
    net.depthwise(x, 1, (5, 1), Layer(loud=(1, 2), padding=VALID))
    net.depthwise(x, 1, (2, 5), Layer(loud=(3,), dilation=(2, 1)))
    return net.bytes()


@pytest.mark.parametrize("model", [convs, depthwise])
@CORES
def test_loud_channels(model: Callable[[], bytes], core: str) -> None:
    assert differences(model(), samples=3, target=find_target(core)) == []


@pytest.mark.parametrize("model", [convs, depthwise])
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_loud_channels_on_boards(model: Callable[[], bytes], board: str) -> None:
    core = {"mps2-an386": "cortex-m4", "mps3-an547": "cortex-m55"}[board]
    assert board_differences(model(), board, target=find_target(core)) == []


@CORES
def test_more_than_can_be_made_anew(core: str) -> None:
    """All channels are loud: one kernel without packed weights makes them."""
    net = Models(13)
    net.conv(net.input(1, 5, 5, 4), 6, (3, 3), Layer(real=0.7))
    net.depthwise(net.input(1, 5, 5, 6), 1, (3, 3), Layer(real=1.7))
    net.depthwise(net.input(1, 5, 5, 3), 3, (3, 2), Layer(weights=np.array(-128)))
    net.depthwise(net.input(1, 5, 7, 1), 2, (3, 2), Layer(stride=(2, 1)))
    assert differences(net.bytes(), samples=3, target=find_target(core)) == []

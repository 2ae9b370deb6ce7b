"""Blocks for cores with Arm's DSP extension, in all their forms, against the three operators alone.

What `test_kernel_block` has of geometries; here it is the forms: how many pixels at a time, which kernel
for the depthwise convolution, pointwise ones by pairs of pixels or one by one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from block_models import LIMITS, Chain, Network, Unit, differences, limited, model_of, prepared
from conv_models import RELU6, VALID, Models

from lowtide.lower.nodes import Node, Params
from lowtide.machines.board import find_target
from lowtide.passes import fold_pads

M4 = find_target("cortex-m4")
UNITS = (
    Unit(expand=16, project=8),
    Unit(expand=16, project=8, keeps=False),
    Unit(stride=(2, 2), expand=12, project=5, activations=(RELU6, RELU6, RELU6)),
    Unit(stride=(2, 2), expand=20, project=0, padding=(1, 1, 1, 1)),
    Unit(expand=0, project=6),
    Unit(stride=(2, 2), expand=0, project=8, padding=VALID),
    Unit(kernel=(5, 5), expand=8, project=4),
    Unit(expand=6, project=4),
    Unit(expand=8, project=0, keeps=False),
)


def odd_chains(strip: int) -> list[Chain]:
    """Pixels that are no words: the last one's must not be read past the row's end, whichever columns of
    the row a block is at, and past the strip's if there are strips."""
    return [
        Chain((unit,), (8, width, channels), limit=limit, strip=strip)
        for unit in (UNITS[0], UNITS[1], UNITS[8])
        for width, channels in ((8, 6), (9, 5), (12, 10), (7, 15), (11, 2))
        for limit in LIMITS[1:]
    ]


def in_place() -> list[Chain]:
    """What the pointwise convolution reads lies where it writes: as many channels or fewer, in rows of
    pieces with and without a last one that is odd."""
    units = (
        Unit(expand=8, project=8),
        Unit(expand=8, project=12, keeps=False),
        Unit(stride=(2, 2), expand=12, project=13),
        Unit(expand=6, project=7),  # no words
        Unit(kernel=(5, 5), expand=4, project=20),
        Unit(expand=0, project=9),
    )
    return [
        Chain((unit,), (7, width, 8), limit=limit)
        for unit in units
        for width in (8, 9, 14, 23, 34)
        for limit in LIMITS
    ]


@pytest.mark.parametrize("strip", [0, 3])
def test_every_form(strip: int) -> None:
    """On the host, where C stands for the assembly."""
    assert differences(limited(UNITS, strip), target=M4) == []


@pytest.mark.parametrize("strip", [0, 1, 3])
def test_pixels_that_are_no_words(strip: int) -> None:
    assert differences(odd_chains(strip), target=M4) == []


@pytest.mark.parametrize("number", range(3))
def test_in_place(number: int) -> None:
    assert differences(in_place()[number::3], target=M4) == []


def test_in_place_on_boards() -> None:
    chains = in_place()
    for first in range(0, len(chains), 40):
        assert differences(chains[first : first + 40 : 3], board="mps2-an386", target=M4) == []


def test_which_are_in_place() -> None:
    """All but those that would not fit, or whose pixels are not copied first."""
    net = Network(Models(1))
    net.add(Chain((Unit(expand=8, project=8),), (8, 16, 8)))
    net.add(Chain((Unit(expand=16, project=8),), (8, 16, 8)))
    ready = prepared(fold_pads(model_of(net.models, *net.outputs).graph), target=M4)
    found = set()
    for block in ready.blocks:
        for node in (ready.lowered[block.op].nodes[0], *ready.lowered[block.op].nodes[0].forms):
            fields = dict(node.params.fields)
            project = fields["project"]
            if isinstance(project, Params):
                lean = dict(project.fields)["lean"]
                fits = block.operators[0] < 3
                found.add((fits, lean, fields["in_place"]))
    assert found == {(True, 0, 1), (True, 1, 0), (False, 0, 0), (False, 1, 0)}


def test_boards() -> None:
    """On the core itself."""
    for first in (0, 1):
        assert differences(limited(UNITS)[first::4], board="mps2-an386", target=M4) == []


def test_other_kernels_where_fours_cannot_be() -> None:
    """Weights whose sums are too large for fours: a block calls what every core has."""
    unit = replace(UNITS[0], spread=40.0)
    assert differences([Chain((unit,), (8, 8, 8))], target=M4) == []


def test_what_forms_there_are() -> None:
    """The normal one, then others, each with a kernel of its own kind, less scratch memory than the one
    before it and a higher price."""
    net = Network(Models(1))
    net.add(Chain((UNITS[0],), (8, 16, 8)))
    ready = prepared(fold_pads(model_of(net.models, *net.outputs).graph), target=M4)
    nodes = [ready.lowered[block.op].nodes[0] for block in ready.blocks]
    assert {node.kernel for node in nodes} == {"lt_block_4x2_s8_row", "lt_separable_4x2_s8_row"}
    for node in nodes:
        sizes = [form.scratch for form in node.forms]
        assert node.scratch < sizes[0]
        assert len(sizes) > 3
        assert sizes == sorted(set(sizes), reverse=True)
        assert all(isinstance(form, Node) and form.kernel == node.kernel for form in node.forms)

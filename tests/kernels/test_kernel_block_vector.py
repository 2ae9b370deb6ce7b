"""Blocks for cores with Helium, in all their forms, against the three operators alone.

What `test_kernel_block` has of geometries; here it is the forms, and what vectors come to an end with:
how many pixels at a time, channels that are no fours and products that are no sixteens, which kernel for
the depthwise convolution.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from block_models import Chain, Network, Unit, differences, limited, model_of, prepared
from conv_models import NONE, RELU, RELU6, VALID, Models

from lowtide.lower.nodes import Node, Params
from lowtide.machines.board import find_target
from lowtide.passes import fold_pads

M55 = find_target("cortex-m55")
UNITS = (
    Unit(expand=16, project=8),
    Unit(expand=16, project=8, keeps=False),
    Unit(stride=(2, 2), expand=13, project=5, activations=(RELU6, RELU6, RELU6)),
    Unit(stride=(2, 2), expand=20, project=0, padding=(1, 1, 1, 1)),
    Unit(expand=0, project=6),
    Unit(stride=(2, 2), expand=0, project=9, padding=VALID),
    Unit(kernel=(5, 5), expand=8, project=4, zeros=(-128, 127, -128)),
    Unit(kernel=(5, 5), expand=7, project=17, activations=(RELU, RELU, NONE)),
    Unit(expand=8, project=0, keeps=False),
    Unit(
        kernel=(7, 3),
        expand=12,
        project=4,
        zeros=(-128, -128, 127),
        activations=(RELU6, RELU6, NONE),
    ),
)
WIDE = (
    Unit(kernel=(3, 1), expand=8, project=4),
    Unit(kernel=(1, 4), expand=8, project=4),
    Unit(kernel=(7, 7), stride=(2, 2), expand=4, project=3),
    Unit(kernel=(7, 7), stride=(3, 3), expand=6, project=3, padding=VALID),
    Unit(kernel=(8, 8), stride=(5, 6), expand=5, project=3),
)
"""Windows of 1 to 8 columns, some of more bytes than a plane has for eight pixels."""


def maps() -> list[Chain]:
    """The wide windows, and rows of all numbers of pixels, of channels that are no fours."""
    found = [
        Chain((replace(unit, keeps=keeps),), (16, width, 5), strip=strip)
        for unit in WIDE
        for width, strip in ((16, 0), (24, 0), (13, 3))
        for keeps in (True, False)
        if unit.reads_all(16)
    ]
    for width in (*range(1, 12), 13, 16, 17):
        unit = UNITS[width % 3]
        found.append(Chain((replace(unit, expand=8 + width),), (6, width, width)))
    return found


@pytest.mark.parametrize("strip", [0, 3])
def test_every_form(strip: int) -> None:
    """On the host, where C stands for the assembly."""
    assert differences(limited(UNITS, strip), target=M55) == []


def test_maps() -> None:
    """Windows and rows of many sizes, on the host."""
    assert differences(maps(), target=M55) == []


@pytest.mark.parametrize("first", [0, 1, 2])
def test_boards(first: int) -> None:
    """On the core itself."""
    chains = [*limited(UNITS)[first::3], *maps()[first::3]]
    assert differences(chains, board="mps3-an547", target=M55) == []


def test_fewer_than_four_channels() -> None:
    """By vectors as well."""
    chain = Chain((Unit(expand=3),), (8, 8, 8))
    assert differences([chain], target=M55) == []
    net = Network(Models(1))
    net.add(chain)
    ready = prepared(fold_pads(model_of(net.models, *net.outputs).graph), target=M55)
    nodes = [ready.lowered[block.op].nodes[0] for block in ready.blocks]
    assert all(isinstance(node, Node) and "vector" in node.kernel for node in nodes)


def test_what_forms_there_are() -> None:
    """The normal one, then others, each of less scratch memory, of the same kind; by planes where there
    are many pixels at a time."""
    net = Network(Models(1))
    net.add(Chain((UNITS[0],), (8, 16, 8)))
    ready = prepared(fold_pads(model_of(net.models, *net.outputs).graph), target=M55)
    nodes = [ready.lowered[block.op].nodes[0] for block in ready.blocks]
    assert {node.kernel for node in nodes} == {
        "lt_block_vector_s8_row",
        "lt_separable_vector_s8_row",
    }
    for node in nodes:
        sizes = [form.scratch for form in node.forms]
        assert node.scratch < sizes[0]
        assert len(sizes) > 3
        assert sizes == sorted(set(sizes), reverse=True)
        assert all(isinstance(form, Node) and form.kernel == node.kernel for form in node.forms)
        first, last = (dict(form.params.fields) for form in (node, node.forms[-1]))
        assert isinstance(first["planes"], Params)
        assert isinstance(last["depthwise"], Params)

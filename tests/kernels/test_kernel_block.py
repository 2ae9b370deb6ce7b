"""Blocks: a depthwise convolution and the pointwise ones around it, against the three by themselves.

Each test lists geometries and deals them the forms that a block can have, so that neighbours in the list
meet different ones. `block_models.differences` compares the MACs too, and sanitizers watch every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, cycle, product
from random import Random

import pytest
from block_models import Chain, Network, Sides, Unit, differences, model_of, prepared
from conv_models import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Layer, Models

from lowtide.machines.board import find_target
from lowtide.modes import InputMode, OutputMode
from lowtide.passes import fold_pads
from lowtide.target import ANY, Target

KERNELS = [
    *((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (7, 7)),
    *((1, 3), (5, 1), (2, 3), (3, 2), (1, 7), (7, 2), (8, 3)),
]
STRIDES = [(1, 1), (2, 2), (3, 3), (1, 2), (2, 1), (3, 1), (1, 3), (2, 3)]
SIDES = [
    *((1, 1, 1, 1), (0, 1, 0, 1), (1, 0, 1, 0), (2, 0, 0, 3), (0, 2, 3, 0)),
    *((3, 3, 3, 3), (5, 0, 0, 6), (0, 7, 9, 0), (0, 0, 0, 0)),
]
_FORMS = [
    (expand, project, keeps, lean)
    for expand, project, keeps, lean in product((6, 0), (3, 0), (True, False), (False, True))
    if expand or (project and keeps)
]
FORMS = [_FORMS[3 * n % len(_FORMS)] for n in range(len(_FORMS))]
"""Channels before, channels after (0: no such operator), whether rows are kept, whether it is lean;
those that follow each other have little in common."""


TARGETS = pytest.mark.parametrize("target", [ANY, find_target("cortex-m55")], ids=["any", "m55"])
"""Kernels that every core has, and those for Helium, as C."""


def dealt(
    units: Iterable[Unit], shape: tuple[int, int, int] = (7, 9, 5), *, times: int = 1
) -> list[Chain]:
    """A chain of each unit in `times` forms, of maps that end with its last window."""
    forms, chains = cycle(FORMS), []
    for unit in units:
        height = next(height for height in count(shape[0]) if unit.reads_all(height))
        for _ in range(times):
            expand, project, keeps, lean = next(forms)
            here = replace(unit, keeps=keeps, expand=expand, project=project)
            chains.append(Chain((here,), (height, *shape[1:]), lean=lean))
    return chains


def fit(kernel: tuple[int, int], stride: tuple[int, int]) -> bool:
    """Whether windows leave no row or column out: only then are they a block."""
    return stride[0] <= kernel[0] and stride[1] <= kernel[1]


@pytest.mark.parametrize("padding", [SAME, VALID])
def test_kernels_and_strides(padding: int) -> None:
    """Square kernels and others, strides that differ, windows that do not end with the map."""
    units = [Unit(k, s, padding) for k, s in product(KERNELS, STRIDES) if fit(k, s)]
    shape = (9, 11, 5) if padding == SAME else (11, 10, 5)
    assert differences(dealt(units, shape, times=2)) == []


@TARGETS
def test_every_form(target: Target) -> None:
    """Some geometries in all forms."""
    windows = [((3, 3), (1, 1)), ((3, 3), (2, 2)), ((5, 5), (2, 1)), ((2, 4), (1, 2))]
    units = [Unit(k, s, padding) for (k, s), padding in product(windows, (SAME, VALID))]
    assert differences(dealt(units, times=len(FORMS)), samples=4, target=target) == []


@TARGETS
def test_paddings(target: Target) -> None:
    """The PAD before it: on some sides only, and more of it than the kernel reaches."""
    kernels, strides = [(3, 3), (2, 5), (5, 2)], [(1, 1), (2, 2), (2, 1)]
    units = [Unit(k, s, sides) for k, s, sides in product(kernels, strides, SIDES)]
    assert differences(dealt(units, (6, 7, 3), times=2), target=target) == []


@TARGETS
def test_widths(target: Target) -> None:
    """Rows of one piece or many, each of 8 pixels or fewer."""
    made, chains = [*range(1, 12), 13, 16, 17, 24, 37], []
    for number, width in enumerate(made):
        maps = {
            width: Unit(),
            2 * width: Unit(stride=(2, 2)),
            width + 3: Unit((1, 4), (1, 1), VALID),
        }
        for wide, unit in maps.items():
            assert unit.made(3, wide)[1] == width
            chains += dealt([unit] * len(FORMS), (3, wide, 2))[number % 3 :: 3]
    assert differences(chains, target=target) == []


@TARGETS
def test_small_maps(target: Target) -> None:
    """Maps of one row or column, lower or narrower than the kernel."""
    strides = [(1, 1), (2, 2), (1, 2), (3, 1)]
    units = [Unit(k, s) for k, s in product(KERNELS, strides) if fit(k, s)]
    sizes = [(1, 1), (1, 13), (11, 1), (2, 3), (3, 2), (1, 2), (2, 1)]
    chains = [
        replace(chain, shape=(*sizes[(number + number // 7) % 7], 3))
        for number, chain in enumerate(dealt(units, times=5))
    ]
    assert differences(chains, samples=1, output_mode="streamed", target=target) == []


@pytest.mark.parametrize(("expand", "width"), [(4, 40_000), (0, 32_768)])
def test_wide_rows(expand: int, width: int) -> None:
    """Columns beyond what 16 bits with a sign count; without `expand`, all that they do."""
    units = [Unit((1, 3), stride, expand=expand) for stride in ((1, 1), (1, 2))]
    assert differences([Chain((unit,), (1, width, 2)) for unit in units], samples=1) == []


def test_rows_that_are_too_wide() -> None:
    """Without `expand`, pad_left counts columns: no block is wider."""
    net = Network(Models(1))
    net.add(Chain((Unit((1, 3), (1, 1), expand=0),), (1, 32_769, 2)))
    assert prepared(fold_pads(model_of(net.models, *net.outputs).graph)).blocks == ()


@TARGETS
def test_channels(target: Target) -> None:
    """Channels that fill words or not, and one channel where there may be one."""
    chains = []
    numbers = product((1, 2, 5, 8), (2, 3, 4, 7, 9, 16), (1, 2, 5))
    for (before, inner, after), chain in zip(numbers, dealt([Unit()] * 72), strict=True):
        (unit,) = chain.units
        here = replace(unit, expand=unit.expand and inner, project=unit.project and after)
        chains.append(replace(chain, units=(here,), shape=(4, 6, before if here.expand else inner)))
    assert differences(chains, target=target) == []


@TARGETS
def test_zero_points_and_activations(target: Target) -> None:
    """Zero points at both ends, all activations, sums that saturate."""
    kinds = [
        *((NONE, NONE, NONE), (RELU, RELU, NONE), (RELU6, RELU6, RELU6)),
        (NONE, RELU_N1_TO_1, RELU),
    ]
    zeros = [(-128, -128, -128), (127, 127, 127), (-128, 127, 0), (127, -128, 5), (0, 0, -1)]
    units = [
        Unit(activations=kind, zeros=zero, spread=spread)
        for zero, kind, spread in product(zeros, kinds, (20.0, 60.0, 900.0))
    ]
    chains = dealt(units, (5, 6, 4), times=2)
    chains = [replace(c, zero=(-128, 0, 127)[n % 3]) for n, c in enumerate(chains)]
    assert differences(chains, samples=4, target=target) == []


def strips(widths: Iterable[int]) -> list[Chain]:
    """Chains in strips of `widths` columns, every third between convolutions that make columns twice."""
    windows: list[Unit] = [
        *(Unit((3, 3)), Unit((3, 3), (2, 2)), Unit((5, 5)), Unit((3, 3), (2, 2), VALID)),
        *(Unit((2, 4), (1, 3)), Unit((7, 7), (2, 1)), Unit((1, 1)), Unit((4, 3), (1, 2), VALID)),
        *(Unit((3, 3), (2, 2), (0, 1, 0, 1)), Unit((4, 5), (1, 1), (2, 0, 3, 1))),
    ]
    width = cycle(widths)
    return [
        replace(chain, strip=next(width), framed=number % 3 == 0)
        for number, chain in enumerate(dealt(windows, (8, 19, 4), times=2 * len(FORMS) // 3))
    ]


@TARGETS
@pytest.mark.parametrize("widths", [(1, 3, 7, 16), (2, 5, 8)])
def test_strips(widths: tuple[int, ...], target: Target) -> None:
    """Strips that are cut off left, right, on both sides or nowhere."""
    resident = len(widths) % 2 == 0
    mode: InputMode = "resident" if resident else "const"
    assert differences(strips(widths), input_mode=mode, target=target) == []


@TARGETS
def test_several(target: Target) -> None:
    """Blocks after blocks, whose steps interleave, at full width and in strips."""
    chains = []
    for number, strides in enumerate(product([(1, 1), (2, 2), (2, 1)], repeat=2)):
        units = [
            replace(chain.units[0], stride=stride, expand=5 * (n != 2))
            for n, (stride, chain) in enumerate(
                zip((*strides, (1, 1)), dealt([Unit()] * 30)[number:], strict=False)
            )
        ]
        units[2] = replace(units[2], project=2)
        chains += [
            Chain(tuple(units), (17, 19, 3), strip, lean=(number + strip) % 3 == 1)
            for strip in (0, 1, 3)
        ]
    assert differences(chains, target=target) == []


@pytest.mark.parametrize(("inputs", "output_mode"), [(1, "resident"), (3, "streamed")])
def test_streamed_inputs(inputs: int, output_mode: OutputMode) -> None:
    """Rows given one by one as they are asked for, or of one input in bunches; and rows taken."""
    units = [
        *(Unit(), Unit(keeps=False, stride=(2, 2)), Unit((5, 4), padding=(3, 0, 1, 1))),
        *(Unit(expand=0), Unit(project=0, stride=(1, 2)), Unit((3, 3), (1, 2), VALID)),
    ]
    chains = [Chain(tuple(units[n:] + units[:n]), (23, 29 - n, 5)) for n in range(inputs)]
    assert differences(chains, samples=4, input_mode="streamed", output_mode=output_mode) == []


def _three(rng: Random, values: Sequence[int]) -> tuple[int, int, int]:
    return rng.choice(values), rng.choice(values), rng.choice(values)


def drawn(rng: Random) -> Chain:
    """Any chain: one to three blocks of anything that is small."""
    height, width, channels = rng.randint(1, 14), rng.randint(1, 20), rng.randint(2, 6)
    shape, units = (height, width, channels), []
    for _ in range(rng.randint(1, 3)):
        kernel = rng.randint(1, 8), rng.randint(1, 7)
        stride = rng.randint(1, min(3, kernel[0])), rng.randint(1, min(3, kernel[1]))
        top, bottom, left, right = (rng.randint(0, kernel[n > 1] - 1) for n in range(4))
        paddings: list[int | Sides] = [SAME, VALID, (top, bottom, left, right)]
        unit = Unit(kernel, stride, rng.choice(paddings))
        if min(unit.made(height, width)) < 1:
            unit = replace(unit, padding=SAME)
        (form,) = rng.choice(dealt([Unit()], times=len(FORMS))).units
        expands = form.expand and unit.reads_all(height)
        unit = replace(
            unit,
            expand=expands and rng.randint(2, 13),
            project=(form.project or not expands) and rng.randint(2, 9),
            keeps=form.keeps,
            activations=_three(rng, (NONE, RELU, RELU6)),
            zeros=_three(rng, (-128, -5, 0, 9, 127)),
        )
        units.append(unit)
        height, width = unit.made(height, width)
    strip = rng.randint(0, width - 1)
    return Chain(tuple(units), shape, strip, rng.random() < 0.4, rng.random() < 0.3)


@TARGETS
@pytest.mark.parametrize(("seed", "input_mode"), [(1, "resident"), (2, "streamed")])
def test_drawn(seed: int, input_mode: InputMode, target: Target) -> None:
    """What nobody thought of; every number is drawn from the seed."""
    rng = Random(seed)
    chains = [drawn(rng) for _ in range(40)]
    if input_mode == "streamed":
        chains = [replace(chain, strip=0) for chain in chains[:12]]
    assert differences(chains, seed=seed, input_mode=input_mode, target=target) == []


@pytest.mark.parametrize(
    ("board", "target"),
    [("mps2-an386", ANY), ("mps3-an547", find_target("cortex-m55"))],
    ids=["dsp", "helium"],
)
def test_boards(board: str, target: Target) -> None:
    """The kernels for Arm's DSP extension, which need more scratch memory, and those for Helium."""
    strides = [(1, 1), (2, 2), (1, 2), (3, 1)]
    units = [Unit(k, s) for k, s in product(KERNELS, strides) if fit(k, s)]
    chains = [*dealt(units, (7, 11, 5), times=2), *strips((2, 5, 8))]
    for number, shape in enumerate([(1, 1, 4), (1, 13, 3), (11, 1, 3), (2, 3, 9)]):
        chains += dealt(units, shape)[number::4]
    rng = Random(4)
    chains += [drawn(rng) for _ in range(25)]
    assert differences(chains, board=board, target=target) == []


@pytest.mark.parametrize(
    ("kernel", "layer", "multiple"),
    [
        ((9, 1), Layer(), 1),
        ((2, 2), Layer(stride=(3, 1)), 1),
        ((2, 2), Layer(stride=(1, 3)), 1),
        ((3, 3), Layer(dilation=(2, 1)), 1),
        ((3, 3), Layer(dilation=(1, 2)), 1),
        ((3, 3), Layer(), 2),
    ],
)
def test_what_is_no_block(kernel: tuple[int, int], layer: Layer, multiple: int) -> None:
    """Kernels that are too tall, windows that leave something out, several channels of one."""
    net = Models(1)
    x = net.conv(net.input(1, 12, 9, 3), 4, (1, 1))
    x = net.conv(net.depthwise(x, multiple, kernel, layer), 3, (1, 1))
    assert prepared(model_of(net, x).graph).blocks == ()


@pytest.mark.parametrize("keeps", [False, True])
def test_dense_layers_are_not_pointwise(keeps: bool) -> None:
    """They run the same kernel, but on rows of one pixel, or of all of them."""
    net = Models(1)
    x = net.dense(net.input(1, 4, 6, 64), 64, 64, Layer(keep_num_dims=True))
    x = net.depthwise(x, 1, (3, 3))
    x = net.dense(x, 5, 64 if keeps else 4 * 6 * 64, Layer(keep_num_dims=keeps))
    assert prepared(model_of(net, x).graph).blocks == ()


def test_padding_alone() -> None:
    """No window reads a column of the map."""
    net = Network(Models(1))
    net.add(Chain((Unit((3, 3), (1, 3), (0, 0, 4, 0)),), (5, 1, 4)))
    graph = fold_pads(model_of(net.models, *net.outputs).graph)
    assert [op.type for op in graph.ops] == ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
    assert prepared(graph).blocks == ()


def test_rows_that_no_window_reads() -> None:
    """A block would not make rows below the last window, which the operator before it makes."""
    net = Models(1)
    layer = Layer(stride=(2, 2), padding=VALID)
    for height in (8, 9):
        x = net.depthwise(net.conv(net.input(1, height, 9, 3), 4, (1, 1)), 1, (3, 3), layer)
        net.conv(x, 3, (1, 1))
    ends = [op.outputs[0] for op in net.ops[2::3]]
    found = prepared(model_of(net, *ends).graph).blocks
    assert {block.operators for block in found} == {(1, 2), (3, 4), (4, 5), (3, 4, 5)}


def test_what_is_around_it() -> None:
    """Convolutions that are no pointwise ones, and tensors that are read twice or are outputs."""
    net = Models(1)
    source = net.input(1, 8, 9, 3)
    outputs = []
    for before, stride, after in [((1, 2), (1, 1), (2, 1)), ((1, 1), (2, 2), (2, 2))]:
        x = net.conv(source, 4, before, Layer(stride=stride))
        x = net.depthwise(x, 1, (3, 3))
        outputs.append(net.conv(x, 3, after))
    x = net.conv(source, 4, (1, 1))
    inner = net.depthwise(x, 1, (3, 3))
    outputs += [net.conv(x, 3, (1, 1)), inner, net.conv(inner, 3, (1, 1))]
    assert prepared(model_of(net, *outputs).graph).blocks == ()
    net = Models(1)
    x = net.conv(net.input(1, 8, 9, 3), 4, (1, 1))
    x = net.depthwise(net.depthwise(x, 1, (3, 3)), 1, (3, 3))
    found = prepared(model_of(net, net.conv(x, 3, (1, 1))).graph).blocks
    assert {(block.operators, block.kept) for block in found} == {
        ((0, 1), 2),
        ((0, 1), 0),
        ((2, 3), 0),
    }

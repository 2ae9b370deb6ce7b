"""Families of kernels: which one a layer gets, of shapes alone too; constants that are made late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lowtide
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.estimates.builder import Shapes
from lowtide.ir.operands import Operands, multiplier, multipliers
from lowtide.lower import lower_op
from lowtide.lower.families import family_of
from lowtide.lower.layer import Footprint, Layer
from lowtide.lower.nodes import Later, Port
from lowtide.lower.packed import Channels, sizes_of, sums_of
from lowtide.machines.board import find_target
from lowtide.target import ANY, DSP, HELIUM, PORTABLE, Target

TARGETS = (
    ANY,
    Target("cortex-m4", (DSP,), "cortex-m4"),
    Target("cortex-m0", (PORTABLE,), "cortex-m0"),
    Target("cortex-m55", (DSP, HELIUM), "cortex-m55"),
)


def layer(target: Target, in_c: int, out_c: int, kernel: int, filters: int) -> Layer:
    """Of shapes alone; a map of 6 columns and 5 rows."""
    over = Footprint(
        Port(0, 5, 6 * in_c, -(kernel // 2), 1, kernel),
        Port(1, 5, 6 * out_c),
        *(6, in_c, 6, kernel, kernel, 1, 1, kernel // 2),
    )
    return Layer(over, target, out_c, filters=filters)


def with_weights(shapes: Layer, weight: int) -> Layer:
    """The same layer with weights that are all alike."""
    products = shapes.over.taps * (1 if shapes.is_depthwise else shapes.over.in_c)
    weights = np.full((shapes.out_c, products), weight, np.int8)
    factors = np.array([[1 << 30, -8]] * shapes.out_c)
    sums, sizes = sums_of(weights), sizes_of(weights)
    bias = np.zeros(shapes.out_c, np.int64)
    return shapes.having(Channels(weights, sums, sizes, bias, factors, 0, -128, 127))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.core)
@pytest.mark.parametrize("filters", [0, 1, 2])
def test_a_layer_of_shapes_has_the_kernel_of_its_weights(target: Target, filters: int) -> None:
    for in_c, out_c, kernel in ((3, 5, 1), (8, 8, 1), (8, 8, 3), (3, 3, 3), (1, 16, 3)):
        made = in_c * filters or out_c
        shapes = layer(target, in_c, made, kernel, filters)
        assert family_of(shapes) is family_of(with_weights(shapes, 1))


def test_weights_too_large_for_a_quick_kernel_are_seen() -> None:
    for target in TARGETS:
        heavy = with_weights(layer(target, 8, 8, 1, 0), -128)
        quick = "lt_conv_vector" if target.has_helium else "lt_conv"
        assert family_of(heavy).name == quick


def test_many_filters_of_one_channel_are_no_depthwise_layer() -> None:
    """They all read the same; one filter of one channel may be either."""
    assert not layer(ANY, 1, 4, 3, 4).is_depthwise
    assert layer(ANY, 1, 1, 3, 1).is_depthwise
    assert layer(ANY, 2, 4, 3, 2).is_depthwise
    assert not layer(ANY, 2, 4, 3, 0).is_depthwise


def test_of_two_channels_in_a_word_the_second_has_less_room() -> None:
    """Half of the word, as it were: its sum is shifted."""
    shapes = layer(find_target("cortex-m4"), 8, 4, 1, 0)
    made = with_weights(shapes, 127).channels
    assert made is not None
    for large, quick in enumerate(("lt_conv_4x2", "lt_conv_packed") * 2):
        bias = np.where(np.arange(4) == large, 1 << 23, 0)
        factors = np.array([[1 << 30, -16]] * 4)
        loud = replace(made, bias=bias, factors=factors)
        assert family_of(shapes.having(loud)).name == quick


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.core)
@pytest.mark.parametrize("name", ["ds-cnn-kws", "resnet8", "attention-block", "lstm-gestures"])
def test_constants_have_the_size_that_was_said(name: str, target: Target) -> None:
    graph = passed(lowtide.load(f"zoo:{name}"), Options(simplify=False)).graph
    late = 0
    for op in graph.ops:
        for node in lower_op(graph, op, target=target).nodes:
            for form in (node, *node.forms):
                for array in form.params.arrays():
                    late += isinstance(array.given, Later)
                    size, said = array.size, array.bytes
                    assert (size, said) == (array.values.size, array.values.nbytes)
                    assert array.values is array.values
    assert late or name == "lstm-gestures"


def test_factors_of_all_channels_are_those_of_each() -> None:
    net = Shapes()
    graph = net.graph(net.conv(net.input((4, 4, 2)), 4))
    operands = Operands(graph, graph.ops[0])
    ends = [0.0, 1e-40, 2.0**-33, 1 - 2.0**-40, 0.5 - 2.0**-40, 1.0, 3.0, 2.0**30 - 1]
    reals = np.array([*ends, *np.random.default_rng(0).uniform(0, 2, 100)])
    for some in (reals, reals[:0], np.full(3, 0.3)):
        each = [multiplier(operands, float(real)) for real in some]
        assert multipliers(operands, some).tolist() == [list(pair) for pair in each]
    for wrong in (np.inf, np.nan, -1.0, 2.0**31):
        with pytest.raises(lowtide.LowtideError):
            multipliers(operands, np.array([0.5, wrong]))

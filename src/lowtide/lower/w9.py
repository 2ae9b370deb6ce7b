"""Convolutions of which some channels have weights of nine bits: kernels/include/lt_w9.h.

Why: weights of uint8 have a zero point, and less it they are mostly bytes, but not all. The quick kernel
makes all channels, as if those weights were 0, and the few channels that have them are made once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.block_work import BlockWork
from lowtide.lower.common import Context, per_tensor
from lowtide.lower.convolution import Footprint
from lowtide.lower.nodes import Array, Kernel, Lowered, Node, Params, Value
from lowtide.lower.work import NineBits, Plain

_LEAST, _GREATEST = -128, 127


def lowered(
    context: Context,
    over: Footprint,
    channels: packed.Channels,
    lower: Callable[[packed.Channels], Lowered],
    *,
    multiple: int = 0,
) -> Lowered:
    """A convolution, or, with `multiple`, a depthwise one with so many outputs per input channel, which
    `lower` lowers if all weights are bytes."""
    beyond = (channels.weights < _LEAST) | (channels.weights > _GREATEST)
    nine = np.flatnonzero(beyond.any(axis=1))
    if not len(nine):
        return lower(channels)
    weights, bias = channels.weights.copy(), channels.bias.copy()
    weights[nine], bias[nine] = 0, 0
    made = lower(replace(channels, weights=weights, bias=bias))
    (node,) = made.nodes
    return replace(made, nodes=(_around(context, over, channels, nine, node, multiple),))


def _around(
    context: Context,
    over: Footprint,
    channels: packed.Channels,
    nine: NDArray[np.intp],
    node: Node,
    multiple: int,
) -> Node:
    """`node`, and then the channels `nine`."""
    few = replace(
        channels,
        weights=channels.weights[nine],
        bias=channels.bias[nine],
        factors=tuple(channels.factors[n] for n in nine),
    )
    weights = few.weights
    if not multiple:
        weights = _by_fours(weights, over.kernel_h)
    multiplier, shift = channels.factors[0]  # all have the same
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", Array("int16_t", weights, weights=True)),
        ("bias", Array("int32_t", packed.int32(few.bias), weights=True)),
        ("channels", Array("uint16_t", nine)),
        ("multiplier", multiplier),
        ("shift", shift),
        ("count", len(nine)),
        ("out_c", len(channels.weights)),
        ("filters", multiple),
        *over.fields,
        ("input_zero", per_tensor(context, context.input(0))[1]),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        ("narrow", int(packed.fits(few))),
        ("flip", 0 if multiple else over.flip),
    )

    def params(of: Node) -> Params:
        called: tuple[tuple[str, Value], ...] = (
            ("run", Kernel(of.kernel, of.header)),
            ("params", of.params),
        )
        return Params("lt_w9_s8", (*called, *fields))

    products = over.taps if multiple else over.taps * over.in_c
    size = node.steps * over.target.row_bytes
    pointers = node.steps * sum(port.count for port in (*node.inputs, *node.outputs))

    def wrapped(of: Node) -> Node:
        work = of.work or Plain(over.out_w, size, size * products)
        assert not isinstance(work, BlockWork | NineBits)
        return replace(
            of,
            kernel="lt_w9_s8_row",
            header="lt_w9.h",
            params=params(of),
            forms=tuple(map(wrapped, of.forms)),
            work=NineBits(
                of.kernel,
                work,
                of.steps,
                pointers,
                len(nine),
                products,
                None if multiple else over.kernel_h if over.taps > 1 else 0,
            ),
        )

    return wrapped(node)


def _by_fours(weights: NDArray[np.int16], kernel_h: int) -> NDArray[np.int16]:
    """[channels, products]; of each whole four of a row of the window the second and the third change
    places, so that two products of words of bytes are two words."""
    runs = weights.reshape(len(weights), kernel_h, -1).copy()
    whole = runs.shape[2] // 4 * 4
    fours = runs[:, :, :whole].reshape(len(weights), kernel_h, -1, 4)
    runs[:, :, :whole] = fours[..., [0, 2, 1, 3]].reshape(len(weights), kernel_h, whole)
    return runs.reshape(len(weights), -1)

"""lt_w9.h: convolutions of which some channels have weights of nine bits.

Why: weights of uint8 have a zero point, and less it they are mostly bytes, but not all. The quick kernel
makes all channels, as if those weights were 0, and the few channels that have them are made once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.counts import Features, Plain, Work
from lowtide.lower.layer import Fields, Layer
from lowtide.lower.nodes import Array, Kernel, Node, Params


def around(layer: Layer, node: Callable[[Layer], Node]) -> Node:
    """The node of a layer of weights of nine bits; `node` makes that of one of bytes."""
    channels = layer.known
    if channels.weights.dtype == np.int8:
        return node(layer.having(channels))
    beyond = (channels.weights < packed.LEAST) | (channels.weights > packed.GREATEST)
    nine = np.flatnonzero(beyond.any(axis=1))
    if not len(nine):
        return node(layer.having(channels))
    return _around(layer, nine, node(layer.having(channels.without(nine))))


@dataclass(frozen=True, slots=True)
class W9:
    """What lt_w9 does: what the kernel `kernel` does, `of`, in `steps` steps with so many pointers in
    all, and then `channels` channels: of taps (`rows` is None), or of pixels or windows of so many rows,
    0 for pixels. They have `products` products each."""

    kernel: str
    of: Work
    steps: int
    pointers: int
    channels: int
    products: int
    rows: int | None

    @property
    def axis(self) -> Axis:
        """The window along a row."""
        return self.of.axis

    @property
    def in_w(self) -> int:
        """Columns of the input."""
        return self.of.in_w

    @property
    def columns(self) -> int:
        """Columns that it makes."""
        return self.of.columns

    @property
    def is_linear(self) -> bool:
        """Whether it does so much for each column."""
        return self.of.is_linear

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        found = {"step": self.steps, "pointer": self.pointers, **self.of.features(columns, padded)}
        results = self.steps * columns * self.channels
        return {
            **{f"{self.kernel}/{name}": count for name, count in found.items()},
            "channels": self.steps * self.channels,
            "results": results,
            "taps" if self.rows is None else "products": results * self.products,
            "rows": results * (self.rows or 0),
        }


def _around(layer: Layer, nine: NDArray[np.intp], node: Node) -> Node:
    """`node`, and then the channels `nine`."""
    channels, over, multiple = layer.known, layer.over, layer.filters
    few = channels.some(nine)
    narrow = packed.are_narrow(few.ends, few.factors, few.zero).all()
    multiplier, shift = channels.factors[0].tolist()  # all have the same
    weights = few.weights if multiple else _swapped(few.weights, over.kernel_h)
    fields: Fields = (
        ("weights", Array("int16_t", weights, weights=True)),
        ("bias", Array("int32_t", packed.int32(few.bias), weights=True)),
        ("channels", Array("uint16_t", nine)),
        ("multiplier", multiplier),
        ("shift", shift),
        ("count", len(nine)),
        ("out_c", layer.out_c),
        ("filters", multiple),
        *over.fields,
        ("input_zero", layer.input_zero),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        ("narrow", int(narrow)),
        ("flip", 0 if multiple else over.flip),
    )
    products = over.taps if multiple else over.products
    rows = None if multiple else over.kernel_h if over.taps > 1 else 0
    size = node.steps * over.target.row_bytes
    pointers = node.steps * sum(port.count for port in (*node.inputs, *node.outputs))

    def wrapped(of: Node) -> Node:
        work = of.work or Plain(over.out_w, size, size * products)
        called = ("run", Kernel(of.kernel, of.header)), ("params", of.params)
        return replace(
            of,
            kernel="lt_w9_s8_row",
            header="lt_w9.h",
            params=Params("lt_w9_s8", (*called, *fields)),
            forms=tuple(map(wrapped, of.forms)),
            work=W9(of.kernel, work, of.steps, pointers, len(nine), products, rows),
        )

    return wrapped(node)


def _swapped(weights: NDArray[np.int16], kernel_h: int) -> NDArray[np.int16]:
    """[channels, products]; of each whole four of a row of the window the second and the third change
    places, so that two products of words of bytes are two words."""
    runs = weights.reshape(len(weights), kernel_h, -1).copy()
    whole = runs.shape[2] // 4 * 4
    fours = runs[:, :, :whole].reshape(len(weights), kernel_h, -1, 4)
    runs[:, :, :whole] = fours[..., [0, 2, 1, 3]].reshape(len(weights), kernel_h, whole)
    return runs.reshape(len(weights), -1)

"""lt_depthwise_vector.h: depthwise convolutions by lanes of four channels, on cores with Helium."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import (
    Features,
    Variant,
    Windowed,
    Windows,
    of_kernel,
    padded_taps,
)
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node

_ROWS = 7
"""LT_TAPS_ROWS in the header."""

ROW = "lt_depthwise_vector_s8_row"
"""The kernel for numbers of channels that are a multiple of 4."""

REST = "lt_depthwise_vector_s8_rest"
"""The kernel for numbers of channels that are no multiple of 4."""

ANY = "lt_depthwise_vector_s8_any"
"""The kernel for any factors."""


def _fits(layer: Layer) -> bool:
    able = layer.over.in_c >= 4 and layer.target.has_helium
    return able and layer.is_by_one and layer.is_quick()


def _alone(of: Windows, inside: Sequence[int]) -> dict[str, float]:
    """What is done to make windows one by one, of which so many columns are `inside` the image: eight
    channels at once, the last ones four."""
    (eights, rest), width = divmod(of.in_c, 8), of.axis.kernel
    fours, cut = -(-rest // 4), sum(taps < width for taps in inside)
    outside = of.rows * sum(width - taps for taps in inside) + of.padding * len(inside) * width
    return {
        "ones": of.steps * len(inside),
        "eights": of.steps * len(inside) * eights,
        "eight_rows": of.rows * len(inside) * eights,
        "eight_taps": of.rows * sum(inside) * eights,
        "cut_rows": of.rows * cut * eights,
        "eight_padding": outside * eights,
        "fours": of.steps * len(inside) * fours,
        "four_rows": of.rows * len(inside) * fours,
        "four_taps": of.rows * sum(inside) * fours,
        "four_padding": outside * fours,
    }


@dataclass(frozen=True, slots=True)
class DepthwiseVector(Windowed):
    """What lt_depthwise_vector does: pairs of pixels, of which the last may make one again."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, axis, steps, kernel_h = self.of, self.axis, self.of.steps, self.of.kernel_h
        groups = -(-of.in_c // 4)
        if axis.kernel == 1:
            return {
                "tall": steps * columns,
                "tall_groups": steps * columns * groups,
                "tall_taps": of.rows * columns * groups,
                "tall_padding": (steps * kernel_h - of.rows) * columns * groups,
            }
        seen = self._seen(columns, padded)
        by_two, rows = sum(two for two, _ in seen), [taps for two, taps in seen if not two]
        found: dict[str, float] = {
            "pairs": steps * len(seen),
            "pair_rows": steps * len(seen) * kernel_h,
            **_alone(of, [each for taps in rows for each in taps]),
        }
        padding = (steps * kernel_h - of.rows) * by_two * groups * axis.kernel
        if axis.kernel == 3:
            return found | {
                "three_groups": steps * by_two * groups,
                "three_rows": of.rows * by_two * groups,
                "three_taps": of.rows * by_two * groups * axis.kernel,
                "padded_taps": padding,
            }
        # Instructions of lt_taps_wide, about.
        of_row = 8 + 2 * (axis.kernel + axis.stride) + 5 * axis.kernel
        assembly = by_two * groups * (125 * steps + of.rows * of_row)
        return found | {"wide_assembly": assembly, "padded_taps": padding}

    def rests(self, columns: int) -> Features:
        """How often the last four channels are made apart from the others."""
        each = columns if self.axis.kernel == 1 else -(-columns // 2)
        return {"rests": self.of.steps * each}

    def _seen(self, columns: int, padded: int) -> list[tuple[bool, list[int]]]:
        """Of each pair of pixels, whether they are made at once; and how many columns are there of each
        window that is made."""
        axis, width, found = self.axis, self.in_w, []
        three = (self.of.kernel_h, axis.kernel) == (3, 3)
        able = axis.dilation == 1 and axis.stride < 3 and self.of.kernel_h <= _ROWS
        able = able and (three or axis.kernel in (5, 7)) and columns > 1
        is_cut = columns == self.columns or padded > 0
        for x in range(0, columns, 2):
            at = x if x + 1 < columns or x == 0 else x - 1
            first = at * axis.stride - axis.before
            missing = max(0, -first) + max(0, first + axis.stride + axis.kernel - width)
            two = able and (not is_cut or missing < (2 if three else 1))
            firsts = [n * axis.stride - axis.before for n in range(x, min(columns, x + 2))]
            taps = [axis.kernel - padded_taps(1, n, width, axis) for n in firsts]
            found.append((two, taps if is_cut else [axis.kernel] * len(firsts)))
        return found


@dataclass(frozen=True, slots=True)
class DepthwiseAny(Windowed):
    """What it does with any factors: one window after the other, scaled otherwise."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        each = [self.of.axis.kernel] * columns
        for x in range(min(padded, columns)):
            each[x] -= len(range(x, padded, columns))
        return {**of_kernel(ROW, _alone(self.of, each)), **self.scaled(columns)}


def _node(layer: Layer) -> Node:
    over, quick = layer.over, layer.narrow
    words = -(-layer.out_c // 4) * (over.taps + 12)
    fields: Fields = (
        ("records", Array("int32_t", Later(words, lambda: _records(quick)), weights=True)),
        ("output_zero", layer.known.zero),
        ("channels", layer.out_c),
        *(field for field in over.fields if field[0] != "in_c"),
        *layer.range,
    )
    work = DepthwiseVector(layer.windows)
    node = layer.node("lt_depthwise_vector", fields, work)
    if quick.is_broad:
        return replace(node, kernel=ANY, work=DepthwiseAny(layer.windows))
    if layer.out_c % 4 == 0:
        return node
    return replace(node, kernel=REST, work=Variant(work, node.kernel, work.rests))


def _records(quick: packed.Narrow) -> NDArray[np.int32]:
    """[fours of channels][words]: see the header."""
    channels = len(quick.given)
    those = np.minimum(np.arange(0, channels, 4), channels - 4)[:, None] + np.arange(4)
    weights = quick.weights[those].transpose(0, 2, 1)
    words = np.ascontiguousarray(weights).reshape(len(those), -1).view("<i4")
    shift = -1 - quick.shift.astype(np.int64)
    scales = [values[those] for values in (quick.bias // 2, quick.multiplier, shift)]
    return packed.int32(np.concatenate([words, *scales], axis=1))


FAMILY = Family("lt_depthwise_vector", _fits, DepthwiseVector, _node)

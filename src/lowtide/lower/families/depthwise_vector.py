"""lt_depthwise_vector.h: depthwise convolutions by lanes of four channels, on cores with Helium."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lowtide.lower import packed
from lowtide.lower.counts import Features, Variant, Windowed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node

_ROWS = 7
"""LT_TAPS_ROWS in the header."""

REST = "lt_depthwise_vector_s8_rest"
"""The kernel for numbers of channels that are no multiple of 4."""


def _fits(layer: Layer) -> bool:
    over = layer.over
    small = max(over.kernel_h, over.kernel_w) <= _ROWS and over.dilation_w == 1
    able = over.kernel_w == 1 or (small and over.stride_w in (1, 2))
    return (
        able
        and over.in_c >= 4
        and layer.target.has_helium
        and layer.is_by_one
        and layer.is_narrow()
    )


@dataclass(frozen=True, slots=True)
class DepthwiseVector(Windowed):
    """What lt_depthwise_vector does: pairs of pixels, of which the last may make one again."""

    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        of, axis, steps, kernel_h = self.of, self.axis, self.of.steps, self.of.kernel_h
        pairs, groups = -(-columns // 2), -(-of.in_c // 4)
        if axis.kernel == 1:
            return {
                "tall": steps * columns,
                "tall_groups": steps * columns * groups,
                "tall_taps": of.rows * columns * groups,
                "tall_padding": (steps * kernel_h - of.rows) * columns * groups,
            }
        found: dict[str, float] = {"pairs": steps * pairs, "pair_rows": steps * pairs * kernel_h}
        seen = self._edges(columns) if columns == self.columns or padded else ()
        if (kernel_h, axis.kernel) == (3, 3):
            one = sum(missing == 1 for _, missing in seen)
            found |= {
                "three_groups": steps * (pairs - len(seen) + one) * groups,
                "three_rows": of.rows * (pairs - len(seen) + one) * groups,
                "three_edges": of.rows * one * groups,
            }
            whole, edges = 0, len(seen) - one
            taps = of.rows * sum(taps for taps, missing in seen if missing > 1) * groups
        else:
            whole = pairs - len(seen) if axis.kernel in (5, 7) else 0
            edges = pairs - whole
            taps = of.rows * sum(taps for taps, _ in seen) * groups
            taps += of.rows * (edges - len(seen)) * 2 * axis.kernel * groups
        nulls = steps * kernel_h - of.rows
        return {
            **found,
            "whole_groups": steps * whole * groups,
            "whole_taps": of.rows * whole * groups * axis.kernel,
            "edge_groups": steps * edges * groups,
            "edge_rows": of.rows * edges * groups,
            "edge_taps": taps,
            "padded_taps": nulls * (whole + edges) * groups * axis.kernel,
        }

    def rests(self, columns: int) -> Features:
        """How often the last four channels are made apart from the others."""
        each = columns if self.axis.kernel == 1 else -(-columns // 2)
        return {"rests": self.of.steps * each}

    def _edges(self, columns: int) -> tuple[tuple[int, int], ...]:
        """Of each pair that has columns of padding: how many taps of the pixels that it makes are none,
        and how many columns are."""
        axis, width, found = self.axis, self.in_w, []
        reach = axis.stride + axis.kernel
        for x in range(0, columns, 2):
            at = x if x + 1 < columns or x == 0 else x - 1
            first = at * axis.stride - axis.before
            missing = max(0, -first) + max(0, first + reach - width)
            if missing:
                firsts = (first, first + axis.stride)[x - at :]
                ends = ((max(0, f), min(width, f + axis.kernel)) for f in firsts)
                found.append((sum(max(0, end - begin) for begin, end in ends), missing))
        return tuple(found)


def _node(layer: Layer) -> Node:
    over, quick = layer.over, layer.narrow
    words = -(-layer.out_c // 4) * (over.taps + 12)
    fields: Fields = (
        ("records", Array("int32_t", Later(words, lambda: _records(quick)), weights=True)),
        ("output_zero", layer.known.zero),
        ("channels", layer.out_c),
        *(field for field in over.fields if field[0] not in ("in_c", "dilation_w")),
        *layer.range,
    )
    work = DepthwiseVector(layer.windows)
    node = layer.node("lt_depthwise_vector", fields, work)
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

"""lt_conv_2x2.h: int16 convolutions and dense layers by two channels of two pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.operands import Factors
from lowtide.lower import packed
from lowtide.lower.counts import Features, Windowed
from lowtide.lower.layer import Family, Fields, Layer
from lowtide.lower.nodes import Array, Later, Node

_MOST_LEFT = 15
_INT32 = 1 << 31
_LARGEST = 1 << 15  # the magnitude of an activation
_NEAR = 64
"""NEAR of lt_conv_2x2.c."""


_FEWEST = 4
"""Channels from which on columns that are apart are read where they are: fewer are no four of
products, and where four take long they are gathered first."""


def _fits(layer: Layer) -> bool:
    over = layer.over
    apart = over.dilation_w > 1 and over.kernel_w > 1 and over.in_c < _FEWEST
    return not (layer.filters or (apart and layer.target.is_portable)) and layer.groups == 1


@dataclass(frozen=True, slots=True)
class Conv2x2(Windowed):
    """What lt_conv_2x2 does: two channels of two pixels where sums are `short` and no column of either
    window is padding; else four channels of one pixel. Sums that are short have 32 bits and are scaled
    in one step. Few values of a dilated window may be put side by side first (`gathers`). If `portable`,
    a single channel, or two, are not made more than once."""

    short: bool = True
    gathers: bool = False
    portable: bool = False
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        del padded
        of, run = self.of, self.of.run
        runs = self._runs(columns)
        able = self.short and (of.axis.dilation == 1 or of.axis.kernel == 1)
        inner = sum(found == ((0, run),) for found in runs) if able else 0
        pairs, twos = inner // 2, -(-of.out_c // 2)
        alone = sorted(runs, key=lambda found: found != ((0, run),))[2 * pairs :]
        fours = -(-of.out_c // 4)
        each = [_parts(k, n) for found in alone for k, n in found]
        in_fours = sum(whole for whole, _, _ in each)
        # The last pair of a row may end where no whole four can be read.
        last = (columns - 1) * of.axis.stride - of.axis.before
        beyond = run % 4 and pairs and last * of.in_c + 4 * (run // 4) + 4 > of.in_w * of.in_c
        kind = "single" if self.short else "wide"
        if self._is_near:
            return self._gathered(columns, kind, fours)
        rows = of.rows * fours
        few = {1: "_of_one", 2: "_of_two"}.get(of.out_c, "") if self.portable else ""
        return {
            "column": of.steps * columns,
            "pairs": of.steps * pairs * twos,
            "pair_rows": of.rows * pairs * twos,
            f"pair_fours{few if of.out_c == 1 else ''}": of.rows * pairs * twos * -(-run // 4),
            "pair_rests": of.rows * twos if beyond else 0,
            f"{kind}s": of.steps * len(alone) * fours,
            f"{kind}_rows": rows * len(alone),
            f"{kind}_runs": rows * sum(map(len, alone)),
            f"fours{few}" if few else f"{kind}_fours": rows * in_fours,
            f"parts{few}" if few else f"{kind}_parts": rows * sum(parts for _, parts, _ in each),
            f"{kind}_calls": rows * sum(parts + (whole > 0) for whole, parts, _ in each),
            "clamped": columns * self.clamped,
        }

    @property
    def _is_near(self) -> bool:
        """Whether values of windows are put side by side."""
        of, apart = self.of, self.of.axis.dilation > 1 and self.of.axis.kernel > 1
        return self.gathers and apart and of.kernel_h * 4 * -(-of.run // 4) <= _NEAR

    def _gathered(self, columns: int, kind: str, fours: int) -> dict[str, float]:
        """What is done where they are: all are one run."""
        of, pixels = self.of, self.of.steps * columns
        return {
            "column": pixels,
            "gathered_rows": pixels * of.kernel_h,
            "gathered_taps": pixels * of.taps,
            "gathered_values": pixels * of.kernel_h * of.run,
            f"{kind}s": pixels * fours,
            f"{kind}_fours": pixels * fours * of.kernel_h * -(-of.run // 4),
            f"{kind}_calls": pixels * fours,
            "clamped": columns * self.clamped,
        }

    def _runs(self, columns: int) -> list[tuple[tuple[int, int], ...]]:
        """Of each window, the runs of values of a row that lie side by side, (first, how many); as if
        there were no padding, if there are other columns."""
        axis, in_c = self.axis, self.of.in_c
        apart = axis.dilation > 1 and axis.kernel > 1
        if columns != self.columns:
            whole = tuple((k * in_c, in_c) for k in range(axis.kernel))
            return [whole if apart else ((0, self.of.run),)] * columns
        found: list[tuple[tuple[int, int], ...]] = []
        for x in range(columns):
            at = range(x * axis.stride - axis.before, 1 << 31, axis.dilation)[: axis.kernel]
            inside = [k for k, column in enumerate(at) if 0 <= column < self.in_w]
            runs = [(k * in_c, in_c) for k in inside]
            if inside and not apart:
                runs = [(inside[0] * in_c, len(inside) * in_c)]
            found.append(tuple(runs))
        return found


def _parts(first: int, many: int) -> tuple[int, int, int]:
    """How many whole fours there are in `many` values from `first` on, in how many parts of fours
    the others are, and how many these are."""
    before = min(-first % 4, many)
    whole, after = divmod(many - before, 4)
    return whole, (before > 0) + (after > 0), before + after


def _node(layer: Layer) -> Node:
    channels, kernel_h = layer.known, layer.over.kernel_h
    left, scaling = shifted(channels, modular=layer.modular)
    short = dict(scaling)["shift"] is None
    fields: Fields = (
        ("weights", ordered(channels.weights, kernel_h)),
        *scaling,
        ("out_c", layer.out_c),
        ("output_zero", channels.zero),
        ("low", channels.low),
        ("high", channels.high),
        ("left", left),
        *layer.over.fields,
    )
    target = layer.target
    work = Conv2x2(layer.windows, short, target.has_dsp, target.is_portable)
    return layer.node("lt_conv_2x2", fields, work)


def ordered(weights: NDArray[np.int8], kernel_h: int) -> Array:
    """[channels, products] as [channels][kernel_h][fours][4], the middle two of each four swapped."""
    channels, products = weights.shape
    run = products // kernel_h
    fours = -(-run // 4)

    def make() -> NDArray[np.int8]:
        rows = weights.reshape(channels, kernel_h, run)
        padded = np.pad(rows, ((0, 0), (0, 0), (0, 4 * fours - run)))
        return padded.reshape(channels, kernel_h, fours, 4)[:, :, :, [0, 2, 1, 3]]

    return Array("int8_t", Later(channels * kernel_h * fours * 4, make), weights=True)


def short_factors(
    sizes: packed.Integers, bias: packed.Integers, factors: Factors
) -> NDArray[np.int64] | None:
    """What lt_high_s16 multiplies sums with, if those of all channels fit 32 bits at any time and have
    factors that can be said so; else None. Sums may begin with the bias and add in any order; `sizes`
    are those of the weights.

    lt_scale_wide has round(sum * reduced / 2^right), halves up; with 16 <= right <= 32 that is
    round(sum * (reduced << (32 - right)) / 2^32), of which the factor fits 32 bits.
    """
    multiplier, left = factors[:, 0], 17 + factors[:, 1]
    most = np.abs(bias) + _LARGEST * sizes
    if (most >= _INT32).any() or ((left < 0) | (left > 16)).any():
        return None
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    return reduced << left


def shifted_factors(
    sizes: packed.Integers, bias: packed.Integers, factors: Factors
) -> tuple[int, NDArray[np.int64] | None]:
    """By how many bits sums are shifted left before lt_high_s16 scales them, which takes factors that
    are not below 1/2, and what it multiplies them with, as `short_factors` says."""
    left = max(0, int(factors[:, 1].max()) + 1)
    if left > _MOST_LEFT:
        return 0, None
    return left, short_factors(sizes << left, bias << left, factors - np.array([0, left]))


def shifted(channels: packed.Channels, *, modular: bool, least: int = 1) -> tuple[int, Fields]:
    """By how many bits sums are shifted left before they are scaled, which takes factors that are not
    below 1/2; and the params of `scaled`, where sums are short of at least `least` channels."""
    more = (0, max(0, least - len(channels.bias)))
    left, quick = shifted_factors(channels.sizes, channels.bias, channels.factors)
    start = Array("int32_t", np.pad(packed.int32(channels.bias), more), weights=True)
    if quick is not None and not modular:
        factor = Array("int32_t", np.pad(quick, more))
        return left, (("bias", None), ("start", start), ("factor", factor), ("shift", None))
    fields = scaled(channels, modular=modular)
    return 0, tuple(
        (n, start if n == "start" and value is not None else value) for n, value in fields
    )


def scaled(channels: packed.Channels, *, modular: bool) -> Fields:
    """The params with biases and factors; sums that are `modular` are so modulo 2^32, as the file wants
    them."""
    bias = channels.bias
    quick = None if modular else short_factors(channels.sizes, bias, channels.factors)
    narrow = modular or quick is not None
    start = Array("int32_t", packed.int32(bias), weights=True) if narrow else None
    return (
        ("bias", None if narrow else Array("int64_t", bias, weights=True)),
        ("start", start),
        *(
            packed.factors(channels.factors, "factor")
            if quick is None
            else (("factor", Array("int32_t", quick)), ("shift", None))
        ),
    )


FAMILY = Family("lt_conv_2x2", _fits, Conv2x2, _node)

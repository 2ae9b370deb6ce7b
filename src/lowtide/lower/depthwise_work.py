"""What the kernels for depthwise convolutions do, counted as in lower/work.py."""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.ir.window import Axis
from lowtide.lower.counts import Features, Otherwise


@dataclass(frozen=True, slots=True)
class Depthwise:
    """lt_depthwise_mult1: a list of taps per pixel, then channels four by four, the rest one by one.

    `rows` are those of all its windows over all steps that are no padding.
    """

    steps: int
    rows: int
    axis: Axis
    kernel_h: int
    in_w: int
    columns: int
    channels: int
    clamps: bool

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        steps, rows = self.steps, self.rows
        blocks, rest = divmod(self.channels, 4)
        taps = rows * (columns * self.axis.kernel - padded)
        return {
            "window": steps * self.kernel_h * self.axis.kernel,
            "column": steps * columns,
            "taps": taps,
            "blocks": steps * columns * blocks,
            "block_rows": rows * columns * blocks,
            "block_taps": taps * blocks,
            "rest": steps * columns * rest,
            "rest_rows": rows * columns * rest,
            "rest_taps": taps * rest,
            "clamped": steps * columns * self.channels if self.clamps else 0,
        }


@dataclass(frozen=True, slots=True)
class DepthwiseBytes(Otherwise[Depthwise]):
    """lt_depthwise_scalar: what `of` does, four channels of a pixel at once."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of = self.of
        fours, rest = divmod(of.channels, 4)
        pixels, taps = of.steps * columns, of.steps * of.kernel_h * columns * of.axis.kernel
        kind = "three" if of.axis.kernel == 3 else "any"
        return {
            "column": pixels,
            "fours": pixels * fours,
            f"{kind}_rows": pixels * of.kernel_h * fours,
            f"{kind}_taps": taps * fours,
            f"{kind}_edges": of.steps * of.kernel_h * padded * fours,
            "rest": pixels * rest,
            "rest_taps": taps * rest,
            "elements": pixels * of.channels,
            "clamped": pixels * of.channels if of.clamps else 0,
        }


@dataclass(frozen=True, slots=True)
class DepthwiseColumns(Otherwise[Depthwise]):
    """lt_depthwise_3x3: what `of` does, by `piece` columns at a time. Not linear in columns."""

    piece: int

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        of, stride = self.of, self.of.axis.stride
        groups = of.steps * (of.channels // 4)
        pieces = -(-columns // self.piece)
        read = min(columns * stride + pieces * (3 - stride), of.in_w + 2 * (pieces - 1))
        sizes = [min(self.piece, columns - at) for at in range(0, columns, self.piece)]
        return {
            # Instructions of lt_3x3_unpack and of lt_3x3_sum_1 or lt_3x3_sum_2.
            "assembly": groups * (6 * pieces + 17 * read)
            + groups * sum(map(_sum_1 if stride == 1 else _sum_2, sizes)),
            "pieces": of.steps * pieces,
            "groups": groups * pieces,
            "results": groups * columns,
            "clamped": of.steps * columns * of.channels if of.clamps else 0,
        }


def _sum_1(n: int) -> int:
    """Instructions of lt_3x3_sum_1: a turn is of three windows, and may begin in its middle."""
    return 13 + 4 * (27 + 12 * n + 3 * -(-n // 3) + (0, 8, 6)[n % 3])


def _sum_2(n: int) -> int:
    """Instructions of lt_3x3_sum_2: a turn is of two windows."""
    return 11 + 4 * (23 + 13 * n + 2 * -(-n // 2) + 2 * (n % 2))

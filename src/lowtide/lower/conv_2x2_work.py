"""What lt_conv_2x2 and lt_depthwise_s16 do that costs instructions, for the cost model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lowtide.ir.window import Axis


@dataclass(frozen=True, slots=True)
class ConvolutionTwos:
    """lt_conv_2x2: two channels times two pixels where sums are `short` and no column of either window
    is padding; else four channels of one pixel. Not linear in columns.

    `rows` are those of all its windows over all steps that are no padding.
    """

    steps: int
    rows: int
    axis: Axis
    in_w: int
    in_c: int
    columns: int
    out_c: int
    short: bool
    clamps: bool

    def features(self, columns: int, padded: int) -> Mapping[str, float]:
        """What is done to make `columns` columns. Columns of padding are counted if those are all; else
        there are none."""
        del padded
        run = self.axis.kernel * self.in_c
        edges = self._edges() if columns == self.columns else []
        able = self.short and self.out_c > 1 and (self.axis.dilation == 1 or self.axis.kernel == 1)
        pairs = (columns - len(edges)) // 2 if able else 0
        singles = columns - 2 * pairs
        inner = singles - len(edges)
        twos, fours = -(-self.out_c // 2), -(-self.out_c // 4) if self.out_c > 3 else self.out_c
        in_fours = inner * (run // 4) + sum(n for n, _ in edges)
        rest = inner * (run % 4) + sum(n for _, n in edges)
        kind = "single" if self.short else "wide"
        rows = self.rows * fours
        return {
            "column": self.steps * columns,
            "pairs": self.steps * pairs * twos,
            "pair_rows": self.rows * pairs * twos,
            "pair_fours": self.rows * pairs * twos * -(-run // 4),
            f"{kind}s": self.steps * singles * fours,
            f"{kind}_rows": rows * singles,
            f"{kind}_fours": rows * in_fours,
            "rests": rows * (inner * (run % 4 > 0) + sum(n > 0 for _, n in edges)),
            "rest": rows * rest * min(4, self.out_c),
            "clamped": self.steps * columns * self.out_c if self.clamps else 0,
        }

    def _edges(self) -> list[tuple[int, int]]:
        """For each window that has columns of padding: the fours of products of a row that are made at
        once, and the products that are made one by one."""
        axis, found = self.axis, []
        for x in range(self.columns):
            at = range(x * axis.stride - axis.before, 1 << 31, axis.dilation)[: axis.kernel]
            inside = [k for k, column in enumerate(at) if 0 <= column < self.in_w]
            if len(inside) == axis.kernel:
                continue
            runs = [(inside[0], len(inside))] if inside and axis.dilation == 1 else []
            if axis.dilation > 1:
                runs = [(k, 1) for k in inside]
            fours = sum(n * self.in_c // 4 for first, n in runs if first * self.in_c % 4 == 0)
            found.append((fours, len(inside) * self.in_c - 4 * fours))
        return found


@dataclass(frozen=True, slots=True)
class DepthwiseWide:
    """lt_depthwise_s16: four channels of a pixel at once if an input channel has one output channel and
    there are four, else each by itself. `rows` as above."""

    steps: int
    rows: int
    axis: Axis
    in_w: int
    columns: int
    in_c: int
    filters: int

    def features(self, columns: int, padded: int) -> Mapping[str, float]:
        """What is done to make `columns` columns."""
        pixels, taps = self.steps * columns, self.rows * (columns * self.axis.kernel - padded)
        by_fours = self.filters == 1 and self.in_c > 3
        parts = -(-self.in_c // 4) if by_fours else self.in_c * self.filters
        kind = "four" if by_fours else "each"
        return {
            "column": pixels,
            f"{kind}s": pixels * parts,
            f"{kind}_rows": self.rows * columns * parts,
            f"{kind}_taps": taps * parts,
        }

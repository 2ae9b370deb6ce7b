"""What the kernels for Arm's Helium do, counted as in lower/work.py.

Why apart: they go by lanes of channels and pairs of pixels, which no other kernel does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lowtide.ir.window import Axis
from lowtide.lower.counts import Features


@dataclass(frozen=True, slots=True)
class ConvolutionLanes:
    """lt_conv_vector: pixels two by two, an odd one or all lean ones alone.

    `rows` and `padding` are those of all its windows over all steps, `run` the bytes of one, `chunks`
    the sixteens of products before the last ones.
    """

    steps: int
    rows: int
    padding: int
    axis: Axis
    in_w: int
    columns: int
    out_c: int
    chunks: int
    run: int
    direct: bool
    lean: bool = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        steps, groups, rests = self.steps, self.out_c // 4, self.out_c % 4
        pairs, singles = (0, columns) if self.lean else (columns // 2, columns % 2)
        each, found = groups + bool(rests), {}
        for name, count in (("pair", pairs), ("single", singles)):
            found[name] = steps * count
            found[f"{name}_groups"] = steps * count * each
            found[f"{name}_chunks"] = steps * count * each * self.chunks
            found[f"{name}_rests"] = steps * count * rests
            found[f"{name}_rest"] = steps * count * bool(rests)
        if self.direct:
            return {**found, "direct": steps}
        return {
            **found,
            "copied_rows": self.rows * columns,
            "copied_sixteens": self.rows * columns * -(-self.run // 16),
            "filled_rows": self.padding * columns,
            "filled_sixteens": self.padding * columns * -(-self.run // 16),
            "edges": self.rows * padded,
        }

    def leaner(self) -> ConvolutionLanes:
        """The lean form."""
        return replace(self, lean=True)


@dataclass(frozen=True, slots=True)
class DepthwiseLanes:
    """lt_depthwise_vector: pairs of pixels, of which the last may make one again. Not linear in columns.

    `rows` are those of all its windows over all steps that are no padding.
    """

    steps: int
    rows: int
    axis: Axis
    kernel_h: int
    in_w: int
    columns: int
    channels: int

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns; those of padding count if these are all."""
        axis, steps, kernel_h = self.axis, self.steps, self.kernel_h
        pairs, groups = -(-columns // 2), self.channels // 4
        found: dict[str, float] = {"pairs": steps * pairs, "pair_rows": steps * pairs * kernel_h}
        seen = self._edges(columns) if columns == self.columns or padded else ()
        if (kernel_h, axis.kernel) == (3, 3):
            one = sum(missing == 1 for _, missing in seen)
            found |= {
                "three_groups": steps * (pairs - len(seen) + one) * groups,
                "three_rows": self.rows * (pairs - len(seen) + one) * groups,
                "three_edges": self.rows * one * groups,
            }
            whole, edges = 0, len(seen) - one
            taps = self.rows * sum(taps for taps, missing in seen if missing > 1) * groups
        else:
            whole = pairs - len(seen) if axis.kernel in (5, 7) else 0
            edges = pairs - whole
            taps = self.rows * sum(taps for taps, _ in seen) * groups
            taps += self.rows * (edges - len(seen)) * 2 * axis.kernel * groups
        nulls = steps * kernel_h - self.rows
        return {
            **found,
            "whole_groups": steps * whole * groups,
            "whole_taps": self.rows * whole * groups * axis.kernel,
            "edge_groups": steps * edges * groups,
            "edge_rows": self.rows * edges * groups,
            "edge_taps": taps,
            "padded_taps": nulls * (whole + edges) * groups * axis.kernel,
        }

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

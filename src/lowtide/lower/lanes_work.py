"""What the kernels for Arm's Helium do, counted as in lower/work.py.

Why apart: they go by lanes of channels and pairs of pixels, which no other kernel does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lowtide.ir.window import Axis


@dataclass(frozen=True, slots=True)
class ConvolutionLanes:
    """lt_conv_lanes: pixels two by two, an odd one or all lean ones alone.

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

    def features(self, columns: int, padded: int) -> Mapping[str, float]:
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
    """lt_depthwise_lanes: pairs of pixels, of which the last may make one again. Not linear in columns.

    `rows` are those of all its windows over all steps that are no padding; `whole` steps have no row of
    padding.
    """

    steps: int
    rows: int
    whole: int
    axis: Axis
    kernel_h: int
    in_w: int
    columns: int
    channels: int

    def features(self, columns: int, padded: int) -> Mapping[str, float]:
        """What is done to make `columns` columns; those of padding count if these are all."""
        axis, steps, kernel_h = self.axis, self.steps, self.kernel_h
        pairs, groups = -(-columns // 2), self.channels // 4
        found: dict[str, float] = {"pairs": steps * pairs, "pair_rows": steps * pairs * kernel_h}
        seen = self._edges(columns) if columns == self.columns or padded else ()
        if (kernel_h, axis.kernel) == (3, 3):
            return {
                **found,
                "three_groups": steps * pairs * groups,
                "three_rows": self.rows * pairs * groups,
                "three_edges": self.rows * len(seen) * groups,
            }
        inner = pairs - len(seen)
        inside = self.whole * inner
        edges = steps * pairs - inside
        cut = self.rows - self.whole * kernel_h
        taps = self.rows * sum(taps for _, taps in seen) + cut * inner * 2 * axis.kernel
        made = steps * sum(pixels for pixels, _ in seen) + (steps - self.whole) * inner * 2
        return {
            **found,
            "inside_groups": inside * groups,
            "inside_rows": inside * groups * kernel_h,
            "inside_taps": inside * groups * kernel_h * axis.kernel,
            "edge_groups": edges * groups,
            "edge_all": edges * groups * kernel_h * axis.kernel,
            "edge_pixels": made * groups,
            "edge_rows": made * groups * kernel_h,
            "edge_taps": taps * groups,
        }

    def _edges(self, columns: int) -> tuple[tuple[int, int], ...]:
        """Of each pair that has columns of padding, how many pixels it makes, and of how many columns
        that are none."""
        axis, width, found = self.axis, self.in_w, []
        reach = axis.stride + axis.kernel
        for x in range(0, columns, 2):
            at = x if x + 1 < columns or x == 0 else x - 1
            first = at * axis.stride - axis.before
            if first < 0 or first + reach > width:
                firsts = (first, first + axis.stride)[x - at :]
                ends = ((max(0, f), min(width, f + axis.kernel)) for f in firsts)
                found.append((len(firsts), sum(max(0, end - begin) for begin, end in ends)))
        return tuple(found)

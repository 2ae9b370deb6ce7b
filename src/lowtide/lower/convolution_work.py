"""What the kernels for convolutions do, counted as in lower/work.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from lowtide.ir.window import Axis
from lowtide.lower.counts import Features, Otherwise


@dataclass(frozen=True, slots=True)
class Convolution:
    """lt_conv_packed: pixels two by two, an odd one or all lean ones alone.

    `rows` and `padding` are the rows of all its windows over all steps: those that exist, and those
    that are padding.
    """

    steps: int
    rows: int
    padding: int
    axis: Axis
    kernel_h: int
    in_w: int
    in_c: int
    columns: int
    out_c: int
    quads: int
    direct: bool
    clamps: bool
    lean: bool = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        steps, out_c, quads = self.steps, self.out_c, self.quads
        run = self.axis.kernel * self.in_c
        pairs, singles = (0, columns) if self.lean else (columns // 2, columns % 2)
        channels = -(-out_c // 2)
        found = {
            "pair": steps * pairs,
            "pair_channels": steps * pairs * channels,
            "pair_elements": steps * pairs * out_c,
            "pair_products": steps * pairs * channels * quads,
            "single": steps * singles,
            "single_channels": steps * singles * channels,
            "single_elements": steps * singles * out_c,
            "single_products": steps * singles * channels * quads,
            "single_tails": steps * singles * channels if run * self.kernel_h % 4 else 0,
            "clamped": steps * columns * out_c if self.clamps else 0,
        }
        if self.direct:
            return {**found, "direct_words": steps * pairs * 2 * quads}
        edges = "copied_edges" if self.in_c % 4 or self.lean else "unpacked_edges"
        unpacked, copied = (0, columns) if self.in_c % 4 else (2 * pairs, singles)
        return {
            **found,
            "unpacked_rows": (self.rows + self.padding) * unpacked,
            "unpacked_words": self.rows * unpacked * (run // 4),
            "unpacked_padding": self.padding * unpacked * (run // 4),
            "copied_rows": (self.rows + self.padding) * copied,
            "copied_words": self.rows * copied * (run // 4),
            "copied_bytes": self.rows * copied * (run % 4),
            "copied_padding": self.padding * copied * run,
            "copied_unpacked": steps * 2 * pairs * quads if not unpacked else 0,
            edges: self.rows * padded,
        }

    def leaner(self) -> Convolution:
        """The lean form."""
        return replace(self, lean=True)


@dataclass(frozen=True, slots=True)
class _Convolution(Otherwise[Convolution]):
    """A convolution by another kernel than lt_conv_packed."""

    def leaner(self) -> Self:
        """The lean form."""
        return replace(self, of=self.of.leaner())


@dataclass(frozen=True, slots=True)
class ConvolutionFours(_Convolution):
    """lt_conv_4x2: what `of` does, with `quads` fours of products in a window."""

    quads: int
    direct: bool

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, steps, groups = self.of, self.of.steps, -(-self.of.out_c // 4)
        words, turns = self.quads // of.kernel_h, -(-self.quads // 4)
        pairs, singles = (0, columns) if of.lean else (columns // 2, columns % 2)
        copied = 0 if self.direct else singles
        # The last window may end in a word that is not all there.
        beyond = 1 if of.axis.kernel * of.in_c % 4 and columns else 0
        edges = "edge_words" if of.in_c % 4 == 0 else "edge_bytes"
        return {
            # Instructions of lt_4x2_two, lt_4x2_one and lt_4x2_unpack.
            "assembly": steps * groups * pairs * (73 + 24 * self.quads + 3 * turns)
            + steps * groups * singles * (43 + 16 * self.quads + 2 * turns)
            + of.rows * pairs * (6 + 7 * words + 2 * (words // 2)),
            "pair": steps * pairs,
            "single": steps * singles,
            "rests": steps * (pairs + singles) if of.out_c % 4 else 0,
            "unpacked_rows": 0 if self.direct else (of.rows + of.padding) * pairs,
            "unpacked_padding": of.padding * pairs * words,
            "copied_rows": (of.rows + of.padding) * copied,
            "copied_words": (of.rows + of.padding) * copied * words,
            "edges": of.rows * (padded + beyond),
            "copied_edges" if of.lean else edges: of.rows * (padded + beyond) * words,
            "clamped": steps * columns * of.out_c if of.clamps else 0,
        }


@dataclass(frozen=True, slots=True)
class ConvolutionBytes(_Convolution):
    """lt_conv_scalar: what `of` does, in fours of channels."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of, steps, run = self.of, self.of.steps, self.of.axis.kernel * self.of.in_c
        pairs, singles = (0, columns) if of.lean else (columns // 2, columns % 2)
        groups, (fours, rest) = -(-of.out_c // 4), divmod(of.kernel_h * run, 4)
        found = {"clamped": steps * columns * of.out_c if of.clamps else 0}
        for name, count in (("pair", steps * pairs), ("single", steps * singles)):
            found[name] = count
            found[f"{name}_groups"] = count * groups
            found[f"{name}_fours"] = count * groups * fours
            found[f"{name}_rests"] = count * groups * rest
            found[f"{name}_elements"] = count * of.out_c
        if of.direct:
            return found
        # Words are copied where both ends are such.
        words, rest = (run // 4, 0) if of.in_c % 4 == 0 else (0, run)
        return {
            **found,
            "copied_rows": of.rows * columns,
            "copied_words": of.rows * columns * words,
            "copied_bytes": of.rows * columns * rest,
            "filled_rows": of.padding * columns,
            "filled_words": of.padding * columns * (run // 4),
            "edges": of.rows * padded,
        }


@dataclass(frozen=True, slots=True)
class ConvolutionDots:
    """lt_conv: one pixel after the other, its window copied first unless that has one tap.

    The filters of a group go four by four, or one by one if there are less than four; either way four
    are computed. With several groups, each tap is a product of its own.
    """

    steps: int
    columns: int
    taps: int
    in_c: int
    out_c: int
    groups: int

    @property
    def axis(self) -> Axis:
        """Windows at the edges cost what others do."""
        return Axis()

    @property
    def in_w(self) -> int:
        """Columns of the input do not matter."""
        return 0

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        pixels, filters = self.steps * columns, self.out_c // self.groups
        fours = pixels * self.groups * (-(-filters // 4) if filters >= 4 else filters)
        depth = self.in_c // self.groups
        calls, products = (
            (fours, self.taps * depth) if self.groups == 1 else (fours * self.taps, depth)
        )
        return {
            "pixels": pixels,
            "copied": pixels * self.taps * self.in_c if self.taps > 1 else 0,
            "fours": fours,
            "calls": calls,
            "products": calls * (products // 4),
            "rests": calls * (products % 4),
        }

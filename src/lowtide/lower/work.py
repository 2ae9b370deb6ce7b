"""What the kernels do, counted: how many of each thing that costs instructions.

Why here: only the lowering knows what a kernel does with its params. `plans.cost` has what one of each
thing costs on a core (costs.toml, by kernel), and knows no kernel. What says nothing is `Plain`.

Everything is counted over all steps of a node, for any number of columns, so that a strip is priced
without being lowered. `padded` is how many taps of the windows of a row lie outside of it, left and
right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from lowtide.ir.window import Axis
from lowtide.lower.lanes_work import ConvolutionLanes, DepthwiseLanes

Features = Mapping[str, float]
"""How many of each thing; `kernel/name` is one that a kernel does which the node's own kernel calls."""

CONVOLUTION = "lt_conv_packed_s8_row"
DEPTHWISE, DEPTHWISE_PLAIN = "lt_depthwise_quick_s8_row", "lt_depthwise_quick_s8_plain"
DETAILED = frozenset(
    {
        CONVOLUTION,
        DEPTHWISE,
        DEPTHWISE_PLAIN,
        "lt_conv_fours_s8_row",
        "lt_conv_lanes_s8_row",
        "lt_depthwise_columns_s8_row",
        "lt_depthwise_lanes_s8_row",
        "lt_block_s8_row",
        "lt_separable_s8_row",
        "lt_nine_s8_row",
    }
)
"""Kernels whose work is counted in detail: all whose work is not `Plain`."""


@cache
def padded_taps(columns: int, first: int, width: int, axis: Axis) -> int:
    """How many taps of the windows of `columns` outputs lie outside of [0, width), if the first window
    begins at `first`."""
    stride, dilation, kernel = axis.stride, axis.dilation, axis.kernel
    return sum(
        not 0 <= first + x * stride + k * dilation < width
        for x in range(columns)
        if first + x * stride < 0 or first + x * stride + (kernel - 1) * dilation >= width
        for k in range(kernel)
    )


@dataclass(frozen=True, slots=True)
class Plain:
    """Elements written, and products or elements looked at beyond one per element written; both are
    for the node as it is, which makes `columns` columns."""

    columns: int
    written: float
    products: float

    @property
    def axis(self) -> Axis:
        """There are no windows."""
        return Axis()

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        part = columns / self.columns
        return {"written": self.written * part, "work": self.products * part}


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
class ConvolutionFours:
    """lt_conv_fours: what `of` does, with `quads` fours of products in a window."""

    of: Convolution
    quads: int
    direct: bool

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
            # Instructions of lt_fours_two, lt_fours_one and lt_fours_unpack.
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

    def leaner(self) -> ConvolutionFours:
        """The lean form."""
        return replace(self, of=self.of.leaner())


@dataclass(frozen=True, slots=True)
class Depthwise:
    """lt_depthwise_quick: a list of taps per pixel, then channels four by four, the rest one by one.

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

    def leaner(self) -> Depthwise:
        """The lean form: another kernel does the same."""
        return self


@dataclass(frozen=True, slots=True)
class DepthwiseColumns:
    """lt_depthwise_columns: what `of` does, by `piece` columns at a time. Not linear in columns."""

    of: Depthwise
    piece: int

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

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        of, stride = self.of, self.of.axis.stride
        groups = of.steps * (of.channels // 4)
        pieces = -(-columns // self.piece)
        read = min(columns * stride + pieces * (3 - stride), of.in_w + 2 * (pieces - 1))
        sizes = [min(self.piece, columns - at) for at in range(0, columns, self.piece)]
        return {
            # Instructions of lt_columns_unpack and of lt_columns_sum_1 or lt_columns_sum_2.
            "assembly": groups * (6 * pieces + 17 * read)
            + groups * sum(map(_sum_1 if stride == 1 else _sum_2, sizes)),
            "pieces": of.steps * pieces,
            "groups": groups * pieces,
            "results": groups * columns,
            "clamped": of.steps * columns * of.channels if of.clamps else 0,
        }

    def leaner(self) -> Depthwise:
        """The lean form."""
        return self.of.leaner()


def _sum_1(n: int) -> int:
    """Instructions of lt_columns_sum_1: a turn is of three windows, and may begin in its middle."""
    return 13 + 4 * (27 + 12 * n + 3 * -(-n // 3) + (0, 8, 6)[n % 3])


def _sum_2(n: int) -> int:
    """Instructions of lt_columns_sum_2: a turn is of two windows."""
    return 11 + 4 * (23 + 13 * n + 2 * -(-n // 2) + 2 * (n % 2))


MOST_PIXELS = 8
"""The most pixels of a row that a block makes at a time."""


def pieces(width: int) -> int:
    """How many of `width` pixels a block makes at a time: the most that divide it."""
    return next(n for n in range(MOST_PIXELS, 0, -1) if width % n == 0)


@dataclass(frozen=True, slots=True)
class BlockWork:
    """A block: what the kernels that it calls do. Not linear in columns: how many of them divide into
    which pieces decides what the calls cost.

    `made` are the rows it makes, `expanded_rows` those it expands, `axis` the depthwise window.
    """

    made: int
    columns: int
    in_w: int
    axis: Axis
    expanded_rows: int
    keeps: bool
    expand: Convolution | None
    depthwise: Depthwise
    project: Convolution | None
    lean: bool = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns. Columns of padding are counted if those are all that
        the block makes; else there are none."""
        del padded
        piece = 1 if self.lean else pieces(max(1, columns))
        count = columns // piece
        calls = self.made * count
        cuts = self._pieces(columns, piece)
        found: dict[str, float] = {"piece": calls}
        each = dict(
            replace(self.depthwise, steps=self.made).features(
                columns, sum(cut.padded for cut in cuts)
            )
        )
        each["window"] *= count  # each call lists the taps of its first window
        _add(found, DEPTHWISE_PLAIN if self.lean else DEPTHWISE, calls, each)
        if self.project is not None:
            _add(found, CONVOLUTION, calls, self._calls(self.project, calls, piece))
        if self.expand is not None:
            for part, times in Counter(cut.expanded for cut in cuts if cut.expanded).items():
                calls = self.expanded_rows * times
                _add(found, CONVOLUTION, calls, self._calls(self.expand, calls, part))
            moved = sum(cut.moved for cut in cuts)
            if self.keeps:
                moved += sum(cut.expanded for cut in cuts)
            found["fresh"] = self.expanded_rows * count
            found["copied"] = self.expanded_rows * moved * self.depthwise.channels
        return found

    def leaner(self) -> BlockWork:
        """The lean form: one pixel at a time."""
        return replace(self, lean=True)

    def _calls(self, of: Convolution, calls: int, columns: int) -> Features:
        """A pointwise convolution that is called so often, for so many columns."""
        return replace(of, steps=calls, rows=0, padding=0, lean=self.lean).features(columns, 0)

    def _pieces(self, columns: int, piece: int) -> list[_Piece]:
        """The pieces of a row."""
        axis, width, left = self.axis, self.in_w, self.axis.before
        if columns != self.columns:
            width, left = (columns - 1) * axis.stride + axis.kernel, 0
        found: list[_Piece] = []
        old = 0
        for first in range(-left, columns * axis.stride - left, piece * axis.stride):
            low = min(width, max(0, first))
            high = min(width, max(0, first + (piece - 1) * axis.stride + axis.kernel))
            padded = padded_taps(piece, first, width, axis)
            found.append(_Piece(high - old, old - low, padded))
            old = high
        return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """Columns that a piece expands, those that it moves from the last one, and those that its windows
    have in the padding, each as often as it is in a window."""

    expanded: int
    moved: int
    padded: int


@dataclass(frozen=True, slots=True)
class NineBits:
    """lt_nine: what the kernel `kernel` does, `of`, in `steps` steps with so many pointers in all, and
    then `channels` channels: of taps (`rows` is None), or of pixels or windows of so many rows, 0 for
    pixels. They have `products` products each. In its lean form it calls `lean_kernel`."""

    kernel: str
    lean_kernel: str
    of: Called
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
        return 0 if isinstance(self.of, Plain) else self.of.in_w

    @property
    def columns(self) -> int:
        """Columns that it makes."""
        return self.of.columns

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

    def leaner(self) -> NineBits:
        """The lean form."""
        of = self.of if isinstance(self.of, Plain) else self.of.leaner()
        return replace(self, kernel=self.lean_kernel, of=of)


Called = (
    Plain
    | Convolution
    | ConvolutionFours
    | ConvolutionLanes
    | Depthwise
    | DepthwiseColumns
    | DepthwiseLanes
)
"""What a node does that calls no other kernel."""

Work = (
    Plain
    | Convolution
    | ConvolutionFours
    | ConvolutionLanes
    | Depthwise
    | DepthwiseColumns
    | DepthwiseLanes
    | BlockWork
    | NineBits
)
"""What a node does."""


def _add(found: dict[str, float], kernel: str, calls: int, features: Features) -> None:
    for name, number in ({"call": calls} | dict(features)).items():
        found[f"{kernel}/{name}"] = found.get(f"{kernel}/{name}", 0) + number

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
from lowtide.lower.twos_work import ConvolutionTwos, DepthwiseWide

Features = Mapping[str, float]
"""How many of each thing; `kernel/name` is one that a kernel does which the node's own kernel calls."""

CONVOLUTION = "lt_conv_packed_s8_row"
FOURS = "lt_conv_fours_s8_row"
DEPTHWISE, DEPTHWISE_PLAIN = "lt_depthwise_quick_s8_row", "lt_depthwise_quick_s8_plain"
COLUMNS = "lt_depthwise_columns_s8_row"
TWOS = "lt_conv_twos_s16_row"
WIDE = "lt_depthwise_s16_row"
DETAILED = frozenset(
    {
        CONVOLUTION,
        DEPTHWISE,
        DEPTHWISE_PLAIN,
        FOURS,
        COLUMNS,
        TWOS,
        WIDE,
        "lt_conv_bytes_s8_row",
        "lt_conv_lanes_s8_row",
        "lt_depthwise_bytes_s8_row",
        "lt_depthwise_lanes_s8_row",
        "lt_block_s8_row",
        "lt_block_fours_s8_row",
        "lt_separable_s8_row",
        "lt_nine_s8_row",
        "lt_separable_fours_s8_row",
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
class ConvolutionBytes:
    """lt_conv_bytes: what `of` does, in fours of channels."""

    of: Convolution

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

    def leaner(self) -> ConvolutionBytes:
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


@dataclass(frozen=True, slots=True)
class DepthwiseBytes:
    """lt_depthwise_bytes: what `of` does, four channels of a pixel at once."""

    of: Depthwise

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


def _sum_1(n: int) -> int:
    """Instructions of lt_columns_sum_1: a turn is of three windows, and may begin in its middle."""
    return 13 + 4 * (27 + 12 * n + 3 * -(-n // 3) + (0, 8, 6)[n % 3])


def _sum_2(n: int) -> int:
    """Instructions of lt_columns_sum_2: a turn is of two windows."""
    return 11 + 4 * (23 + 13 * n + 2 * -(-n // 2) + 2 * (n % 2))


MOST_PIXELS = 8
"""The most pixels of a row that a block makes at a time."""


def pieces(width: int, most: int = MOST_PIXELS) -> int:
    """How many of `width` pixels a block makes at a time, at most `most`: the most that divide it."""
    return next(n for n in range(most, 0, -1) if width % n == 0)


@dataclass(frozen=True, slots=True)
class BlockWork:
    """A block: what the kernels that it calls do. Not linear in columns: how many of them divide into
    which pieces decides what the calls cost.

    `made` are the rows it makes, `expanded_rows` those it expands, `axis` the depthwise window. It makes
    at most `most` pixels at a time; with `plain`, the depthwise kernel is that without scratch memory.
    """

    made: int
    columns: int
    in_w: int
    axis: Axis
    expanded_rows: int
    keeps: bool
    expand: Convolution | ConvolutionFours | None
    depthwise: Depthwise | DepthwiseColumns
    project: Convolution | ConvolutionFours | None
    most: int = MOST_PIXELS
    plain: bool = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns. Columns of padding are counted if those are all that
        the block makes; else there are none."""
        del padded
        piece = pieces(max(1, columns), self.most)
        count = columns // piece
        calls = self.made * count
        cuts = self._pieces(columns, piece)
        found: dict[str, float] = {"piece": calls}
        core = self.depthwise
        if isinstance(core, DepthwiseColumns):
            of = replace(core.of, steps=calls, in_w=1 << 16)  # it reads all columns of a piece
            _add(found, COLUMNS, calls, DepthwiseColumns(of, piece).features(piece, 0))
        else:
            padded = sum(cut.padded for cut in cuts)
            each = dict(replace(core, steps=self.made).features(columns, padded))
            each["window"] *= count  # each call lists the taps of its first window
            _add(found, DEPTHWISE_PLAIN if self.plain else DEPTHWISE, calls, each)
        if self.project is not None:
            _called(found, self.project, calls, piece)
        if self.expand is not None:
            for part, times in Counter(cut.expanded for cut in cuts if cut.expanded).items():
                _called(found, self.expand, self.expanded_rows * times, part)
            moved = sum(cut.moved for cut in cuts)
            if self.keeps:
                moved += sum(cut.expanded for cut in cuts)
            found["fresh"] = self.expanded_rows * count
            channels = core.of.channels if isinstance(core, DepthwiseColumns) else core.channels
            found["copied"] = self.expanded_rows * moved * channels
        return found

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
    pixels. They have `products` products each."""

    kernel: str
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


Called = (
    Plain
    | Convolution
    | ConvolutionBytes
    | ConvolutionFours
    | ConvolutionLanes
    | ConvolutionTwos
    | Depthwise
    | DepthwiseBytes
    | DepthwiseColumns
    | DepthwiseLanes
    | DepthwiseWide
)
"""What a node does that calls no other kernel."""

Work = (
    Plain
    | Convolution
    | ConvolutionBytes
    | ConvolutionFours
    | ConvolutionLanes
    | ConvolutionTwos
    | Depthwise
    | DepthwiseBytes
    | DepthwiseColumns
    | DepthwiseLanes
    | DepthwiseWide
    | BlockWork
    | NineBits
)
"""What a node does."""


def _called(
    found: dict[str, float], of: Convolution | ConvolutionFours, calls: int, columns: int
) -> None:
    """Add a pointwise convolution that is called so often, for so many columns."""
    if isinstance(of, ConvolutionFours):
        # Of a window of one row, where it is read: the rows are those of each call.
        part = replace(of, of=replace(of.of, steps=calls, rows=calls, padding=0))
        _add(found, FOURS, calls, part.features(columns, 0))
    else:
        part_of = replace(of, steps=calls, rows=0, padding=0)
        _add(found, CONVOLUTION, calls, part_of.features(columns, 0))


def _add(found: dict[str, float], kernel: str, calls: int, features: Features) -> None:
    for name, number in ({"call": calls} | dict(features)).items():
        found[f"{kernel}/{name}"] = found.get(f"{kernel}/{name}", 0) + number

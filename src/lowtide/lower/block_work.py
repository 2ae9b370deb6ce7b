"""What the kernels for blocks do, counted as in lower/work.py: what the kernels do that they call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from lowtide.ir.window import Axis
from lowtide.lower.convolution_work import Convolution, ConvolutionFours
from lowtide.lower.counts import Features, padded_taps
from lowtide.lower.depthwise_work import Depthwise, DepthwiseColumns

CONVOLUTION = "lt_conv_packed_s8_row"
FOURS = "lt_conv_4x2_s8_row"
DEPTHWISE, DEPTHWISE_PLAIN = "lt_depthwise_mult1_s8_row", "lt_depthwise_mult1_s8_plain"
COLUMNS = "lt_depthwise_3x3_s8_row"
"""The kernels that blocks call."""

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

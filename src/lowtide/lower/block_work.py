"""What the kernels for blocks do, counted as in lower/counts.py: what the kernels do that they call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lowtide.ir.window import Axis
from lowtide.lower.copies import joins
from lowtide.lower.counts import Features, padded_taps
from lowtide.lower.families import depthwise_3x3
from lowtide.lower.families.conv_4x2 import Conv4x2
from lowtide.lower.families.conv_packed import ConvPacked
from lowtide.lower.families.conv_vector import ConvVector
from lowtide.lower.families.depthwise_3x3 import Depthwise3x3
from lowtide.lower.families.depthwise_mult1 import PLAIN, DepthwiseMult1
from lowtide.lower.families.depthwise_planes import DepthwisePlanes, most_pixels
from lowtide.lower.families.depthwise_vector import DepthwiseVector

PACKED, FOUR_BY_TWO, VECTOR = (f"lt_conv_{kind}_s8_row" for kind in ("packed", "4x2", "vector"))
MULT1, MULT1_PLAIN, THREE = "lt_depthwise_mult1_s8_row", PLAIN, "lt_depthwise_3x3_s8_row"
PLANES, LANES = "lt_depthwise_planes_s8_row", "lt_depthwise_vector_s8_row"
"""The kernels that blocks call."""

Pointwise = ConvPacked | Conv4x2 | ConvVector
Core = DepthwiseMult1 | Depthwise3x3 | DepthwisePlanes | DepthwiseVector
"""What they do."""

MOST_PIXELS = 8
"""The most pixels of a row that a block makes at a time."""


def pieces(width: int, most: int = MOST_PIXELS) -> tuple[int, ...]:
    """How many of `width` pixels a block makes at a time, at most `most`: as few times as it can, and an
    even number each time but the last if it can, as kernels make two pixels at a time."""
    if width < 1:
        return ()
    each = -(-width // -(-width // most))
    each += each % 2 if 1 < each < min(most, width) else 0
    rest = width % each
    return (each,) * (width // each) + ((rest,) if rest else ())


@dataclass(frozen=True, slots=True)
class BlockWork:
    """A block: what the kernels that it calls do. Not linear in columns: how many of them divide into
    which pieces decides what the calls cost.

    `made` are the rows it makes, `expanded_rows` those it expands, `axis` the depthwise window. It makes
    at most `most` pixels at a time; with `plain`, the depthwise kernel is that without scratch memory.
    What it expands may be put together of parts that have pixels of `sizes` bytes; then what blocks do
    besides calling other kernels has the prices of the kernel `priced_as`.
    """

    made: int
    columns: int
    in_w: int
    axis: Axis
    expanded_rows: int
    keeps: bool
    expand: Pointwise | None
    depthwise: Core
    project: Pointwise | None
    most: int = MOST_PIXELS
    plain: bool = False
    sizes: tuple[int, ...] = ()
    priced_as: str = ""
    is_linear = False

    def passes(self, *, is_short: bool) -> int:
        """How often a step goes over its weights: as often as its pointwise convolutions do."""
        del is_short  # these are for all programs
        each = (of for of in (self.expand, self.project) if of is not None)
        sizes = pieces(self.columns, self.most)
        return max((sum(sum(of.split(n)) for n in sizes) for of in each), default=len(sizes))

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns. Columns of padding are counted if those are all that
        the block makes; else there are none."""
        del padded
        sizes = pieces(columns, self.most)
        cuts = self._cut(columns, sizes)
        own = f"{self.priced_as}/" if self.priced_as else ""
        found: dict[str, float] = {f"{own}piece": self.made * len(sizes)}
        core, made = self.depthwise, Counter(sizes)
        if isinstance(core, Depthwise3x3):
            for n, times in made.items():
                # It reads all columns of a piece.
                of = replace(core.of, steps=self.made * times, in_w=1 << 16)
                _add(found, THREE, self.made * times, Depthwise3x3(of, n).features(n, 0))
        elif not isinstance(core, DepthwiseMult1):
            alike = Counter((cut.made, cut.before, cut.read) for cut in cuts)
            for (n, before, read), many in alike.items():
                kernel, each_part = self._vector(core, many, n, read, before)
                _add(found, kernel, self.made * many, each_part)
        else:
            padded = sum(cut.padded for cut in cuts)
            of = replace(core.of, steps=self.made)
            each = dict(DepthwiseMult1(of).features(columns, padded))
            each["window"] *= len(sizes)  # each call lists the taps of its first window
            kernel = MULT1_PLAIN if self.plain else MULT1
            _add(found, kernel, self.made * len(sizes), each)
        if self.project is not None:
            for n, times in made.items():
                _called(found, self.project, self.made * times, n)
        if self.expand is not None or self.sizes:
            for part, times in Counter(cut.expanded for cut in cuts if cut.expanded).items():
                calls = self.expanded_rows * times
                if self.expand is not None:
                    _called(found, self.expand, calls, part)
                else:
                    called = {"step": calls, "pointer": calls * (len(self.sizes) + 1)}
                    copied = joins(calls, part, self.sizes) | called
                    _add(found, "lt_concat_row", calls, copied)
            moved = sum(cut.moved for cut in cuts)
            if self.keeps:
                moved += sum(cut.expanded for cut in cuts)
            found[f"{own}fresh"] = self.expanded_rows * len(sizes)
            found[f"{own}copied"] = self.expanded_rows * moved * core.of.in_c
        return found

    def _vector(
        self,
        core: DepthwisePlanes | DepthwiseVector,
        times: int,
        piece: int,
        read: int,
        before: int,
    ) -> tuple[str, Features]:
        """The depthwise kernel, and what it does in `times` pieces of each row, whose windows read so
        many columns after `before` of padding."""
        axis = replace(self.axis, before=before)
        steps, rows, padding = (times * n for n in (core.of.steps, core.of.rows, core.of.padding))
        of = replace(core.of, steps=steps, rows=rows, padding=padding, axis=axis)
        of = replace(of, in_w=read, columns=piece)
        if isinstance(core, DepthwiseVector):
            return LANES, DepthwiseVector(of).features(piece, 0)
        at_once = min(piece, most_pixels(axis, of.kernel_h))
        return PLANES, DepthwisePlanes(of, at_once).features(piece, 0)

    def _cut(self, columns: int, sizes: Sequence[int]) -> list[_Piece]:
        """The pieces of a row, which are of these sizes."""
        axis, width, left = self.axis, self.in_w, self.axis.before
        if columns != self.columns:
            width, left = (columns - 1) * axis.stride + axis.kernel, 0
        found: list[_Piece] = []
        old, at = 0, 0
        for n in sizes:
            first = at * axis.stride - left
            low = min(width, max(0, first))
            high = min(width, max(0, first + (n - 1) * axis.stride + axis.kernel))
            padded = padded_taps(n, first, width, axis)
            found.append(_Piece(n, high - old, old - low, padded, low - first, high - low))
            old, at = high, at + n
        return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """Columns that a piece makes, those that it expands, those that it moves from the last one, and
    those that its windows have in the padding, each as often as it is in a window. These begin `before`
    columns before the `read` ones that they have."""

    made: int
    expanded: int
    moved: int
    padded: int
    before: int
    read: int


def _called(found: dict[str, float], of: Pointwise, calls: int, columns: int) -> None:
    """Add a pointwise convolution that is called so often, for so many columns."""
    # Of a window of one row, where it is read: the rows are those of each call.
    part = replace(of, of=replace(of.of, steps=calls, rows=calls, padding=0))
    _add(found, _KERNELS[type(of)], calls, part.features(columns, 0))


_KERNELS = {ConvPacked: PACKED, Conv4x2: FOUR_BY_TWO, ConvVector: VECTOR}


_EACH_TAP = {MULT1: 12, MULT1_PLAIN: 24, PLANES: 1.5, LANES: 5}
_EACH_PIXEL = {MULT1: 75, MULT1_PLAIN: 215, PLANES: 24, LANES: 24}
_EACH_GROUP = {PLANES: (70, 3)}  # and its columns
_EACH_PIECE, _EACH_CALL = 400.0, 100
_EACH_PAIR, _EACH_QUAD = 60, 12
_PAIR, _SINGLE = (73, 25), (43, 17)  # of four channels, and of their fours of products
_VECTOR_PAIR, _VECTOR_SINGLE = (64, 4), (41, 2.5)
"""Instructions, of depthwise kernels for four channels: very nearly those of a Cortex-M4, or an M55, in
plans/costs.json. Lowering comes before any cost model, and compares no more than forms of one block."""


def roughly(kernel: str, core: Core, kernel_h: int, piece: int) -> float:
    """Instructions of a block for a piece of so many pixels, without its pointwise convolutions."""
    axis, groups = core.axis, core.of.in_c / 4
    made = piece + piece % 2 if kernel == LANES else piece
    if kernel == THREE:
        return groups * depthwise_3x3.of_four(axis.stride, piece) + _EACH_PIECE
    each = _EACH_TAP[kernel] * axis.kernel * kernel_h + _EACH_PIXEL[kernel]
    cost = made * groups * each + _EACH_PIECE
    if kernel in _EACH_GROUP:
        once, column = _EACH_GROUP[kernel]
        cost += groups * (once + column * (piece * axis.stride + axis.kernel - axis.stride))
    return cost


def roughly_pointwise(work: Pointwise | None, columns: int) -> float:
    """The same of a pointwise convolution of so many pixels."""
    if work is None:
        return 0
    pairs, singles = work.split(columns)
    groups, quads = work.of.out_c / 4, -(-work.of.in_c // 4)
    if isinstance(work, ConvVector):
        of_pair, of_single = (each + more * quads for each, more in (_VECTOR_PAIR, _VECTOR_SINGLE))
        return _EACH_CALL + groups * (pairs * of_pair + singles * of_single)
    of_pair, of_single = (each + more * quads for each, more in (_PAIR, _SINGLE))
    return (
        _EACH_CALL
        + pairs * (_EACH_PAIR + _EACH_QUAD * quads)
        + groups * (pairs * of_pair + singles * of_single)
    )


def _add(found: dict[str, float], kernel: str, calls: int, features: Features) -> None:
    for name, number in ({"call": calls} | dict(features)).items():
        found[f"{kernel}/{name}"] = found.get(f"{kernel}/{name}", 0) + number

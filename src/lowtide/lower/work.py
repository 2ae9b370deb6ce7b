"""What the kernels do, counted: how many of each thing that costs instructions.

Why here: only the lowering knows what a kernel does with its params. `plans.cost` has what one of each
thing costs on a core (costs.toml, by kernel), and knows no kernel. What says nothing is `Plain`.

Everything is counted over all steps of a node, for any number of columns, so that a strip is priced
without being lowered. `padded` is how many taps of the windows of a row lie outside of it, left and
right.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowtide.ir.window import Axis
from lowtide.lower.block_work import (
    COLUMNS,
    CONVOLUTION,
    DEPTHWISE,
    DEPTHWISE_PLAIN,
    FOURS,
    BlockWork,
)
from lowtide.lower.conv_2x2_work import ConvolutionTwos, DepthwiseWide
from lowtide.lower.convolution_work import (
    Convolution,
    ConvolutionBytes,
    ConvolutionDots,
    ConvolutionFours,
)
from lowtide.lower.counts import Features
from lowtide.lower.depthwise_work import Depthwise, DepthwiseBytes, DepthwiseColumns
from lowtide.lower.vector_work import ConvolutionLanes, DepthwiseLanes

TWOS = "lt_conv_2x2_s16_row"
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
        "lt_conv_s8_row",
        "lt_conv_scalar_s8_row",
        "lt_conv_vector_s8_row",
        "lt_depthwise_scalar_s8_row",
        "lt_depthwise_vector_s8_row",
        "lt_block_s8_row",
        "lt_block_4x2_s8_row",
        "lt_separable_s8_row",
        "lt_w9_s8_row",
        "lt_separable_4x2_s8_row",
    }
)
"""Kernels whose work is counted in detail: all whose work is not `Plain`."""


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
class NineBits:
    """lt_w9: what the kernel `kernel` does, `of`, in `steps` steps with so many pointers in all, and
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
    | ConvolutionDots
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

Work = Called | BlockWork | NineBits
"""What a node does."""

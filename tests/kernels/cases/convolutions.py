"""Convolutions of given sizes, in maps and frames that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .drawing import Case, Draw
from .products import convolve, convolve_depthwise, framed

BOTH = (1, 1)
"""A stride or dilation, along rows and columns."""
ONE = ((1, 1),)
SMALL = ((3, 3), (3, 3), (2, 3), (3, 2), (2, 2), (1, 3), (1, 2))
"""Kernels."""
DILATED = (BOTH, (2, 2), (1, 3), (3, 1), (2, 5))
"""Dilations."""


@dataclass(frozen=True, slots=True)
class Convolutions:
    """Convolutions of some types, kernels, channels, and filters: for each channel, if they are
    `depthwise`; of maps of `least` to `most` rows and columns. Often in a frame of padding, always if
    that is wished."""

    types: Sequence[str]
    kernels: Sequence[tuple[int, int]]
    channels: Sequence[int]
    filters: Sequence[int]
    strides: Sequence[tuple[int, int]] = (BOTH, BOTH, (2, 2))
    dilations: Sequence[tuple[int, int]] = (BOTH,)
    most: tuple[int, int] = (4, 12)
    least: tuple[int, int] = (1, 1)
    groups: int = 1
    depthwise: bool = False

    def __call__(self, draw: Draw) -> Case:
        """One of them."""
        dtype, channels = draw.one(*self.types), draw.one(*self.channels)
        kernel, filters = draw.one(*self.kernels), draw.one(*self.filters)
        wished = draw.wishes.get("framed", False)
        same = not wished and draw.chance(0.5)
        window = kernel, draw.one(*self.strides), draw.one(*self.dilations), same
        sizes = (draw.within(*ends) for ends in zip(self.least, self.most, strict=True))
        shape: tuple[int, ...] = (1, *sizes, channels)
        source = None
        if not same and (wished or draw.chance(0.7)):
            source = framed(draw, dtype, shape, window)
            shape = source.values.shape[1:]
        if self.depthwise:
            return draw.done(convolve_depthwise(draw, dtype, shape, filters, window, source))
        return draw.done(convolve(draw, dtype, shape, filters, window, self.groups, source))

"""The params of a kernel of products as they are read from the C, and what is found in them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lowtide.prove.bundle_reader import Bundle, Params
from lowtide.prove.memory import NotProvedError
from lowtide.prove.scaling import Scaling, Way

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Row i makes output channel `channels[i]`: it begins with `start[i]`, modulo 2^`bits`, and adds
    `weights[i, k]` * (x - zero) for product k, the window's rows first and channels last. `bits` is that
    of all rows, or by row.

    The zero is the input's if the kernel `subtracts` it, else 0. Of rows in `halves`, sums share a word
    with another's, and have 24 bits; with their start if `starts_there`.
    """

    weights: Integers = field(repr=False)
    start: Integers = field(repr=False)
    scaling: Scaling
    channels: Integers = field(repr=False)
    bits: int | Integers = 32
    subtracts: bool = False
    halves: Integers | None = field(default=None, repr=False)
    starts_there: bool = False


@dataclass(frozen=True, slots=True)
class Sizes:
    """Those of the operator: output channels, rows and columns of the window, channels of a product,
    groups of channels."""

    channels: int
    kernel_h: int
    kernel_w: int
    depth: int
    groups: int

    @property
    def products(self) -> int:
        """Of a channel."""
        return self.kernel_h * self.kernel_w * self.depth


@dataclass(frozen=True, slots=True)
class Read:
    """The params of one kernel."""

    bundle: Bundle
    params: Params
    kernel: str
    of: Sizes

    def number(self, name: str) -> int:
        """A field that is a whole number."""
        found = self.params.fields.get(name)
        if not isinstance(found, int):
            raise NotProvedError(f"its params have no number {name}")
        return found

    def expect(self, name: str, wanted: int) -> None:
        """A field must be that number."""
        if self.number(name) != wanted:
            raise NotProvedError(f"its {name} is {self.number(name)}, and should be {wanted}")

    def has(self, name: str) -> bool:
        """Whether a field is there, and not null."""
        return self.params.fields.get(name) is not None

    def array(self, name: str, *shape: int) -> Integers:
        """A field that is an array, of that shape."""
        values = self.bundle.array(self.params.fields.get(name))
        if values.size != np.prod(shape):
            raise NotProvedError(f"its {name} have {values.size} values, not {np.prod(shape)}")
        return values.reshape(shape)

    def scaling(self, way: Way, multiplier: Integers, shift: Integers, zero: int) -> Scaling:
        """With the clamp of the params."""
        low, high = self.number("low"), self.number("high")
        return Scaling(way, multiplier, shift, zero, low, high)

    @property
    def all(self) -> Integers:
        """All channels, in their order."""
        return np.arange(self.of.channels)


def nothing_in(padding: Integers) -> None:
    if padding.any():
        raise NotProvedError("weights that pad are not 0")

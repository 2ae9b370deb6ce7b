"""What kernels do, counted: how many of each thing that costs instructions.

Why here: only who knows a kernel knows what it does with its params. `plans.cost` has what one of each
thing costs on a core (costs.json, by kernel), and knows no kernel. What says little is `Counted`.

Everything is counted over all steps of a node, for any number of columns, so that a strip is priced
without being lowered. `padded` is how many taps of the windows of a row lie outside of it, left and
right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol, Self

from lowtide.ir.window import Axis

Features = Mapping[str, float]
"""How many of each thing; `kernel/name` is one that a kernel does which the node's own kernel calls."""


@cache
def padded_taps(columns: int, first: int, width: int, axis: Axis) -> int:
    """How many taps of the windows of `columns` outputs lie outside of [0, width), if the first window
    begins at `first`."""
    inside = 0
    for tap in range(axis.kernel):
        at = first + tap * axis.dilation  # of the first output
        start = max(0, -(at // axis.stride))
        inside += max(0, min(columns, (width - 1 - at) // axis.stride + 1) - start)
    return columns * axis.kernel - inside


class Sized(Protocol):
    """What makes columns of a row."""

    @property
    def axis(self) -> Axis:
        """The window along a row."""

    @property
    def in_w(self) -> int:
        """Columns of the input, 0 where they do not matter."""

    @property
    def columns(self) -> int:
        """Columns that it makes."""

    def passes(self, *, is_short: bool) -> int:
        """How often a step goes over its weights, on a core of that kind (`Target.is_short`)."""


class Work(Sized, Protocol):
    """What a node does, whose windows go over a row of `in_w` columns and make `columns` of them."""

    @property
    def is_linear(self) -> bool:
        """Whether it does so much for each column, beside what it does once."""

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns. Of what is not linear, those of padding are counted
        if these are all columns; else there are none."""


class NoWindows:
    """Of what has none: columns of the input do not matter, and a step goes over its weights once."""

    __slots__ = ()

    @property
    def axis(self) -> Axis:
        """None."""
        return Axis()

    @property
    def in_w(self) -> int:
        """None that matter."""
        return 0

    def passes(self, *, is_short: bool) -> int:
        """Once."""
        del is_short
        return 1


@dataclass(frozen=True, slots=True)
class Counted(NoWindows):
    """So many of each thing, by name, for the node as it is, which makes `columns` columns.

    What a kernel that says no more does is named `written`, elements, and `work`, products or elements
    looked at beyond one per element written.
    """

    columns: int
    counts: tuple[tuple[str, float], ...]
    is_linear = True

    @staticmethod
    def of(columns: int, **counts: float) -> Counted:
        """Counts by name."""
        return Counted(columns, tuple(counts.items()))

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        part = columns / self.columns
        return {name: count * part for name, count in self.counts}


def lanes(runs: float, size: int) -> dict[str, float]:
    """What goes over so many runs of elements by vectors of four, or of sixteen."""
    return {"fours": runs * -(-size // 4), "sixteens": runs * -(-size // 16)}


@dataclass(frozen=True, slots=True)
class Runs(NoWindows):
    """So many `runs` of `size` elements, `clamped` ones among `written`, for the node as it is, which
    makes `columns` columns: they are parts of the runs if these go `along` rows, else each has its own.
    If `both` operands go on in a run, that costs more than where one is a single element.
    """

    columns: int
    runs: int
    size: int
    written: int
    clamped: int
    along: bool
    both: bool = False
    is_linear = False

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        part = columns / self.columns
        runs = self.runs if self.along else self.runs * part
        size = self.size // self.columns * columns if self.along else self.size
        return {
            "written": self.written * part,
            "work": 0,
            "both": self.written * part * self.both,
            "runs": runs,
            "clamped": self.clamped * part,
            **lanes(runs, size),
        }


@dataclass(frozen=True, slots=True)
class Windows:
    """What the windows of a convolution go over, by whatever kernel.

    `rows` and `padding` are the rows of all windows over all steps: those that exist, and those that
    are padding. A depthwise convolution has as many `groups` as input channels. What is gathered may be
    flipped (`flips`). Results are clamped (`clamps`), or even to no less than the zero point (`above`).
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
    groups: int
    clamps: bool
    above: bool = False
    flips: bool = False

    @property
    def taps(self) -> int:
        """Pixels of a window."""
        return self.kernel_h * self.axis.kernel

    @property
    def run(self) -> int:
        """Values of a row of a window."""
        return self.axis.kernel * self.in_c

    def passes(self, *, is_short: bool) -> int:
        """Once for each window, unless a kernel makes several together."""
        del is_short
        return self.columns


def cut_windows(of: Windows, columns: int, padded: int) -> list[int]:
    """Of each of `columns` windows that reaches into padding, how many of its taps do: exactly if these
    are all columns; else about, `padded` taps in all, more the nearer to an end."""
    axis, found = of.axis, []
    if columns == of.columns:
        firsts = (x * axis.stride - axis.before for x in range(columns))
        found = [padded_taps(1, first, of.in_w, axis) for first in firsts]
        return [missing for missing in found if missing]
    for missing in range(1, columns + 1):
        if padded > 0:
            found.append(min(missing, padded, axis.kernel))
            padded -= found[-1]
    return found


def gathered(
    of: Windows, columns: int, padded: int, name: str, size: Callable[[int], float]
) -> dict[str, float]:
    """What is done to copy the windows of `columns` columns: rows of those that are all there, taps of
    others, cut off or `apart` from each other, what padding is filled with. So many bytes side by side
    are so many (`size`) things of that name."""
    axis, kernel = of.axis, of.axis.kernel
    missing = cut_windows(of, columns, padded)
    cut, padded = len(missing), sum(missing)
    kind = "cut"
    if axis.dilation > 1 and kernel > 1:
        kind, cut = "apart", columns
    inside = of.rows * (columns - cut)
    return {
        "copied_rows": inside,
        f"copied_{name}": inside * size(of.run),
        f"{kind}_rows": of.rows * cut,
        f"{kind}_taps": of.rows * cut * kernel,
        f"{kind}_{name}": of.rows * (cut * kernel - padded) * size(of.in_c),
        "filled_rows": of.padding * columns,
        f"filled_{name}": of.padding * columns * size(of.run) + of.rows * padded * size(of.in_c),
    }


@dataclass(frozen=True, slots=True)
class Over:
    """What makes the columns that `of` makes."""

    of: Sized

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

    def passes(self, *, is_short: bool) -> int:
        """How often a step goes over its weights."""
        return self.of.passes(is_short=is_short)


@dataclass(frozen=True, slots=True)
class PartOf(Over):
    """`steps` of the `all_steps` of a node that does the work `of`."""

    of: Work
    steps: int
    all_steps: int

    @property
    def is_linear(self) -> bool:
        """As the whole is."""
        return self.of.is_linear

    def features(self, columns: int, padded: int) -> Features:
        """Its share, as if all steps did as much."""
        share = self.steps / self.all_steps
        return {name: share * many for name, many in self.of.features(columns, padded).items()}


@dataclass(frozen=True, slots=True)
class Windowed(Over, ABC):
    """What a kernel does that goes over the windows `of`."""

    of: Windows
    is_linear = True

    @property
    def clamped(self) -> int:
        """Elements of a column that are clamped."""
        return self.of.steps * self.of.out_c if self.of.clamps else 0

    def scaled(self, columns: int) -> Features:
        """What of `columns` columns a kernel for any factors scales otherwise: fours of channels."""
        return {"window_groups": self.of.steps * columns * -(-self.of.out_c // 4)}

    @abstractmethod
    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns, as each kernel does it."""


@dataclass(frozen=True, slots=True)
class ByPixels(Windowed):
    """A convolution that makes pixels two by two, an odd one or all `lean` ones alone."""

    lean: bool = field(default=False, kw_only=True)

    def split(self, columns: int) -> tuple[int, int]:
        """How many pairs of pixels a row of so many columns has, and how many single ones."""
        return (0, columns) if self.lean else divmod(columns, 2)

    def passes(self, *, is_short: bool) -> int:
        """Once for each pair of pixels, or single one."""
        del is_short
        return sum(self.split(self.columns))

    def scaled(self, columns: int) -> Features:
        """Fours of channels of pairs of pixels, and of single ones."""
        (pairs, singles), fours = self.split(columns), self.of.steps * -(-self.of.out_c // 4)
        return {"pair_groups": fours * pairs, "single_groups": fours * singles}

    def leaner(self) -> Self:
        """The lean form."""
        return replace(self, lean=True)


@dataclass(frozen=True, slots=True)
class Variant(Over):
    """What a variant of `kernel` does, for any factors or any number of channels: what that does, and
    `more`."""

    of: Work
    kernel: str
    more: Callable[[int], Features]

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is: what it does more is."""
        return self.of.is_linear

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        done = of_kernel(self.kernel, self.of.features(columns, padded))
        return {**done, **self.more(columns)}


def of_kernel(kernel: str, features: Features) -> Features:
    """What `kernel` does, for one that calls it; what it calls itself keeps its name."""
    return {name if "/" in name else f"{kernel}/{name}": count for name, count in features.items()}

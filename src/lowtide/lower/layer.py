"""What a family of kernels is asked whether it fits: a convolution, dense or depthwise layer.

Why one value for all three: a dense layer is a 1 x 1 convolution of one pixel, and a depthwise
convolution of one input channel is an ordinary one. All become the same kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from lowtide.ir.window import Axis
from lowtide.lower import packed
from lowtide.lower.counts import ByPixels, Variant, Windowed, Windows, Work
from lowtide.lower.nodes import Node, Params, Port, Value
from lowtide.target import Target

MAX_SIZE = (1 << 16) - 1
"""Of what the kernels' params hold."""

Fields = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which pixels a convolution reads: of the input for each output row, of a row for each column.

    `flip` is the bit to flip in each byte that is gathered: what is read in place stays as it is.
    """

    source: Port
    target: Port
    in_w: int
    in_c: int
    out_w: int
    kernel_h: int
    kernel_w: int
    stride_w: int
    dilation_w: int
    pad_left: int
    flip: int = 0

    @property
    def fields(self) -> Fields:
        """The fields of that name that the params of all kernels have."""
        return (
            ("in_w", self.in_w),
            ("in_c", self.in_c),
            ("out_w", self.out_w),
            ("kernel_h", self.kernel_h),
            ("kernel_w", self.kernel_w),
            ("stride_w", self.stride_w),
            ("dilation_w", self.dilation_w),
            ("pad_left", self.pad_left),
        )

    @property
    def taps(self) -> int:
        """Number of pixels in the window."""
        return self.kernel_h * self.kernel_w

    @property
    def run(self) -> int:
        """Values of a row of the window."""
        return self.kernel_w * self.in_c

    @property
    def products(self) -> int:
        """Values of the window."""
        return self.taps * self.in_c

    @property
    def axis(self) -> Axis:
        """The window along a row."""
        return Axis(self.kernel_w, self.stride_w, self.dilation_w, self.pad_left)

    def windows(self, out_c: int, groups: int, *, clamps: bool, above: bool = False) -> Windows:
        """What `out_c` channels in so many groups go over."""
        steps = self.target.rows
        rows, padding = self.source.touched(steps)
        taken = self.axis, self.kernel_h, self.in_w, self.in_c, self.out_w
        return Windows(steps, rows, padding, *taken, out_c, groups, clamps, above, self.flip != 0)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer that makes `out_c` channels, for `target`, by operator `op`.

    A filter reads the in_c / groups channels of its group; a depthwise convolution makes `filters`
    channels of each that it reads (0: it is none). With weights `of_nibbles`, they are to stay so in
    flash. `channels` has the weights, [out_c, products]; where only shapes are known there are none,
    and all that is asked of weights counts as met. `quick` are they for lt_narrow or lt_broad, if they
    can be. Activations have the type of the `suffix`; of int16, sums may be `modular`, modulo 2^32.
    """

    over: Footprint
    target: Target
    out_c: int
    groups: int = 1
    filters: int = 0
    clamps: bool = False
    above: bool = False
    of_nibbles: bool = False
    op: int = -1
    input_zero: int = 0
    channels: packed.Channels | None = None
    quick: packed.Narrow | None = None
    suffix: Literal["s8", "s16"] = "s8"
    modular: bool = False

    @property
    def is_depthwise(self) -> bool:
        """Whether each filter reads one of several channels; or of one, of which it makes one."""
        return self.filters > 0 and (self.over.in_c > 1 or self.filters == 1)

    @property
    def is_by_one(self) -> bool:
        """The same of one channel of each."""
        return self.is_depthwise and self.filters == 1

    def is_narrow(self, met: Callable[[packed.Narrow], bool] | None = None) -> bool:
        """Whether lt_narrow scales all sums, and the condition is met."""
        return self.is_quick(met) and not (self.quick is not None and self.quick.is_broad)

    def is_quick(self, met: Callable[[packed.Narrow], bool] | None = None) -> bool:
        """Whether lt_narrow or lt_broad scales all sums, and the condition is met."""
        if self.channels is None:
            return self.is_depthwise or self.groups == 1
        return self.quick is not None and (met is None or met(self.quick))

    @property
    def known(self) -> packed.Channels:
        """The channels, which are there once a node is made."""
        assert self.channels is not None
        return self.channels

    @property
    def narrow(self) -> packed.Narrow:
        """The same for lt_narrow or lt_broad."""
        assert self.quick is not None
        return self.quick

    def having(self, channels: packed.Channels) -> Layer:
        """The layer with these weights."""
        alone = self.is_depthwise or self.groups == 1
        quick = packed.narrow(channels) if alone else None
        return replace(
            self, channels=channels, quick=quick, clamps=channels.clamps, above=channels.above
        )

    @property
    def windows(self) -> Windows:
        """What it goes over."""
        groups = self.over.in_c if self.filters else self.groups
        return self.over.windows(self.out_c, groups, clamps=self.clamps, above=self.above)

    @property
    def range(self) -> Fields:
        """The fields of the input's zero point and of the clamp."""
        known = self.known
        return ("input_zero", self.input_zero), ("low", known.low), ("high", known.high)

    def node(
        self,
        family: str,
        fields: Fields,
        work: Work,
        scratch: int = 0,
        *,
        header: str = "",
    ) -> Node:
        """A node of the family's kernel."""
        return Node(
            op=self.op,
            kernel=f"{family}_{self.suffix}_row",
            header=header or f"{family}.h",
            params=Params(f"{family}_{self.suffix}", fields),
            inputs=(self.over.source,),
            outputs=(self.over.target,),
            steps=self.over.target.rows,
            scratch=scratch,
            scratch_lasts=False,
            work=work,
            counted="",
        )

    def by_pixels(
        self,
        family: str,
        fields: Fields,
        work: ByPixels,
        scratch: tuple[int, int],
        *,
        lean: bool | None = None,
        flips: bool = True,
    ) -> Node:
        """The same of a kernel that makes pixels two by two, or one by one in its lean form.

        `scratch` is that for one pixel, and for more. There is a `lean` form where that is less, if
        nothing else is said.
        """
        one, more = scratch
        flip: Fields = (("flip", self.over.flip),) if flips else ()

        def params(lean: int) -> Fields:
            return (*fields, ("lean", lean), *self.over.fields, *self.range, *flip)

        many = more if self.over.out_w > 1 else one
        node = self.node(family, params(0), work, many)
        if one < many:
            node = replace(node, narrow_scratch=(0, one, *(many,) * (self.over.out_w - 1)))
        if not (one < many if lean is None else lean):
            return node
        return replace(node, forms=(self.node(family, params(1), work.leaner(), one),))


def of_any_factors(node: Node) -> Node:
    """The same node, and its forms, by kernels for any factors, whose names end so."""
    assert isinstance(node.work, Windowed)
    return replace(
        node,
        kernel=f"{node.kernel.removesuffix('_row')}_any",
        work=Variant(node.work, node.kernel, node.work.scaled),
        forms=tuple(map(of_any_factors, node.forms)),
    )


@dataclass(frozen=True, slots=True)
class Family:
    """Kernels `name`, one file of families/: whether they fit a layer, what they do there that costs
    instructions, and the node that runs them."""

    name: str
    fits: Callable[[Layer], bool]
    work: Callable[[Windows], Work]
    node: Callable[[Layer], Node]

    @property
    def kernel(self) -> str:
        """The function that makes a row of int8."""
        return f"{self.name}_s8_row"

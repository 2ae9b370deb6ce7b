"""lt_depthwise_each.h: depthwise convolutions that make several channels of each: the first of each,
then the second, and so on.

Why: quick kernels make one channel of each. Their results lie apart in scratch memory, and are put where
they go: that takes fewer instructions than a kernel for any number of channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lowtide.lower.counts import Features, Over, Work, of_kernel
from lowtide.lower.layer import Layer
from lowtide.lower.nodes import Kernel, Node, Params, Value

_ALIGNED = 8
"""Scratch memory of the kernels that are called begins at a multiple of so many bytes."""

_MOST = 64
"""Channels of each: params hold those of the next one, so that they lie as deep in each other."""


def fits(layer: Layer) -> bool:
    """Whether there are quick kernels that make one channel of each, and few enough calls of them."""
    return layer.target.is_particular and layer.is_depthwise and 1 < layer.filters <= _MOST


@dataclass(frozen=True, slots=True)
class DepthwiseEach(Over):
    """What lt_depthwise_each does in `steps` steps: what the kernels `names` do in a call, `parts`, and
    `channels` results of a pixel that it moves."""

    of: Work
    names: tuple[str, ...]
    parts: tuple[Work, ...]
    steps: int
    channels: int

    @property
    def is_linear(self) -> bool:
        """Whether all parts are."""
        return all(part.is_linear for part in self.parts)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        found: dict[str, float] = {}
        for name, part in zip(self.names, self.parts, strict=True):
            called = {"call": self.steps, **part.features(columns, padded)}
            for key, count in of_kernel(name, called).items():
                found[key] = found.get(key, 0) + count
        moved = self.steps * columns * self.channels
        return {**found, "parts": self.steps * len(self.parts), "moved": moved}


def node(layer: Layer, of_one: Callable[[Layer], Node], whole: Node) -> Node:
    """The node of a layer: `of_one` makes that of a layer of one channel of each. `whole`, which needs
    no scratch memory, makes all of them."""
    one = replace(layer, out_c=layer.over.in_c, filters=1)
    firsts = range(layer.filters)
    each = [
        of_one(one.having(layer.known.some(np.arange(first, layer.out_c, layer.filters))))
        for first in firsts
    ]
    forms = [[part, *part.forms] for part in each]
    alike = {tuple(form.kernel for form in of) for of in forms}
    many = zip(*forms, strict=True) if len(alike) == 1 else [tuple(each)]
    first, *others = (_joined(layer, parts) for parts in many)
    return replace(first, forms=(*others, whole))


def _joined(layer: Layer, parts: Sequence[Node]) -> Node:
    """The kernel that calls the kernels of `parts`."""
    over, first = layer.over, parts[0]
    made = over.in_c
    params: Params | None = None
    for part in reversed(parts):
        fields: tuple[tuple[str, Value], ...] = (
            ("run", Kernel(part.kernel, part.header)),
            ("params", part.params),
            ("next", params),
            ("channels", over.in_c),
            ("out_w", over.out_w),
            ("filters", layer.filters),
        )
        params = Params("lt_depthwise_each_s8", fields)
    assert params is not None

    def scratch(columns: int) -> int:
        """Bytes for so many columns."""
        narrow = (p.narrow_scratch[columns] if p.narrow_scratch else p.scratch for p in parts)
        return room(columns * made) + max(narrow) if columns else 0

    works = tuple(part.work for part in parts if part.work is not None)
    return replace(
        first,
        kernel="lt_depthwise_each_s8_row",
        header="lt_depthwise_each.h",
        params=params,
        outputs=(over.target,),
        scratch=room(over.out_w * made) + max(part.scratch for part in parts),
        narrow_scratch=tuple(scratch(columns) for columns in range(over.out_w + 1)),
        forms=(),
        work=DepthwiseEach(
            works[0],
            tuple(part.kernel for part in parts),
            works,
            first.steps,
            layer.out_c,
        ),
    )


def room(results: int) -> int:
    """Bytes for the results of one channel of each."""
    return -(-results // _ALIGNED) * _ALIGNED

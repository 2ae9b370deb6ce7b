"""Concatenations along channels with what reads them, as blocks (ir/block.py).

The kernel is that of kernels/include/lt_joined.h.

Why: a row of the concatenation is all its parts once more, and other concatenations may join the same
parts. So pixels are put together where they are read, a few at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lowtide.ir.block import BlockOp
from lowtide.ir.window import Axis
from lowtide.lower.block_work import pieces
from lowtide.lower.common import Context
from lowtide.lower.copies import joins
from lowtide.lower.counts import Features, Over, Windowed
from lowtide.lower.families import conv_4x2
from lowtide.lower.nodes import Array, Kernel, Lowered, Node, Params, Port, Reads

MOST_PARTS = 16
"""LT_JOINED_PARTS in lt_joined.h."""

_MOST = (16, 8, 4, 2, 1)
"""How many pixels are put together at a time, at most; the first is the normal form."""


def join_of(context: Context, op: BlockOp) -> Params:
    """The concatenation of a block, whose parts are its first inputs. Runs are counted when it runs."""
    return Params(
        "lt_join",
        (
            ("bytes", Array("int32_t", np.array(sizes_of(context, op)))),
            ("runs", 0),
            ("count", op.parts),
        ),
    )


def sizes_of(context: Context, op: BlockOp) -> list[int]:
    """Bytes of a pixel of each part."""
    return [context.input(i).shape[3] for i in range(op.parts)]


@dataclass(frozen=True, slots=True)
class Joined(Over):
    """What lt_joined does: `of` of the pointwise kernel, named `kernel`, of at most `most` pixels at a
    time, each of which is put together of parts of `sizes` bytes."""

    of: Windowed
    kernel: str
    sizes: tuple[int, ...]
    most: int
    is_linear = False

    def passes(self, *, is_short: bool) -> int:
        """How often a step goes over its weights: see Sized.passes."""
        sizes = pieces(self.columns, self.most)
        parts = (replace(self.of, of=replace(self.of.of, columns=n)) for n in sizes)
        return sum(part.passes(is_short=is_short) for part in parts)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        del padded
        found: dict[str, float] = {}
        steps = self.of.of.steps
        for n, times in Counter(pieces(columns, self.most)).items():
            calls = steps * times
            part = replace(self.of, of=replace(self.of.of, steps=calls, rows=calls, padding=0))
            copied = joins(calls, n, self.sizes)
            for kernel, of in ((self.kernel, part.features(n, 0)), ("lt_concat_row", copied)):
                for name, number in ({"call": calls, "step": calls} | dict(of)).items():
                    key = f"{kernel}/{name}"
                    found[key] = found.get(key, 0) + number
        return found


def lower(context: Context, op: BlockOp, ways: Sequence[Callable[[int], Lowered]]) -> Lowered:
    """The node of a concatenation and the pointwise convolution that reads it, by the kernel of the
    first of these `ways` to lower it of which it is known what it does with fewer pixels."""
    project = op.project
    assert project is not None
    nodes = (way(project).nodes[0] for way in ways)
    node = next(node for node in nodes if isinstance(node.work, Windowed))
    forms = [
        _node(context, op, replace(form, forms=()), most)
        for most in _MOST
        for form in dict.fromkeys((node, node.leaner))
    ]
    first = forms[0]
    others = {form.scratch: form for form in forms[:0:-1] if form.scratch < first.scratch}
    ordered = sorted(others.values(), key=lambda form: -form.scratch)
    reads = tuple(Reads(t, Axis()) for t in op.inputs[: op.parts])
    return Lowered((replace(first, forms=tuple(ordered)),), columns=reads)


def _room(size: int) -> int:
    return -(-size // 4) * 4


def _node(context: Context, op: BlockOp, node: Node, most: int) -> Node:
    out, sizes = context.output(), sizes_of(context, op)
    sources = [context.input(i) for i in range(op.parts)]
    columns, rows = out.shape[2], out.shape[1]
    each, pixel = pieces(columns, most), sum(sizes)
    widths = range(1, columns + 1)
    needs = (0, *(_room(pieces(n, most)[0] * pixel) + node.scratch for n in widths))
    last = each[-1] if each[-1] != each[0] else None
    params = Params(
        "lt_joined",
        (
            ("join", join_of(context, op)),
            ("run", Kernel(node.kernel, node.header)),
            ("params", of_pixels(node.params, each[0])),
            ("last", None if last is None else of_pixels(node.params, last)),
            ("in_c", pixel),
            ("out_c", out.bytes // (rows * columns)),
            ("out_w", columns),
            ("piece", each[0]),
        ),
    )
    assert isinstance(node.work, Windowed)
    return Node(
        op=op.id,
        kernel="lt_joined_row",
        header="lt_joined.h",
        params=params,
        inputs=tuple(Port(t.id, rows, t.bytes // rows) for t in sources),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
        scratch=needs[-1],
        narrow_scratch=needs,
        scratch_lasts=False,
        work=Joined(node.work, node.kernel, tuple(sizes), most),
    )


def of_pixels(params: Params, columns: int) -> Params:
    """The params of a pointwise convolution for so many pixels, which are all that it reads."""
    fields = tuple((name, columns if name == "out_w" else value) for name, value in params.fields)
    return reading(replace(params, fields=fields), columns)


def reading(params: Params, in_w: int) -> Params:
    """The params of a pointwise convolution that reads rows of so many columns: a strip has fewer than
    the operator that was lowered, and words must not be read past its last one."""
    has = dict(params.fields)
    new = {"in_w": in_w}
    if "last" in has:
        in_c, words = has["in_c"], has["words"]
        assert isinstance(in_c, int)
        assert isinstance(words, int)
        new["last"] = conv_4x2.last_of(in_w, in_c, words)
    fields = tuple((name, new.get(name, value)) for name, value in params.fields)
    return replace(params, fields=fields)

"""Data movement of every kind that is known beforehand: params of kernels/include/lt_pick.h.

Why one mechanism: an operator that only rearranges is a map from places of its output to places of its
input. Which rows of the input an output row needs, in which pieces, and which rows are made alike, can
all be read off that map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import Tensor
from lowtide.lower.common import Context, whole
from lowtide.lower.copies import pieced
from lowtide.lower.counts import Counted
from lowtide.lower.move import columns_of, copy_node, port, row_dims
from lowtide.lower.nodes import Array, Lowered, Node, Params, Port

Places = NDArray[np.int64]

_MOST_ROWS = 16  # of a window: beyond that the whole input is one row
_MOST_LISTS = 255  # uint8_t
_MOST_PIECES = 0xFFFF  # LT_NONE is none
PADDING = -1
"""The place of an element that is padding."""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What the rows of the output are made of: for each step and piece the input's row, -1 where it is
    padding, and the number of the piece within that."""

    length: int
    rows: Places
    numbers: Places


def places(tensor: Tensor) -> Places:
    """Every element of `tensor`, in its shape, as its place."""
    return np.arange(tensor.elements, dtype=np.int64).reshape(tensor.shape)


def picked(context: Context, source: Tensor, of: Places, size: int, value: bytes = b"") -> Lowered:
    """The operator's output, whose element i is element of[i] of `source`, or `value` (of `size` bytes)
    where that is PADDING."""
    out = context.output()
    if of.shape != out.shape:
        raise context.unsupported(f"it cannot make {list(out.shape)} from {list(source.shape)}")
    if out.bytes == 0:
        return Lowered()
    if source.bytes == 0:
        raise context.unsupported("its input is empty")
    steps = math.prod(out.shape[: row_dims(out.shape)])
    made = of.reshape(steps, -1)
    rows = math.prod(source.shape[: row_dims(source.shape)])
    found = _pieces(made, source.elements // rows)
    window = _window(source, rows, found.rows)
    if window is None:
        found = _pieces(made, source.elements)
        window = whole(source), np.where(found.rows < 0, 0, found.rows)
    taken, inside = window
    target = port(out, steps, range(steps))
    if taken.count == 1 and _is_copy(found, taken):
        return Lowered((copy_node(context, taken, target, steps),))
    return Lowered((_node(context, found, taken, inside, target, size, value),))


def known(context: Context, source: Tensor, contents: bytes) -> Lowered:
    """The operator's output, whose contents are known; `source` is not looked at."""
    out = context.output()
    if len(contents) != out.bytes:
        raise context.unsupported(f"it makes {len(contents)} bytes instead of {out.bytes}")
    if out.bytes == 0:
        return Lowered()
    params = Params(
        "lt_pick",
        (
            ("pieces", Array("uint16_t", np.array([_MOST_PIECES]))),
            ("rows", None),
            ("lists", None),
            ("value", Array("uint8_t", np.frombuffer(contents, np.uint8))),
            ("count", 1),
            ("bytes", out.bytes),
        ),
    )
    both = (whole(source),), (whole(out),)
    return context.node("lt_pick_row", "lt_pick.h", params, *both, 1)


def _is_copy(found: _Pieces, taken: Port) -> bool:
    """Whether each output row is a row of the input, or a whole input of one row."""
    whole_rows = (found.numbers == np.arange(found.numbers.shape[1])).all()
    return bool(whole_rows and (found.rows >= 0).all() and taken.rows > 1)


def _pieces(made: Places, row: int) -> _Pieces:
    """The longest pieces that every row of `made` is made of; the input's rows have `row` elements."""
    after = (made[:, 1:] == made[:, :-1] + 1) | ((made[:, 1:] < 0) & (made[:, :-1] < 0))
    breaks = np.flatnonzero(~after.all(axis=0)) + 1
    length = math.gcd(made.shape[1], row, *breaks.tolist())
    starts = made[:, ::length]
    inside = starts[starts >= 0] % row
    if inside.size:
        length = math.gcd(length, int(np.gcd.reduce(inside)))
    starts = made[:, ::length]
    padding = starts < 0
    rows = np.where(padding, -1, starts // row)
    return _Pieces(length, rows, np.where(padding, _MOST_PIECES, starts % row // length))


def _window(source: Tensor, rows: int, used: Places) -> tuple[Port, Places] | None:
    """(the rows of the input that each step sees, which of them each piece is in); None if they are too
    many."""
    any_used = (used >= 0).any(axis=1)
    least = np.where(used < 0, rows, used).min(axis=1)
    most = used.max(axis=1)
    offsets = np.where(used < 0, 0, used - least[:, None])
    dilation = int(np.gcd.reduce(offsets.reshape(-1))) or 1
    count = int((most - least)[any_used].max()) // dilation + 1 if any_used.any() else 1
    if count > min(_MOST_ROWS, rows) or dilation > 255 or rows > 32767:
        return None
    firsts = np.where(any_used, least, -count * dilation)
    one = port(source, rows, firsts.tolist())
    if count > 1:
        one = Port(
            source.id, rows, one.row_bytes, one.first, one.stride, count, dilation, one.table
        )
    return one, offsets // dilation


def _node(
    context: Context,
    found: _Pieces,
    taken: Port,
    inside: Places,
    target: Port,
    size: int,
    value: bytes,
) -> Node:
    both = np.concatenate([found.numbers, inside], axis=1)
    kinds, which = np.unique(both, axis=0, return_inverse=True)
    count = found.numbers.shape[1]
    numbers, rows = kinds[:, :count], kinds[:, count:]
    if len(kinds) > _MOST_LISTS or found.numbers[found.rows >= 0].max(initial=0) >= _MOST_PIECES:
        raise context.unsupported("it moves too many pieces in irregular order")
    piece = np.frombuffer(value * found.length, np.uint8) if (found.rows < 0).any() else None
    params = Params(
        "lt_pick",
        (
            ("pieces", Array("uint16_t", numbers)),
            ("rows", Array("uint8_t", rows) if rows.any() else None),
            ("lists", Array("uint8_t", which.reshape(-1)) if len(kinds) > 1 else None),
            ("value", None if piece is None else Array("uint8_t", piece)),
            ("count", count),
            ("bytes", found.length * size),
        ),
    )
    made = context.op.id, "lt_pick_row", "lt_pick.h", params, (taken,), (target,), target.rows
    pieces, run = found.numbers.size, found.length * size
    begins = np.where(found.rows < 0, 0, found.rows * taken.row_bytes + found.numbers * run)
    done = pieced(pieces, run, run * np.arange(pieces), begins.reshape(-1).astype(np.int64))
    listed = pieces * (len(kinds) > 1), pieces * bool(rows.any())
    work = Counted.of(
        columns_of(context.output()), written=pieces * run, lists=listed[0], rows=listed[1], **done
    )
    return Node(*made, work=work)

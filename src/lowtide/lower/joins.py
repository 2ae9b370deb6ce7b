"""Concatenations and splits of feature maps as what they are: parts of one map."""

from __future__ import annotations

from collections.abc import Sequence

from lowtide.ir import Tensor
from lowtide.lower.nodes import Join


def join_of(whole: Tensor, parts: Sequence[Tensor]) -> Join | None:
    """`parts` of the map `whole` [1, H, W, C] along its rows or columns; None if they are no such.

    (Along its channels, parts alternate pixel by pixel, unless its rows are of one pixel.)
    """
    shape, maps = whole.shape, [part.shape for part in parts]
    if len(shape) != 4 or shape[0] != 1 or 0 in shape or any(len(m) != 4 or 0 in m for m in maps):
        return None
    by_rows = all(m[2:] == shape[2:] for m in maps)
    by_columns = all((m[1], m[3]) == (shape[1], shape[3]) for m in maps)
    by_channels = shape[2] == 1 and all(m[1:3] == shape[1:3] for m in maps)
    row = column = 0
    found = []
    for part in parts:
        found.append((part.id, row, column))
        row += part.shape[1] if by_rows else 0
        column += 0 if by_rows else part.bytes // part.shape[1]
    wide = column == whole.bytes // shape[1]
    if (by_rows and row == shape[1]) or (not by_rows and (by_columns or by_channels) and wide):
        return Join(whole.id, tuple(found))
    return None

"""A placement as a map in plain text, for golden files."""

from __future__ import annotations

from bisect import bisect_left

from lowtide.place.problem import Placement

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FREE = "."


def render(placement: Placement) -> str:
    """One line per slot in which something changes, one character per stretch of addresses.

    Columns are the distinct addresses at which a rectangle starts or ends, so that widths are not to
    scale; the header gives the byte address of every column. Letters stand for the item ids, modulo
    62.
    """
    rectangles = [b for b in placement.rectangles if b.size > 0 and b.start < b.end]
    edges = sorted({0} | {edge for b in rectangles for edge in (b.offset, b.offset + b.size)})
    slots = sorted({b.start for b in rectangles} | {b.end for b in rectangles})
    width = max(len(str(edge)) for edge in edges)
    lines = [
        f"{placement.allocator}: {placement.arena_bytes} bytes,"
        f" bound {placement.lower_bound_bytes} bytes, moved {placement.moved_bytes} bytes",
        *(
            "         " + "".join(str(edge).rjust(width)[digit] for edge in edges[:-1])
            for digit in range(width)
        ),
    ]
    for slot in slots[:-1]:
        row = [_FREE] * (len(edges) - 1)
        for b in rectangles:
            if b.start <= slot < b.end:
                for column in range(
                    bisect_left(edges, b.offset), bisect_left(edges, b.offset + b.size)
                ):
                    row[column] = _LETTERS[b.item % len(_LETTERS)]
        lines.append(f"slot {slot:3} {''.join(row)}")
    return "\n".join(line.rstrip() for line in lines) + "\n"

"""What a plan reads of slow flash again: what the part's cache does not hold any more.

Rows that interleave take turns. Each turn reads its kernel's code and its node's constants, from the
cache unless more than it holds was read since the last turn. Where the constants of one step are more
than that, each pass over them reads all of them again.

This is a model: of a cache that holds any pieces, whole, and forgets the one used longest ago. What a
program reads is counted on the emulated board (`lowtide run --profile`, machines/flash.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from lowtide.lower.counts import Windowed
from lowtide.lower.nodes import AnyNode, Node
from lowtide.rows.scheduled import Scheduled
from lowtide.rows.table import Ints
from lowtide.target import FlashCache

CODE = 1024
"""Bytes of code that a step of a kernel is assumed to run through."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """What the steps of a node read of flash: `constants` bytes, `passes` times over, by a `kernel`."""

    kernel: str
    constants: int
    passes: int

    def step(self, room: int) -> int:
        """Bytes that each further step of a turn reads again, if the cache holds `room` bytes."""
        return 0 if self.constants + CODE <= room else self.constants * self.passes


def pieces_of(node: AnyNode) -> Pieces | None:
    """What a step of a node reads; None for an exchange, which reads nothing."""
    if not isinstance(node, Node):
        return None
    passes = node.work.passes if isinstance(node.work, Windowed) else 1
    return Pieces(node.kernel, sum(array.bytes for array in node.params.arrays()), passes)


def refilled_bytes(order: Iterable[int], of: Mapping[int, Pieces], cache: FlashCache) -> int:
    """Bytes that are read into the cache, empty at first, if nodes run in this order, step by step."""
    held: OrderedDict[tuple[str, int], int] = OrderedDict()
    found = 0
    for node, steps in turns(order):
        read = of.get(node)
        if read is None:
            continue
        for piece, size in (((read.kernel, -1), CODE), (("", node), read.constants)):
            if not _holds(held, piece, cache.bytes):
                found += size
            held[piece] = size
            held.move_to_end(piece)
        again = read.step(cache.bytes)
        found += again * steps - (read.constants if again else 0)
    return found


def refilled_by(rows: Scheduled, cache: FlashCache) -> int:
    """Bytes that a schedule reads into the cache, which is empty at first."""
    of = {at: pieces for at, node in enumerate(rows.nodes) if (pieces := pieces_of(node))}
    order = (
        node
        for segment, steps in zip(rows.plan.segments, _by_segment(rows), strict=True)
        for _ in range(segment.times)
        for node in steps
    )
    return refilled_bytes(order, of, cache)


def _by_segment(rows: Scheduled) -> Iterator[list[int]]:
    """The nodes of the steps of each segment."""
    nodes, at = [node for node, _ in rows.plan.steps], 0
    for segment in rows.plan.segments:
        end = at + rows.table.begin[segment.last] - rows.table.begin[segment.first]
        yield nodes[at:end]
        at = end


def _holds(held: OrderedDict[tuple[str, int], int], piece: tuple[str, int], room: int) -> bool:
    """Whether a piece is among those that were used last and fit into the cache together."""
    if piece not in held:
        return False
    for other in reversed(held):
        room -= held[other]
        if room < 0 or other == piece:
            break
    return room >= 0


def turns(order: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Nodes, and how many of their steps run on end."""
    return ((node, sum(1 for _ in run)) for node, run in groupby(order))


@dataclass(frozen=True, slots=True)
class GroupReads:
    """What the nodes of each group read, added up, for stages of these groups: `sizes` are bytes of code
    and constants that a turn reads, `steps` what each further step of it does."""

    cache: FlashCache
    sizes: Ints
    steps: Ints

    def waits(self, groups: Ints, first: int) -> int:
        """Cycles of waiting in a stage whose steps are those of `groups`, in this order, from group
        `first` on: once for each of what fits into the cache together, else for each turn."""
        order = groups[groups >= first]
        count = np.bincount(order, minlength=len(self.sizes))
        there = count > 0
        if int(self.sizes[there].sum()) <= self.cache.bytes:
            read = int(self.sizes[there].sum())
        else:
            begins = np.flatnonzero(np.diff(order, prepend=-1))
            each = np.bincount(order[begins], minlength=len(self.sizes))
            read = int((each * self.sizes + (count - each) * self.steps).sum())
        return self.cache.waits(read)


def group_reads(of: Sequence[Sequence[AnyNode]], cache: FlashCache | None) -> GroupReads | None:
    """What groups of these nodes read; None without a cache."""
    if cache is None:
        return None
    read = [[pieces for pieces in map(pieces_of, nodes) if pieces] for nodes in of]
    sizes = [sum(one.constants + CODE for one in group) for group in read]
    steps = [sum(one.step(cache.bytes) for one in group) for group in read]
    return GroupReads(cache, np.array(sizes, np.int64), np.array(steps, np.int64))

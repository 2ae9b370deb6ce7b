"""What a pass of simplification returns, and how results compose: old graph -> new -> newer.

Why so much is said: a simplified program is compared with the file that it came from, tensor by tensor
and channel by channel. So every result says which tensor of the graph before each of its tensors is,
and what is true of everything that it no longer computes.

Tensors keep their ids, as in all passes; those that a pass adds come behind. A tensor may lose channels,
which are elements of its last axis, or be turned (`Graph.turned`); any other change of what it holds
makes a new tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from lowtide.ir.graph import Graph

Channels: TypeAlias = tuple[int, ...] | None
"""Positions in a tensor's last axis, ascending where they are kept; None: all of them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a tensor of the new graph is: those `channels` of tensor `origin` of the graph before.

    `origin` is None for a tensor that the graph before does not have.
    """

    origin: int | None
    channels: Channels = None


@dataclass(frozen=True, slots=True)
class Always:
    """Each dropped channel holds one value for every input: `values`, as stored, channel by channel."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Holds:
    """What was dropped has these contents for every input, as stored, in row-major order."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Same:
    """What was dropped has, in row-major order, the elements of `channels` of another `tensor`."""

    tensor: int
    channels: Channels = None


@dataclass(frozen=True, slots=True)
class Unread:
    """Nothing is claimed of it, since nobody reads it."""


Claim: TypeAlias = Always | Holds | Same | Unread


@dataclass(frozen=True, slots=True)
class Dropped:
    """Channels of a tensor of the graph before that the new one does not compute."""

    tensor: int
    channels: Channels
    claim: Claim


@dataclass(frozen=True, slots=True)
class Simplified:
    """A simplified graph: `kept[i]` says what its tensor i was, `dropped` what is no longer computed.

    `saved` says how often what was done: ("constant channels", 1650).
    """

    graph: Graph = field(repr=False)
    kept: tuple[Kept, ...] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    saved: tuple[tuple[str, int], ...] = ()


Pass: TypeAlias = Callable[[Graph], Simplified]
"""Exact for every input. What finds nothing to do returns `unchanged(graph)`: the graph itself."""


def unchanged(graph: Graph) -> Simplified:
    return Simplified(graph, tuple(Kept(t.id) for t in graph.tensors))


def changed(
    old: Graph,
    new: Graph,
    *,
    kept: Mapping[int, tuple[int, ...]] | None = None,
    dropped: Iterable[Dropped] = (),
    saved: Mapping[str, int] | None = None,
) -> Simplified:
    """The result of a pass from `old` to `new`, in which tensors of `old` have their ids.

    `kept` says which channels are left of tensors that lost some: id -> positions in the old one.
    """
    left = kept or {}
    count = len(old.tensors)
    return Simplified(
        new,
        tuple(Kept(t.id, left.get(t.id)) if t.id < count else Kept(None) for t in new.tensors),
        tuple(dropped),
        tuple((saved or {}).items()),
    )


def repeated(graph: Graph, once: Pass) -> Simplified:
    """`once`, again and again until it finds nothing to do."""
    result = unchanged(graph)
    while (step := once(result.graph)).graph is not result.graph:
        result = then(result, step)
    return result


def then(first: Simplified, second: Simplified) -> Simplified:
    """From the graph before `first` to that of `second`, which began with that of `first`."""
    if second.graph is first.graph:
        return first
    told = (_told(first, entry) for entry in second.dropped)
    saved = dict(first.saved)
    for what, count in second.saved:
        saved[what] = saved.get(what, 0) + count
    return Simplified(
        second.graph,
        tuple(_traced(first, entry) for entry in second.kept),
        (*first.dropped, *(entry for entry in told if entry is not None)),
        tuple(saved.items()),
    )


def _traced(first: Simplified, kept: Kept) -> Kept:
    """`kept`, whose origin is in the graph of `first`, in terms of the graph before that."""
    if kept.origin is None:
        return kept
    before = first.kept[kept.origin]
    if before.origin is None:
        return before
    return Kept(before.origin, _composed(before.channels, kept.channels))


def _composed(before: Channels, then: Channels) -> Channels:
    if before is None or then is None:
        return before if then is None else then
    return tuple(before[channel] for channel in then)


def _told(first: Simplified, entry: Dropped) -> Dropped | None:
    """`entry` in terms of the graph before `first`; None of a tensor that was not there."""
    tensor = _traced(first, Kept(entry.tensor, entry.channels))
    if tensor.origin is None:
        return None
    claim = entry.claim
    match claim:
        case Same():
            other = _traced(first, Kept(claim.tensor, claim.channels))
            claim = Unread() if other.origin is None else Same(other.origin, other.channels)
        case Always() | Holds() | Unread():
            pass
        case _:
            assert_never(claim)
    return Dropped(tensor.origin, tensor.channels, claim)

"""How results of simplification compose, and that passes run until nothing changes."""

from __future__ import annotations

from dataclasses import replace

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.passes.rewriting import with_ops
from lowtide.passes.simplify import simplify
from lowtide.passes.simplify.result import (
    Always,
    Dropped,
    Kept,
    Same,
    Simplified,
    Unread,
    changed,
    then,
    unchanged,
)


def chain(channels: int) -> Graph:
    """input 0 -> RELU -> 1 -> RELU -> output 2."""
    tensors = tuple(Tensor(i, f"t{i}", (1, channels), DType.INT8) for i in range(3))
    ops = tuple(Op(i, "RELU", (i,), (i + 1,)) for i in range(2))
    return Graph("g", tensors, ops, (0,), (2,))


def without(graph: Graph, channel: int) -> Simplified:
    """Tensor 1 without that channel, which always holds 7."""
    old = graph.tensors[1]
    left = tuple(c for c in range(old.shape[-1]) if c != channel)
    new = replace(old, shape=(1, len(left)))
    return changed(
        graph,
        replace(graph, tensors=(graph.tensors[0], new, *graph.tensors[2:])),
        kept={1: left},
        dropped=[Dropped(1, (channel,), Always((7,)))],
        saved={"constant channels": 1},
    )


def test_channels_compose() -> None:
    graph = chain(5)
    first = without(graph, 1)
    both = then(first, without(first.graph, 2))
    assert both.kept == (Kept(0), Kept(1, (0, 2, 4)), Kept(2))
    assert both.dropped == (
        Dropped(1, (1,), Always((7,))),
        Dropped(1, (3,), Always((7,))),
    )
    assert both.saved == (("constant channels", 2),)


def test_claims_are_of_the_first_graph() -> None:
    graph = chain(4)
    first = without(graph, 0)
    second = changed(
        first.graph,
        with_ops(first.graph, first.graph.ops[:1]),
        dropped=[Dropped(2, None, Same(1)), Dropped(1, (0, 2), Same(1, (1, 1)))],
    )
    assert then(first, second).dropped[1:] == (
        Dropped(2, None, Same(1, (1, 2, 3))),
        Dropped(1, (1, 3), Same(1, (2, 2))),
    )


def test_what_the_first_graph_lacks_is_not_told() -> None:
    graph = chain(4)
    more = changed(
        graph, replace(graph, tensors=(*graph.tensors, Tensor(3, "new", (4,), DType.INT8)))
    )
    assert more.kept[3] == Kept(None)
    less = changed(
        more.graph,
        with_ops(more.graph, more.graph.ops[:1]),
        kept={3: (1,)},
        dropped=[Dropped(3, (0,), Unread()), Dropped(2, None, Same(3))],
    )
    both = then(more, less)
    assert both.kept[3] == Kept(None)
    assert both.dropped == (Dropped(2, None, Unread()),)


def test_nothing_to_do_is_the_graph_itself() -> None:
    graph = chain(4)
    assert simplify(graph, ()).graph is graph
    assert simplify(graph, (unchanged, unchanged)) == unchanged(graph)


def test_passes_run_until_none_changes_anything() -> None:
    asked: list[str] = []

    def narrows(graph: Graph) -> Simplified:
        asked.append("narrows")
        return without(graph, 0) if graph.tensors[1].shape[-1] > 2 else unchanged(graph)

    def looks(graph: Graph) -> Simplified:
        asked.append("looks")
        return unchanged(graph)

    found = simplify(chain(4), (looks, narrows))
    assert found.kept[1] == Kept(1, (2, 3))
    assert found.saved == (("constant channels", 2),)
    assert asked == ["looks", "narrows", "looks", "narrows", "looks", "narrows"]

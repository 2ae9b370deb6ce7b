"""What a program consists of before any memory is placed: nodes, views, and rows that are exchanged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lowtide.ir import Graph
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Lowered, Node, Port
from lowtide.rows.table import cuts_of


def resolve_views(graph: Graph, lowered: Mapping[int, Lowered]) -> dict[int, int]:
    """View tensor -> the tensor whose memory it is, through chains of views."""
    views: dict[int, int] = {}
    for op in graph.ops:  # in file order, so that a view's source is resolved before it
        for view, source in lowered[op.id].views if op.id in lowered else ():
            views[view] = views.get(source, source)
    return views


def with_exchanges(
    graph: Graph,
    nodes: Sequence[Node],
    views: Mapping[int, int],
    outside: Collection[int],
    crops: Mapping[int, Crop],
    *,
    inputs: bool,
    outputs: bool,
) -> list[AnyNode]:
    """`nodes` with those that take streamed inputs before them, and streamed outputs as made."""
    if not inputs and not outputs:
        return list(nodes)
    roots = {**views, **{t: views.get(c.tensor, c.tensor) for t, c in crops.items()}}
    cuts = cuts_of(graph, nodes, roots, outside, crops)

    def port(tensor: int) -> Port:
        """Rows as the tensor is cut, or, where it is in one piece, as its shape says."""
        of, cut = graph.tensors[tensor], cuts.get(views.get(tensor, tensor))
        count = cut.count if cut is not None else 1
        if count == 1 and len(of.shape) > 2:
            count = of.shape[0] * of.shape[1] or 1
        return Port(tensor, count, of.bytes // count)

    last_maker = {
        roots.get(p.tensor, p.tensor): at for at, node in enumerate(nodes) for p in node.outputs
    }
    after: dict[int, list[AnyNode]] = {}
    for number, tensor in enumerate(graph.outputs if outputs else ()):
        at = last_maker.get(views.get(tensor, tensor), len(nodes) - 1)
        after.setdefault(at, []).append(Exchange(number, port(tensor), given=False))
    given = [Exchange(n, port(t), given=True) for n, t in enumerate(graph.inputs) if inputs]
    rest = after.get(-1, [])  # there are no nodes: outputs are inputs, or constants
    return [
        *given,
        *rest,
        *(n for at, node in enumerate(nodes) for n in (node, *after.get(at, ()))),
    ]

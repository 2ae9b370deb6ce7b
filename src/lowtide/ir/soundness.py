"""What a graph must hold before any later stage reads it.

Why: the scheduler, the allocators and the code generator index freely and assume that a tensor has
one maker and that the file order is a valid order. Every such assumption is checked once, here, and
a model that breaks one is refused with the place and the reason.
"""

from __future__ import annotations

from lowtide.errors import ModelError, UsageError
from lowtide.ir.graph import Graph, Model, Op

_RE_EXPORT = "export the model again with a current converter; the file may be damaged"

# Operators that run another subgraph of the model. CALL_ONCE is not among them: it runs its
# subgraph once, before the first invocation, and no tensor of the main subgraph passes through it.
CONTROL_FLOW = frozenset(
    {
        "CALL",
        "IF",
        "WHILE",
        "STABLEHLO_CASE",
        "STABLEHLO_COMPOSITE",
        "STABLEHLO_REDUCE",
        "STABLEHLO_REDUCE_WINDOW",
        "STABLEHLO_SCATTER",
        "STABLEHLO_SORT",
        "STABLEHLO_WHILE",
    }
)


MOST_BYTES = 1 << 26
"""Of a tensor that is not in the file: more than any microcontroller has, and a bound of what is built
of a file's claims."""

BRANCHES = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
}
"""Those that `passes.branches` makes part of the network, and the options that name their subgraphs."""


def verify(graph: Graph, *, main: bool = True) -> Graph:
    """Return `graph` itself if it is sound, else raise ModelError with the first fault found.

    One that is not the `main` subgraph may have no operators.
    """
    if main and not graph.ops:
        raise ModelError(
            "the model's main subgraph has no operators: there is nothing to schedule",
            "check that the export kept the network, and not only its signature",
        )
    _check_references(graph)
    _check_makers_and_order(graph)
    _check_sizes(graph)
    for op in graph.ops:
        names = BRANCHES.get(op.type)
        there = names is not None and all(op.options.get(n) in graph.subgraphs for n in names)
        if op.type in CONTROL_FLOW and not there:
            _refuse(op, "inline or unroll the control flow before the conversion")
    return graph


def _refuse(op: Op, remedy: str) -> None:
    raise ModelError(
        f"{_name(op)} runs another subgraph, but lowtide schedules only the main subgraph", remedy
    )


def _check_flow(graph: Graph) -> Graph:
    """`graph`, which runs no subgraphs; else raises ModelError."""
    for op in graph.ops:
        if op.type in BRANCHES:
            _refuse(
                op,
                "use `lowtide compile`, which inlines it, or inline or unroll the control flow before "
                "the conversion",
            )
    return graph


def graph_of(model: Model | Graph) -> Graph:
    """The graph of a loaded model, which is sound, or a graph made by hand, verified here.

    Raises ModelError for an unsound graph or one that runs others, UsageError for anything that is
    neither.
    """
    if isinstance(model, Model):
        return _check_flow(model.graph)
    if isinstance(model, Graph):
        return _check_flow(verify(model))
    raise UsageError(
        f"{model!r} is neither a loaded model nor a graph", "load it first: lowtide.load(path)"
    )


def _name(op: Op) -> str:
    return f"operator {op.id} ({op.label})"


def _check_references(graph: Graph) -> None:
    count = len(graph.tensors)

    def check(where: str, ids: tuple[int, ...], optional: bool = False) -> None:
        for tensor in ids:
            if not (0 <= tensor < count or (optional and tensor == -1)):
                raise ModelError(
                    f"{where} refers to tensor {tensor}, but the model has {count} tensors",
                    _RE_EXPORT,
                )

    check("the list of graph inputs", graph.inputs)
    check("the list of graph outputs", graph.outputs)
    for op in graph.ops:
        check(f"{_name(op)}, input,", op.inputs, optional=True)
        check(f"{_name(op)}, output,", op.outputs)


def _check_makers_and_order(graph: Graph) -> None:
    """One maker per tensor, and each tensor made before it is read (so there is no cycle)."""
    maker: dict[int, Op] = {}
    given = set(graph.inputs)
    for op in graph.ops:
        for tensor in op.outputs:
            if tensor in maker:
                raise ModelError(
                    f"tensor {tensor} is made by {_name(maker[tensor])} and by {_name(op)}",
                    _RE_EXPORT,
                )
            value = graph.tensors[tensor]
            if tensor in given or value.is_constant or value.is_variable:
                kind = (
                    "a graph input"
                    if tensor in given
                    else "a constant"
                    if value.is_constant
                    else "a variable tensor"
                )
                raise ModelError(f"{_name(op)} writes tensor {tensor}, which is {kind}", _RE_EXPORT)
            maker[tensor] = op

    def ready(tensor: int, made: set[int]) -> bool:
        value = graph.tensors[tensor]
        return (
            tensor in given
            or tensor in made
            or value.is_constant
            or value.is_variable
            or (tensor not in maker and value.bytes == 0)
        )

    made: set[int] = set()
    for op in graph.ops:
        for tensor in op.inputs:
            if tensor == -1 or ready(tensor, made):
                continue
            if tensor not in maker:
                raise ModelError(
                    f"{_name(op)} reads tensor {tensor}, which nothing makes: it is not a graph "
                    "input, a constant or an operator's output",
                    _RE_EXPORT,
                )
            raise ModelError(
                f"{_name(op)} reads tensor {tensor} before {_name(maker[tensor])} makes it: "
                "the operators form a cycle or stand in an order that cannot run",
                _RE_EXPORT,
            )
        made.update(op.outputs)
    for tensor in graph.outputs:
        if not ready(tensor, made):
            raise ModelError(f"nothing makes tensor {tensor}, which is a graph output", _RE_EXPORT)


def _check_sizes(graph: Graph) -> None:
    for tensor in graph.tensors:
        if any(d < 0 for d in tensor.shape):
            raise ModelError(
                f"tensor {tensor.id} ({tensor.name or 'no name'}) has shape {list(tensor.shape)}: "
                "lowtide plans memory ahead, so every dimension must be known",
                "export the model with a fixed input shape (batch 1)",
            )
        packed = tensor.dtype.bits == 0 or tensor.is_sparse
        if tensor.data is not None and len(tensor.data) != tensor.bytes and not packed:
            raise ModelError(
                f"tensor {tensor.id} ({tensor.name or 'no name'}), {tensor.dtype.name} of shape "
                f"{list(tensor.shape)}, needs {tensor.bytes} bytes, but its buffer holds "
                f"{len(tensor.data)}",
                _RE_EXPORT,
            )
        if tensor.data is None and tensor.bytes > MOST_BYTES:
            raise ModelError(
                f"tensor {tensor.id} has shape {list(tensor.shape)}: {tensor.bytes} bytes are "
                "too many for a microcontroller",
                _RE_EXPORT,
            )

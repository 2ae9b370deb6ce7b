"""Which columns of its maps an operator needs to make some columns of its output.

Why here: whether a stage may run in vertical strips depends on what its operators mean. Each family of
operators says so beside its lowering (`Lowering.columns`); what says nothing is not cut into strips.
"""

from __future__ import annotations

from lowtide.ir import Graph
from lowtide.lower.common import Context
from lowtide.lower.nodes import Reads


def of_a_window(context: Context) -> tuple[Reads, ...] | None:
    """A convolution or pool of one map."""
    maps, op = _maps(context), context.op
    if maps is None or len(maps) != 1 or op.window is None:
        return None
    return (Reads(op.inputs[0], op.window.columns),)


def of_each(context: Context) -> tuple[Reads, ...] | None:
    """One map, element by element."""
    maps = _maps(context)
    return (Reads(maps[0]),) if maps is not None and len(maps) == 1 else None


def of_all(context: Context) -> tuple[Reads, ...] | None:
    """Maps of the output's shape, element by element, and constants that are the same in each column."""
    graph, op, maps = context.graph, context.op, _maps(context)
    out = context.output().shape
    if maps is None or any(graph.tensors[i].shape != out for i in maps):
        return None
    constants = [graph.tensors[i] for i in op.inputs if i >= 0 and graph.tensors[i].is_constant]
    same = all(
        t.elements in (1, out[3]) and (not t.shape or t.shape[-1] == t.elements) for t in constants
    )
    return tuple(Reads(i) for i in maps) if same else None


def of_joined(context: Context) -> tuple[Reads, ...] | None:
    """A concatenation of maps along rows or channels."""
    maps = _maps(context)
    if maps is None or len(maps) != len(context.op.inputs):
        return None
    if context.option("axis") not in (1, 3, -1, -3):
        return None
    return tuple(Reads(i) for i in maps)


def _maps(context: Context) -> list[int] | None:
    """The inputs that are no constants, if they and the one output are feature maps."""
    graph, op = context.graph, context.op
    maps = [i for i in op.inputs if i >= 0 and not graph.tensors[i].is_constant]
    fits = (
        len(op.outputs) == 1 and bool(maps) and all(is_map(graph, i) for i in (*op.outputs, *maps))
    )
    return maps if fits else None


def is_map(graph: Graph, tensor: int) -> bool:
    """Whether it is a feature map [N, H, W, C]."""
    of = graph.tensors[tensor]
    return len(of.shape) == 4 and of.bytes > 0 and not of.is_variable

"""Operators to nodes, without their weights: what an estimate asks of a lowering.

Why not `lower_op` alone: most of what that does is to pack weights, which changes nothing about rows,
scratch memory or prices. So convolutions of int8 get their nodes here, from shapes alone. Every other
operator is lowered once with weights of zeros, and what came out is remembered by all that it depends
on, as are blocks: an estimate depends on the network, and not on what was asked before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.block import BlockOp
from lowtide.lower import convolution, lower_op
from lowtide.lower.common import Context
from lowtide.lower.convolution_work import Convolution
from lowtide.lower.depthwise_work import Depthwise
from lowtide.lower.nodes import Array, Join, Lowered, Node, Params, Port
from lowtide.lower.work import Work
from lowtide.target import DSP, Target

_NO_PARAMS = Params("", ())
_WEIGHTS = {"CONV_2D": (1, 2), "DEPTHWISE_CONV_2D": (1, 2), "FULLY_CONNECTED": (1, 2)} | {
    "TRANSPOSE_CONV": (1, 3)
}
"""Inputs whose contents decide nothing that is asked here."""

_MOST = 1 << 14
"""How many operators are remembered."""

_CONV_FIELDS, _DEPTHWISE_FIELDS = 18, 16
_LARGE_SUM = 1 << 16
"""Sums of absolute weights from which lt_conv_packed cannot do a channel: see lower/packed.py."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """An operator as nodes without weights; `constants` are their bytes, `fields` those of its params.

    `weights` says which constants these are, so that equal ones are counted once.
    """

    lowered: Lowered
    constants: int
    fields: int
    weights: tuple[int, ...] = ()


_known: dict[tuple[Any, ...], Shaped] = {}


def shaped(graph: Graph, op: Op, target: Target) -> Shaped:
    """The nodes of `op`. Raises ModelError as `lower_op` does."""
    if op.type in _QUICK and not target.is_particular:
        found = _QUICK[op.type](Context(graph, op, target))
        if found is not None:
            return found
    ids = tuple(dict.fromkeys((*(t for t in op.inputs if t >= 0), *op.outputs, *op.intermediates)))
    # What shares its memory with others depends on the rest of the graph: see lower/move.py.
    if any(t in graph.outputs for t in op.outputs) or any(
        graph.tensors[t].is_variable for t in ids
    ):
        return _measured(lower_op(graph, op, target=target))
    inputs = (op.inputs[at] for at in _WEIGHTS.get(op.type, ()) if at < len(op.inputs))
    # What nine bits are needed for depends on contents: see lower/w9.py.
    hidden = {t for t in inputs if t >= 0 and graph.tensors[t].dtype is not DType.UINT8}
    slot = {tensor: at for at, tensor in enumerate(ids)}
    slot[-1] = -1
    key = (
        *(op.type, op.custom, op.version, op.window, op.as_litert, target),
        tuple(op.options.items()),
        *(tuple(slot[t] for t in side) for side in (op.inputs, op.outputs, op.intermediates)),
        *(_seen(graph.tensors[t], t in hidden) for t in ids),
    )
    found = _known.get(key)
    if found is None:
        try:
            found = _lowered(graph, op, target, ids, slot, hidden)
        except ModelError:
            return _measured(lower_op(graph, op, target=target))  # raises with its own number
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = found
    return replace(found, lowered=_renamed(found.lowered, op.id, ids))


def _seen(tensor: Tensor, hidden: bool) -> tuple[Any, ...]:
    """What of a tensor can matter to a lowering."""
    data = bool(tensor.data) if hidden else tensor.data
    kind = tensor.is_variable, tensor.is_sparse, tensor.flipped, tensor.of_nibbles
    return tensor.shape, tensor.dtype, tensor.quant, data, kind


def _lowered(
    graph: Graph,
    op: Op,
    target: Target,
    ids: tuple[int, ...],
    slot: dict[int, int],
    hidden: set[int],
) -> Shaped:
    """`op` alone, with weights of zeros, its tensors numbered as in `ids`."""
    tensors = []
    for at, number in enumerate(ids):
        tensor = graph.tensors[number]
        data = tensor.data
        if number in hidden and data is not None:
            data = bytes(len(data))
        tensors.append(replace(tensor, id=at, name="", data=data, buffer=at))
    sides = (tuple(slot[t] for t in side) for side in (op.inputs, op.outputs, op.intermediates))
    inputs, outputs, intermediates = sides
    alone = replace(op, id=0, inputs=inputs, outputs=outputs, intermediates=intermediates)
    return _measured(lower_op(Graph("", tuple(tensors), (alone,), (), ()), alone, target=target))


def _measured(lowered: Lowered) -> Shaped:
    """Without params, but with what those take."""
    arrays: dict[int, int] = {}
    fields = sum(_measure(node.params, arrays) for node in lowered.nodes)
    nodes = tuple(
        replace(
            node,
            params=_NO_PARAMS,
            forms=tuple(replace(form, params=_NO_PARAMS) for form in node.forms),
        )
        for node in lowered.nodes
    )
    return Shaped(replace(lowered, nodes=nodes), sum(arrays.values()), fields)


def _measure(params: Params, arrays: dict[int, int]) -> int:
    """The fields of params; notes the bytes of their arrays."""
    width = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int64_t": 8}
    for _, value in params.fields:
        if isinstance(value, Array):
            arrays[id(value.values)] = value.values.size * width.get(value.ctype, 4)
        elif isinstance(value, Params):
            _measure(value, arrays)
    return len(params.fields)


def shaped_block(
    graph: Graph, op: BlockOp, ways: Sequence[Mapping[int, Lowered]], target: Target
) -> Lowered:
    """The node of a block of operators that are lowered in these `ways`: see `lower_op`."""
    ids = *op.inputs[:1], *op.outputs, *op.intermediates
    numbers = [n for n in (op.expand, op.depthwise, op.project) if n is not None]
    members = [way[n].nodes[0] for way in ways for n in numbers]
    key = (
        *(target, op.window, op.kept, op.expand is None, op.project is None),
        *(op.expanded_rows, op.expanded_height, op.expanded_columns),
        *((graph.tensors[t].shape, graph.tensors[t].dtype) for t in ids),
        *((_kind(node), *map(_kind, node.forms)) for node in members),
    )
    found = _known_blocks.get(key)
    if found is None:
        lowered = _measured(lower_op(graph, op, ways, target)).lowered
        found = _renamed(lowered, 0, {tensor: at for at, tensor in enumerate(ids)})
        if len(_known_blocks) >= _MOST:
            _known_blocks.clear()
        _known_blocks[key] = found
    return _renamed(found, op.id, ids)


_known_blocks: dict[tuple[Any, ...], Lowered] = {}


def _kind(node: Node) -> tuple[str, int, Work | None]:
    """What a block asks of a node whose kernel it calls."""
    return node.kernel, node.scratch, node.work


def _renamed(lowered: Lowered, op: int, ids: Sequence[int] | Mapping[int, int]) -> Lowered:
    """The same for operator `op`, whose tensors are `ids`."""

    def node_of(node: Node) -> Node:
        return Node(
            *(op, node.kernel, node.header, _NO_PARAMS),
            tuple(_port(port, ids) for port in node.inputs),
            tuple(_port(port, ids) for port in node.outputs),
            *(node.steps, node.scratch, node.scratch_lasts),
            work=node.work,
            forms=tuple(map(node_of, node.forms)),
        )

    nodes = tuple(map(node_of, lowered.nodes))
    views = tuple((ids[view], ids[source]) for view, source in lowered.views)
    join = lowered.join
    if join is not None:
        parts = tuple((ids[part], row, at) for part, row, at in join.parts)
        join = Join(ids[join.whole], parts)
    return Lowered(nodes, views, None, join)


def _port(port: Port, ids: Sequence[int] | Mapping[int, int]) -> Port:
    return Port(
        *(ids[port.tensor], port.rows, port.row_bytes, port.first, port.stride),
        *(port.count, port.dilation, port.table, port.images),
    )


def _conv(context: Context) -> Shaped | None:
    """CONV_2D of int8, as `lower/conv.py` has it."""
    filters, source = context.input(1), context.input(0)
    if not _plainly_int8(context) or len(filters.shape) != 4 or len(source.shape) != 4:
        return None
    if filters.shape[3] != source.shape[3]:
        return None
    return _packed(context, convolution.footprint(context), filters.shape[0])


def _depthwise(context: Context) -> Shaped | None:
    """DEPTHWISE_CONV_2D of int8, as `lower/depthwise.py` has it."""
    filters, source = context.input(1), context.input(0)
    if not _plainly_int8(context) or len(filters.shape) != 4 or len(source.shape) != 4:
        return None
    if filters.shape[0] != 1 or context.option("depth_multiplier") not in (0, 1):
        return None
    if filters.shape[3] != source.shape[3] or source.shape[3] == 1:
        return None
    over = convolution.footprint(context)
    channels = over.in_c
    scratch = 8 * over.taps if DSP in context.target.variants else 0
    node = Node(
        op=context.op.id,
        kernel="lt_depthwise_mult1_s8_row",
        header="lt_depthwise_mult1.h",
        params=_NO_PARAMS,
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
        scratch=scratch,
        scratch_lasts=False,
        work=Depthwise(
            steps=over.target.rows,
            rows=over.source.touched(over.target.rows)[0],
            axis=over.axis,
            kernel_h=over.kernel_h,
            in_w=over.in_w,
            columns=over.out_w,
            channels=channels,
            clamps=_clamps(context),
        ),
    )
    if scratch:
        plain = replace(node, kernel="lt_depthwise_mult1_s8_plain", scratch=0)
        node = replace(node, forms=(plain,))
    constants = channels * (over.taps + 4 + 4 + 1)
    return Shaped(Lowered((node,)), constants, _DEPTHWISE_FIELDS, _identity(context))


def _dense(context: Context) -> Shaped | None:
    """FULLY_CONNECTED of int8, as `lower/fully_connected.py` has it."""
    filters, source, out = context.input(1), context.input(0), context.output()
    if not _plainly_int8(context) or len(filters.shape) < 2 or context.op.as_litert:
        return None
    out_c, depth = filters.shape[-2:]
    if context.option("weights_format") or not out.shape or out.shape[-1] != out_c:
        return None
    rows = out.elements // out_c if out_c else 0
    if not rows or not depth or source.elements != rows * depth:
        return None
    if filters.quant is None or any(filters.quant.zero_point):
        return None
    return _packed(context, convolution.dense(context, rows, depth, source, out), out_c)


def _packed(context: Context, over: convolution.Footprint, out_c: int) -> Shaped:
    """A convolution that lt_conv_packed runs, unless its weights are too large for that."""
    products = over.taps * over.in_c
    quads = -(-products // 4)
    if quads > _LARGEST_QUADS or _too_large(context.input(1), out_c, products):
        return _measured(lower_op(context.graph, context.op, target=context.target))
    direct = over.taps == 1
    if over.out_w == 1:
        pixels = 0 if direct else 1
    elif DSP in context.target.variants:
        pixels = 4 if direct or over.in_c % 4 == 0 else 5
    else:
        pixels = 0 if direct else 2
    rows, padding = over.source.touched(over.target.rows)
    node = Node(
        op=context.op.id,
        kernel="lt_conv_packed_s8_row",
        header="lt_conv_packed.h",
        params=_NO_PARAMS,
        inputs=(over.source,),
        outputs=(over.target,),
        steps=over.target.rows,
        scratch=4 * quads * pixels,
        scratch_lasts=False,
        work=Convolution(
            steps=over.target.rows,
            rows=rows,
            padding=padding,
            axis=over.axis,
            kernel_h=over.kernel_h,
            in_w=over.in_w,
            in_c=over.in_c,
            columns=over.out_w,
            out_c=out_c,
            quads=quads,
            direct=direct,
            clamps=_clamps(context),
        ),
    )
    if not direct or DSP in context.target.variants:
        work = node.work
        assert isinstance(work, Convolution)
        lean = replace(node, scratch=0 if direct else 4 * quads, work=work.leaner())
        node = replace(node, forms=(lean,))
    pairs = -(-out_c // 2)
    constants = 4 * pairs * (2 * quads + 5)
    return Shaped(Lowered((node,)), constants, _CONV_FIELDS, _identity(context))


_LARGEST_QUADS = (1 << 16) - 1
_QUICK = {"CONV_2D": _conv, "DEPTHWISE_CONV_2D": _depthwise, "FULLY_CONNECTED": _dense}


def _plainly_int8(context: Context) -> bool:
    """Whether activations and weights are of int8, quantised, and the weights constant."""
    tensors = context.input(0), context.input(1), context.output()
    return (
        all(t.dtype is DType.INT8 and t.quant is not None for t in tensors)
        and not tensors[0].is_constant
        and tensors[1].is_constant
        and not tensors[1].is_sparse
    )


def _clamps(context: Context) -> bool:
    return context.option("fused_activation_function") != 0 and (
        convolution.clamp(context) != (-128, 127)
    )


def _identity(context: Context) -> tuple[int, ...]:
    """Which constants an operator has: two operators of the same share them in flash."""
    return tuple(context.graph.tensors[t].buffer for t in context.op.inputs[1:] if t >= 0)


def _too_large(weights: Tensor, out_c: int, products: int) -> bool:
    """Whether two channels' weights do not fit a word, or may add up to more than half a word holds."""
    if not weights.data:
        return False
    values = np.frombuffer(weights.data, np.int8)
    if values.min(initial=0) == -128:
        both = values.reshape(out_c, products)
        even, odd = both[0::2], both[1::2]
        if ((odd == -128) & (even[: len(odd)] < 0)).any():
            return True
    if products * 128 < _LARGE_SUM:
        return False
    sums = np.abs(values.reshape(out_c, products)[1::2].astype(np.int32)).sum(axis=1)
    return bool((sums >= _LARGE_SUM).any())

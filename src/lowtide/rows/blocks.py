"""Blocks: a depthwise convolution and the pointwise ones around it as one operator.

Why: what lies between them is many times wider than what goes in and comes out (an inverted residual
expands its channels sixfold), and a row of it is much memory. A block makes a few pixels of a row at a
time: of what the depthwise convolution reads it keeps the rows that the next row of its output reads
again, kernel minus stride of them, the *kept rows*; of the rest a window of some pixels; and what the
depthwise convolution makes is eaten pixel by pixel. Nothing is computed twice. Or it keeps no rows, and
computes the pointwise convolution before the depthwise one again for each row that reads it.

A concatenation along channels is a block with the pointwise convolution that reads it, or with a
depthwise one and a pointwise one after it: of what it makes, the pixels are put together that are read
next. Nothing is multiplied twice by that.

A block is an operator (ir/block.py) of a wider graph: it stands after the graph's own operators, as an
alternative to some of them. Its `intermediates` hold the tensor of its kept rows, if it keeps any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.ir.window import Axis, Window
from lowtide.lower.block import MOST_ROWS
from lowtide.lower.families.conv_packed import ConvPacked
from lowtide.lower.families.depthwise_mult1 import DepthwiseMult1
from lowtide.lower.joined import MOST_PARTS
from lowtide.lower.nodes import Lowered, Node


@dataclass(frozen=True, slots=True)
class BlockOption:
    """Operator `op` of the wider graph does what `operators` of the network do, in their order.

    `expands` and `projects` say whether there is a pointwise convolution before and after the depthwise
    one, `joins` whether it begins with a concatenation; `kept` is how many rows it keeps between its
    steps, `again` whether it computes rows again.
    """

    op: int
    operators: tuple[int, ...]
    expands: bool
    projects: bool
    kept: int
    again: bool = False
    joins: bool = False


def find_blocks(
    graph: Graph, lowered: Mapping[int, Lowered], order: Sequence[int], taken: Set[int]
) -> tuple[Graph, tuple[BlockOption, ...]]:
    """The wider graph, and every block that can be: operators that follow each other in `order`.

    `taken` are tensors whose memory is shared, which no block can do without.
    """
    readers: dict[int, list[int]] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            readers.setdefault(tensor, []).append(op.id)
    wide = _Widened(graph)

    def inner(first: int, second: int) -> bool:
        """Whether what `first` makes is read by `second` alone."""
        made = graph.ops[first].outputs[0]
        return (
            graph.ops[second].inputs[0] == made
            and readers.get(made) == [second]
            and made not in graph.outputs
            and made not in taken
        )

    def pointwise(number: int) -> bool:
        """Whether it is a convolution of one tap; a dense layer runs the same kernel on other rows."""
        return graph.ops[number].window is not None and _is_pointwise(lowered[number])

    def following(at: int) -> int:
        """The pointwise convolution after place `at` of the order, if it alone reads what that makes."""
        after = order[at + 1] if at + 1 < len(order) else -1
        return after if after >= 0 and pointwise(after) and inner(order[at], after) else -1

    def joined(at: int) -> Iterator[BlockOption]:
        """The blocks that begin with the concatenation at this place."""
        number, core = order[at], order[at + 1] if at + 1 < len(order) else -1
        if following(at) >= 0:
            yield wide.add(-1, number, following(at), 0)
            return
        able = core >= 0 and _is_depthwise(lowered[core]) and _reads_all(lowered[core])
        if able and inner(number, core) and following(at + 1) >= 0:
            yield wide.add(number, core, following(at + 1), 0)

    blocks: list[BlockOption] = []
    for at, number in enumerate(order):
        if _is_joining(graph, graph.ops[number], lowered[number]):
            blocks += joined(at)
            continue
        source = graph.tensors[graph.ops[number].inputs[0]]
        if not _is_depthwise(lowered[number]) or source.shape[0] != 1:  # of images one by one, none
            continue
        before, after = order[at - 1] if at else -1, following(at)
        if before >= 0 and not (pointwise(before) and inner(before, number)):
            before = -1
        if before >= 0 and not _reads_all(lowered[number]):
            before = -1
        if after >= 0 and _is_narrow(lowered[number]):
            blocks.append(wide.add(-1, number, after, 0))
        if before >= 0:
            keeps = wide.overlap(number)
            for kept in dict.fromkeys((keeps, 0)):
                blocks.append(wide.add(before, number, -1, kept))
                if after >= 0:
                    blocks.append(wide.add(before, number, after, kept))
    return wide.graph, tuple(blocks)


def selections(blocks: Sequence[BlockOption]) -> list[tuple[BlockOption, ...]]:
    """Sets of blocks worth trying, none of which overlap; each set is a variant of the network.

    Concatenations alone; the largest blocks from the front; the same of which the first computes twice,
    the first two, and so on, and all; and those without the pointwise convolution before, or without the
    one after. All have the concatenations.
    """
    largest = largest_of(blocks)
    joining = [block for block in blocks if block.joins]
    found = [_disjoint(joining), largest]
    again = {b.operators: b for b in blocks if b.again}
    able = [b for b in largest if b.kept]
    for count in range(1, len(able) + 1):
        if count <= MOST_AGAIN or count == len(able):
            twice = {b.operators for b in able[:count]}
            found.append(tuple(again[b.operators] if b.operators in twice else b for b in largest))
    separable = [b for b in blocks if b.projects and not b.expands]
    found.append(_disjoint([*joining, *separable]))
    expanding = [b for b in blocks if b.expands and not b.projects and not b.again]
    found.append(_disjoint([*joining, *expanding]))
    return [chosen for chosen in dict.fromkeys(found) if chosen]


def largest_of(blocks: Sequence[BlockOption]) -> tuple[BlockOption, ...]:
    """Concatenations, then the largest blocks from the front, which keep rows where they can."""
    return _disjoint(sorted(blocks, key=lambda b: (not b.joins, -len(b.operators), -b.kept)))


MOST_AGAIN = 6
"""How many blocks, counted from the front, may compute twice while others do not."""


def _disjoint(blocks: Iterable[BlockOption]) -> tuple[BlockOption, ...]:
    """Of blocks that overlap the first one."""
    taken: set[int] = set()
    found = []
    for block in blocks:
        if taken.isdisjoint(block.operators):
            taken.update(block.operators)
            found.append(block)
    return tuple(sorted(found, key=lambda b: b.op))


def _is_joining(graph: Graph, op: Op, lowered: Lowered) -> bool:
    """Whether it is a concatenation of some maps along their channels, by copies alone."""
    node = _only(lowered)
    if node is None or node.kernel != "lt_concat_row" or lowered.join is not None:
        return False
    out = graph.tensors[op.outputs[0]]
    parts = [graph.tensors[t] for t in op.inputs]
    maps = (
        len(out.shape) == 4
        and out.shape[0] == 1
        and all(t.shape[:3] == out.shape[:3] for t in parts)
    )
    fits = len(parts) <= MOST_PARTS and out.dtype is DType.INT8
    return maps and fits and not any(t.is_constant for t in parts)


def _is_pointwise(lowered: Lowered) -> bool:
    node = _only(lowered)
    work = None if node is None else node.work
    if node is None or not isinstance(work, ConvPacked):
        return False
    return work.of.taps == 1 and work.axis.stride == 1 and node.inputs[0].stride == 1


def _is_depthwise(lowered: Lowered) -> bool:
    node = _only(lowered)
    work = None if node is None else node.work
    if node is None or not isinstance(work, DepthwiseMult1):
        return False
    port, axis = node.inputs[0], work.axis
    return (
        axis.dilation == 1
        and port.dilation == 1
        and port.table is None
        and axis.stride <= axis.kernel
        and port.stride <= port.count <= MOST_ROWS
        and axis.before < (work.columns - 1) * axis.stride + axis.kernel  # else it reads nothing
    )


def _is_narrow(lowered: Lowered) -> bool:
    """Whether lt_separable can count its columns: in pad_left, which is an int16_t."""
    work = lowered.nodes[0].work
    assert isinstance(work, DepthwiseMult1)
    return work.columns * work.axis.stride <= 1 << 15


def _reads_all(lowered: Lowered) -> bool:
    """Whether there is no row below the last window. The operator before reads such rows, a block would
    not: what is live beside other stages would depend on which blocks there are."""
    node, port = lowered.nodes[0], lowered.nodes[0].inputs[0]
    return port.first + (node.steps - 1) * port.stride + port.count >= port.rows


def _only(lowered: Lowered) -> Node | None:
    """The one node, if there is one."""
    return lowered.nodes[0] if len(lowered.nodes) == 1 else None


class _Widened:
    """A graph with blocks after its own operators, and their kept rows after its own tensors."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors: list[Tensor] = list(graph.tensors)
        self._ops: list[Op] = list(graph.ops)

    @property
    def graph(self) -> Graph:
        """The graph with all that was added."""
        return replace(self._graph, tensors=tuple(self._tensors), ops=tuple(self._ops))

    def overlap(self, depthwise: int) -> int:
        """Rows that a window of the depthwise convolution shares with the next one."""
        op = self._graph.ops[depthwise]
        assert op.window is not None
        return op.window.rows.kernel - op.window.rows.stride

    def add(self, expand: int, depthwise: int, project: int, kept: int) -> BlockOption:
        """Add the block of these operators (-1: there is none), which keeps `kept` rows."""
        members = tuple(op for op in (expand, depthwise, project) if op >= 0)
        ops = [self._graph.ops[number] for number in members]
        core = self._graph.ops[depthwise]
        source = self._graph.tensors[core.inputs[0]]
        made = self._graph.tensors[core.outputs[0]]
        window = core.window or Window(Axis(), Axis())
        rows, columns = window.rows, window.columns
        reads = [rows.reads(range(row, row + 1), source.shape[1]) for row in range(made.shape[1])]
        once = len({row for window in reads for row in window})
        joins = ops[0].type == "CONCATENATION"
        given = ops[0].inputs if joins else ops[0].inputs[:1]
        constants = (t for op in (ops[1:] if joins else ops) for t in op.inputs[1:])
        block = BlockOp(
            id=len(self._ops),
            inputs=(*given, *constants),
            parts=len(given),
            outputs=(ops[-1].outputs[0],),
            window=window,
            expand=None if expand < 0 else expand,
            core=depthwise,
            project=None if project < 0 else project,
            kept=kept,
            expanded_rows=once if kept or rows.kernel == rows.stride else sum(map(len, reads)),
            expanded_height=rows.reads(range(made.shape[1]), source.shape[1]).stop,
            expanded_columns=columns.reads(range(made.shape[2]), source.shape[2]).stop,
            expand_macs=0
            if expand < 0 or joins
            else op_macs(self._graph, ops[0]) // (source.shape[1] * source.shape[2]),
            pixel_macs=sum(op_macs(self._graph, op) for op in ops[expand >= 0 :])
            // (made.shape[1] * made.shape[2]),
        )
        if kept:
            number = len(self._tensors)
            shape = (1, kept, block.expanded_columns, source.shape[3])
            self._tensors.append(
                replace(source, id=number, name=f"{source.name} (kept rows)", shape=shape)
            )
            block = replace(block, intermediates=(number,))
        self._ops.append(block)
        expands = expand >= 0 and not joins
        again = expands and not kept and rows.kernel > rows.stride
        return BlockOption(block.id, members, expands, project >= 0, kept, again, joins)

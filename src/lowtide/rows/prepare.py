"""A graph made ready for a program: its operators lowered, the constants that ports read, and the nodes
whose steps are interleaved, with or without blocks (rows/blocks.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from lowtide.errors import UsageError
from lowtide.ir import Graph
from lowtide.lower import lower_op
from lowtide.lower.lowerings import Lowerings
from lowtide.lower.nodes import AnyNode, Exchange, Lowered
from lowtide.modes import InputMode, OutputMode
from lowtide.rows.bases import CONSTANTS, FIRST_INPUT
from lowtide.rows.blocks import BlockOption, find_blocks
from lowtide.rows.bounds import check_rows
from lowtide.rows.groups import Group, groups_of
from lowtide.rows.joined import Joined, joined
from lowtide.rows.stages import Choice, Fused, Limit
from lowtide.rows.table import RowTable, row_table
from lowtide.rows.views import resolve_views, with_exchanges
from lowtide.target import ANY, Target


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The network with some blocks in place of the operators that they stand for.

    `nodes` and `table` are for interleaving rows: they hold the exchanges of streamed rows too, and
    leave out the operators that are joined. `groups` are the nodes by operator; group g is what the
    network's own groups `ends[g]` to `ends[g + 1] - 1` are.
    """

    nodes: tuple[AnyNode, ...] = field(repr=False)
    table: RowTable = field(repr=False)
    groups: tuple[Group, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A graph whose operators are lowered, and the order they come in; nothing is placed yet.

    `wide` is the graph with `blocks` after its own operators, each an alternative to some of them.
    `within` are the network's operators as they are lowered inside of blocks.
    `fixed` says where tensors are that have a place of their own: tensor -> (base, offset).
    """

    graph: Graph
    wide: Graph
    blocks: tuple[BlockOption, ...]
    order: tuple[int, ...]
    input_mode: InputMode
    output_mode: OutputMode
    preserve_input: bool
    align: int
    lowered: Mapping[int, Lowered] = field(repr=False)
    within: Mapping[int, Lowered] = field(repr=False)
    views: Mapping[int, int]
    constants: bytes = field(repr=False)
    fixed: Mapping[int, tuple[int, int]]
    joined: Joined
    target: Target
    lowerings: Lowerings = field(repr=False)
    _variants: dict[frozenset[int], Variant] = field(default_factory=dict, repr=False)

    @property
    def outside(self) -> frozenset[int]:
        """Inputs that are not in the arena."""
        return frozenset(self.graph.inputs if self.input_mode == "const" else ())

    @property
    def parts(self) -> frozenset[int]:
        """Tensors that share their memory with others: views, and what is joined."""
        crops = self.joined.crops
        joined = {*crops, *(crop.tensor for crop in crops.values())}
        return frozenset({*joined, *self.views, *self.views.values()})

    @property
    def roots(self) -> dict[int, int]:
        """Tensor -> the one whose memory it shares: of views, and of what is joined."""
        joined = self.joined.crops.items()
        return {**self.views, **{t: self.views.get(c.tensor, c.tensor) for t, c in joined}}

    @property
    def nodes(self) -> tuple[AnyNode, ...]:
        """The nodes of the network without blocks."""
        return self.variant().nodes

    @property
    def table(self) -> RowTable:
        """The rows of the network without blocks."""
        return self.variant().table

    @property
    def groups(self) -> tuple[Group, ...]:
        """The network's nodes by operator, without blocks."""
        return self.variant().groups

    def members(self, operator: int) -> tuple[int, ...]:
        """The network's operators that `operator` is: itself, or what the block stands for."""
        if operator < len(self.graph.ops):
            return (operator,)
        return self.blocks[operator - len(self.graph.ops)].operators

    def choice(
        self,
        operators: Sequence[int],
        strip_width: int | None,
        limits: Sequence[Limit] = (),
        go: int = 1,
    ) -> Choice:
        """Operators of `wide` as a choice of the network's, some of them within `limits`."""
        told = (replace(limit, operator=self.members(limit.operator)[0]) for limit in limits)
        blocks = [
            self.blocks[n - len(self.graph.ops)] for n in operators if n >= len(self.graph.ops)
        ]
        return Choice(
            tuple(member for n in operators for member in self.members(n)),
            strip_width,
            tuple(Fused(block.operators, block.kept) for block in blocks),
            tuple(sorted(told, key=lambda limit: limit.place)),
            go,
        )

    def chosen(self, choice: Choice) -> tuple[int, ...]:
        """The operators of `wide` that a choice stands for.

        Raises UsageError if it names a block that cannot be, or is not among its operators.
        """
        known = {Fused(block.operators, block.kept): block.op for block in self.blocks}
        inside: dict[int, int] = {}
        for fused in choice.blocks:
            if fused not in known or not inside.keys().isdisjoint(fused.operators):
                raise UsageError(
                    f"operators {', '.join(map(str, fused.operators))} cannot run as one block that "
                    f"keeps {fused.kept_rows} rows",
                    "leave the block out of the plan, or write the plan again",
                )
            inside |= dict.fromkeys(fused.operators, known[fused])
        missing = inside.keys() - set(choice.operators)
        if missing:
            raise UsageError(
                f"operator {min(missing)} is in a block of a stage, but not in the stage",
                "list it among the stage's operators",
            )
        return tuple(dict.fromkeys(inside.get(op, op) for op in choice.operators))

    def variant(self, blocks: Set[int] = frozenset()) -> Variant:
        """The network with the blocks of these operators of `wide`, which do not overlap."""
        key = frozenset(blocks)
        if key not in self._variants:
            self._variants[key] = self._variant(key)
        return self._variants[key]

    def _variant(self, blocks: Set[int]) -> Variant:
        last_of = {self.members(op)[-1]: op for op in blocks}
        inside = {op for block in blocks for op in self.members(block)}
        order = [
            last_of.get(op, op)
            for op in self.order
            if op not in self.joined.operators and (op in last_of or op not in inside)
        ]
        crops = self.joined.crops
        nodes = with_exchanges(
            self.wide,
            [node for op in order for node in self.lowered[op].nodes],
            self.views,
            self.outside,
            crops,
            inputs=self.input_mode == "streamed",
            outputs=self.output_mode == "streamed",
        )
        table = row_table(
            self.wide,
            nodes,
            self.roots,
            outside=self.outside,
            crops=crops,
            preserve=self.preserve_input,
        )
        groups = groups_of([-1 if isinstance(node, Exchange) else node.op for node in nodes])
        ends = [0]
        for group in groups:
            ends.append(ends[-1] + len(self.members(group.operator)))
        return Variant(tuple(nodes), table, tuple(groups), tuple(ends))


def prepare(
    graph: Graph,
    order: Sequence[int],
    *,
    input_mode: InputMode = "resident",
    output_mode: OutputMode = "resident",
    preserve_input: bool = False,
    align: int = 16,
    join: bool = True,
    blocks: bool = True,
    target: Target = ANY,
    lowerings: Lowerings | None = None,
) -> Prepared:
    """Lower every operator, but for those that are in `lowerings`. Raises ModelError for one without a
    kernel.

    With `join`, concatenations and splits along rows or columns cost nothing, and there are `blocks`:
    for rows only.
    """
    known = lowerings or Lowerings(graph)
    lowered = {op.id: known.of(op, target) for op in graph.ops}
    check_rows(graph, lowered)
    views = resolve_views(graph, lowered)
    constants, fixed = _constants(graph, lowered, views)
    outside = frozenset(graph.inputs if input_mode == "const" else ())
    ready = Prepared(
        graph=graph,
        wide=graph,
        blocks=(),
        order=tuple(order),
        input_mode=input_mode,
        output_mode=output_mode,
        preserve_input=preserve_input,
        align=align,
        lowered=lowered,
        within=lowered,
        views=views,
        constants=constants,
        fixed=fixed | {t: (FIRST_INPUT + i, 0) for i, t in enumerate(graph.inputs) if t in outside},
        joined=joined(graph, lowered, views) if join else Joined({}, frozenset()),
        target=target,
        lowerings=known,
    )
    return with_blocks(ready) if join and blocks else ready


def with_blocks(
    ready: Prepared,
    choose: Callable[[Sequence[BlockOption]], Sequence[BlockOption]] = tuple,
) -> Prepared:
    """The same with all blocks that there can be, of which those are lowered that `choose` picks."""
    graph, target, lowered = ready.graph, ready.target, dict(ready.lowered)
    within = lowered
    if target.is_particular or any(t.of_nibbles for t in graph.tensors):
        shared = target.within_blocks
        windows = (op for op in graph.ops if op.window is not None)
        within = lowered | {op.id: ready.lowerings.of(op, shared) for op in windows}
    kept = [n for n in ready.order if n not in ready.joined.operators and lowered[n].nodes]
    wide, blocks = find_blocks(graph, within, kept, ready.parts)
    known = lowered, within
    made = {b.op: lower_op(wide, wide.ops[b.op], known, target) for b in choose(blocks)}
    return replace(
        ready, wide=wide, blocks=blocks, lowered=lowered | made, within=within, _variants={}
    )


def _constants(
    graph: Graph, lowered: Mapping[int, Lowered], views: Mapping[int, int]
) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """Constants that ports read (not through params) or that are graph outputs, views of them too.

    As one blob, and tensor -> (base, offset).
    """
    blob = bytearray()
    offsets: dict[int, tuple[int, int]] = {}
    read = [p.tensor for op in graph.ops for node in lowered[op.id].nodes for p in node.inputs]
    for tensor in (views.get(t, t) for t in (*read, *graph.outputs)):
        data = graph.tensors[tensor].data
        if data is not None and tensor not in offsets:
            blob.extend(bytes(-len(blob) % 16))
            offsets[tensor] = (CONSTANTS, len(blob))
            blob.extend(data)
    return bytes(blob), offsets

"""Stages as nodes and steps: which rows there are, when each step runs, and when each row is live.

    choices --blocks in place, strips cut out--> nodes --row_table--> rows --demand--> steps, lives

Nothing lies anywhere yet, so that one schedule can be placed with little effort or with much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from lowtide.errors import UsageError
from lowtide.ir import Graph
from lowtide.ir.block import BlockOp
from lowtide.ir.macs import op_macs
from lowtide.lower import lower_op
from lowtide.lower.counts import Features
from lowtide.lower.nodes import AnyNode, Crop, Exchange, Node
from lowtide.rows.between import Run, begun, between, runs_of
from lowtide.rows.columns import Stripes, stage_windows, stripes
from lowtide.rows.cropped import CroppedRun, Cropper, StripTensor
from lowtide.rows.groups import Group
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import (
    Choice,
    RowPlan,
    Segment,
    Stage,
    live_bytes,
    lower_bound,
    row_lives,
    steps_of,
)
from lowtide.rows.table import RowTable, row_table


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """All steps of the stages `choices`, and the rows that they touch; nothing is placed.

    `graph` is the network's with the operators and tensors of blocks and strips after its own, `nodes`
    are lowered from it, `plan` has their steps, and `lives` the slots in which rows of `table` are live
    (see `row_lives`). As long as nothing is placed, nodes run in one form from first to last; `wanted`
    are nodes for parts of the steps of each, in the forms that they take where there is room once rows
    lie somewhere, `normal` the same nodes in their normal form, which knows the others. `crops` are
    tensors that are part of another's memory, `parts` those that are made strip by strip, `strips` says
    where the strips of a segment begin; `origin` is operator of a strip -> that of the wider graph,
    `inner` block -> the two tensors inside of it, -1 for one that is not there.
    """

    choices: tuple[Choice, ...]
    graph: Graph = field(repr=False)
    nodes: tuple[AnyNode, ...] = field(repr=False)
    table: RowTable = field(repr=False)
    lives: Mapping[int, tuple[int, int]] = field(repr=False)
    plan: RowPlan = field(repr=False)
    crops: Mapping[int, Crop] = field(repr=False)
    parts: Mapping[int, StripTensor] = field(repr=False)
    origin: Mapping[int, int] = field(repr=False)
    inner: Mapping[int, tuple[int, int]] = field(repr=False)
    strips: Mapping[int, CroppedRun] = field(repr=False)
    normal: tuple[AnyNode, ...] = field(repr=False)
    wanted: tuple[tuple[AnyNode, ...], ...] = field(repr=False)

    @property
    def in_parts(self) -> bool:
        """Whether an operator is to change its form while it runs."""
        return any(len(parts) > 1 for parts in self.wanted)

    def having(self, parts: Sequence[Sequence[AnyNode]]) -> Scheduled:
        """The same steps in the same order, by nodes for parts of those of each node."""
        firsts = [0, *accumulate(map(len, parts))]
        places = [
            [(first + at, step) for at, part in enumerate(of) for step in range(part.steps)]
            for first, of in zip(firsts, parts, strict=False)
        ]
        nodes = tuple(node for of in parts for node in of)
        plan, table = self.plan, self.table.having(nodes, firsts)
        steps = tuple(places[node][step] for node, step in plan.steps)
        spans = [(firsts[stage.first], firsts[stage.last]) for stage in plan.stages]
        live = live_bytes(table, steps, self.lives)
        segments = (replace(s, first=firsts[s.first], last=firsts[s.last]) for s in plan.segments)
        operators = zip(plan.operators, parts, strict=True)
        made = replace(
            plan,
            stages=_stages(self.choices, spans, steps, live),
            segments=tuple(segments),
            steps=steps,
            operators=tuple(operator for operator, of in operators for _ in of),
            peak_bytes=max(live),
        )
        wanted = tuple((node,) for node in nodes)
        return replace(self, nodes=nodes, table=table, plan=made, normal=nodes, wanted=wanted)

    @property
    def executed(self) -> list[tuple[Node, int]]:
        """The nodes that run kernels, and how often each runs through all its steps."""
        return [
            (node, segment.times)
            for segment in self.plan.segments
            for node in self.nodes[segment.first : segment.last]
            if isinstance(node, Node)
        ]

    @property
    def between(self) -> Features:
        """What the step program does between the steps of kernels: see `between`."""
        runs: list[Run] = []
        at = 0
        for segment in self.plan.segments:
            count = sum(node.steps for node in self.nodes[segment.first : segment.last])
            runs += runs_of(self.plan.steps[at : at + count], self.nodes) * segment.times
            at += count
        return between(runs, begun(self.executed), self.graph)


def scheduled(ready: Prepared, choices: Sequence[Choice]) -> Scheduled:
    """The stages `choices`, which cover the operators in their order, their rows interleaved.

    Raises UsageError for a stage that cannot run in strips of the width asked for.
    """
    chosen = [ready.chosen(choice) for choice in choices]
    variant = ready.variant({op for ops in chosen for op in ops if op >= len(ready.graph.ops)})
    known = (ready.lowered, ready.within)
    cropper = Cropper(ready.wide, ready.joined.crops)
    nodes: list[AnyNode] = []
    normal: list[AnyNode] = []
    wanted: list[tuple[AnyNode, ...]] = []
    segments: list[Segment] = []
    strips: dict[int, CroppedRun] = {}
    spans: list[tuple[int, int]] = []
    macs = 0
    groups = iter(variant.groups)
    for choice, operators in zip(choices, chosen, strict=True):
        begin = len(nodes)
        mine = [next(groups) for _ in operators] or list(groups)
        if choice.strip_width is None:
            here = variant.nodes[mine[0].first : mine[-1].last] if mine else ()
            normal += here
            wanted += [_wanted(ready, choice, node, _operator(node)) for node in here]
            nodes += map(_least, wanted[begin:])
            segments.append(Segment(begin, len(nodes), go=choice.go))
            macs += sum(op_macs(ready.wide, ready.wide.ops[op]) for op in operators)
            for op in operators:
                block = ready.wide.ops[op]
                if isinstance(block, BlockOp):
                    cropper.full_width(block)
        else:
            cut = _stripes(ready, variant.nodes, mine, operators, choice.strip_width)
            macs += cut.macs
            for run in cropper.stage(cut):
                strips[len(segments)] = run
                start = len(nodes)
                graph = cropper.graph
                for op in run.operators:
                    here = lower_op(graph, graph.ops[op], known, ready.target).nodes
                    normal += here
                    origin = cropper.origin[op]
                    wanted += [_wanted(ready, choice, node, origin) for node in here]
                nodes += map(_least, wanted[start:])
                segments.append(Segment(start, len(nodes), run.times))
        spans.append((begin, len(nodes)))
    graph = cropper.graph
    roots = {t: ready.views.get(c.tensor, c.tensor) for t, c in cropper.crops.items()}
    table = row_table(
        graph,
        nodes,
        {**ready.views, **roots},
        outside=ready.outside,
        crops=cropper.crops,
        preserve=ready.preserve_input,
    )
    steps = steps_of(table, segments)
    lives = row_lives(table, steps, segments)
    live = live_bytes(table, steps, lives)
    plan = RowPlan(
        stages=_stages(choices, spans, steps, live),
        segments=tuple(segments),
        steps=steps,
        operators=tuple(cropper.origin.get(op, op) for op in map(_operator, nodes)),
        peak_bytes=max(live),
        lower_bound_bytes=lower_bound(table),
        macs=macs,
    )
    return Scheduled(
        choices=tuple(choices),
        graph=graph,
        nodes=tuple(nodes),
        table=table,
        lives=lives,
        plan=plan,
        crops=cropper.crops,
        parts=cropper.parts,
        origin=cropper.origin,
        inner=cropper.inner,
        strips=strips,
        normal=tuple(normal),
        wanted=tuple(wanted),
    )


def _operator(node: AnyNode) -> int:
    """The operator of a node; -1 for an exchange."""
    return -1 if isinstance(node, Exchange) else node.op


def _wanted(ready: Prepared, choice: Choice, node: AnyNode, operator: int) -> tuple[AnyNode, ...]:
    """The node of an operator of the wider graph in the form that the choice says; or nodes for parts of
    its steps, each in the form that it says of those."""
    limits = () if isinstance(node, Exchange) else choice.limits_of(ready.members(operator))
    if isinstance(node, Exchange) or not limits:
        return (node,)
    later = [limit for limit in limits[1:] if limit.step < node.steps]
    if not later or not node.can_part:
        return (node.within(limits[0].bytes),)
    starts = [0, *(limit.step for limit in later), node.steps]
    forms = (node.within(limit.bytes) for limit in (limits[0], *later))
    return tuple(form.part(*span) for form, span in zip(forms, pairwise(starts), strict=True))


def _least(parts: Sequence[AnyNode]) -> AnyNode:
    """The node of all the steps, in that of their forms that needs the least scratch memory."""
    if len(parts) == 1:
        return parts[0]
    least = min((of for of in parts if isinstance(of, Node)), key=lambda of: of.scratch)
    return least.whole


def _stripes(
    ready: Prepared,
    nodes: Sequence[AnyNode],
    groups: Sequence[Group],
    operators: Sequence[int],
    width: int,
) -> Stripes:
    """The stage of `groups` of the nodes in strips."""
    graph = ready.wide
    first, last = groups[0].first, groups[-1].last
    later = [p.tensor for node in nodes[last:] for p in node.inputs]
    outside = frozenset(ready.views.get(t, t) for t in (*later, *graph.outputs))
    exchanges = any(isinstance(node, Exchange) for node in nodes[first:last])
    touched = {t for op in operators for t in (*graph.ops[op].inputs, *graph.ops[op].outputs)}
    found = None
    if not exchanges and touched.isdisjoint(ready.parts):
        found = stage_windows(graph, operators, outside, lambda op: ready.lowered[op].columns)
    cut = None if found is None else stripes(graph, operators, *found, width)
    if cut is None:
        raise UsageError(
            f"operators {ready.members(operators[0])[0]} to {ready.members(operators[-1])[-1]} cannot "
            f"run together in strips of {width} columns",
            "strips need operators on feature maps with one output; see `lowtide plan --front`",
        )
    return cut


def _stages(
    choices: Sequence[Choice],
    spans: Sequence[tuple[int, int]],
    steps: Sequence[tuple[int, int]],
    live: Sequence[int],
) -> tuple[Stage, ...]:
    """The stages with what is live while they run; `live` is per slot, the first before all steps."""
    peaks = dict.fromkeys(range(len(choices)), 0)
    of_node = [number for number, (first, last) in enumerate(spans) for _ in range(first, last)]
    for (node, _), size in zip(steps, live[1:], strict=True):
        peaks[of_node[node]] = max(peaks[of_node[node]], size)
    return tuple(
        Stage(choice, first, last, peaks[number])
        for number, (choice, (first, last)) in enumerate(zip(choices, spans, strict=True))
    )

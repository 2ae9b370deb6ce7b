"""One number for each operator: that of the file, in all that a report says of a program.

Why: simplification renumbers operators, and a reader has the file open in another tool. What a program
runs is known in the file by the tensor it makes, as tensors keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lowtide.commands.compiling import Compiled
from lowtide.ir import Graph
from lowtide.program.assemble import Assembly
from lowtide.program.tables import ExchangeEntry, KernelEntry
from lowtide.report.plan_boxes import origin_of
from lowtide.report.text import plain


class Numbers:
    """Of the operators of `graph`, which was made of that of the file, `whole`; those that the file does
    not have keep their own."""

    def __init__(self, graph: Graph, whole: Graph) -> None:
        self.graph, self.whole = graph, whole
        makers = {t: op.id for op in whole.ops for t in op.outputs}
        self.of = {
            op.id: next((makers[t] for t in reversed(op.outputs) if t in makers), op.id)
            for op in graph.ops
        }

    def origin(self, tensor: int) -> str:
        """Where a tensor comes from, by the file's numbers, as `origin_of`."""
        maker = next((op for op in self.graph.ops if tensor in op.outputs), None)
        if maker is None or tensor in self.graph.inputs or self.graph.tensors[tensor].is_variable:
            return origin_of(self.graph, tensor)
        return plain(f"{self.of[maker.id]} {maker.label}")

    def readers(self, tensor: int) -> str:
        """Who reads a tensor of the graph."""
        return read_by(self.graph, tensor, self.of)

    def named(self, operators: Sequence[int]) -> str:
        """Operators that run as one, as "3 CONV_2D to 5 CONV_2D"."""
        ends = dict.fromkeys((operators[0], operators[-1]))
        return plain(" to ".join(f"{self.of[op]} {self.graph.ops[op].label}" for op in ends))

    def step(self, assembly: Assembly, slot: int) -> str:
        """What runs in a slot of a plan."""
        if slot == 0:
            return "before the first step"
        plan = assembly.plan
        if plan is None:
            return self.named([assembly.order[slot - 1]])
        op = plan.operators[plan.steps[slot - 1][0]] if slot <= len(plan.steps) else -1
        if op < 0:
            return "rows exchanged with the caller"
        return self.named(assembly.members.get(op, (op,)))

    def work(self, own: Mapping[int, int]) -> dict[int, int]:
        """The file's operators -> instructions: those `own` of the program's, and of what the program
        does not run by itself, as a PAD, one for each byte that it makes."""
        found = {
            op.id: sum(self.whole.tensors[t].bytes for t in op.outputs) for op in self.whole.ops
        }
        made: dict[int, int] = {}
        for op, cost in own.items():
            made[self.of[op]] = made.get(self.of[op], 0) + cost
        return {op: made.get(op, size) for op, size in found.items()}

    def slots(self, compiled: Compiled, count: int) -> tuple[int, ...]:
        """The instructions that are predicted of each slot of a plan."""
        plan, model = compiled.assembly.plan, compiled.options.predictor
        if plan is None:
            return (0,) * count
        entries = [
            entry
            for entry in compiled.assembly.nodes
            if isinstance(entry, KernelEntry | ExchangeEntry)
        ]
        each = [0] * len(entries)
        for segment in plan.segments:
            for index in range(segment.first, segment.last):
                entry = entries[index]
                if isinstance(entry, KernelEntry):
                    cost = model.node(entry.node) * segment.times
                    each[index] = round(cost / max(1, entry.node.steps))
        found = (0, *(each[node] for node, _ in plan.steps))
        return found + (0,) * (count - len(found))


def read_by(graph: Graph, tensor: int, numbers: Mapping[int, int] | None = None) -> str:
    """Who reads a tensor, in words; `numbers` are what operators are called."""
    of = numbers or {}
    readers = [
        plain(f"{of.get(op.id, op.id)} {op.label}") for op in graph.ops if tensor in op.inputs
    ]
    if tensor in graph.outputs:
        readers.append("the caller")
    text = listed(readers)
    return f"read by {text}" if text else ""


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last

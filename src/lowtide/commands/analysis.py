"""Where the RAM goes: every figure about a network in one frozen value.

Why here: this is what `lowtide analyze` prints and what a user's architecture search calls in a
loop, so it does the least work that gives exact figures, and formats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lowtide.ir import Graph, Model
from lowtide.ir.liveness import lifetimes, working_sets
from lowtide.ir.macs import op_macs
from lowtide.ir.soundness import graph_of
from lowtide.order import OrderResult, best_order
from lowtide.passes import resolve_variables
from lowtide.place.tensors import stored_plan_bytes, tflm_arena_bytes, tflm_variable_bytes
from lowtide.shown import Shown
from lowtide.zoo.loading import Named, load

if TYPE_CHECKING:
    from lowtide.commands.savings import Savings


@dataclass(frozen=True, slots=True)
class Step:
    """One operator's turn: `working_set` are the ids of the tensors in RAM, `bytes` their sum."""

    operator: int
    type: str
    name: str
    working_set: tuple[int, ...]
    bytes: int
    macs: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """An order of the operators and what RAM holds meanwhile.

    `start_set` and `start_bytes` are the graph inputs, in RAM before the first step. `peak_step` is
    the first step with `peak_bytes`, or -1 if that is the moment before the first step.
    """

    order: tuple[int, ...]
    steps: tuple[Step, ...]
    start_set: tuple[int, ...]
    start_bytes: int
    peak_bytes: int
    peak_step: int
    tflm_greedy_arena_bytes: int

    @property
    def peak_set(self) -> tuple[int, ...]:
        """Ids of the tensors in RAM at the peak."""
        return self.start_set if self.peak_step < 0 else self.steps[self.peak_step].working_set


@dataclass(frozen=True, slots=True)
class TensorUse:
    """A tensor and its place in the file's order.

    `role` is input, output, activation, constant, variable or unused. `first_step` is the step that
    makes it (0 for a graph input), `last_step` the last one that needs it (the final step for a
    graph output); None for what is not in the arena.
    """

    id: int
    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int
    role: str
    first_step: int | None
    last_step: int | None


@dataclass(frozen=True, slots=True)
class Analysis(Shown):
    """The result of `analyze`. `file` is the order of the file, `best` the order with the least
    peak.

    `variables_bytes` is the network's state, which persists from one invocation to the next. No
    peak and no arena includes it, and each variable counts once. TFLM takes `tflm_variables_bytes`
    for it. The copies of the state that operators read are tensors, which peaks and arenas include.

    `stored_plan_bytes` is the arena by the offline plan in the file, or None without one. `model`
    is the loaded model, or None for a graph that was not loaded from a file.
    """

    path: str
    graph: Graph = field(repr=False)
    macs: int
    weights_bytes: int
    variables_bytes: int
    tflm_variables_bytes: int
    file: Timeline = field(repr=False)
    best: Timeline = field(repr=False)
    best_order: OrderResult
    stored_plan_bytes: int | None
    tensors: tuple[TensorUse, ...] = field(repr=False)
    model: Model | None = field(default=None, repr=False)

    @property
    def savings(self) -> Savings | None:
        """What simplification would remove, computed on demand; None for a graph without a file."""
        from lowtide.commands.savings import savings_of_model  # with numpy, which is not quick

        return None if self.model is None else savings_of_model(self.model)

    @property
    def peak_bytes(self) -> int:
        """Peak memory of the file's order."""
        return self.file.peak_bytes

    @property
    def tflm_greedy_arena_bytes(self) -> int:
        """TFLM's arena head for the file's order, tensors only."""
        return self.file.tflm_greedy_arena_bytes


def analyze(model: Named | Graph, *, effort: float = 1.0) -> Analysis:
    """Compute peak memory, working sets, MACs and the best order of operators of a network.

    `effort` is the search budget for the best order, relative to the default. The search is exact
    and takes milliseconds for most networks (see `lowtide.best_order`).
    """
    model = model if isinstance(model, Graph) else load(model)
    graph = graph_of(model)
    return analysis_of(model, best_order(model, effort=effort), graph)


def analysis_of(model: Model | Graph, found: OrderResult, graph: Graph) -> Analysis:
    """The analysis of `graph`, that of `model`, whose best order is known."""
    given = tuple(range(len(graph.ops)))
    macs = [op_macs(graph, op) for op in graph.ops]
    file = timeline(graph, given, macs)
    variables = resolve_variables(graph)
    best = file if found.order == given else timeline(graph, found.order, macs)
    return Analysis(
        path=model.path if isinstance(model, Model) else graph.name,
        graph=graph,
        macs=sum(macs),
        weights_bytes=graph.weights_bytes,
        variables_bytes=variables.variables_bytes,
        tflm_variables_bytes=tflm_variable_bytes(variables),
        file=file,
        best=best,
        best_order=found,
        stored_plan_bytes=stored_plan_bytes(model) if isinstance(model, Model) else None,
        tensors=_tensor_uses(graph, given),
        model=model if isinstance(model, Model) else None,
    )


def timeline(graph: Graph, order: Sequence[int], macs: Sequence[int]) -> Timeline:
    """What RAM holds at each step of `order`; `macs[i]` belongs to operator i."""
    sets = working_sets(graph, order)
    sizes = [t.bytes for t in graph.tensors]
    totals = [sum(sizes[t] for t in live) for live in sets]
    peak = max(totals)
    return Timeline(
        order=tuple(order),
        steps=tuple(
            Step(
                operator=index,
                type=graph.ops[index].label,
                name=_op_name(graph, index),
                working_set=live,
                bytes=total,
                macs=macs[index],
            )
            for index, live, total in zip(order, sets[1:], totals[1:], strict=True)
        ),
        start_set=sets[0],
        start_bytes=totals[0],
        peak_bytes=peak,
        # A later slot with the same peak tells more than the moment before the first step.
        peak_step=totals.index(peak, 1) - 1 if peak in totals[1:] else -1,
        tflm_greedy_arena_bytes=tflm_arena_bytes(graph, order),
    )


def _op_name(graph: Graph, index: int) -> str:
    """An operator has no name of its own in a .tflite file: it goes by its first output's."""
    op = graph.ops[index]
    return graph.tensors[op.outputs[0]].name if op.outputs else ""


def _tensor_uses(graph: Graph, order: Sequence[int]) -> tuple[TensorUse, ...]:
    lives = lifetimes(graph, order)
    inputs, outputs = set(graph.inputs), set(graph.outputs)
    made = {t for op in graph.ops for t in op.outputs}
    uses = []
    for tensor in graph.own_tensors:
        if tensor.is_constant:
            role = "constant"
        elif tensor.is_variable:
            role = "variable"
        elif tensor.id in inputs:
            role = "input"
        elif tensor.id in outputs:
            role = "output"
        else:
            role = "activation" if tensor.id in made else "unused"
        life = lives.get(tensor.id)
        uses.append(
            TensorUse(
                id=tensor.id,
                name=tensor.name,
                shape=tensor.shape,
                type=tensor.dtype.name,
                bytes=tensor.bytes,
                role=role,
                first_step=None if life is None else max(0, life.start - 1),
                last_step=None if life is None else max(0, life.end - 2),
            )
        )
    return tuple(uses)

"""IF and WHILE become part of the network: their subgraphs' operators, in their place.

Why: rows are scheduled and memory is placed before anything runs, so nothing may depend on what is only
known then. What is known beforehand is decided here: the branch of a condition that is constant, and how
often a loop runs that counts by itself, as those of unrolled recurrent networks do. Where a condition is
made at run time both branches are computed, and what they make is selected; that is the same unless a
branch changes a variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lowtide.errors import ModelError
from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.soundness import BRANCHES, CONTROL_FLOW
from lowtide.ir.state import writes_variables
from lowtide.passes.rewriting import reading, with_ops
from lowtide.passes.simplify.constants import made_of_constants

_MOST_ROUNDS = 1000
_MOST_OPERATORS = 20_000
_MOST_TRIED = 100_000
"""Operators and tensors of branches, round by round, also where nothing stays of them."""
_REMEDY = (
    "compile the parts before and after it separately (--until, --from), and run it in your own "
    "code"
)


def inline_branches(graph: Graph) -> Graph:
    """The graph without IF and WHILE; itself if it has none.

    What they make keeps its number where one operator makes it, so that it can be compared. Raises
    ModelError for a loop whose end depends on what is given, for one of too many rounds, and for a
    branch that may or may not change a variable.
    """
    if not any(op.type in BRANCHES for op in graph.ops):
        return graph
    made = _Inlined(graph, list(graph.tensors), buffer=_last_buffer(graph))
    for op in graph.ops:
        made.add(op, graph)
    return made.finished()


@dataclass(slots=True)
class _Inlined:
    """The new graph, operator by operator. `place` says which tensor stands for one of the old ones,
    `lasting` which one a constant or variable of a branch is, however often that runs."""

    old: Graph
    tensors: list[Tensor]
    ops: list[Op] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)
    lasting: dict[tuple[int, int], int] = field(default_factory=dict)
    buffer: int = 0
    tried: int = 0

    def add(self, op: Op, of: Graph) -> None:
        """Add an operator, whose tensors are the new graph's. `of` is where it comes from."""
        op = reading(op, self.place)
        if op.type == "IF":
            self._if(op, of)
        elif op.type == "WHILE":
            self._while(op, of)
        else:
            if len(self.ops) >= _MOST_OPERATORS:
                raise ModelError(
                    f"its loops, unrolled, have more than {_MOST_OPERATORS} operators", _REMEDY
                )
            self.ops.append(op)

    def _if(self, op: Op, of: Graph) -> None:
        then, other = (
            _branch(of, op, f"{name}_subgraph_index", len(op.inputs) - 1, len(op.outputs))
            for name in ("then", "else")
        )
        condition, *given = op.inputs
        known = self._known(condition)
        if known is not None:
            self._stand_for(op, self._inline(op, then if known else other, given))
            return
        for branch in (then, other):
            for inner in branch.ops:
                if writes_variables(inner) or inner.type in CONTROL_FLOW | {"CALL_ONCE"}:
                    raise ModelError(
                        f"{_name(op)}: its condition is made at run time, and a branch has a "
                        f"{inner.label}, which must not run if the other one does",
                        _REMEDY,
                    )
        both = [self._inline(op, branch, given) for branch in (then, other)]
        for out, yes, no in zip(op.outputs, *both, strict=True):
            _check_alike(op, self.tensors[yes], self.tensors[out])
            _check_alike(op, self.tensors[no], self.tensors[out])
            self.ops.append(
                replace(op, type="SELECT_V2", inputs=(condition, yes, no), outputs=(out,))
            )

    def _while(self, op: Op, of: Graph) -> None:
        count = len(op.inputs)
        test = _branch(of, op, "cond_subgraph_index", count, 1)
        body = _branch(of, op, "body_subgraph_index", count, count)
        custom = next((inner.label for inner in (*test.ops, *body.ops) if inner.custom), None)
        if custom is not None:
            raise ModelError(
                f"{_name(op)}: it has a {custom}, and each iteration would need its own state",
                _REMEDY,
            )
        values = list(op.inputs)
        for _ in range(_MOST_ROUNDS):
            before = len(self.ops)
            (going,) = self._inline(op, test, values)
            known = self._known(going)
            if known is None:
                raise ModelError(
                    f"{_name(op)}: its number of iterations depends on the input",
                    _REMEDY,
                )
            del self.ops[before:]  # what else the condition computes, nobody reads
            if not known:
                self._stand_for(op, values)
                return
            values = self._inline(op, body, values)
        raise ModelError(f"{_name(op)}: it runs more than {_MOST_ROUNDS} times", _REMEDY)

    def _stand_for(self, op: Op, made: Sequence[int]) -> None:
        """Let `made` be what `op` makes."""
        for out, tensor in zip(op.outputs, made, strict=True):
            _check_alike(op, self.tensors[tensor], self.tensors[out])
            self.place[out] = tensor

    def _known(self, tensor: int) -> bool | None:
        of = self.tensors[tensor]
        return None if of.data is None or of.dtype is not DType.BOOL else of.data != b"\0"

    def _inline(self, op: Op, branch: Graph, given: Sequence[int]) -> list[int]:
        """The tensors that `branch` makes of `given`; what is known beforehand is a constant."""
        self.tried += len(branch.ops) + len(branch.tensors)
        if self.tried > _MOST_TRIED:
            raise ModelError(
                f"{_name(op)}: unrolled, it has more than {_MOST_TRIED} operators and tensors",
                _REMEDY,
            )
        place = dict(zip(branch.inputs, given, strict=True))
        for inner, outer in place.items():
            _check_alike(op, branch.tensors[inner], self.tensors[outer])
        for tensor in branch.tensors:
            if tensor.id in place:
                continue
            key = id(branch), tensor.id
            place[tensor.id] = self.lasting.get(key, len(self.tensors))
            if key not in self.lasting:
                self.tensors.append(replace(tensor, id=len(self.tensors)))
                if tensor.is_constant or tensor.is_variable:
                    self.lasting[key] = place[tensor.id]
        for inner_op in branch.ops:
            inputs = tuple(
                -1 if t < 0 else self.place.get(place[t], place[t]) for t in inner_op.inputs
            )
            moved = replace(
                inner_op, inputs=inputs, outputs=tuple(place[t] for t in inner_op.outputs)
            )
            known = made_of_constants(*self._apart(moved))
            if known is None:
                self.add(moved, branch)
                continue
            for out, values in zip(moved.outputs, known, strict=True):
                self.buffer += 1
                made = replace(self.tensors[out], data=values.tobytes(), buffer=self.buffer)
                self.tensors[out] = made
        return [self.place.get(place[t], place[t]) for t in branch.outputs]

    def _apart(self, op: Op) -> tuple[Graph, Op]:
        """`op` in a graph of its own: the whole one is not to be copied in each round."""
        used = sorted({t for t in (*op.inputs, *op.outputs) if t >= 0})
        number = {t: i for i, t in enumerate(used)} | {-1: -1}
        tensors = tuple(replace(self.tensors[t], id=number[t]) for t in used)
        inputs, outputs = (tuple(number[t] for t in of) for of in (op.inputs, op.outputs))
        op = replace(op, id=0, inputs=inputs, outputs=outputs)
        return Graph(self.old.name, tensors, (op,), (), outputs), op

    def finished(self) -> Graph:
        """The graph; what an operator makes in place of an old tensor is that tensor."""
        makers = {t for op in self.ops for t in op.outputs}
        count = len(self.old.tensors)
        renamed: dict[int, int] = {}
        for old, new in self.place.items():
            if old < count <= new and new in makers and new not in renamed:
                renamed[new] = old
        stands = {old: new for old, new in self.place.items() if renamed.get(new) != old}

        def now(tensor: int) -> int:
            tensor = stands.get(tensor, tensor)
            return renamed.get(tensor, tensor)

        ops = [
            replace(op, inputs=tuple(map(now, op.inputs)), outputs=tuple(map(now, op.outputs)))
            for op in self.ops
        ]
        outputs = tuple(map(now, self.old.outputs))
        tensors = tuple(self.tensors)
        return with_ops(replace(self.old, tensors=tensors, outputs=outputs, subgraphs={}), ops)


def _last_buffer(graph: Graph) -> int:
    """The highest number of a buffer that a tensor of the graph, or of one inside of it, has."""
    own = max((t.buffer for t in graph.tensors), default=0)
    return max([own, *map(_last_buffer, graph.subgraphs.values())])


def _branch(of: Graph, op: Op, option: str, inputs: int, outputs: int) -> Graph:
    index = op.options.get(option)
    branch = of.subgraphs.get(index) if isinstance(index, int) else None
    if branch is None or (len(branch.inputs), len(branch.outputs)) != (inputs, outputs):
        raise ModelError(
            f"{_name(op)}: its {option} names no subgraph of {inputs} inputs and {outputs} outputs",
            "export the model again with a current converter; the file may be damaged",
        )
    return branch


def _check_alike(op: Op, inner: Tensor, outer: Tensor) -> None:
    fits = (inner.shape, inner.dtype) == (outer.shape, outer.dtype)
    if not fits or _scale(inner) != _scale(outer):
        raise ModelError(
            f"{_name(op)}: tensor {outer.id} has another shape, type or scale inside it",
            "export the model with fixed shapes, and quantise it as a whole",
        )


def _scale(tensor: Tensor) -> object:
    """What a value stands for; the file may say of a bool that it has no scale, or none at all."""
    quant = tensor.quant
    return None if quant is None else (quant.scale, quant.zero_point)


def _name(op: Op) -> str:
    return f"operator {op.id} ({op.label})"

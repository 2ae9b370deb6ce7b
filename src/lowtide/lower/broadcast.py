"""How operators walk several operands that broadcast: lt_pair of kernels/include/lt_pair.h.

Why broadcast is settled here: per output row a kernel only walks its operands' rows by two loops with
constant strides; which rows those are is the ports' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lowtide.ir import Tensor
from lowtide.lower.common import Context, type_range
from lowtide.lower.counts import Runs
from lowtide.lower.elementwise import MOST_ROWS, row_count
from lowtide.lower.move import port, row_dims
from lowtide.lower.nodes import Lowered, Node, Params, Port, Value

Fields = tuple[tuple[str, Value], ...]
Loop = tuple[int, tuple[bool, ...]]
"""(rounds, for each operand whether it moves on)."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How an operator's operands run: `loops` within an output row, outer and inner, and ports."""

    loops: tuple[Loop, Loop]
    inputs: tuple[Port, ...]
    output: Port

    @property
    def plain(self) -> bool:
        """Whether rows are simply walked in step."""
        return self.loops == ((1, (True, True)), (self.loops[1][0], (True, True)))

    def fields(self, prefix: str) -> Fields:
        """The members of an lt_pair."""
        (outer, _), (inner, _) = self.loops
        fields: list[tuple[str, Value]] = [("outer", outer), ("inner", inner)]
        for name, (rewind, near) in zip("ab", self.strides, strict=True):
            fields += [(f"{name}_next", rewind), (f"{name}_step", near)]
        return tuple((prefix + name, value) for name, value in fields)

    @property
    def strides(self) -> tuple[tuple[int, int], ...]:
        """Of each operand: how far it goes on after the inner loop, and after each element."""
        (_, outer_moves), (inner, inner_moves) = self.loops
        return tuple(
            (int(far and not near) - inner * int(near and not far), int(near))
            for far, near in zip(outer_moves, inner_moves, strict=True)
        )


def walk(context: Context, operands: Sequence[Tensor], out: Tensor) -> Walk:
    """The loops and ports of `operands`, which broadcast to the shape of `out`."""
    row_count(context, out)
    for operand in operands:
        row_count(context, operand)
    rank = len(out.shape)
    try:
        fits = np.broadcast_shapes((1,) * rank, *(t.shape for t in operands)) == out.shape
    except ValueError:
        fits = False
    if not fits:
        wrong = ", ".join(str(list(t.shape)) for t in operands)
        raise context.unsupported(f"operands of {wrong} do not broadcast to {list(out.shape)}")
    shapes = [(1,) * (rank - len(t.shape)) + t.shape for t in operands]
    for lead in range(row_dims(out.shape), rank + 1):
        loops = _loops(out.shape[lead:], [shape[lead:] for shape in shapes])
        if len(loops) > 2:
            continue
        rows = math.prod(out.shape[:lead])
        if rows > MOST_ROWS:
            break
        one: Loop = (1, (True,) * len(operands))
        loops = [one] * (2 - len(loops)) + loops
        ports = [_operand(*pair, out.shape[:lead]) for pair in zip(operands, shapes, strict=True)]
        return Walk((loops[0], loops[1]), tuple(ports), Port(out.id, rows, out.bytes // rows))
    raise context.unsupported(f"its broadcast would take more than {MOST_ROWS} steps")


def _loops(out: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> list[Loop]:
    """The dimensions of `out`, neighbours joined where the same operands move on."""
    loops: list[Loop] = []
    for size, *sizes in zip(out, *shapes, strict=True):
        if size == 1:
            continue
        moves = tuple(own == size for own in sizes)
        if loops and loops[-1][1] == moves:
            size *= loops.pop()[0]
        loops.append((size, moves))
    return loops


def _operand(tensor: Tensor, shape: tuple[int, ...], lead: tuple[int, ...]) -> Port:
    """The rows of `tensor` (its shape padded to `shape`) that meet the output rows of `lead`."""
    own = shape[: len(lead)]
    numbers = np.arange(math.prod(own)).reshape(own)
    return port(tensor, numbers.size, np.broadcast_to(numbers, lead).reshape(-1).tolist())


def pair_node(
    context: Context,
    kernel: str,
    ctype: str,
    walk: Walk,
    fields: Fields,
    header: str,
) -> Lowered:
    """One node; `fields` follow those of the pair, which is the whole struct if there are none."""
    params = Params(ctype, (*walk.fields("pair." if fields else ""), *fields))
    return one_node(context, kernel, header, params, walk)


def one_node(context: Context, kernel: str, header: str, params: Params, walk: Walk) -> Lowered:
    """One node that walks its operands as `walk` says."""
    out, ((outer, _), (inner, _)) = context.output(), walk.loops
    runs = walk.output.rows * outer
    range_ = dict(params.fields)
    clamped = "low" in range_ and type_range(out.dtype) != (range_["low"], range_["high"])
    columns, channels = out.shape[2:] if len(out.shape) == 4 else (1, 0)
    work = Runs(
        columns,
        runs,
        inner,
        written=out.bytes,
        clamped=out.elements if clamped else 0,
        along=inner == columns * channels,
        both=all(moves for _, moves in walk.strides),
    )
    return Lowered(
        (
            Node(
                op=context.op.id,
                kernel=kernel,
                header=header,
                params=params,
                inputs=walk.inputs,
                outputs=(walk.output,),
                steps=walk.output.rows,
                work=work,
            ),
        )
    )

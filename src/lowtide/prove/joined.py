"""Concatenations along channels that are put together where they are read (lt_joined.h)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir import Op
from lowtide.prove.bundle_reader import Params
from lowtide.prove.contracts import Call, Judged, column, size_of, target
from lowtide.prove.machine import Step
from lowtide.prove.memory import NotProvedError, Value

_CONCATENATION = "CONCATENATION"


def sources(call: Call, joins: bool) -> list[tuple[Value, int]]:
    """What a block reads, and the bytes of a pixel of each: the parts of what it joins, or its input."""
    many = len(call.ops[0].inputs) if joins else 1
    given = (call.input(i) for i in range(many))
    return [(value, tensor.shape[3] * size_of(tensor)) for tensor, value in given]


def within(call: Call) -> Call:
    """The block of an lt_joined_block, which has params of its own."""
    params = _params(call, "params")
    if call.fields.get("of") != f"{params.ctype}_of" or params.fields.get("expand") is not None:
        raise NotProvedError("its params are not those of such a block")
    _check_join(call)
    inner = call.with_params(params)
    inner.expect("kept rows", inner.number("kept"), 0)
    return inner


def joined(call: Call) -> Judged:
    """lt_joined: a concatenation, and the pointwise convolution that reads it."""
    if len(call.ops) != 2:
        raise NotProvedError("it joins for more than one operator")
    _check_join(call)
    check_pointwise(call.ops[1])
    (made, result), parts = call.output(), sources(call, True)
    batch, out_h, width, out_c = made.shape
    size, pixel = out_c * size_of(made), sum(each for _, each in parts)
    many, piece = call.number("out_w"), call.number("piece")
    call.expect("images", batch, 1)
    call.expect("pixel", call.number("in_c"), pixel)
    call.expect("pixel that it makes", call.number("out_c"), size)
    _check_pixels(call, "params", min(piece, many))
    if many > piece and many % piece:
        _check_pixels(call, "last", many % piece)

    def judge(step: Step) -> None:
        slot, y = target(step), step.number
        if (slot.row, slot.rows) != (y, out_h):
            raise NotProvedError(f"it makes row {y}, and writes it as row {slot.row}")
        call.expect("maps", len(step.inputs), len(parts))
        ats = set()
        for rows, (value, each) in zip(step.inputs, parts, strict=True):
            (row,) = rows
            if row is None:
                raise NotProvedError(f"row {y} of a part is taken for padding")
            start = y * width * each
            at = column(step, row, value, range(start, start + width * each), each)
            step.expects(row, value, start + at * each, many * each)
            ats.add(at)
        if len(ats) != 1 or max(ats) + many > width:
            raise NotProvedError(f"its rows begin with columns {sorted(ats)}")
        step.makes(slot, result, (y * width + max(ats)) * size, many * size)

    return Judged(judge)


def check_pointwise(op: Op) -> None:
    """Raises NotProvedError if it is no convolution of one tap that reads every pixel."""
    window = op.window
    axes = () if window is None else (window.rows, window.columns)
    if [(a.kernel, a.stride, a.before) for a in axes] != [(1, 1, 0)] * 2:
        raise NotProvedError(f"operator {op.id} of a block is not pointwise")


def _check_join(call: Call) -> None:
    """The first operator is a concatenation along channels, of such parts."""
    op, join = call.ops[0], replace(call, params=_params(call, "join"))
    out = call.graph.tensors[op.outputs[0]]
    axis = op.options.get("axis", 0)
    if op.type != _CONCATENATION or axis not in (-1, 3) or len(out.shape) != 4:
        raise NotProvedError("it joins what is no concatenation of channels")
    join.expect("parts", join.number("count"), len(op.inputs))
    join.expect_array("bytes", np.array([pixel for _, pixel in sources(call, True)]))


def _check_pixels(call: Call, name: str, pixels: int) -> None:
    """The params `name` are those of the pointwise convolution, for so many pixels."""
    part, op = call.with_params(_params(call, name)), call.ops[1]
    part.expect("pixels", part.number("out_w"), pixels)
    for field, tensor in (("in_c", op.inputs[0]), ("out_c", op.outputs[0])):
        part.expect(field, part.number(field), call.graph.tensors[tensor].shape[3])


def _params(call: Call, name: str) -> Params:
    """Params that the params point to."""
    field = call.fields.get(name)
    if field is None:
        raise NotProvedError(f"its params have no {name}")
    return call.bundle.params(field)

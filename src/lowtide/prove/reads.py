"""The table of what each operator reads and makes, step by step, from its definition on the graph.

Each entry is a function of a `Call`: the contract of a kernel that computes the operator. What it needs
is worked out anew, from shapes, options and constants; the kernel's params are read from the bundle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lowtide.ir import Tensor, additions
from lowtide.ir.operands import Operands
from lowtide.prove.contracts import (
    Call,
    Judged,
    elements_in_row,
    reads_elements,
    size_of,
    source,
    target,
    whole,
)
from lowtide.prove.machine import Step
from lowtide.prove.memory import Labels, NotProvedError, Value, elements, position_in
from lowtide.prove.resized import bilinear, transpose_conv

Maker = Callable[[Call], Judged]


def _count(call: Call) -> int:
    """Elements that a kernel of one operand makes in a step."""
    if "inner" in call.fields:
        return call.number("outer") * call.number("count", 1) * call.number("inner")
    return call.number("count") * call.number("groups", 1)


def rows(call: Call) -> Judged:
    """Each output row is made of the same elements of every input: of one, or of all of ADD_N."""
    made, result = call.output()
    operands = [call.input(i) for i in range(len(call.op.inputs) if call.op.type == "ADD_N" else 1)]
    if any(of.elements != made.elements for of, _ in operands):
        raise NotProvedError("its input and output differ in size")
    count, size = _count(call), size_of(made)
    last = made.shape[-1] if made.shape else 1

    def judge(step: Step) -> None:
        slot = target(step)
        full = made.elements // slot.rows
        first = slot.row * full
        at = 0
        if count != full:
            at = _columns(step, operands[0][1], first, full, size_of(operands[0][0]))
        if at % last or (count % last and count != full) or at + count > full:
            raise NotProvedError(f"it makes {count} elements of a row of {full}, from {at} on")
        for port, (of, value) in enumerate(operands):
            bytes_ = size_of(of)
            step.expects(source(step, port), value, (first + at) * bytes_, count * bytes_)
        step.makes(slot, result, (first + at) * size, count * size)

    apart = call.op.type == "CAST" or any(size_of(of) != size for of, _ in operands)
    return Judged(judge, "never" if apart else "same")


def _columns(step: Step, value: Value, first: int, full: int, size: int, port: int = 0) -> int:
    """Which element of a row of a map some columns of it begin with, from what is in memory."""
    slot = source(step, port)
    at = position_in(value, step.label(slot), range(first * size, (first + full) * size))
    if at is None or at % size:
        told = step.machine.symbols.told(step.label(slot))
        raise NotProvedError(f"a row begins with {told}, which is not in the row that is needed")
    return at // size - first


def last_dimension(call: Call) -> Judged:
    """SOFTMAX and the like: each vector along the last dimension is made of the same one of the
    input."""
    call.expect("length", call.number("count"), call.output()[0].shape[-1])
    return rows(call)


def dense(call: Call) -> Judged:
    """FULLY_CONNECTED: each output row is made of one row of the input."""
    (of, value), (made, result) = call.input(0), call.output()
    units = made.shape[-1]
    depth = call.number("in_c" if "in_c" in call.fields else "depth")
    call.expect("depth", depth, math.prod(call.graph.tensors[call.op.inputs[1]].shape[1:]))
    call.expect("number of units", call.number("out_c"), units)
    call.expect("width", call.number("in_w", 1) * call.number("out_w", 1), 1)
    call.expect("padding", call.number("pad_left", 0), 0)
    count = made.elements // units
    size_in, size = depth * size_of(of), units * size_of(made)

    def judge(step: Step) -> None:
        slot = target(step)
        if slot.rows != count or of.elements != count * depth:
            raise NotProvedError(f"it makes {slot.rows} rows, and not {count}")
        step.expects(source(step), value, slot.row * size_in, size_in)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def broadcast(call: Call) -> Judged:
    """Two operands or three, walked by two loops: lt_pair.h, lt_select.h, lt_add_narrow.h."""
    made, result = call.output()
    names = "cab" if call.op.type.startswith("SELECT") else "ab"
    count = len(names)  # a file may list more inputs, which nobody reads
    plain = "outer" not in call.fields
    outer = 1 if plain else call.number("outer")
    inner = call.number("count" if plain else "inner")
    many, size = outer * inner, size_of(made)
    index = []
    for name in names:
        near = 1 if plain else call.number(f"{name}_step")
        far = 0 if plain else call.number(f"{name}_next")
        one = np.arange(outer, dtype=np.int64)[:, None] * (near * inner + far) + near * np.arange(
            inner, dtype=np.int64
        )
        index.append(one.reshape(-1))
    every = [call.input(i) for i in range(count)]
    spread: dict[int, Labels] = {}
    order = _order(call, count)

    def wanted(number: int, first: int) -> tuple[Labels, Value | None]:
        """The labels of the elements that an operand gives to those from `first` on of the output."""
        of, value = every[number]
        if of.elements == made.elements:
            return elements_in_row(value, first * size_of(of), many, size_of(of)), value
        if number not in spread:
            labels = elements(value, of.elements, size_of(of)).reshape(of.shape)
            spread[number] = np.broadcast_to(labels, made.shape).reshape(-1)
        return spread[number][first : first + many], None

    def read(step: Step, port: int, number: int, first: int) -> None:
        of, _ = every[number]
        slot = source(step, port)
        labels, value = wanted(number, first)
        bytes_ = size_of(of)
        steady = isinstance(value, int) and len(index[port]) == index[port][-1] + 1
        if steady and isinstance(value, int):
            step.expects(slot, value, first * bytes_, many * bytes_)
        else:
            reads_elements(step, slot, index[port], bytes_, labels)

    def judge(step: Step) -> None:
        slot = target(step)
        full = made.elements // slot.rows
        first = slot.row * full
        if many != full:
            first += _strip(step, every, made.elements, first, full)
        if (first + many - 1) // full != slot.row or (many != full and many % made.shape[-1]):
            raise NotProvedError(f"it makes {many} elements of a row of {full}")
        for port, number in enumerate(order):
            read(step, port, number, first)
        step.makes(slot, result, first * size, many * size)

    same = all(size_of(of) == size for of, _ in every)
    return Judged(judge, "same" if same else "never")


def _order(call: Call, count: int) -> Sequence[int]:
    """Which operand each port reads: of a quantised sum the one of the larger scale comes first."""
    op = call.op
    if op.type not in ("ADD", "SUB") or call.output()[0].quant is None:
        return range(count)
    first = additions.factors(Operands(call.graph, op)).first
    return first, 1 - first


def _strip(
    step: Step, every: Sequence[tuple[Tensor, Value]], many: int, first: int, full: int
) -> int:
    """Which element of a row of a map some columns of it begin with: some operand is the map."""
    for port in range(len(step.inputs)):
        for of, value in every:
            if of.elements != many:
                continue
            size = size_of(of)
            label = step.label(source(step, port))
            at = position_in(value, label, range(first * size, (first + full) * size))
            if at is not None and not at % size:
                return at // size - first
    raise NotProvedError("none of its rows is of the row that is needed")


def reduction(call: Call) -> Judged:
    """Sums, extremes and their places: [outer][reduced][inner] in a row, and over the rows that are
    eaten."""
    (of, value), (made, result) = call.input(0), call.output()
    axes = {
        int(a) % max(1, len(of.shape))
        for a in Operands(call.graph, call.op).integers(1).reshape(-1)
    }
    in_order = call.op.type.startswith("ARG")
    labels = elements(value, of.elements, size_of(of)).reshape(of.shape)
    order = [i for i in range(len(of.shape)) if i not in axes] + sorted(axes)
    needed = labels.transpose(order).reshape(made.elements, -1)
    outer, reduced, inner = (call.number(name) for name in ("outer", "reduced", "inner"))
    row = outer * reduced * inner
    eats = call.scratch > 0
    per_row = call.number("rows", 0) if eats else 0
    eaten: list[Labels] = []
    size = size_of(of)

    def judge(step: Step) -> None:
        if eaten and (step.number == 0 or (per_row and step.number % per_row == 0)):
            raise NotProvedError("it starts a new output before it has made the previous one")
        if not eaten and per_row and step.number % per_row:
            raise NotProvedError("it goes on with what it has made")
        slot_in = source(step)
        at = slot_in.row * (of.bytes // slot_in.rows)
        step.expects(slot_in, value, at, row * size)
        eaten.append(elements_in_row(value, at, row, size).reshape(outer, reduced, inner))
        (slot,) = step.outputs[0]
        if slot is None:
            return
        found = np.stack(eaten).transpose(1, 3, 0, 2).reshape(outer * inner, -1)
        eaten.clear()
        full = made.elements // slot.rows
        call.expect("row", outer * inner, full)
        rest = needed[slot.row * full : (slot.row + 1) * full]
        if not in_order:
            found, rest = np.sort(found, axis=1), np.sort(rest, axis=1)
        if found.shape != rest.shape or not (found == rest).all():
            raise NotProvedError(
                f"output row {slot.row} is not made of all that it is made of, once each"
            )
        step.makes(slot, result, slot.row * full * size_of(made), full * size_of(made))

    after = not in_order
    return Judged(judge, "after" if after else "never", lasts=eats)


def batch_matmul(call: Call) -> Judged:
    """An output row of a row of the left operand (or a column) and all of a matrix on the right."""
    (left, a), (right, b), (made, result) = call.input(0), call.input(1), call.output()
    option = Operands(call.graph, call.op).option
    rows_, columns = made.shape[-2:]
    lefts = elements(a, left.elements, size_of(left)).reshape(left.shape)
    rights = elements(b, right.elements, size_of(right)).reshape(right.shape)
    lefts = lefts.swapaxes(-1, -2) if option("adj_x") else lefts
    rights = rights.swapaxes(-1, -2) if option("adj_y") else rights
    depth = lefts.shape[-1]
    batches = made.shape[:-2]
    lefts = np.broadcast_to(lefts, (*batches, rows_, depth)).reshape(-1, depth)
    rights = np.broadcast_to(rights, (*batches, depth, columns)).reshape(-1, depth, columns)
    call.expect("depth", call.number("depth"), depth)
    call.expect("columns", call.number("columns"), columns)
    pitch, across = call.number("left_pitch"), call.number("left_columns")
    down, along = call.number("right_down"), call.number("right_across")
    index = (
        np.arange(depth, dtype=np.int64)[:, None] * down
        + np.arange(columns, dtype=np.int64) * along
    ).reshape(-1)
    size = size_of(made) * columns

    def judge(step: Step) -> None:
        slot = target(step)
        if slot.rows != len(lefts):
            raise NotProvedError(f"it makes {slot.rows} rows, and not {len(lefts)}")
        start = step.number % across if across else 0
        of_left = start + pitch * np.arange(depth, dtype=np.int64)
        reads_elements(step, source(step), of_left, size_of(left), lefts[slot.row])
        wanted = rights[slot.row // rows_].reshape(-1)
        reads_elements(step, source(step, 1), index, size_of(right), wanted)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def lookup(call: Call) -> Judged:
    """GATHER and GATHER_ND by indices that are not known, EMBEDDING_LOOKUP: any piece may be taken."""
    first = call.op.type == "EMBEDDING_LOOKUP"
    (of, value), (index, places) = call.input(int(first)), call.input(int(not first))
    made, result = call.output()
    axis, parts = 0, index.shape[-1] if call.op.type == "GATHER_ND" else 1
    if call.op.type == "GATHER":
        axis = Operands(call.graph, call.op).option("axis") % max(1, len(of.shape))
    outer, many = math.prod(of.shape[:axis]), index.elements // parts
    steps, count = (many, 1) if outer == 1 else (outer, many)
    piece = size_of(of) * math.prod(of.shape[axis + parts :])
    call.expect_array("sizes", np.array(of.shape[axis : axis + parts]))
    for name, wanted in (
        *(("count", count), ("bytes", piece), ("parts", parts)),
        ("steps", steps if outer == 1 else 1),
    ):
        call.expect(name, call.number(name), wanted)
    row, size = of.bytes // outer, made.bytes // steps

    def judge(step: Step) -> None:
        slot = target(step)
        if slot.rows != steps or (outer == 1 and step.number != slot.row):
            raise NotProvedError(f"in step {step.number} it makes row {slot.row}, of {slot.rows}")
        step.expects(source(step), value, slot.row * row if outer > 1 else 0, row)
        whole(step, 1, index, places)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def update(call: Call) -> Judged:
    """DYNAMIC_UPDATE_SLICE: a row, and a box that may meet it anywhere."""
    (of, value), (box, inside), (start, at) = (call.input(i) for i in range(3))
    made, result = call.output()
    shape, small = call.numbers("shape"), call.numbers("box")
    if (
        shape is None
        or small is None
        or (*shape.tolist(),) != of.shape
        or (*small.tolist(),) != box.shape
    ):
        raise NotProvedError("its shapes are not those of its operator")
    size = call.number("row")

    def judge(step: Step) -> None:
        slot = target(step)
        if step.number != slot.row or slot.rows * size != made.bytes:
            raise NotProvedError(f"in step {step.number} it makes row {slot.row}, of {slot.rows}")
        step.expects(source(step), value, slot.row * size, size)
        whole(step, 1, box, inside)
        whole(step, 2, start, at)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def cumsum(call: Call) -> Judged:
    """Sums along one axis, which lies within the rows."""
    made, _ = call.output()
    axis = int(Operands(call.graph, call.op).integers(1).reshape(-1)[0]) % max(1, len(made.shape))
    call.expect("length", call.number("count"), made.shape[axis])
    call.expect("inner size", call.number("inner"), math.prod(made.shape[axis + 1 :]))
    return rows(call)


_UNARY = (
    *("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "LOGISTIC", "TANH", "ABS", "ELU", "RSQRT"),
    *("TABLE", "FLIP", "QUANTIZE", "DEQUANTIZE", "CAST", "LOGICAL_NOT", "ADD_N", "SignalWindow"),
)
_PAIRS = (
    *("ADD", "SUB", "MUL", "DIV", "SQUARED_DIFFERENCE", "PRELU", "MINIMUM", "MAXIMUM"),
    *(
        "FLOOR_DIV",
        "FLOOR_MOD",
        "LOGICAL_AND",
        "LOGICAL_OR",
        "EQUAL",
        "NOT_EQUAL",
        "LESS",
        "LESS_EQUAL",
        "GREATER",
    ),
    *("GREATER_EQUAL", "SELECT", "SELECT_V2"),
)
_REDUCTIONS = (
    *("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY"),
    *("ARG_MAX", "ARG_MIN"),
)

READS: Mapping[str, Maker] = {
    **dict.fromkeys(_UNARY, rows),
    **dict.fromkeys(("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"), last_dimension),
    **dict.fromkeys(_PAIRS, broadcast),
    **dict.fromkeys(_REDUCTIONS, reduction),
    "FULLY_CONNECTED": dense,
    "BATCH_MATMUL": batch_matmul,
    "TRANSPOSE_CONV": transpose_conv,
    "RESIZE_BILINEAR": bilinear,
    **dict.fromkeys(("GATHER", "GATHER_ND"), lookup),
    "EMBEDDING_LOOKUP": lookup,
    "DYNAMIC_UPDATE_SLICE": update,
    "CUMSUM": cumsum,
}
"""By the operator's type, or the code of a custom one; those that only move elements are in
prove/moved.py, those with windows in prove/windows.py, those that remember in prove/states.py."""

DATA_DEPENDENT: Mapping[str, str] = {
    **dict.fromkeys(
        ("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP"),
        "an index that is out of range is clamped to the nearest in range (lt_lookup.h)",
    ),
    **dict.fromkeys(
        ("LOGISTIC", "TANH", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        "an index of 255 or more takes the greatest value of a table of 256 (lt_unary.h), or is a byte",
    ),
    "SOFTMAX": "an index is below the table's end, or has 9 bits, for 513 entries (lt_softmax.h)",
    "LOG_SOFTMAX": "an index is below the tables' end, or is not used (lt_log_softmax.h)",
    "SignalPCAN": "a number has at most 32 bits, and the table 4 entries for each (lt_filter_bank.h)",
    "SignalFilterBankLog": "an index has 7 bits, and the table 129 entries (lt_filter_bank.h)",
    "DYNAMIC_UPDATE_SLICE": "a box that would reach beyond the tensor is moved back (lt_update.h)",
}
"""Operators whose kernels take addresses from data, and why these are in bounds. Kernels that take a
byte through a table of 256 entries are found by their params."""

TABLES: Mapping[str, Mapping[str, int]] = {
    "SOFTMAX": {"exp": 513, "reciprocal": 513},
    "LOGISTIC": {"table": 256},
    "TANH": {"table": 256},
    "UNIDIRECTIONAL_SEQUENCE_LSTM": {"logistic": 256},
    "SignalPCAN": {"gains": 125},
    "SignalFilterBankLog": {"logarithms": 129},
}
"""How many entries their tables have, by the field of the params."""

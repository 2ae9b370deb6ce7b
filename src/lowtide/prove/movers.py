"""How kernels that only move bytes put an output row together, from their params alone.

What they find there is held against the operator's definition (prove/moved.py), byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lowtide.ir.state import WRITE_ROWS
from lowtide.prove.bundle_reader import Params
from lowtide.prove.contracts import Call, Judged, source
from lowtide.prove.machine import Slot, Step
from lowtide.prove.memory import PADDING, Labels, NotProvedError, Value
from lowtide.prove.values import made_of, written_rows

_NONE = 0xFFFF

Rows = list[Labels]
"""The labels of the bytes of each output row of a step."""


def _runs(start: int, count: int, pitch: int, size: int) -> Labels:
    """The bytes of `count` runs of `size` bytes, `pitch` from one to the next."""
    found: Labels = (
        start + pitch * np.arange(count, dtype=np.int64)[:, None] + np.arange(size, dtype=np.int64)
    ).reshape(-1)
    return found


def _copy(call: Call) -> Callable[[Step], Rows]:
    runs, size = call.number("runs"), call.number("bytes")
    index = _runs(call.number("from"), runs, call.number("pitch"), size)
    return lambda step: [step.gathers(source(step), index)]


def _lut(call: Call) -> Callable[[Step], Rows]:
    index = np.arange(call.number("count"), dtype=np.int64)
    return lambda step: [step.gathers(source(step), index)]


def _join(call: Call) -> Callable[[Step], Rows]:
    sizes, runs = call.numbers("bytes"), call.number("runs")
    if sizes is None or len(sizes) != call.number("count"):
        raise NotProvedError("its parts are not as many as it says")
    total = int(sizes.sum())

    def joined(step: Step) -> Rows:
        given = [slot for port in step.inputs for slot in port]
        call.expect("number of parts", len(given), len(sizes))
        made = np.empty((runs, total), np.int64)
        at = 0
        for slot, size in zip(given, sizes.tolist(), strict=True):
            made[:, at : at + size] = step.gathers(
                slot, np.arange(runs * size, dtype=np.int64)
            ).reshape(runs, size)
            at += size
        return [made.reshape(-1)]

    def split(step: Step) -> Rows:
        found = step.gathers(source(step), np.arange(runs * total, dtype=np.int64)).reshape(
            runs, total
        )
        ends = np.cumsum(sizes)[:-1].tolist()
        return [cut.reshape(-1) for cut in np.split(found, ends, axis=1)]

    takes_apart = len(call.windows) == 1 and call.windows[0] == 1 and sum(call.targets) > 1
    return split if takes_apart else joined


def _pad(call: Call) -> Callable[[Step], Rows]:
    runs, size = call.number("runs"), call.number("bytes")
    before, between, after = (call.number(name) for name in ("before", "between", "after"))
    call.bundle.array(call.fields.get("value"))

    def judge(step: Step) -> Rows:
        (slot,) = step.inputs[0]
        gaps = [before, *[between] * (runs - 1), after]
        found = np.full((runs, size), PADDING, np.int64)
        if slot is not None:
            found = step.gathers(slot, np.arange(runs * size, dtype=np.int64)).reshape(runs, size)
        parts = [np.full(gaps[0], PADDING, np.int64)]
        for run, gap in zip(found, gaps[1:], strict=True):
            parts += [run, np.full(gap, PADDING, np.int64)]
        return [np.concatenate(parts)]

    return judge


def _pick(call: Call) -> Callable[[Step], Rows]:
    pieces, rows, lists = (call.numbers(name) for name in ("pieces", "rows", "lists"))
    value, count, size = call.numbers("value"), call.number("count"), call.number("bytes")
    if pieces is None:
        raise NotProvedError("it has no pieces")
    within = np.arange(size, dtype=np.int64)

    def judge(step: Step) -> Rows:
        first = 0 if lists is None else int(lists[step.number]) * count
        chosen = pieces[first : first + count]
        from_ = np.zeros(count, np.int64) if rows is None else rows[first : first + count]
        if len(chosen) != count or len(from_) != count:
            raise NotProvedError("it has no such list of pieces")
        made = np.full((count, size), PADDING, np.int64)
        (given,) = step.inputs
        taken = chosen != _NONE
        if not taken.all() and (value is None or len(value) != size):
            raise NotProvedError("it has no piece of padding")
        for row in np.unique(from_[taken]).tolist():
            here = taken & (from_ == row)
            index = (chosen[here, None] * size + within).reshape(-1)
            made[here] = step.gathers(given[row], index).reshape(-1, size)
        return [made.reshape(-1)]

    return judge


def _transpose(call: Call) -> Callable[[Step], Rows]:
    pitches, size = call.numbers("pitches"), call.number("bytes")
    outer = _runs(0, call.number("count0"), call.number("pitch0"), 1)
    inner = _runs(0, call.number("count1"), call.number("pitch1"), size)
    index = (call.number("from") + outer[:, None] + inner).reshape(-1)

    def judge(step: Step) -> Rows:
        start, row = 0, step.number
        if pitches is not None:
            row, c = divmod(row, call.number("rows2"))
            a, b = divmod(row, call.number("rows1"))
            start = int(a * pitches[0] + b * pitches[1] + c * pitches[2])
        return [step.gathers(source(step), index + start)]

    return judge


def _gather(call: Call) -> Callable[[Step], Rows]:
    index, count, runs = call.numbers("index"), call.number("count"), call.number("runs")
    pitch, size, steps = call.number("pitch"), call.number("bytes"), call.number("steps")
    if index is None:
        raise NotProvedError("it has no indices")

    def judge(step: Step) -> Rows:
        first = step.number // steps * count
        chosen = index[first : first + count]
        if len(chosen) != count:
            raise NotProvedError("it has no such list of indices")
        one = (chosen[:, None] * size + np.arange(size, dtype=np.int64)).reshape(-1)
        every = (pitch * np.arange(runs, dtype=np.int64)[:, None] + one).reshape(-1)
        return [step.gathers(source(step), every)]

    return judge


_KERNELS: Mapping[str, Callable[[Call], Callable[[Step], Rows]]] = {
    "lt_copy": _copy,
    "lt_lut": _lut,
    "lt_join": _join,
    "lt_concat_u8": _join,
    "lt_pad": _pad,
    "lt_pick": _pick,
    "lt_transpose": _transpose,
    "lt_gather": _gather,
}
"""By the type of their params."""


def mover(call: Call) -> Judged | None:
    """A kernel that makes rows of what an operator moves; None if its params are of none that is
    known."""
    kernel = _KERNELS.get(call.params.ctype)
    if kernel is None:
        return None
    play, op = kernel(call), call.op
    if op.type == WRITE_ROWS:
        wanted, results = [written_rows(call.values, op)], [*call.values.states[op.id].values()]
        outputs = op.inputs[:1]
    else:
        wanted = made_of(call.values, op)
        results = [*call.values.outputs[op.id]] or [*call.values.states[op.id].values()]
        outputs = op.outputs or op.inputs[:1]
    wanted = [call.values.symbols.resolved(labels) for labels in wanted]
    sizes = [call.graph.tensors[t].bytes for t in outputs]

    def which(number: int) -> int:
        """Which of the operator's outputs a port is for; the hint is as good as what it leads to."""
        if len(outputs) == 1:
            return 0
        hint = call.traced[number]
        return outputs.index(hint) if hint in outputs else number

    def judge(step: Step) -> None:
        slots = [(port, slot) for port, window in enumerate(step.outputs) for slot in window]
        made = play(step)
        if len(made) != len(slots):
            raise NotProvedError(f"it makes {len(made)} rows, and is given {len(slots)}")
        for labels, (port, slot) in zip(made, slots, strict=True):
            number = which(port)
            _check(step, slot, labels, wanted[number], results[number], sizes[number])

    plain = call.params.ctype == "lt_copy" and call.number("runs") == 1 and not call.number("from")
    return Judged(judge, "same" if plain or call.params.ctype == "lt_lut" else "never")


def _check(
    step: Step, slot: Slot | None, labels: Labels, wanted: Labels, result: Value, size: int
) -> None:
    """A row is what the definition has there, or some columns of that."""
    if slot is None:
        raise NotProvedError("it is given no row to write to")
    whole = size // slot.rows
    first = slot.row * whole
    row = wanted[first : first + whole]
    at = 0
    if len(labels) < whole and len(labels):
        places = np.flatnonzero(row == labels[0])
        at = next((int(p) for p in places if (row[p : p + len(labels)] == labels).all()), -1)
    if at < 0 or len(labels) > whole or not (row[at : at + len(labels)] == labels).all():
        raise NotProvedError(_wrong(step, row, labels, slot))
    step.makes(slot, result, first + at, len(labels))


def _wrong(step: Step, row: Labels, labels: Labels, slot: Slot) -> str:
    told = step.machine.symbols.told
    if len(labels) != len(row):
        return (
            f"{len(labels)} bytes of row {slot.row}, from {told(int(labels[0]))} on, are not in it"
        )
    first = int(np.flatnonzero(row != labels)[0])
    return (
        f"byte {first} of output row {slot.row} should be {told(int(row[first]))}, "
        f"and is {told(int(labels[first]))}"
    )


def slide(params: Params) -> Judged:
    """lt_slide.h: bytes move to a lower address, whatever they are."""
    size = params.fields["bytes"]
    if not isinstance(size, int):
        raise NotProvedError("it moves no number of bytes")
    index = np.arange(size, dtype=np.int64)

    def judge(step: Step) -> None:
        (given,), (to,) = step.inputs[0], step.outputs[0]
        if given and to and given.memory == to.memory and given.at < to.at < given.at + size:
            raise NotProvedError(f"it moves byte {given.at} to {to.at}, over what it moves next")
        step.makes(to, step.gathers(given, index), 0, size)

    return Judged(judge, "after")

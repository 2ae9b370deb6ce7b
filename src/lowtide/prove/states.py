"""What operators that remember read and change, and those that see a whole tensor in one step.

Their states are variables, read and written in place: each step must find what the step before left
there, or the run before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lowtide.ir import Tensor
from lowtide.ir.operands import Operands
from lowtide.ir.state import OF_TOTAL, TOTAL, TotalOp
from lowtide.prove.contracts import Call, Judged, source, target, whole
from lowtide.prove.machine import Shares, Slot, Step
from lowtide.prove.memory import NotProvedError, Value
from lowtide.prove.values import changed_by

_HIDDEN, _CELL = 18, 19


def lstm(call: Call) -> Judged:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: a point in time of one batch a step, in time's order."""
    (of, value), (made, result) = call.input(0), call.output()
    major = bool(Operands(call.graph, call.op).option("time_major"))
    times, batches = of.shape[:2] if major else of.shape[1::-1]
    call.expect("inputs", call.number("inputs"), of.shape[2])
    call.expect("units", call.number("units"), made.shape[2])
    done = [0] * batches
    states = [_State(call, i) for i in (_HIDDEN, _CELL)]
    row, size = of.bytes // (times * batches), made.bytes // (times * batches)

    def judge(step: Step) -> None:
        slot = target(step)
        batch, time = (
            (slot.row % batches, slot.row // batches)
            if major
            else (slot.row // times, slot.row % times)
        )
        if slot.rows != times * batches or done[batch] != time:
            raise NotProvedError(f"it makes row {slot.row}, of {slot.rows}, out of turn")
        done[batch] = (time + 1) % times
        step.expects(source(step), value, slot.row * row, row)
        step.makes(slot, result, slot.row * size, size)
        for port, state in enumerate(states, start=1):
            state.passes(step, port, batch, batches, time, times)

    return Judged(judge)


class _State:
    """A variable that an operator reads and writes in each step."""

    def __init__(self, call: Call, index: int) -> None:
        self.tensor: Tensor
        self.tensor, self.before = call.input(index)
        self.after = call.values.states[call.op.id][self.tensor.id]
        self.under_way = call.values.symbols.new(
            f"tensor {self.tensor.id} ({self.tensor.name}) under way"
        )

    def passes(
        self, step: Step, port: int, row: int, rows: int, time: int = 0, times: int = 1
    ) -> None:
        """Row `row` of it goes from what it is at `time` to what it is next."""
        slot: Slot = target(step, port)
        if slot.rows != rows or slot.row != row:
            raise NotProvedError(
                f"its state is row {slot.row} of {slot.rows}, and not {row} of {rows}"
            )
        size = self.tensor.bytes // rows
        step.expects(slot, *self._at(time, times, row * size), size)
        step.makes(slot, *self._at(time + 1, times, row * size), size)

    def _at(self, time: int, times: int, position: int) -> tuple[Value, int]:
        if time == 0:
            return self.before, position
        if time == times:
            return self.after, position
        return self.under_way, time * self.tensor.bytes + position


def svdf(call: Call) -> Judged:
    """SVDF: a batch a step."""
    (of, value), (made, result) = call.input(0), call.output()
    batches, inputs = of.shape
    call.expect("inputs", call.number("inputs"), inputs)
    call.expect("units", call.number("units"), made.shape[1])
    call.expect("memory", call.number("memory"), call.graph.tensors[call.op.inputs[2]].shape[1])
    state = _State(call, 4)
    row, size = of.bytes // batches, made.bytes // batches

    def judge(step: Step) -> None:
        slot = target(step)
        if slot.rows != batches:
            raise NotProvedError(f"it makes {slot.rows} rows, and not {batches}")
        step.expects(source(step), value, slot.row * row, row)
        step.makes(slot, result, slot.row * size, size)
        state.passes(step, 1, slot.row, batches)

    return Judged(judge)


def frames(call: Call) -> Judged:
    """Frames, delays, stacks, transforms of sound: a row of all tensors a step."""
    (of, value), (made, result) = call.input(0), call.output()
    flagged = len(call.op.outputs) > 1
    kept = changed_by(call.graph, call.op)
    state = _State(call, len(call.op.inputs) - 1) if kept else None

    def judge(step: Step) -> None:
        slot = target(step)
        steps = slot.rows
        row, size = of.bytes // steps, made.bytes // steps
        if slot.row != step.number or row * steps != of.bytes or size * steps != made.bytes:
            raise NotProvedError(f"in step {step.number} it makes row {slot.row}, of {steps}")
        step.expects(source(step), value, slot.row * row, row)
        step.makes(slot, result, slot.row * size, size)
        if flagged and step.number == steps - 1:
            said, flag = call.output(1)
            step.makes(target(step, 1), flag, 0, said.bytes)
        if state is not None:
            state.passes(step, len(step.outputs) - 1, slot.row, steps)

    _check_frames(call, of, made)
    return Judged(judge)


def _check_frames(call: Call, of: Tensor, made: Tensor) -> None:
    """Sizes of the params are the operator's."""
    option = Operands(call.graph, call.op).option
    wide = of.shape[-1] if of.shape else 1
    known: dict[str, dict[str, int]] = {
        "SignalFramer": {"size": option("frame_size"), "hop": option("frame_step")},
        "SignalDelay": {"count": wide, "delay": option("delay_length")},
        "SignalOverlapAdd": {"size": wide, "hop": option("frame_step")},
        "SignalStacker": {"channels": option("num_channels")},
        "SignalRfft": {"points": option("fft_length") // 2, "count": wide},
        "SignalIrfft": {
            "points": option("fft_length") // 2,
            "count": made.shape[-1] if made.shape else 1,
        },
    }
    for name, wanted in known.get(call.op.label, {}).items():
        call.expect(name, call.number(name), wanted)


def wholes(call: Call) -> Judged:
    """One step that sees all of its tensors: features of sound."""
    changed = changed_by(call.graph, call.op)
    states = [_State(call, call.op.inputs.index(t)) for t in changed]

    def judge(step: Step) -> None:
        for port in range(len(step.inputs)):
            whole(step, port, *call.input(port))
        for port in range(len(call.op.outputs)):
            made, result = call.output(port)
            slot = target(step, port)
            if slot.rows != 1:
                raise NotProvedError(f"it makes all of its output, and not {slot.rows} rows")
            step.makes(slot, result, 0, made.bytes)
        for port, state in enumerate(states, start=len(call.op.outputs)):
            state.passes(step, port, 0, 1)

    return Judged(judge, _SHARES[call.op.label])


def total(call: Call) -> Judged:
    """TOTAL: a row a step joins totals that outlive a run."""
    (rows, value), op = call.input(1), call.op
    assert isinstance(op, TotalOp)
    count, channels = rows.shape[1], rows.shape[-1]
    call.expect("pixels", call.number("pixels"), rows.elements // count // channels)
    call.expect("channels", call.number("channels"), channels)
    call.expect("zero", call.number("zero"), op.zero)
    call.expect("leaves", call.number("leaves"), int(op.leave))
    totals, row = _State(call, 0), rows.bytes // count

    def judge(step: Step) -> None:
        step.expects(source(step), value, step.number * row, row)
        totals.passes(step, 0, 0, 1, step.number, count)

    return Judged(judge, "same")


def of_total(call: Call) -> Judged:
    """OF_TOTAL: all of the totals."""
    (totals, value), (made, result) = call.input(0), call.output()
    call.expect("channels", call.number("channels"), totals.elements)

    def judge(step: Step) -> None:
        step.expects(source(step), value, 0, totals.bytes)
        step.makes(target(step), result, 0, made.bytes)

    return Judged(judge)


_SHARES: Mapping[str, Shares] = {
    **dict.fromkeys(
        ("SignalEnergy", "SignalFilterBankLog", "SignalFilterBankSquareRoot"), "begins"
    ),
    **dict.fromkeys(
        ("SignalFftAutoScale", "SignalFilterBankSpectralSubtraction", "SignalPCAN"), "same"
    ),
    "SignalFilterBank": "never",
}
"""As lt_spectrum.h and lt_filter_bank.h have it."""

STATES: Mapping[str, Callable[[Call], Judged]] = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "SVDF": svdf,
    **dict.fromkeys(
        (
            *("SignalFramer", "SignalDelay", "SignalOverlapAdd", "SignalStacker"),
            *("SignalRfft", "SignalIrfft"),
        ),
        frames,
    ),
    **dict.fromkeys(_SHARES, wholes),
    TOTAL: total,
    OF_TOTAL: of_total,
}
"""By the operator's type, or the code of a custom one."""

"""TFLM's signal operators: their names, and what each keeps from one call to the next.

Why here: they are custom operators, whose state no file shows. A pass gives each a variable tensor for
it (passes/signal_state.py), and its lowering has to agree on what is in there.

An operator of frames works on each row of its input apart: rows are along the last axis.
"""

from __future__ import annotations

from typing import Final

from lowtide.ir.graph import DType
from lowtide.ir.operands import Operands

DELAY: Final = "SignalDelay"
FRAMER: Final = "SignalFramer"
OVERLAP_ADD: Final = "SignalOverlapAdd"
STACKER: Final = "SignalStacker"
SUBTRACTION: Final = "SignalFilterBankSpectralSubtraction"

STATEFUL: Final = frozenset({DELAY, FRAMER, OVERLAP_ADD, STACKER, SUBTRACTION})
"""Those that remember something."""

SIGNAL: Final = STATEFUL | {
    "SignalEnergy",
    "SignalFftAutoScale",
    "SignalFilterBank",
    "SignalFilterBankLog",
    "SignalFilterBankSquareRoot",
    "SignalIrfft",
    "SignalPCAN",
    "SignalRfft",
    "SignalWindow",
}
"""All of them."""

State = tuple[DType, tuple[int, ...]]
"""The type and the shape of a variable tensor, which starts as zeros."""


def state_of(operands: Operands) -> State | None:
    """What the operator keeps; None if it keeps nothing, or is none that could be compiled.

    A framer that is not filled with zeros at first, and a stacker, have a counter at the end of a row:
    how many steps, or frames, it holds so far.
    """
    op = operands.op
    if op.custom not in STATEFUL or not op.inputs or not op.outputs:
        return None
    source = operands.input(0)
    wide = source.shape[-1] if source.shape else 1
    rows = source.elements // wide if wide else 0
    match op.custom:
        case "SignalDelay":
            kept = operands.option("delay_length")
        case "SignalFramer":
            kept = held_samples(operands)
            kept += counts_steps(operands)
        case "SignalOverlapAdd":
            kept = wide - operands.option("frame_step")
            rows //= source.shape[-2] if len(source.shape) > 1 and source.shape[-2] else 1
        case "SignalStacker":
            rows, kept = 1, (stack_size(operands) - 1) * operands.option("num_channels") + 1
        case _:
            return (DType.UINT32, (source.elements,)) if source.elements else None
    return (DType.INT16, (rows, kept)) if rows > 0 and kept > 0 else None


def held_samples(operands: Operands) -> int:
    """Samples that a framer holds between two calls, in each row.

    TFLM's buffer has room for a whole number of steps: without zeros before the first sample, a frame
    is the oldest samples of those, so it comes late by what the buffer has beyond a frame.
    """
    size, step = operands.option("frame_size"), operands.option("frame_step")
    if step < 1:
        return 0
    return size - step if operands.option("prefill") else -(-size // step) * step - step


def counts_steps(operands: Operands) -> bool:
    """Whether a framer has to wait for its first frame."""
    return not operands.option("prefill") and held_samples(operands) > 0


def stack_size(operands: Operands) -> int:
    """Frames of a stack."""
    left, right = (operands.option(f"stacker_{side}_context") for side in ("left", "right"))
    return left + right + 1

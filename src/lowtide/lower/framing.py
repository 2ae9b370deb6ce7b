"""SignalFramer, SignalDelay, SignalOverlapAdd and SignalStacker: params of kernels/include/lt_framing.h.

What they remember is a variable tensor, their last input: see ir/signal.py, which says what is in it.
One with nothing to remember has none; its kernel sees a null pointer.
"""

from __future__ import annotations

from lowtide.ir import DType, Tensor
from lowtide.ir.signal import counts_steps, held_samples, stack_size, state_of
from lowtide.lower.common import Context, Lowering
from lowtide.lower.nodes import Lowered, Params, Port, Value

_MOST = 32767


def _samples(context: Context, names: tuple[str, ...]) -> tuple[Tensor, Tensor]:
    """Input and output, checked; `names` are the options that there must be."""
    source, out = context.input(0), context.output()
    if tuple(context.op.options) != names:
        raise context.unsupported("its options do not match the operator")
    if out.dtype is not DType.INT16:
        raise context.unsupported(f"its output is {out.dtype.name} instead of INT16")
    if not source.shape or 0 in (source.elements, out.elements):
        raise context.unsupported("its input or output is empty")
    return source, out


def _sizes(context: Context, *sizes: int) -> None:
    """Raises ModelError for a size that its field cannot hold."""
    if any(not 0 <= size <= _MOST for size in sizes):
        raise context.unsupported("a size is out of range")


def _node(
    context: Context,
    kernel: str,
    fields: tuple[tuple[str, Value], ...],
    steps: int,
    *,
    flag: bool,
) -> Lowered:
    """One step per row; with `flag`, output 1 is a boolean that the last of them writes."""
    source, out = context.input(0), context.output()
    ports = [Port(out.id, steps, out.bytes // steps)]
    if flag:
        said = context.output(1)
        if said.dtype is not DType.BOOL or said.elements != 1:
            raise context.unsupported("its output that marks valid results is not one boolean")
        ports.append(Port(said.id, 1, 1, table=(*[-1] * (steps - 1), 0)))
    state = context.graph.tensors[context.op.inputs[-1]]
    if len(context.op.inputs) != (1 if state_of(context) is None else 2):
        raise context.unsupported("it has no tensor for its state")
    if state.is_variable:
        ports.append(Port(state.id, steps, state.bytes // steps))
    else:  # padding, which is a null pointer
        ports.append(Port(out.id, steps, out.bytes // steps, first=-1, stride=0))
    return context.node(
        kernel=f"lt_{kernel}_row",
        header="lt_framing.h",
        params=Params(f"lt_{kernel}", fields),
        inputs=(Port(source.id, steps, source.bytes // steps),),
        outputs=tuple(ports),
        steps=steps,
    )


def _framer(context: Context) -> Lowered:
    source, out = _samples(context, ("frame_size", "frame_step", "prefill"))
    size, hop = context.option("frame_size"), context.option("frame_step")
    wide = source.shape[-1]
    if hop < 1 or wide % hop or hop > size:
        raise context.unsupported(
            f"{wide} samples are not whole steps of {hop}, or a frame is shorter than a step"
        )
    frames, steps = wide // hop, source.elements // wide
    if out.elements != steps * frames * size:
        raise context.unsupported(f"its output is not {frames} frames of {size} samples")
    held = held_samples(context)
    waits = held // hop + 1 if counts_steps(context) else 0
    _sizes(context, size, hop, frames, held, waits, steps)
    fields = ("size", size), ("hop", hop), ("frames", frames), ("held", held), ("waits", waits)
    return _node(context, "framer", fields, steps, flag=True)


def _delay(context: Context) -> Lowered:
    source, out = _samples(context, ("delay_length",))
    wide, delay = source.shape[-1], context.option("delay_length")
    if out.elements != source.elements:
        raise context.unsupported("its input and output differ in size")
    steps = source.elements // wide
    _sizes(context, wide, delay, steps)
    return _node(context, "delay", (("count", wide), ("delay", delay)), steps, flag=False)


def _overlap_add(context: Context) -> Lowered:
    source, out = _samples(context, ("T", "frame_step"))
    if context.option("T") != 7 or len(source.shape) < 2:
        raise context.unsupported("its input is not frames of INT16")
    frames, size = source.shape[-2:]
    hop = context.option("frame_step")
    steps = source.elements // (frames * size)
    if not 1 <= hop <= size or out.elements != steps * frames * hop:
        raise context.unsupported(
            f"its output does not match {frames} frames of {size} in steps of {hop}"
        )
    _sizes(context, size, frames, steps)
    fields = ("size", size), ("hop", hop), ("frames", frames)
    return _node(context, "overlap_add", fields, steps, flag=False)


def _stacker(context: Context) -> Lowered:
    names = ("num_channels", "stacker_left_context", "stacker_right_context", "stacker_step")
    source, out = _samples(context, names)
    channels, left, right, hop = (context.option(name) for name in names)
    size = stack_size(context)
    if min(left, right) < 0 or not 1 <= hop <= size:
        raise context.unsupported(f"it cannot make stacks of {size} frames every {hop} frames")
    if source.elements != channels or out.elements != size * channels:
        raise context.unsupported(f"its tensors are not {size} frames of {channels}")
    _sizes(context, channels, size + hop)
    fields = ("channels", channels), ("size", size), ("hop", hop), ("first", left)
    return _node(context, "stacker", fields, 1, flag=True)


_INT16 = frozenset({DType.INT16})

LOWERINGS = {
    "SignalDelay": Lowering(_delay, _INT16),
    "SignalFramer": Lowering(_framer, _INT16),
    "SignalOverlapAdd": Lowering(_overlap_add, _INT16),
    "SignalStacker": Lowering(_stacker, _INT16),
}

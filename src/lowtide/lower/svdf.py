"""SVDF: params of kernels/include/lt_svdf.h. Its state is a variable tensor, written in place."""

from __future__ import annotations

import numpy as np

from lowtide.ir import DType
from lowtide.lower.common import Context, Lowering, multiplier, per_tensor
from lowtide.lower.counts import Counted
from lowtide.lower.dots import dots, fours_of
from lowtide.lower.move import port
from lowtide.lower.nodes import Array, CType, Lowered, Params
from lowtide.lower.packed import int32

_INPUT, _FEATURES, _TIMES, _BIAS, _STATE = range(5)
_KINDS: dict[DType, tuple[CType, str]] = {
    DType.INT8: ("int8_t", "state8"),
    DType.INT16: ("int16_t", "state16"),
}


def _svdf(context: Context) -> Lowered:
    source, features, times = (context.input(i) for i in (_INPUT, _FEATURES, _TIMES))
    state, out = context.input(_STATE), context.output()
    kind = _KINDS.get(state.dtype)
    if kind is None or times.dtype != state.dtype or not state.is_variable:
        raise context.unsupported(
            "its state is not a variable of its time weights' type, int8 or int16"
        )
    if features.dtype is not DType.INT8 or out.dtype is not DType.INT8:
        raise context.unsupported("its feature weights and its output are not int8")
    if not len(source.shape) == len(features.shape) == len(times.shape) == len(out.shape) == 2:
        raise context.unsupported("its operands are not matrices")
    (batches, inputs), (filters, memory) = source.shape, times.shape
    rank, units = context.option("rank"), out.shape[1]
    sizes = (features.shape, out.shape[0], state.elements)
    if sizes != ((filters, inputs), batches, batches * filters * memory):
        raise context.unsupported("its operands' shapes do not match")
    if rank < 1 or units * rank != filters or 0 in (batches, inputs, memory, units):
        raise context.unsupported(f"{filters} filters of rank {rank} do not make {units} units")
    if max(inputs, units, rank, memory) > 65535 or batches > 32767:
        raise context.unsupported("a size is out of range")
    return context.node(
        kernel=f"lt_svdf_{kind[1]}_row",
        header="lt_svdf.h",
        params=_params(context, kind[0], (inputs, units, rank, memory)),
        inputs=(port(source, batches, range(batches)),),
        outputs=(port(out, batches, range(batches)), port(state, batches, range(batches))),
        steps=batches,
        work=_work(batches, inputs, units, rank, memory),
    )


def _work(batches: int, inputs: int, units: int, rank: int, memory: int) -> Counted:
    """A step finds the newest entry of each filter, and moves on its others, which it sums."""
    filters = batches * units * rank
    return Counted.of(
        1,
        units=batches * units,
        filters=filters,
        moved=filters * (memory - 1),
        moved_fours=filters * ((memory - 1) // 4),
        moved_rests=filters * ((memory - 1) % 4),
        **dots(batches * fours_of(units * rank), inputs),
    )


def _params(context: Context, ctype: CType, sizes: tuple[int, int, int, int]) -> Params:
    scales = [per_tensor(context, context.input(i))[0] for i in (0, 1, 2, 4)]
    source, features, times, state = scales
    output_scale, output_zero = per_tensor(context, context.output())
    state_zero = per_tensor(context, context.input(_STATE))[1]
    if ctype == "int16_t" and state_zero != 0:
        raise context.unsupported("its state has a zero point other than 0")
    state_factor = multiplier(context, source * features / state)
    output_factor = multiplier(context, state * times / output_scale)
    units = sizes[1]
    bias = np.zeros(units, np.int64)
    if context.optional(_BIAS) is not None:
        bias = context.constant(_BIAS).astype(np.int64).reshape(-1)
    if len(bias) != units:
        raise context.unsupported(f"its bias has {len(bias)} values for {units} units")
    weights, over_time = (context.constant(i).astype(np.int64) for i in (_FEATURES, _TIMES))
    input_zero = per_tensor(context, context.input(_INPUT))[1]
    bias = bias - state_zero * over_time.reshape(units, -1).sum(axis=1)
    return Params(
        "lt_svdf",
        (
            ("features", Array("int8_t", context.constant(_FEATURES), weights=True)),
            ("start", Array("int32_t", int32(-input_zero * weights.sum(axis=1)), weights=True)),
            ("times", Array(ctype, context.constant(_TIMES), weights=True)),
            ("bias", Array("int32_t", int32(bias), weights=True)),
            *zip(("inputs", "units", "rank", "memory"), sizes, strict=True),
            ("state_multiplier", state_factor[0]),
            ("output_multiplier", output_factor[0]),
            ("state_shift", state_factor[1]),
            ("output_shift", output_factor[1]),
            ("output_zero", output_zero),
            ("state_zero", state_zero),
        ),
    )


LOWERINGS = {"SVDF": Lowering(_svdf, frozenset({DType.INT8}))}

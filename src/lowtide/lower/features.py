"""From frames of sound to features: params of lt_spectrum.h and lt_filter_bank.h.

SignalWindow, SignalFftAutoScale, SignalEnergy, SignalFilterBank and what follows it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering, whole
from lowtide.lower.counts import Counted
from lowtide.lower.nodes import Array, Lowered, Params, Port, Value

_MOST = 65535
_GAINS = 125
_LOGARITHMS = 128


def _check(
    context: Context, options: tuple[str, ...], types: tuple[DType, ...], made: tuple[DType, ...]
) -> None:
    """Raises ModelError for other options, or tensors of other types or of no size that fits."""
    op, tensors = context.op, context.graph.tensors
    if tuple(op.options) != options:
        raise context.unsupported("its options do not match the operator")
    known = len(types)
    found = tuple(tensors[t].dtype for t in op.inputs[:known] if t >= 0)
    if found != types or tuple(tensors[t].dtype for t in op.outputs) != made:
        raise context.unsupported(
            "its tensors do not have the types that the reference kernel takes"
        )
    if any(not 0 < tensors[t].elements <= _MOST for t in (*op.inputs, *op.outputs)):
        raise context.unsupported("a size is out of range")


def _shift(context: Context, name: str, most: int = 31) -> int:
    shift = context.option(name)
    if not 0 <= shift <= most:
        raise context.unsupported(f"its option {name} is {shift}, but it must be 0 to {most}")
    return shift


def _channels(context: Context, *tensors: Tensor) -> int:
    """How many channels the output has, and all of `tensors`."""
    count = context.output().elements
    if any(tensor.elements != count for tensor in tensors):
        raise context.unsupported(f"its tensors do not all have {count} channels")
    return count


def _one(
    context: Context,
    name: str,
    header: str,
    fields: tuple[tuple[str, Value], ...],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    work: float = 0,
) -> Lowered:
    """A node of one step, which sees all of its tensors."""
    return context.node(
        kernel=f"lt_{name}_row",
        header=header,
        params=Params(f"lt_{name}", fields),
        inputs=tuple(map(whole, inputs)),
        outputs=tuple(map(whole, outputs)),
        steps=1,
        work=Counted.of(1, written=sum(tensor.bytes for tensor in outputs), work=work),
    )


def _window(context: Context) -> Lowered:
    _check(context, ("shift",), (DType.INT16,) * 2, (DType.INT16,))
    source, out, weights = context.input(0), context.output(), context.constant(1)
    rows = source.elements // weights.size
    if rows * weights.size != source.elements or out.elements != source.elements or rows > 32767:
        raise context.unsupported(f"its tensors are not frames of {weights.size} samples")
    return context.node(
        kernel="lt_window_row",
        header="lt_spectrum.h",
        params=Params(
            "lt_window",
            (
                ("weights", Array("int16_t", weights, weights=True)),
                ("count", weights.size),
                ("shift", _shift(context, "shift")),
            ),
        ),
        inputs=(Port(source.id, rows, source.bytes // rows),),
        outputs=(Port(out.id, rows, out.bytes // rows),),
        steps=rows,
    )


def _auto_scale(context: Context) -> Lowered:
    _check(context, (), (DType.INT16,), (DType.INT16, DType.INT32))
    source, out, scale = context.input(0), context.output(), context.output(1)
    if source.elements != out.elements or scale.elements != 1:
        raise context.unsupported("its input and output differ in size")
    fields = (("count", out.elements),)
    return _one(context, "auto_scale", "lt_spectrum.h", fields, (source,), (out, scale))


def _energy(context: Context) -> Lowered:
    _check(context, ("end_index", "start_index"), (DType.INT16,), (DType.UINT32,))
    source, out = context.input(0), context.output()
    end, begin = context.option("end_index"), context.option("start_index")
    if not 0 <= begin <= end <= min(out.elements, source.elements // 2):
        raise context.unsupported(f"it has no energies {begin} to {end}")
    fields = ("begin", begin), ("end", end), ("count", out.elements)
    return _one(context, "energy", "lt_spectrum.h", fields, (source,), (out,))


def _filter_bank(context: Context) -> Lowered:
    kinds = (DType.UINT32, *(DType.INT16,) * 5)
    _check(context, ("num_channels",), kinds, (DType.UINT64,))
    source, out = context.input(0), context.output()
    channels = _channels(context)
    weights, unweights, starts, weight_starts, widths = (
        context.constant(i).reshape(-1) for i in range(1, 6)
    )
    if context.option("num_channels") != channels or any(
        len(of) != channels + 1 for of in (starts, weight_starts, widths)
    ):
        raise context.unsupported(f"its tensors do not all have {channels} channels")
    known = min(len(weights), len(unweights))
    bands = zip(starts.tolist(), weight_starts.tolist(), widths.tolist(), strict=True)
    for start, weight, width in bands:
        if width > 0 and not (
            0 <= start <= source.elements - width and 0 <= weight <= known - width
        ):
            raise context.unsupported("a band goes beyond its energies or its weights")
    if min(weights.min(), unweights.min()) < 0:
        raise context.unsupported("a weight is below 0")
    widths = np.maximum(widths, 0)
    fields: tuple[tuple[str, Value], ...] = (
        ("weights", _table(weights)),
        ("unweights", _table(unweights)),
        ("starts", _table(np.where(widths > 0, starts, 0))),
        ("weight_starts", _table(np.where(widths > 0, weight_starts, 0))),
        ("widths", _table(widths)),
        ("channels", channels),
    )
    work = 2.0 * int(widths.sum())
    return _one(context, "filter_bank", "lt_filter_bank.h", fields, (source,), (out,), work)


def _table(values: NDArray[np.int16]) -> Array:
    return Array("uint16_t", values.astype(np.uint16), weights=True)


def _square_root(context: Context) -> Lowered:
    _check(context, (), (DType.UINT64, DType.INT32), (DType.UINT32,))
    source, scale, out = context.input(0), context.input(1), context.output()
    channels = _channels(context, source)
    if scale.elements != 1 or scale.is_constant:
        raise context.unsupported("its scale is not a single number that another operator makes")
    fields = (("channels", channels),)
    both = (source, scale)
    return _one(context, "square_root", "lt_filter_bank.h", fields, both, (out,), 32.0 * channels)


def _subtraction(context: Context) -> Lowered:
    names = (
        *("alternate_one_minus_smoothing", "alternate_smoothing", "clamping"),
        *("min_signal_remaining", "num_channels", "one_minus_smoothing", "smoothing"),
        *("smoothing_bits", "spectral_subtraction_bits"),
    )
    _check(context, names, (DType.UINT32,), (DType.UINT32,) * 2)
    source, out, noise = context.input(0), context.output(), context.output(1)
    channels = _channels(context, source, noise)
    if context.option("num_channels") != channels or len(context.op.inputs) != 2:
        raise context.unsupported(f"its tensors do not all have {channels} channels")
    smoothing, one_minus = (
        tuple(context.option(name) & 0xFFFFFFFF for name in (even, f"alternate_{even}"))
        for even in ("smoothing", "one_minus_smoothing")
    )
    fields: tuple[tuple[str, Value], ...] = (
        ("even_smoothing", smoothing[0]),
        ("odd_smoothing", smoothing[1]),
        ("even_one_minus", one_minus[0]),
        ("odd_one_minus", one_minus[1]),
        ("least", context.option("min_signal_remaining") & 0xFFFFFFFF),
        ("channels", channels),
        ("smoothing_bits", _shift(context, "smoothing_bits")),
        ("bits", _shift(context, "spectral_subtraction_bits", 63)),
        ("clamps", int(bool(context.option("clamping")))),
    )
    made = (out, noise, context.input(1))
    return _one(context, "subtraction", "lt_filter_bank.h", fields, (source,), made)


def _pcan(context: Context) -> Lowered:
    kinds = (DType.UINT32, DType.UINT32, DType.INT16)
    _check(context, ("snr_shift",), kinds, (DType.UINT32,))
    source, noise, gains = context.input(0), context.input(1), context.constant(2).reshape(-1)
    channels = _channels(context, source, noise)
    if len(gains) < _GAINS:
        raise context.unsupported(f"its table has {len(gains)} values instead of {_GAINS}")
    fields: tuple[tuple[str, Value], ...] = (
        ("gains", Array("int16_t", gains[:_GAINS], weights=True)),
        ("channels", channels),
        ("shift", _shift(context, "snr_shift", 63)),
    )
    both = (source, noise)
    return _one(context, "pcan", "lt_filter_bank.h", fields, both, (context.output(),))


def _log(context: Context) -> Lowered:
    names = ("input_correction_bits", "output_scale")
    _check(context, names, (DType.UINT32,), (DType.INT16,))
    source, out = context.input(0), context.output()
    fields: tuple[tuple[str, Value], ...] = (
        ("logarithms", Array("uint16_t", _logarithms())),
        ("scale", context.option("output_scale") & 0xFFFFFFFF),
        ("channels", _channels(context, source)),
        ("bits", _shift(context, "input_correction_bits")),
    )
    return _one(context, "log", "lt_filter_bank.h", fields, (source,), (out,))


def _logarithms() -> NDArray[np.uint16]:
    """2^16 * (log2(1 + x) - x) at 129 places: none is near a half, so that any C library gives these."""
    places = [i / _LOGARITHMS for i in range(_LOGARITHMS + 1)]
    return np.array([round((math.log2(1 + x) - x) * (1 << 16)) for x in places], np.uint16)


_INT16, _UINT32 = frozenset({DType.INT16}), frozenset({DType.UINT32})

LOWERINGS = {
    "SignalEnergy": Lowering(_energy, _INT16),
    "SignalFftAutoScale": Lowering(_auto_scale, _INT16),
    "SignalFilterBank": Lowering(_filter_bank, _UINT32),
    "SignalFilterBankLog": Lowering(_log, _UINT32),
    "SignalFilterBankSpectralSubtraction": Lowering(_subtraction, _UINT32),
    "SignalFilterBankSquareRoot": Lowering(_square_root, frozenset({DType.UINT64})),
    "SignalPCAN": Lowering(_pcan, _UINT32),
    "SignalWindow": Lowering(_window, _INT16),
}

"""An audio front end: sound in, the features of speech networks out, made of TFLM's signal operators.

Why: what hears needs one before its network, and it is most of the work. Its settings are those that
TFLM's own audio preprocessor and microWakeWord have: 16 kHz, frames of 30 ms, here every 10 ms, 40
channels from 125 to 7,500 Hz, noise taken away, amplified channel by channel (PCAN), logarithms, int8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.trigonometry import cosine
from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

RATE, FRAME, HOP, POINTS = 16000, 480, 160, 512
CHANNELS, LOWEST, HIGHEST = 40, 125.0, 7500.0
_BITS = 12  # of windows and weights, after the point
_SMOOTHED = 14  # of what follows the noise
_SMOOTHING = (0.025, 0.06)  # of even channels, and of odd ones
_REMAINS = 0.05
_STRENGTH, _OFFSET, _GAIN_BITS, _NOISE_BITS = 0.95, 80.0, 21, 10
_CORRECTION = 3  # bits: those of the transform's points, less half of those of the weights
_INT16 = 7  # the schema's number

Integers = NDArray[np.int64]


def window() -> Integers:
    """Hann's, between its samples."""
    places = [2 * math.pi / FRAME * (i + 0.5) for i in range(FRAME)]
    return np.array([round((0.5 - 0.5 * cosine(x)) * (1 << _BITS)) for x in places])


def bands() -> tuple[Integers, Integers, Integers, Integers]:
    """(weights, unweights, first energy of each band, energies in each), one band more than channels.

    Bands are as wide as each other on the mel scale, and a band's weights fall over it from 1 to 0. What
    an energy has not in one channel it has in the next.
    """

    def mel(frequency: float) -> float:
        return 1127.0 * math.log1p(frequency / 700.0)

    spacing = (mel(HIGHEST) - mel(LOWEST)) / (CHANNELS + 1)
    edges = [mel(LOWEST) + spacing * i for i in range(CHANNELS + 2)]
    step = RATE / POINTS
    at = round(1 + LOWEST / step)
    weights: list[float] = []
    starts, widths = [], []
    for low, high in pairwise(edges):
        starts.append(at)
        while mel(at * step) <= high:
            weights.append((high - mel(at * step)) / (high - low))
            at += 1
        widths.append(at - starts[-1])
    one = 1 << _BITS
    falling = [int(weight * one) for weight in weights]
    rising = [int((1 - weight) * one) for weight in weights]
    return np.array(falling), np.array(rising), np.array(starts), np.array(widths)


def gains() -> Integers:
    """PCAN's gains: for numbers of each length in bits, a parabola through three places."""

    def gain(x: int) -> int:
        real = (x / (1 << (_NOISE_BITS - _CORRECTION)) + _OFFSET) ** -_STRENGTH
        return min(int(real * (1 << _GAIN_BITS) + 0.5), 32767)

    table = [gain(0), gain(1)]
    for bits in range(2, 33):
        first = 1 << (bits - 1)
        last = 2 * first - (bits == 32)
        y0, y1, y2 = gain(first), gain(first + first // 2), gain(last)
        slope = 4 * (y1 - y0) - (y2 - y0)
        table += [y0, slope, (y2 - y0) - slope, 0]
    return np.array(table[:125])


class SignalNet:
    """A network under construction: tensors by number."""

    def __init__(self) -> None:
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []

    def tensor(
        self, name: str, shape: tuple[int, ...], dtype: str, data: Any = None, scale: float = 0
    ) -> int:
        values = None if data is None else np.array(data, dtype.lower()).reshape(shape)
        scales = np.array([scale], np.float32) if scale else None
        self.tensors.append(TensorSpec(name, shape, dtype, scales, -128 if scale else 0, 0, values))
        return len(self.tensors) - 1

    def const(self, name: str, values: Integers, dtype: str = "INT16") -> int:
        return self.tensor(name, values.shape, dtype, values)

    def signal(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: Option
    ) -> int:
        made = tuple(outputs)
        self.ops.append(OpSpec("CUSTOM", 1, tuple(inputs), made, "", options, (), f"Signal{name}"))
        return made[0]

    def op(
        self, kind: str, inputs: Sequence[int], made: int, options: Mapping[str, Option] = {}
    ) -> int:
        table = {"MINIMUM": "MaximumMinimum", "MAXIMUM": "MaximumMinimum"}.get(kind, kind.title())
        self.ops.append(OpSpec(kind, 1, tuple(inputs), (made,), f"{table}Options", options))
        return made


def front_end() -> bytes:
    """10 ms of new sound, (1, 160) int16, -> 40 features int8, as a .tflite file."""
    net = SignalNet()
    sound = net.tensor("serving_default_input_0:0", (1, HOP), "INT16")
    frame = net.tensor("frame", (1, 1, FRAME), "INT16")
    full = net.tensor("frame_is_full", (), "BOOL")
    options: dict[str, Option] = {"frame_size": FRAME, "frame_step": HOP, "prefill": True}
    net.signal("Framer", [sound], [frame, full], **options)
    x = net.tensor("window", (1, 1, FRAME), "INT16")
    net.signal("Window", [frame, net.const("window/hann", window())], [x], shift=_BITS)
    shape = net.const("flat/shape", np.array([FRAME]), "INT32")
    x = net.op("RESHAPE", [x, shape], net.tensor("flat", (FRAME,), "INT16"))
    scale = net.tensor("scale_bits", (), "INT32")
    x = net.signal("FftAutoScale", [x], [net.tensor("scaled", (FRAME,), "INT16"), scale])
    spectrum = net.tensor("spectrum", (POINTS + 2,), "INT16")
    net.signal("Rfft", [x], [spectrum], T=_INT16, fft_length=POINTS)
    weights, unweights, starts, widths = bands()
    energies = net.tensor("energies", (POINTS // 2 + 1,), "UINT32")
    begin, end = int(starts[0]), int(starts[-1] + widths[-1])
    net.signal("Energy", [spectrum], [energies], start_index=begin, end_index=end)
    tables = [
        net.const("bank/weights", weights),
        net.const("bank/unweights", unweights),
        net.const("bank/starts", starts),
        net.const("bank/weight_starts", np.cumsum(widths) - widths),
        net.const("bank/widths", widths),
    ]
    bank = net.tensor("bank", (CHANNELS,), "UINT64")
    net.signal("FilterBank", [energies, *tables], [bank], num_channels=CHANNELS)
    roots = net.tensor("roots", (CHANNELS,), "UINT32")
    net.signal("FilterBankSquareRoot", [bank, scale], [roots])
    net_of = [net.tensor(name, (CHANNELS,), "UINT32") for name in ("clean", "noise")]
    net.signal("FilterBankSpectralSubtraction", [roots], net_of, **following())
    loud = net.tensor("amplified", (CHANNELS,), "UINT32")
    shift = _GAIN_BITS - _CORRECTION - 12
    net.signal("PCAN", [*net_of, net.const("gains", gains())], [loud], snr_shift=shift)
    x = net.tensor("logarithms", (CHANNELS,), "INT16")
    net.signal("FilterBankLog", [loud], [x], input_correction_bits=_CORRECTION, output_scale=64)
    return write(_quantised(net, sound, x))


def following() -> dict[str, Option]:
    """How the noise is followed."""
    one = 1 << _SMOOTHED
    even, odd = (int(part * one) for part in _SMOOTHING)
    return {
        "alternate_one_minus_smoothing": one - odd,
        "alternate_smoothing": odd,
        "clamping": False,
        "min_signal_remaining": int(_REMAINS * one),
        "num_channels": CHANNELS,
        "one_minus_smoothing": one - even,
        "smoothing": even,
        "smoothing_bits": _NOISE_BITS,
        "spectral_subtraction_bits": _SMOOTHED,
    }


def _quantised(net: SignalNet, sound: int, x: int) -> NetSpec:
    """Logarithms, of which 26 * 25.6 = 666 are 26 in real numbers, to int8: all in int32."""

    def made(name: str) -> int:
        return net.tensor(name, (CHANNELS,), "INT32")

    def number(value: int) -> int:
        return net.tensor(f"number_{value}", (), "INT32", value)

    fused: dict[str, Option] = {"fused_activation_function": 0}
    least = number(-128)
    x = net.op("CAST", [x], made("wide"))
    x = net.op("MUL", [x, number(256)], made("times"), fused)
    x = net.op("ADD", [x, number(333)], made("rounded"), fused)
    x = net.op("DIV", [x, number(666)], made("divided"), fused)
    x = net.op("ADD", [x, least], made("shifted"), fused)
    x = net.op("MINIMUM", [x, number(127)], made("at_most"))
    x = net.op("MAXIMUM", [x, least], made("at_least"))
    features = net.tensor("StatefulPartitionedCall:0", (CHANNELS,), "INT8", None, 26.0 / 255.0)
    net.op("CAST", [x], features)
    tensors, ops = tuple(net.tensors), tuple(net.ops)
    return NetSpec(
        "audio-front-end", tensors, ops, (sound,), (features,), signature="serving_default"
    )

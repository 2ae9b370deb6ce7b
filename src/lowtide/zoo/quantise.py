"""Choice of quantisation parameters, following the TFLite int8 specification.

Why: random weights alone give activations that die out or saturate within a few layers. Standardising
every channel on calibration data, as folded batch normalisation does in a trained network, keeps all
of them in use.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo import noise
from lowtide.zoo.kernels import Reals
from lowtide.zoo.spec import Quant

INT8_MIN, INT8_MAX = -128, 127
_STEPS = INT8_MAX - INT8_MIN
_STATISTICS_ROWS = 1024  # positions looked at per layer; enough for a scale, and fast


class Activation(enum.Enum):
    """A fused activation: its value is the schema's number."""

    NONE = 0
    RELU = 1
    RELU6 = 3


SOFTMAX = Quant(1.0 / 256.0, -128)
RELU6 = Quant(float(np.float32(6.0 / _STEPS)), INT8_MIN)
"""Quantisation of the range [0, 6]: what every tensor behind a fused ReLU6 gets."""


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """Weight scales (one per channel or one in all) and int32 biases."""

    scales: NDArray[np.float32]
    bias: NDArray[np.int32]


def from_range(low: float, high: float) -> Quant:
    """The quantisation that covers [low, high] and represents 0 exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / _STEPS)) or 1.0
    zero_point = round(INT8_MIN - low / scale)
    return Quant(scale, max(INT8_MIN, min(INT8_MAX, zero_point)))


def round_to(values: Reals, zero_point: int) -> NDArray[np.int8]:
    """Reals in units of the scale, as saturated int8 around `zero_point`; overwrites `values`."""
    np.rint(values, out=values)
    values += zero_point
    np.clip(values, INT8_MIN, INT8_MAX, out=values)
    return values.astype(np.int8)


def fold(
    acc: Reals,
    in_scale: float,
    seed: str,
    *,
    activation: Activation,
    bias: bool,
    per_channel: bool,
    gain: float,
) -> Folded:
    """Weight scales and biases that give accumulators (rows, channels) a deviation near `gain`.

    With a bias, channels are also centred on a small seeded offset; without, only scaled, and the
    bias is 0: some kernels insist on having one, so that is what converters emit. All statistics are
    exact sums of integers. ReLU6 gets twice the deviation, to use its whole range.
    """
    channels = acc.shape[1]
    rows = acc[:: max(1, acc.shape[0] // _STATISTICS_ROWS)].astype(np.float64)
    centre = np.rint(rows.mean(axis=0)) if bias else np.zeros(channels)
    spread = np.abs(rows - centre).mean(axis=0)
    if not per_channel:
        spread = np.array([spread.mean()])
    spread[spread == 0.0] = 1.0
    jitter = noise.uniform(f"{seed}/gain", len(spread), 0.75, 1.25)
    target = gain * (2.0 if activation is Activation.RELU6 else 1.0)
    scales = (jitter * target / (in_scale * spread)).astype(np.float32)
    if not bias:
        return Folded(scales, np.zeros(channels, np.int32))
    low, high = {
        Activation.NONE: (-0.5, 0.5),
        Activation.RELU: (-0.25, 0.75),
        Activation.RELU6: (0.5, 2.5),
    }[activation]
    offset = noise.uniform(f"{seed}/offset", channels, low * gain, high * gain)
    return Folded(
        scales, (np.rint(offset / bias_scales(in_scale, scales)) - centre).astype(np.int32)
    )


def bias_scales(in_scale: float, scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales of the int32 bias: input scale times weight scales, in float32 as in the file."""
    return (np.float64(in_scale) * scales.astype(np.float64)).astype(np.float32)


def finish(
    acc: Reals, folded: Folded, in_scale: float, activation: Activation, quant: Quant | None
) -> tuple[NDArray[np.int8], Quant]:
    """Accumulators (rows, channels) -> (int8 output, its quantisation); overwrites `acc`.

    `quant` fixes the quantisation; otherwise it covers the values seen, or [0, 6] for ReLU6.
    """
    steps = bias_scales(in_scale, folded.scales).astype(np.float64)
    acc += folded.bias.astype(acc.dtype)
    if quant is None:
        low = float((acc.min(axis=0) * steps).min())
        high = float((acc.max(axis=0) * steps).max())
        quant = _activated(low, high, activation)
    acc *= (steps / quant.scale).astype(acc.dtype)
    return _clamped(acc, quant, activation), quant


def requantise(
    real: NDArray[np.float64], activation: Activation = Activation.NONE, quant: Quant | None = None
) -> tuple[NDArray[np.int8], Quant]:
    """Real values -> (int8 values, their quantisation: `quant`, or one that covers the values)."""
    if quant is None:
        quant = _activated(float(real.min()), float(real.max()), activation)
    return _clamped(real / quant.scale, quant, activation), quant


def _activated(low: float, high: float, activation: Activation) -> Quant:
    if activation is Activation.RELU6:
        return RELU6
    return from_range(max(low, 0.0) if activation is Activation.RELU else low, high)


def _clamped(
    units: NDArray[np.floating[Any]], quant: Quant, activation: Activation
) -> NDArray[np.int8]:
    if activation is not Activation.NONE:
        np.maximum(units, 0.0, out=units)
    if activation is Activation.RELU6:
        np.minimum(units, 6.0 / quant.scale, out=units)
    return round_to(units, quant.zero_point)

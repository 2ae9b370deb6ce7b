"""The random networks of `random_nets` with types, scales, zero points and weights drawn together.

Why together: a calibrated network has multipliers far below one half, zero points in the middle and
weights of all sizes. What goes wrong lies where a type meets a scale that no calibration gives: a
channel whose multiplier needs no right shift, a zero point at the end of its type, weights that are all
at the ends, a bias that fills an accumulator. Every number is drawn from the seed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byte_nets import SAME, WEIGHTED, byte_network, groups_of
from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write
from random_nets import random_spec

_SOFTMAX = {"INT8": (1 / 256, -128), "INT16": (1 / 32768, 0)}

Array = NDArray[Any]


def odd_network(seed: int) -> bytes:
    """The network number `seed`: int8, uint8 or int16."""
    rng = Random(seed)
    kind = rng.choice(("INT8", "INT8", "UINT8", "INT16"))
    if kind == "UINT8":
        return byte_network(seed)
    return write(requantised(random_spec(seed, heads=4), kind, rng))


def requantised(spec: NetSpec, kind: str, rng: Random) -> NetSpec:
    """A network of int8 as one of `kind`, INT8 or INT16, with odd quantisation."""
    tensors = list(spec.tensors)
    weights = {op.inputs[1] for op in spec.ops if op.kind in WEIGHTED}
    groups = groups_of(spec, SAME | {"CONCATENATION"})
    fixed = {groups[op.outputs[0]] for op in spec.ops if op.kind == "SOFTMAX"}
    quants: dict[int, tuple[float, int]] = {}
    for index, old in enumerate(spec.tensors):
        if old.dtype != "INT8" or index in weights:
            continue
        assert old.scales is not None
        group = groups[index]
        if group in fixed:
            quants[group] = _SOFTMAX[kind]
        if group not in quants:
            scale = float(old.scales[0]) * rng.choice((1.0, 0.7, 1.3))
            zero = rng.choice((old.zero_point, -128, 127, rng.randint(-128, 127)))
            quants[group] = (scale, zero) if kind == "INT8" else (scale / 256, 0)
        scale, zero = quants[group]
        scales = np.array([scale], np.float32)
        tensors[index] = replace(old, dtype=kind, scales=scales, zero_point=zero)
    for op in spec.ops:
        if op.kind in WEIGHTED:
            _weigh(tensors, op, kind, rng)
    return replace(spec, tensors=tuple(tensors))


def _weigh(tensors: list[TensorSpec], op: OpSpec, kind: str, rng: Random) -> None:
    """Other weights, biases and multipliers for an operator whose activations have their scales."""
    old, bias = tensors[op.inputs[1]], tensors[op.inputs[2]]
    (read,), (made,) = (tensors[t].scales for t in (op.inputs[0], op.outputs[0]))  # type: ignore[misc]  # one each
    assert old.scales is not None
    assert old.data is not None
    assert bias.data is not None
    style = rng.choice(("small", "small", "half", "one large", "tiny", "large"))
    multipliers = [_multiplier(style, at, rng) for at in range(len(old.scales))]
    scales = (np.array(multipliers) * float(made) / float(read)).astype(np.float32)
    data = _contents(old.data, rng)
    largest = 1 << rng.choice((4, 12, 20) if style in ("large", "one large") else (4, 12, 20, 30))
    biases = np.array([rng.randint(-largest, largest) for _ in range(bias.data.size)])
    wide = kind == "INT16"
    tensors[op.inputs[1]] = replace(old, scales=scales, data=data)
    tensors[op.inputs[2]] = replace(
        bias,
        dtype="INT64" if wide else "INT32",
        scales=(scales * read).astype(np.float32),
        data=biases.astype(np.int64 if wide else np.int32).reshape(bias.shape),
    )


def _multiplier(style: str, channel: int, rng: Random) -> float:
    match style:
        case "half":
            return 0.5 + rng.choice((0, 1, -1)) * math.ldexp(1, -rng.randint(2, 24))
        case "one large" if channel == 0:
            return rng.uniform(0.5, 3)
        case "large":
            return rng.uniform(0.3, 3)
        case "tiny":
            return math.exp2(-rng.uniform(12, 30))
        case _:
            return math.exp2(-rng.uniform(2, 12))


def _contents(old: Array, rng: Random) -> Array:
    """Weights of all sizes, or at the ends, or hardly any."""
    draw = np.random.default_rng(rng.randrange(1 << 32))
    match rng.choice(("as before", "as before", "full", "ends", "few")):
        case "full":
            return draw.integers(-128, 128, old.shape).astype(np.int8)
        case "ends":
            return draw.choice(np.array([-128, -127, 127], np.int8), old.shape)
        case "few":
            return np.where(draw.random(old.shape) < 0.1, old, 0).astype(np.int8)
        case _:
            return old

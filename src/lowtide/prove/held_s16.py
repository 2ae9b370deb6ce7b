"""What the params of kernels of int16 hold; see prove/held.py."""

from __future__ import annotations

import numpy as np

from lowtide.prove.held_params import Held, Integers, Read, nothing_in
from lowtide.prove.scaling import Way


def _s16(read: Read, weights: Integers) -> Held:
    """Sums of 16 bits in one of three ways: see lt_conv_2x2.h."""
    count = read.of.channels
    more = max(4, count) if read.kernel == "lt_conv_lanes_s16_row" else count
    zero = read.number("output_zero") if "output_zero" in read.params.fields else 0
    if not read.has("shift"):
        left = read.number("left") if read.has("left") else 0
        factor = read.array("factor", more)[:count]
        scaling = read.scaling("high", factor, np.full(count, left), zero)
        return Held(weights, read.array("start", more)[:count], scaling, read.all)
    factors = read.array("factor", count), read.array("shift", count)
    if read.has("bias"):
        scaling = read.scaling("wide", *factors, zero)
        return Held(weights, read.array("bias", count), scaling, read.all, bits=64)
    start = read.array("start", more)[:count]
    return Held(weights, start, read.scaling("scale", *factors, zero), read.all)


def two_by_two(read: Read) -> Held:
    of = read.of
    run = of.kernel_w * of.depth
    fours = -(-run // 4)
    taken = read.array("weights", of.channels, of.kernel_h, fours, 4)[..., [0, 2, 1, 3]]
    rows = taken.reshape(of.channels, of.kernel_h, -1)
    nothing_in(rows[:, :, run:])
    return _s16(read, rows[:, :, :run].reshape(of.channels, -1))


def lanes(read: Read) -> Held:
    return _s16(read, read.array("weights", read.of.channels, read.of.products))


def depthwise_s16(read: Read) -> Held:
    return _s16(read, read.array("weights", read.of.products, read.of.channels).T)


def conv_s16(read: Read) -> Held:
    count = read.of.channels
    wide = read.has("bias")
    factors = read.array("multiplier", count), read.array("shift", count)
    way: Way = "wide" if wide else "scale"
    scaling = read.scaling(way, *factors, read.number("output_zero"))
    start = read.array("bias" if wide else "bias_32", count)
    weights = read.array("weights", count, read.of.products)
    return Held(weights, start, scaling, read.all, bits=64 if wide else 32)

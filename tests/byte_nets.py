"""The random networks of `random_nets` as ones of uint8, with zero points and scales of all kinds.

Why made of others: what makes rows hard to schedule is the same for both types. What is particular to
uint8 lies in its weights, which have a zero point, and in concatenations of maps of several scales.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write
from random_nets import random_spec

WEIGHTED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"})
SAME = frozenset({"MAX_POOL_2D", "AVERAGE_POOL_2D", "SPLIT", "RESHAPE", "PAD", "TRANSPOSE"})
"""Their outputs are quantised as their inputs are."""


def byte_network(seed: int) -> bytes:
    """The network number `seed`, in uint8."""
    return write(in_bytes(random_spec(seed, heads=4), Random(seed)))


def in_bytes(spec: NetSpec, rng: Random) -> NetSpec:
    """A network of int8 as one of uint8, with odd quantisation."""
    tensors = list(spec.tensors)
    weights = {op.inputs[1] for op in spec.ops if op.kind in WEIGHTED}
    groups = groups_of(spec, SAME)
    fixed = {groups[op.outputs[0]] for op in spec.ops if op.kind == "SOFTMAX"}
    quants: dict[int, tuple[float, int]] = {}
    for index, old in enumerate(spec.tensors):
        if old.dtype != "INT8" or index in weights:
            continue
        assert old.scales is not None
        group = groups[index]
        if group not in quants:
            scale = float(old.scales[0]) * rng.choice((1.0, 1.0, 0.7, 1.3))
            quants[group] = scale, rng.choice((old.zero_point + 128, 0, 255, rng.randint(0, 255)))
        if group in fixed:
            quants[group] = 1 / 256, 0
        scale, zero = quants[group]
        scales = np.array([scale], np.float32)
        tensors[index] = replace(old, dtype="UINT8", scales=scales, zero_point=zero)
    for op in spec.ops:
        if op.kind in WEIGHTED:
            _weigh(tensors, op, rng)
    return replace(spec, tensors=tuple(tensors))


def _weigh(tensors: list[TensorSpec], op: OpSpec, rng: Random) -> None:
    """One scale and one zero point for the weights, which then may need nine bits without it."""
    old = tensors[op.inputs[1]]
    assert old.scales is not None
    assert old.data is not None
    scale = float(old.scales.max())
    zero = rng.choice((128, 127, 129, 120, 0, 255, rng.randint(0, 255)))
    spread = old.data.astype(np.int64) * rng.choice((1, 1, 2))
    data = np.clip(spread + zero, 0, 255).astype(np.uint8)
    tensors[op.inputs[1]] = TensorSpec(
        old.name, old.shape, "UINT8", np.array([scale], np.float32), zero, 0, data
    )
    source = tensors[op.inputs[0]].scales
    assert source is not None
    bias = tensors[op.inputs[2]]
    tensors[op.inputs[2]] = replace(bias, scales=np.array([source[0] * scale], np.float32))


def groups_of(spec: NetSpec, same: frozenset[str]) -> list[int]:
    """Tensor -> one number for all that are quantised alike: by operators of the kinds `same`."""
    groups = list(range(len(spec.tensors)))
    for op in spec.ops:
        if op.kind in same:
            mine = [t for t in (*op.inputs, *op.outputs) if spec.tensors[t].dtype == "INT8"]
            alike = {groups[t] for t in mine}
            groups = [min(alike) if group in alike else group for group in groups]
    return groups

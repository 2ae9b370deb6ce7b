"""What pose estimation puts behind its last map: the place of each peak, as rows and columns, in int32.

LiteRT runs these networks, TFLM does not: it has no FLOOR_DIV of integers.
"""

from __future__ import annotations

from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from schema_models import Net

WAYS = (
    Options(name="net"),
    Options(name="net", schedule="operators"),
    Options(name="net", input_mode="streamed", output_mode="streamed"),
    Options(name="net", target=find_target("cortex-m4"), simplify=False),
    Options(name="net", target=find_target("cortex-m55"), input_mode="const"),
)


def pose_network(seed: int) -> bytes:
    """A map of some points, a channel each; where each is greatest; what is there, and in floats."""
    rng = Random(seed)
    height, width, points = (rng.randint(2, 9) for _ in range(3))
    net = Net(np.int8, scale=0.05, zero=rng.randint(-9, 9))

    def op(kind: str, sources: list[int], shape: tuple[int, ...], **options: int) -> int:
        name = "".join(part.title() for part in kind.split("_"))
        made = getattr(schema, f"{name}OptionsT")(**options)
        return net.op(kind, sources, shape, dtype=np.int32, options=made)

    def view(source: int, *shape: int, **fields: Any) -> int:
        made = schema.ReshapeOptionsT(newShape=list(shape))
        return net.op("RESHAPE", [source, net.const(shape)], shape, options=made, **fields)

    heat = net.input((1, height, width, points))
    flat = view(heat, 1, height * width, points)
    place = op("ARG_MAX", [flat, net.const(1)], (1, points), outputType=2)
    wide = net.const([width] if rng.random() < 0.5 else np.full((1, points), width))
    row = op("FLOOR_DIV", [place, wide], (1, points))
    if rng.random() < 0.5:
        column = op("FLOOR_MOD", [place, wide], (1, points))
    else:
        before = op("MUL", [row, wide], (1, points))
        column = op("SUB", [place, before], (1, points))
    channel = net.const(range(points))
    parts = [view(of, points, dtype=np.int32) for of in (row, column)]
    index = op("PACK", [net.const(np.zeros(points)), *parts, channel], (points, 4), axis=1)
    net.operators[-1].builtinOptions.valuesCount = 4
    made = schema.GatherNdOptionsT()
    net.op("GATHER_ND", [heat, index], (points,), options=made)
    floats = net.op("CAST", [index], (points, 4), dtype=np.float32, options=schema.CastOptionsT())
    made = schema.QuantizeOptionsT()
    net.op("QUANTIZE", [floats], (points, 4), quant=(rng.choice((0.1, 1.0)), -5), options=made)
    return net.build()


@pytest.mark.parametrize("seed", range(10))
def test_pose_tails(seed: int) -> None:
    model = parse(pose_network(seed), path=f"pose-{seed}")
    result = verify(compile_model(model, WAYS[seed % len(WAYS)]), samples=6)
    assert result.bit_exact, result.mismatch

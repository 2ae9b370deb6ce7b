"""Convolutions whose type, shape, weights and way to their bytes are drawn together.

Why together: a list of cases crosses two axes and holds the others still. A fault that needs four of
them at once (bytes of uint8, one input channel, a window, weights of nine bits) is between all lists.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from conv_models import NONE, RELU, SAME, VALID, Layer, Models

from lowtide.ir import DType, Graph, Tensor
from lowtide.zoo.spec import OpSpec


def drawn(seed: int, dtype: str, layers: int) -> bytes:
    """A file of so many convolutions of INT8 or UINT8, each of an input of uint8 of its own.

    Each may be read by itself alone: so what lets readers flip its bytes asks each of them in turn.
    """
    rng, net = Random(seed), Models(seed, dtype)
    for _ in range(layers):
        _add(net, rng)
    return net.bytes(tuple(op.outputs[0] for op in net.ops if op.kind != "QUANTIZE"))


def _add(net: Models, rng: Random) -> None:
    low = 0 if net.dtype == "UINT8" else -128
    zeros = low, low + 255, low + 128, low + rng.randrange(256)
    channels = rng.choice((1, 1, 2, 3, 4, 8))
    shape = rng.choice((1, 1, 2)), rng.randint(1, 9), rng.randint(1, 9), channels
    x = net.input(*shape, zero=rng.choice(zeros))
    if net.dtype == "INT8":
        x = converted(net, x)
    kernel = rng.choice(((1, 1), (1, 3), (3, 1), (2, 2), (3, 3), (3, 3), (4, 5), shape[1:3]))
    stride = rng.choice(((1, 1), (1, 1), (2, 1), (2, 3)))
    dilation = rng.choice(((1, 1), (1, 1), (2, 2), (1, 3)))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    fits = reach[0] <= shape[1] and reach[1] <= shape[2]
    layer = Layer(
        stride=stride,
        dilation=dilation,
        padding=rng.choice((SAME, VALID)) if fits else SAME,
        activation=rng.choice((NONE, NONE, RELU)),
        zero=rng.choice(zeros),
    )
    if (
        net.dtype == "UINT8"
    ):  # without their zero point, random weights need nine bits, or eight at 128
        zero = rng.choice((128, 127, 0, 255, rng.randrange(256)))
        layer = replace(layer, per_channel=False, weights_zero=zero)
    elif rng.random() < 0.2:  # see `of_nibbles`
        layer = replace(layer, weights=np.array(rng.choice((-8, -3, 7))))
    if rng.random() < 0.5:
        net.depthwise(x, rng.choice((1, 1, 2, 5)), kernel, layer)
        return
    groups = 2 if net.dtype == "INT8" and channels % 2 == 0 and rng.random() < 0.3 else 1
    net.conv(x, rng.randint(1, 5) * groups, kernel, layer, groups=groups)


def converted(net: Models, x: int) -> int:
    """What QUANTIZE makes of `x`, which becomes one of uint8."""
    of = net.tensors[x]
    net.tensors[x] = replace(of, dtype="UINT8", zero_point=of.zero_point + 128)
    net.tensors.append(replace(of, name=f"{of.name}/s8"))
    net.ops.append(OpSpec("QUANTIZE", 1, (x,), (len(net.tensors) - 1,), "QuantizeOptions", {}))
    return len(net.tensors) - 1


def of_nibbles(graph: Graph) -> Graph:
    """The graph as if weights of int8 that need no more than four bits had no more in the file."""
    return replace(graph, tensors=tuple(map(_narrow, graph.tensors)))


def _narrow(tensor: Tensor) -> Tensor:
    if tensor.dtype is not DType.INT8 or tensor.data is None:
        return tensor
    values = np.frombuffer(tensor.data, np.int8)
    return replace(tensor, of_nibbles=bool(-8 <= values.min() <= values.max() < 8))

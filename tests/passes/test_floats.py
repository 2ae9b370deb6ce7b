"""Weights of hybrid files become floats: stored per tensor or per channel, as integers or halves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.soundness import verify
from lowtide.passes.floats import is_float, with_float_weights
from networks import loaded

WEIGHTS = np.array([[-128, 0], [5, 127]], np.int8)


def graph(quant: Quant | None, dtype: DType, data: bytes, *, through: bool = False) -> Graph:
    """0, and weights 1 (through a DEQUANTIZE as 2), bias 3 -> dense layer -> 4."""
    weights = 2 if through else 1
    ops = [Op(0, "DEQUANTIZE", (1,), (2,))] if through else []
    ops.append(Op(len(ops), "FULLY_CONNECTED", (0, weights, 3), (4,)))
    return verify(
        Graph(
            "g",
            (
                Tensor(0, "x", (1, 2), DType.FLOAT32),
                Tensor(1, "w", (2, 2), dtype, quant, data, buffer=7),
                Tensor(2, "floats", (2, 2), DType.FLOAT32),
                Tensor(3, "bias", (2,), DType.FLOAT32, data=np.zeros(2, "<f4").tobytes()),
                Tensor(4, "y", (1, 2), DType.FLOAT32),
            ),
            tuple(ops),
            (0,),
            (4,),
        )
    )


def weights_of(found: Graph) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    (op,) = verify(found).ops
    tensor = found.tensors[op.inputs[1]]
    assert (tensor.dtype, tensor.quant) == (DType.FLOAT32, None)
    assert tensor.data is not None
    return np.frombuffer(tensor.data, "<f4").reshape(tensor.shape)


def test_one_scale() -> None:
    found = with_float_weights(graph(Quant((0.5,), (3,), 0), DType.INT8, WEIGHTS.tobytes()))
    assert weights_of(found).tolist() == [[-65.5, -1.5], [1.0, 62.0]]


def test_a_scale_per_channel() -> None:
    for axis, want in ((0, [[-64.0, 0.0], [10.0, 254.0]]), (1, [[-64.0, 0.0], [2.5, 254.0]])):
        quant = Quant((0.5, 2.0), (0, 0), axis)
        found = with_float_weights(graph(quant, DType.INT8, WEIGHTS.tobytes()))
        assert weights_of(found).tolist() == want


def test_halves_through_a_conversion() -> None:
    """As exporters store half-wide weights; the DEQUANTIZE goes."""
    halves = np.array([[0.5, 1], [2, -3]], "<f2")
    found = with_float_weights(graph(None, DType.FLOAT16, halves.tobytes(), through=True))
    assert weights_of(found).tolist() == halves.tolist()


def test_what_has_no_such_weights_stays() -> None:
    plain = graph(None, DType.FLOAT32, np.zeros(4, "<f4").tobytes())
    assert with_float_weights(plain) is plain
    integers = loaded("figure1").graph
    assert with_float_weights(integers) is integers
    activation = graph(None, DType.FLOAT32, np.zeros(4, "<f4").tobytes())
    tensors = tuple(
        replace(t, data=None, dtype=DType.INT8, quant=Quant((1.0,), (0,), 0)) if t.id == 1 else t
        for t in activation.tensors
    )
    given = verify(replace(activation, tensors=tensors, inputs=(0, 1)))
    assert with_float_weights(given) is given


def test_which_networks_are_float() -> None:
    assert is_float(graph(None, DType.FLOAT32, np.zeros(4, "<f4").tobytes()))
    assert is_float(graph(Quant((0.5,), (0,), 0), DType.INT8, WEIGHTS.tobytes()))
    assert not is_float(loaded("figure1").graph)

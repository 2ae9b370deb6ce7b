"""Simplified elementwise operators in generated code, on all 256 values, against the oracle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from harness import differences

from lowtide.ir import Graph
from lowtide.passes.simplify import simplify
from lowtide.tflite.read import parse
from schema_models import Engine, Net, plain_net

SHAPE = (1, 4, 4, 16)


def values(net: Net, dtype: str) -> list[dict[int, np.ndarray]]:
    """Every value of an 8-bit type, forwards and backwards."""
    every = np.arange(256, dtype=np.uint8).view(dtype).reshape(SHAPE)
    return [{i: v.copy() for i in net.inputs} for v in (every, every[:, ::-1, ::-1, ::-1])]


def scalar(net: Net, value: int, scale: float, zero: int, dtype: str = "int8") -> int:
    return net.constant(np.full((1,), value, dtype), scale, zero)


def simplified(graph: Graph) -> Graph:
    return simplify(graph).graph


def check(net: Net, outputs: list[int], left: list[str], dtype: str, engine: Engine) -> None:
    """The network is exact once it is simplified, and consists of the operators `left`."""
    net.outputs = outputs
    data = net.build()
    graph = simplify(parse(data).graph).graph
    assert sorted(op.type for op in graph.ops) == sorted(left)
    inputs = values(net, dtype)
    assert differences(data, inputs=inputs, engine=engine, rewrite=simplified) == []


Step = Callable[[Net, int], int]


def plain(kind: str, scale: float, zero: int) -> Step:
    return lambda net, x: net.add(kind, [x], net.tensor(SHAPE, "int8", scale, zero))


def binary(kind: str, value: int, given: tuple[float, int], made: tuple[float, int]) -> Step:
    def step(net: Net, x: int) -> int:
        return net.add(kind, [x, scalar(net, value, *given)], net.tensor(SHAPE, "int8", *made))

    return step


STEPS: dict[str, Step] = {
    "QUANTIZE": plain("QUANTIZE", 0.07, -9),
    "RELU": plain("RELU", 0.05, -128),
    "RELU6": plain("RELU6", 0.05, 3),
    "LEAKY_RELU": lambda net, x: net.add(
        "LEAKY_RELU", [x], net.tensor(SHAPE, "int8", 0.04, 7), alpha=0.3
    ),
    "HARD_SWISH": plain("HARD_SWISH", 0.05, -20),
    "LOGISTIC": plain("LOGISTIC", 1 / 256, -128),
    "TANH": plain("TANH", 1 / 128, 0),
    "ADD": binary("ADD", 99, (0.02, 5), (0.06, -11)),
    "SUB": binary("SUB", -70, (0.09, 5), (0.03, 17)),
    "MUL": binary("MUL", -101, (0.03, 2), (0.05, 4)),
}
"""Operators of one 8-bit variable, whose outputs are no identity of their inputs."""


@pytest.mark.parametrize("first", STEPS)
def test_two_operators_are_one_table(first: str) -> None:
    net = plain_net()
    ends = [
        step(net, STEPS[first](net, net.input(SHAPE, "int8", 0.05, 3))) for step in STEPS.values()
    ]
    alone = STEPS[first](net, net.input(SHAPE, "int8", 0.05, 3))
    net.outputs = [*ends, alone]
    data = net.build()
    graph = simplified(parse(data).graph)
    kinds = [op.type for op in graph.ops]
    # The second one may change nothing of what the first one gives.
    assert kinds.count("TABLE") >= len(ends) - 2
    assert set(kinds) <= {"TABLE", "RESHAPE", first} - {"ADD", "SUB", "MUL"}
    assert differences(data, inputs=values(net, "int8"), engine="tflm", rewrite=simplified) == []


def test_a_tensor_beside_a_function_of_it() -> None:
    net = plain_net()
    x = net.input(SHAPE, "int8", 0.05, 3)
    gate = STEPS["LOGISTIC"](net, x)
    swish = net.add("MUL", [x, gate], net.tensor(SHAPE, "int8", 0.04, -110))
    least = net.add("MINIMUM", [swish, scalar(net, 50, 0.04, -110)], net.like(swish))
    most = net.add("MAXIMUM", [scalar(net, -90, 0.04, -110), least], net.like(swish))
    check(net, [most], ["TABLE"], "int8", "tflm")


def test_what_others_read_stays() -> None:
    net = plain_net()
    x = net.input(SHAPE, "int8", 0.05, 3)
    seen = STEPS["LOGISTIC"](net, x)
    end = STEPS["ADD"](net, STEPS["QUANTIZE"](net, seen))
    pooled = net.add(
        "MAX_POOL_2D", [seen], net.like(seen), filterHeight=1, filterWidth=1, strideH=1, strideW=1
    )
    check(net, [end, pooled], ["LOGISTIC", "TABLE", "MAX_POOL_2D"], "int8", "tflm")


def test_through_floats() -> None:
    """Nothing is left of a pair that gives what it is given, and a table of one that does not."""
    net = plain_net()
    x = net.input(SHAPE, "int8", 0.05, 3)
    kept = STEPS["TANH"](net, x)
    floats = net.add("DEQUANTIZE", [kept], net.tensor(SHAPE, "float32", None))
    back = net.add("QUANTIZE", [floats], net.tensor(SHAPE, "int8", 1 / 128, 0))
    same = net.add("MAX_POOL_2D", [back], net.like(back), **POOL)
    more = net.add("DEQUANTIZE", [x], net.tensor(SHAPE, "float32", None))
    coarse = net.add("QUANTIZE", [more], net.tensor(SHAPE, "int8", 0.11, -3))
    check(net, [same, coarse], ["TANH", "MAX_POOL_2D", "TABLE"], "int8", "tflm")


POOL = {"filterHeight": 1, "filterWidth": 1, "strideH": 1, "strideW": 1}


def test_identities() -> None:
    net = plain_net()
    x = net.input(SHAPE, "int8", 0.05, -128)
    first = STEPS["TANH"](net, x)
    same = net.add("QUANTIZE", [first], net.like(first))
    never = net.add("RELU", [x], net.like(x))  # nothing is below the zero point
    other = net.add("MAX_POOL_2D", [never], net.like(never), **POOL)
    check(net, [same, other], ["TANH", "MAX_POOL_2D"], "int8", "tflm")


def test_constants_are_computed() -> None:
    net = plain_net()
    x = net.input(SHAPE, "int8", 0.05, 3)
    rng = np.random.default_rng(2)
    weights = net.constant(rng.integers(-128, 128, SHAPE).astype(np.int8), 0.02, 9)
    scaled = net.add("QUANTIZE", [weights], net.tensor(SHAPE, "int8", 0.04, -2))
    bent = net.add("MUL", [scaled, weights], net.tensor(SHAPE, "int8", 0.05, 1))
    out = net.add("ADD", [x, bent], net.tensor(SHAPE, "int8", 0.09, 1))
    check(net, [out], ["ADD"], "int8", "tflm")


def test_unsigned() -> None:
    net = plain_net()
    x = net.input(SHAPE, "uint8", 0.05, 131)
    y = net.add("ADD", [x, scalar(net, 7, 0.02, 5, "uint8")], net.tensor(SHAPE, "uint8", 0.06, 99))
    z = net.add("QUANTIZE", [y], net.tensor(SHAPE, "int8", 0.05, -11))
    check(net, [z], ["TABLE"], "uint8", "litert")

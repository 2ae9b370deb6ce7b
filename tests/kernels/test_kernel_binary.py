"""Functions of two variables against the oracle: scales, zero points, types, broadcast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from boards import board_differences
from harness import differences

from assembled import refusal
from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.machines.board import find_target
from lowtide.tflite.read import parse
from schema_models import Net, plain_net, samples_of

# Shapes that broadcast: within a row by pixel, by channel and as a whole; along rows; both operands;
# ranks 0 to 5; a row with three alternating runs.
SHAPES = (
    ((1, 4, 3, 5), (1, 4, 3, 5)),
    ((1, 4, 3, 5), (1, 1, 1, 5)),
    ((1, 4, 3, 5), (5,)),
    ((1, 4, 3, 5), (1, 4, 3, 1)),
    ((1, 4, 3, 5), (1, 1, 3, 1)),
    ((1, 4, 3, 5), (1, 4, 1, 1)),
    ((1, 4, 3, 5), ()),
    ((1, 4, 1, 5), (1, 1, 3, 5)),
    ((1, 1, 3, 1), (1, 4, 1, 5)),
    ((3, 1), (1, 7)),
    ((1, 19), (1, 19)),
    ((6, 2), (6, 1)),
    ((2, 3, 4), (2, 1, 4)),
    ((1, 2, 3, 4, 5), (1, 2, 1, 4, 1)),
    ((1, 2, 3, 4, 5), (1, 1, 3, 1, 5)),
)

# (a, b, output) scales of ADD and SUB: equal, powers of two, far apart both ways, saturating, tiny.
SCALES = (
    (0.5, 0.5, 0.5),
    (0.05, 0.05, 0.1),
    (0.1, 0.037, 0.08),
    (0.037, 0.1, 0.08),
    (1.0, 1e-4, 1.0),
    (1e-9, 1.0, 1.3),
    (0.02, 0.03, 0.0004),
    (0.02, 0.03, 50.0),
    (0.02, 0.03, 1e8),
    (0.25, 0.249999, 0.3),
    (3.0, 2.9999998, 0.011),
)


def broadcast(kind: str, dtype: str, zeros: tuple[int, int, int], **options: int) -> Net:
    """`kind` of operands in all SHAPES, both ways round."""
    net = plain_net()
    for left, right in SHAPES:
        a, b = net.input(left, dtype, 0.04, zeros[0]), net.input(right, dtype, 0.03, zeros[1])
        shape = np.broadcast_shapes(left, right)
        for pair in ((a, b), (b, a)):
            net.add(kind, pair, net.tensor(shape, dtype, 0.06, zeros[2]), **options)
    return net


def scales(kinds: Sequence[str], dtype: str, zeros: Sequence[tuple[int, int, int]]) -> Net:
    """All SCALES, zero points and fused activations."""
    net = plain_net()
    for case, (left, right, out) in enumerate(SCALES):
        for a_zero, b_zero, out_zero in zeros:
            a = net.input((1, 2, 40, 1), dtype, left, a_zero)
            b = net.input((1, 2, 40, 1), dtype, right, b_zero)
            made = net.tensor((1, 2, 40, 1), dtype, out, out_zero)
            for kind in kinds:
                net.add(kind, (a, b), net.like(made), fusedActivationFunction=case % 4)
    return net


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"])
def test_broadcast(kind: str) -> None:
    net = broadcast(kind, "int8", (3, -7, 11))
    assert differences(net.build(), inputs=samples_of(net, 2), engine="tflm") == []


def test_prelu() -> None:
    net = plain_net()
    for case, (left, right) in enumerate(SHAPES):
        shape = np.broadcast_shapes(left, right)
        for a_zero, b_zero, scale in ((-5, 7, 0.03), (-128, 127, 1e-4), (127, -128, 2.0)):
            source = net.input(left, "int8", 0.04, a_zero)
            alpha = net.input(right, "int8", 0.02 * (case + 1), b_zero)
            net.add("PRELU", (source, alpha), net.tensor(shape, "int8", scale, -3))
    assert differences(net.build(), inputs=samples_of(net, 2), engine="tflm") == []


@pytest.mark.parametrize("core", ["any", "cortex-m4"])
def test_scales_int8(core: str) -> None:
    zeros = ((0, 0, 0), (-128, 127, -128), (127, -128, 127), (5, -9, 33))
    net = scales(("ADD", "SUB"), "int8", zeros)
    given = samples_of(net)
    assert differences(net.build(), inputs=given, engine="tflm", target=find_target(core)) == []


def test_additions_on_boards() -> None:
    """In assembly, of rows of every length modulo what it takes at once."""
    net = scales(("ADD",), "int8", ((0, 0, 0), (127, -128, 127), (5, -9, 33)))
    for count in range(1, 10):
        a, b = net.input((1, count), "int8", 0.04, 3), net.input((1, count), "int8", 0.03, -7)
        net.add("ADD", (a, b), net.tensor((1, count), "int8", 0.06, 11))
    target = find_target("cortex-m4")
    graph = parse(net.build()).graph
    kernels = [node.kernel for op in graph.ops for node in lower_op(graph, op, target=target).nodes]
    assert kernels.count("lt_add_narrow_s8_row") > len(kernels) * 0.8
    given = samples_of(net)
    assert board_differences(net.build(), "mps2-an386", inputs=given, target=target) == []


@pytest.mark.parametrize("core", ["any", "cortex-m4"])
def test_all_pairs_of_values(core: str) -> None:
    """Broadcast; and as rows of one length, which is all that the quick kernel adds."""
    target = find_target(core)
    values = np.arange(-128, 128, dtype=np.int8)
    net = plain_net()
    for case, (left, right, out) in enumerate(SCALES):
        shapes = ((256, 1), (256,)) if core == "any" else ((256, 256), (256, 256))
        a, b = net.input(shapes[0], "int8", left, case), net.input(shapes[1], "int8", right, -case)
        for kind in ("ADD", "SUB"):
            net.add(kind, (a, b), net.tensor((256, 256), "int8", out, 2))
    across = np.broadcast_to(values, (256, 256))
    whole = {0: across.T, 1: across}
    sample = {
        i: values.reshape(net.tensors[i].shape) if core == "any" else whole[number % 2]
        for number, i in enumerate(net.inputs)
    }
    assert differences(net.build(), inputs=[sample], engine="tflm", target=target) == []


def test_scales_uint8() -> None:
    zeros = ((0, 0, 0), (255, 0, 128), (0, 255, 255), (120, 131, 7))
    net = scales(("ADD", "SUB"), "uint8", zeros)
    a, b = net.input((1, 2, 3, 4), "uint8", 0.1, 7), net.input((4,), "uint8", 0.2, 200)
    for kind in ("ADD", "SUB", "MUL", "PRELU"):
        net.add(kind, (a, b), net.like(a))
        for out in (0.001, 0.02, 3.0):
            net.add(kind, (a, b), net.tensor((1, 2, 3, 4), "uint8", out, 100))
    same = net.input((1, 2, 3, 4), "uint8", 0.1, 7)
    for kind in ("MINIMUM", "MAXIMUM"):
        net.add(kind, (a, same), net.like(a))
    assert differences(net.build(), inputs=samples_of(net), engine="litert") == []


def test_int16() -> None:
    net = scales(("ADD", "SUB"), "int16", ((0, 0, 0),))
    for left, right in SHAPES:
        a, b = net.input(left, "int16", 3e-5), net.input(right, "int16", 1e-4)
        made = net.tensor(np.broadcast_shapes(left, right), "int16", 2e-4)
        net.add("ADD", (a, b), made)
        for kind in ("MINIMUM", "MAXIMUM"):
            net.add(kind, (b, a), net.like(made))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_prelu_int16() -> None:
    net = plain_net()
    for left, right in SHAPES:
        source, alpha = net.input(left, "int16", 0.04), net.input(right, "int8", 0.02, 5)
        for scale in (0.05, 1e-4, 2.0):
            made = net.tensor(np.broadcast_shapes(left, right), "int16", scale)
            net.add("PRELU", (source, alpha), made)
    assert differences(net.build(), inputs=samples_of(net, 2), engine="tflm") == []


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV", "MINIMUM", "MAXIMUM"])
def test_int32(kind: str) -> None:
    net = broadcast(kind, "int32", (0, 0, 0))
    for tensor in net.tensors:
        tensor.quantization = None
    a, b = net.input((1, 2, 3), "int32"), net.input((1, 2, 3), "int32")
    for activation in range(4) if kind in ("SUB", "MUL", "DIV") else ():
        net.add(kind, (a, b), net.like(a), fusedActivationFunction=activation)
    bounds = dict.fromkeys(net.inputs, (-40000, 40000))
    drawn = [
        {i: np.where(values == 0, 1, values) for i, values in sample.items()}
        for sample in (*samples_of(net, 2), *samples_of(net, 2, bounds=bounds)[2:])
    ]
    assert differences(net.build(), inputs=drawn, engine="tflm") == []


@pytest.mark.parametrize("kind", ["FLOOR_DIV", "FLOOR_MOD"])
def test_floored(kind: str) -> None:
    """Towards minus infinity, for all signs; the least value over 1 and over itself."""
    net = broadcast(kind, "int32", (0, 0, 0))
    for tensor in net.tensors:
        tensor.quantization = None
    a, ends = net.input((1, 2, 3), "int32"), [-(2**31), 2**31 - 1, -7, 7, 0, 1]
    for by in (-(2**31), 2**31 - 1, -3, 3, 1):
        net.add(kind, (a, net.const(np.full((1, 2, 3), by))), net.like(a))
        net.add(kind, (net.const(np.reshape(ends, (1, 2, 3))), net.const([[[by]]])), net.like(a))
    bounds = dict.fromkeys(net.inputs, (-40, 40))
    drawn = [
        {i: np.where(values == 0, 1, values) for i, values in sample.items()}
        for sample in (*samples_of(net, 2), *samples_of(net, 4, bounds=bounds)[2:])
    ]
    assert differences(net.build(), inputs=drawn, engine="litert") == []


def test_division_by_a_constant_zero() -> None:
    net = plain_net()
    a = net.input((1, 3), "int32")
    net.add("FLOOR_DIV", (a, net.const([[1, 0, 2]])), net.like(a))
    assert refusal(net.build()) == "it divides by zero"


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_squared_difference(dtype: str) -> None:
    net = plain_net()
    plain = dtype == "int32"
    zeros = ((3, -7, 11), (-128, 127, -128), (127, -128, 127)) if dtype == "int8" else ((0, 0, 0),)
    for left, right in SHAPES:
        if len(np.broadcast_shapes(left, right)) > 4:  # which the reference does not take
            continue
        a = net.input(left, dtype, 1.0 if plain else 0.04)
        b = net.input(right, dtype, 1.0 if plain else 0.03)
        shape = np.broadcast_shapes(left, right)
        net.add("SQUARED_DIFFERENCE", (a, b), net.tensor(shape, dtype, 1.0 if plain else 0.06))
    for left_scale, right_scale, out in () if plain else SCALES:
        for a_zero, b_zero, out_zero in zeros:
            a = net.input((1, 40), dtype, left_scale, a_zero)
            b = net.input((1, 40), dtype, right_scale, b_zero)
            if max(left_scale, right_scale) ** 2 / out < 1e4:
                net.add("SQUARED_DIFFERENCE", (a, b), net.tensor((1, 40), dtype, out, out_zero))
    bounds = dict.fromkeys(net.inputs, (-128, 127)) if plain else None
    assert differences(net.build(), inputs=samples_of(net, bounds=bounds)[2 * plain :]) == []


def test_logical() -> None:
    net = plain_net()
    for left, right in SHAPES:
        a, b = net.input(left, "bool"), net.input(right, "bool")
        shape = np.broadcast_shapes(left, right)
        for kind in ("LOGICAL_AND", "LOGICAL_OR"):
            if len(shape) <= 4:
                net.add(kind, (a, b), net.tensor(shape, "bool"))
        net.add("LOGICAL_NOT", (a,), net.tensor(left, "bool"))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_mul_factors() -> None:
    net = plain_net()
    for out in (1e-6, 1e-4, 0.0011, 0.01, 0.04, 1.0, 1e6, 1e12):
        for zeros in ((0, 0, 0), (-128, 127, -128), (127, 127, 127), (5, -9, 33)):
            a, b = (
                net.input((1, 50), "int8", s, z) for s, z in zip((0.1, 0.3), zeros, strict=False)
            )
            for activation in range(4):
                made = net.tensor((1, 50), "int8", out, zeros[2])
                net.add("MUL", (a, b), made, fusedActivationFunction=activation)
    a, b = net.input((1, 200), "int16", 1e-4), net.input((1, 200), "int16", 3e-5)
    c = net.input((1, 1), "int16", 2.0)
    for out in (3e-9, 1e-5, 1e-4, 100.0, 1e10):
        net.add("MUL", (a, b), net.tensor((1, 200), "int16", out))
        net.add("MUL", (a, c), net.tensor((1, 200), "int16", out * 1e5), fusedActivationFunction=1)
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_constant_operands() -> None:
    rng = np.random.default_rng(3)
    net = plain_net()
    source = net.input((1, 4, 3, 5), "int8", 0.05, 3)
    for shape in ((1, 4, 3, 5), (5,), (1, 1, 3, 1), ()):
        constant = net.constant(rng.integers(-128, 128, shape).astype(np.int8), 0.02, -4)
        for kind in ("ADD", "SUB", "MUL", "MINIMUM", "PRELU"):
            net.add(kind, (source, constant), net.tensor((1, 4, 3, 5), "int8", 0.06, 1))
        net.add("SUB", (constant, source), net.tensor((1, 4, 3, 5), "int8", 0.06, 1))
    assert differences(net.build(), inputs=samples_of(net), engine="tflm") == []


def test_equal_rows_take_the_short_kernel() -> None:
    net = plain_net()
    a, b = net.input((1, 6, 5, 4)), net.input((1, 6, 5, 4))
    net.add("ADD", (a, b), net.like(a))
    graph = parse(net.build()).graph
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert (node.kernel, node.steps) == ("lt_add_s8_row", 6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_only_sums_of_equal_rows_take_it(dtype: str) -> None:
    net = plain_net()
    a, b, few = (
        net.input((1, 6, 5, 4), dtype),
        net.input((1, 6, 5, 4), dtype),
        net.input((4,), dtype),
    )
    for kind, operands in (("ADD", (a, b)), ("ADD", (a, few)), ("SUB", (a, b))):
        net.add(kind, operands, net.like(a))
    graph = parse(net.build()).graph
    kernels = [node.kernel for op in graph.ops for node in lower_op(graph, op).nodes]
    suffix = {"int8": "s8", "uint8": "u8", "int16": "s16"}[dtype]
    assert kernels == [f"lt_add_{suffix}_{variant}" for variant in ("row", "pair", "pair")]


@pytest.mark.parametrize(
    ("kind", "left", "right", "out", "cause"),
    [
        ("ADD", ("int8", 1.0, 0), ("int16", 1.0, 0), ("int8", 1.0, 0), "of different types"),
        (
            "LOGICAL_OR",
            ("bool", None, 0),
            ("int8", 1.0, 0),
            ("bool", None, 0),
            "of different types",
        ),
        ("ADD", ("int8", 1.0, 0), ("int8", 1.0, 0), ("int8", 1e-6, 0), "scale is too small"),
        ("ADD", ("int8", 1.0, 200), ("int8", 1.0, 0), ("int8", 1.0, 0), "zero point 200"),
        ("ADD", ("int16", 1.0, 4), ("int16", 1.0, 0), ("int16", 1.0, 0), "other than 0"),
        ("ADD", ("int8", None, 0), ("int8", 1.0, 0), ("int8", 1.0, 0), "is not quantised"),
        ("DIV", ("int8", 1.0, 0), ("int8", 1.0, 0), ("int8", 1.0, 0), "kernels are for INT32"),
        (
            "ADD",
            ("int32", 0.1, 0),
            ("int32", 0.1, 0),
            ("int32", 0.1, 0),
            "int32 tensor has a scale",
        ),
        (
            "SUB",
            ("int8", 3e38, 0),
            ("int8", 1.0, 0),
            ("int8", 1e-38, 0),
            "differ by a factor of 5.7",
        ),
        ("MUL", ("int8", 1e9, 0), ("int8", 1e9, 0), ("int8", 1.0, 0), "a factor of 1e[+]18"),
        ("MUL", ("int16", 1.0, 0), ("int16", 1.0, 0), ("int16", 1.0, 3), "other than 0"),
        (
            "PRELU",
            ("int16", 1.0, 0),
            ("int16", 1.0, 0),
            ("int16", 1.0, 0),
            "slopes are of type INT16",
        ),
        ("PRELU", ("int16", 1.0, 0), ("int8", 1.0, 2), ("int16", 1.0, 1), "other than 0"),
    ],
)
def test_refused_quantisations(
    kind: str,
    left: tuple[str, float | None, int],
    right: tuple[str, float | None, int],
    out: tuple[str, float | None, int],
    cause: str,
) -> None:
    net = plain_net()
    a, b = net.input((1, 4), *left), net.input((1, 4), *right)
    net.add(kind, (a, b), net.tensor((1, 4), *out))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])


@pytest.mark.parametrize(
    ("left", "right", "out", "cause"),
    [
        ((1, 4), (1, 3), (1, 4), r"operands of \[1, 4\], \[1, 3\] do not broadcast to \[1, 4\]"),
        ((1, 4), (1, 4), (2, 4), r"do not broadcast to \[2, 4\]"),
        ((0, 4), (1, 4), (0, 4), "is empty"),
        ((300, 1, 300, 1, 60), (1, 3, 1, 3, 1), (300, 3, 300, 3, 60), "more than 32767 steps"),
    ],
)
def test_refused_shapes(
    left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...], cause: str
) -> None:
    net = plain_net()
    a, b = net.input(left), net.input(right)
    net.add("MAXIMUM", (a, b), net.tensor(out))
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])

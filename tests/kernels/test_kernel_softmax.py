"""SOFTMAX against the oracle: all type pairs, scales, beta, long and short rows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from harness import differences

from lowtide.emit.runtime import kernel_files
from lowtide.errors import ModelError
from lowtide.lower import lower_op
from lowtide.tflite.read import parse
from schema_models import Engine, Net, plain_net, samples_of

OUTPUTS = {
    ("int8", "int8"): (1 / 256, -128),
    ("uint8", "uint8"): (1 / 256, 0),
    ("int8", "int16"): (1 / 65536, -32768),
    ("int16", "int16"): (1 / 32768, 0),
}

# (shape, scale, beta): one class to many, sharp and flat.
CASES = (
    ((1, 1), 0.1, 1.0),
    ((1, 2), 0.05, 1.0),
    ((1, 12), 0.17, 1.0),
    ((3, 5), 0.01, 0.7),
    ((1, 400), 0.002, 1.0),
    ((2, 300), 0.02, 1.0),
    ((1, 3, 7), 1.0, 1.0),
    ((1, 4, 8, 8), 0.07, 2.5),
    ((1, 2, 20, 20), 0.09, 1.0),
    ((1, 3, 40), 30.0, 100.0),
    ((1, 5, 130), 1e-4, 1.0),
    ((40, 20), 0.3, 1.0),
    ((9,), 0.25, 1.0),
    ((1, 511), 0.004, 1.0),
)


def softmax(net: Net, source: int, to: str, beta: float = 1.0) -> None:
    kind = {9: "int8", 3: "uint8", 7: "int16"}[net.tensors[source].type]
    scale, zero = OUTPUTS[kind, to]
    shape = net.tensors[source].shape
    net.add("SOFTMAX", [source], net.tensor(shape, to, scale, zero), beta=beta)


@pytest.mark.parametrize(
    ("dtypes", "engine"), [(("int8", "int16"), "tflm"), (("uint8",), "litert")]
)
def test_all_cases(dtypes: tuple[str, ...], engine: Engine) -> None:
    net = plain_net()
    bounds = {}
    for shape, scale, beta in CASES:
        for kind, to in OUTPUTS:
            if kind not in dtypes:
                continue
            fine = scale / 256 if kind == "int16" else scale
            source = net.input(shape, kind, fine, 0 if kind == "int16" else 17)
            softmax(net, source, to, beta)
            # Also values close together, where sums are large.
            source = net.input(shape, kind, fine, 0)
            bounds[source] = (100.0, 127.0) if kind != "int16" else (-3000.0, 3000.0)
            softmax(net, source, to, beta)
    inputs = samples_of(net, 3, bounds=bounds)
    assert differences(net.build(), inputs=inputs, engine=engine) == []


@pytest.mark.parametrize(
    ("shape", "rows"), [((1, 4, 64, 64), 256), ((1, 40, 30, 3), 40), ((1, 12), 1), ((1, 7, 5), 7)]
)
def test_rows(shape: tuple[int, ...], rows: int) -> None:
    """Attention scores go by their last dimension, images by their height."""
    net = plain_net()
    softmax(net, net.input(shape, "int8", 0.1), "int8")
    graph = parse(net.build()).graph
    (node,) = lower_op(graph, graph.ops[0]).nodes
    assert node.steps == rows


@pytest.mark.parametrize(
    ("quants", "beta", "cause"),
    [
        (("int8", 0.1, 0, "int8", 1 / 128, -128), 1.0, "scale 1/256 and zero point -128"),
        (("int8", 0.1, 0, "int8", 1 / 256, 0), 1.0, "scale 1/256 and zero point -128"),
        (("int16", 0.1, 4, "int16", 1 / 32768, 0), 1.0, "zero point other than 0"),
        (("uint8", 0.1, 4, "int8", 1 / 256, -128), 1.0, "no kernel from UINT8 to INT8"),
        (("int8", 0.1, 0, "int8", 1 / 256, -128), 0.0, "its beta is 0"),
        (("int8", 0.1, 0, "int8", 1 / 256, -128), -1.0, "its beta is -1"),
        (("int8", 1e-9, 0, "int8", 1 / 256, -128), 1.0, "its input's scale, 1e-09, is too small"),
    ],
)
def test_refusals(quants: tuple[str, float, int, str, float, int], beta: float, cause: str) -> None:
    net = plain_net()
    net.add("SOFTMAX", [net.input((1, 4), *quants[:3])], net.tensor((1, 4), *quants[3:]), beta=beta)
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match=cause):
        lower_op(graph, graph.ops[0])


@pytest.mark.parametrize("shapes", [((1, 4), (1, 5)), ((), ())])
def test_rows_that_are_no_rows_are_refused(shapes: tuple[tuple[int, ...], ...]) -> None:
    net = plain_net()
    source, out = (
        net.tensor(n, "int8", *q) for n, q in zip(shapes, ((0.1, 0), (1 / 256, -128)), strict=True)
    )
    net.inputs.append(source)
    net.add("SOFTMAX", [source], out, beta=1.0)
    graph = parse(net.build()).graph
    with pytest.raises(ModelError, match="its input and output differ in shape"):
        lower_op(graph, graph.ops[0])


@pytest.mark.parametrize(("dtype", "most"), [("int8", 4095), ("uint8", 4095), ("int16", 32767)])
def test_rows_whose_sum_could_overflow_are_refused(dtype: str, most: int) -> None:
    for count in (most, most + 1):
        net = plain_net()
        softmax(net, net.input((1, count), dtype, 0.001), dtype)
        graph = parse(net.build()).graph
        if count == most:
            assert lower_op(graph, graph.ops[0]).nodes
            continue
        with pytest.raises(
            ModelError, match=f"its rows hold {count} elements, but the limit is {most}"
        ):
            lower_op(graph, graph.ops[0])


def test_the_longest_row_of_equal_inputs() -> None:
    """Its exponentials add up to just less than 2^31. (To 8 bits, the reference stops the program.)"""
    net = plain_net()
    source = net.input((1, 4095), "int8", 0.1)
    softmax(net, source, "int16")
    inputs = [{source: np.full((1, 4095), 5, np.int8)}]
    assert differences(net.build(), inputs=inputs) == []


_MAIN = """
#include "lt_softmax.h"
int main(void)
{
    static int8_t in[8192], out[8192];
    static const int32_t table[] = {INT32_MAX};
    const lt_softmax_8 params = {table, 1, sizeof in, 1, 0x80, 0x80};
    const void *const read[] = {in};
    void *const written[] = {out};
    const lt_step step = {read, written, 0, 0};
    lt_softmax_8_row(&params, &step);
    return 0;
}
"""


def test_the_kernel_ends_whatever_the_sum(tmp_path: Path) -> None:
    """8192 equal inputs, which are refused: 2^32 is 0 in 32 bits, and has no leading one to look for."""
    files = {name: text for name, text in kernel_files().items() if name.endswith(".h")}
    files |= {"lt_softmax.c": kernel_files()["lt_softmax.c"], "main.c": _MAIN}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = ["gcc", "-std=c99", "-O1", "-fwrapv", "lt_softmax.c", "main.c", "-o", "program"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./program"], cwd=tmp_path, check=True, timeout=600)

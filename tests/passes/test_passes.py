"""The passes on hand-made graphs: what is folded or dropped, and what has to stay.

That results stay the same is checked on generated code, in tests/kernels/test_kernel_pad_folded.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from lowtide.ir import DType, Graph, Op, Option, Quant, Tensor
from lowtide.ir.soundness import verify
from lowtide.ir.window import Axis, Window
from lowtide.ir.windows import normalise_windows
from lowtide.passes import drop_boundary_quantization, fold_pads
from lowtide.passes.ends import own_ends

VALID = 1
ZERO_AT_3 = Quant((0.5,), (3,), 0)
SIDES = ((0, 0), (1, 2), (3, 4), (0, 0))


def tensor(
    index: int,
    shape: tuple[int, ...],
    dtype: DType = DType.INT8,
    quant: Quant | None = ZERO_AT_3,
    data: bytes | None = None,
) -> Tensor:
    return Tensor(index, f"t{index}", shape, dtype, quant, data)


def window(height: int, width: int) -> dict[str, Option]:
    return {"filter_height": height, "filter_width": width}


def padded(
    kind: str = "CONV_2D",
    *,
    sides: tuple[tuple[int, int], ...] = SIDES,
    value: int | None = None,
    pad_quant: Quant = ZERO_AT_3,
    dtype: DType = DType.INT8,
    kernel: tuple[int, int] = (3, 3),
    options: Mapping[str, Option] | None = None,
) -> Graph:
    """input 0 -> PAD by tensor 1 (and value 2) -> tensor 3 -> `kind` -> output 4."""
    shape = tuple(n + a + b for n, (a, b) in zip((1, 5, 5, 2), sides, strict=True))
    width = np.dtype(dtype.name.lower())
    scalar = None if value is None else np.array(value, width).tobytes()
    graph = verify(
        Graph(
            "g",
            (
                tensor(0, (1, 5, 5, 2), dtype, replace(ZERO_AT_3)),
                tensor(1, (4, 2), DType.INT32, None, np.array(sides, "<i4").tobytes()),
                tensor(2, (), dtype, pad_quant, scalar),
                tensor(3, shape, dtype, pad_quant),
                tensor(4, (1, 3, 3, 2)),
                tensor(5, (1, 3, 3, 2)),
                tensor(6, (2, *kernel, 2), data=bytes(4 * kernel[0] * kernel[1])),
            ),
            (
                Op(0, "PAD", (0, 1) if value is None else (0, 1, 2), (3,)),
                Op(1, kind, (3, 6), (4,), {"padding": VALID, **(options or {})}),
                Op(2, "RELU", (4,), (5,)),
            ),
            (0,),
            (5,),
        )
    )
    return normalise_windows(graph)


def is_folded(graph: Graph) -> bool:
    after = verify(fold_pads(graph))
    assert [op.id for op in after.ops] == list(range(len(after.ops)))
    assert after.tensors == graph.tensors
    if after == graph:
        return False
    assert [op.type for op in after.ops] == [graph.ops[1].type, "RELU"]
    assert after.ops[0].inputs[0] == 0
    return True


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_convolution_takes_the_pad_before_it(kind: str) -> None:
    graph = padded(kind, options={"stride_h": 2})
    assert is_folded(graph)
    window = fold_pads(graph).ops[0].window
    assert window == Window(Axis(3, 2, before=1, after=2), Axis(3, before=3, after=4))
    assert fold_pads(fold_pads(graph)) == fold_pads(graph)


def test_the_value_must_be_the_zero_point() -> None:
    assert is_folded(padded(value=3))
    assert not is_folded(padded(value=2))
    assert not is_folded(padded(dtype=DType.INT16))  # PAD writes 0, and the zero point is 3


def test_other_pads_stay() -> None:
    assert not is_folded(padded(sides=((0, 1), (1, 1), (0, 0), (0, 0))))
    assert not is_folded(padded(sides=((0, 0), (1, 1), (0, 0), (0, 1))))
    assert not is_folded(padded(options={"padding": 0}))
    assert not is_folded(padded(pad_quant=Quant((0.25,), (3,), 0)))
    assert not is_folded(padded("AVERAGE_POOL_2D", options=window(9, 9)))
    assert not is_folded(padded("RELU"))
    assert not is_folded(padded(kernel=(1, 1)))
    assert is_folded(padded(kernel=(1, 2)))


def test_paddings_must_be_constant() -> None:
    graph = padded()
    tensors = (graph.tensors[0], replace(graph.tensors[1], data=None), *graph.tensors[2:])
    assert not is_folded(replace(graph, tensors=tensors, inputs=(0, 1)))


def test_a_result_that_others_use_stays() -> None:
    graph = padded()
    assert not is_folded(replace(graph, outputs=(5, 3)))
    twice = replace(graph.ops[2], inputs=(4, 3))
    assert not is_folded(replace(graph, ops=(*graph.ops[:2], twice)))
    same = replace(graph.ops[1], inputs=(3, 3))
    assert not is_folded(replace(graph, ops=(graph.ops[0], same, graph.ops[2])))


def test_a_pool_takes_a_pad_of_the_least_value() -> None:
    sizes = window(3, 5)
    assert is_folded(padded("MAX_POOL_2D", value=-128, options=sizes))
    assert not is_folded(padded("MAX_POOL_2D", value=-127, options=sizes))
    assert not is_folded(padded("MAX_POOL_2D", options=sizes))
    lowest = Quant((0.5,), (-128,), 0)
    graph = padded("MAX_POOL_2D", pad_quant=lowest, options=sizes)
    tensors = (replace(graph.tensors[0], quant=lowest), *graph.tensors[1:])
    assert is_folded(replace(graph, tensors=tensors))


def test_a_pool_with_windows_of_padding_alone_stays() -> None:
    assert not is_folded(padded("MAX_POOL_2D", value=-128, options=window(2, 5)))
    assert not is_folded(padded("MAX_POOL_2D", value=-128, options=window(3, 4)))


def boundary() -> Graph:
    """input 0 (float) -> QUANTIZE -> 1 -> RELU -> 2 -> DEQUANTIZE -> output 3 (float)."""
    return verify(
        Graph(
            "g",
            (
                tensor(0, (1, 4), DType.FLOAT32, None),
                tensor(1, (1, 4)),
                tensor(2, (1, 4)),
                tensor(3, (1, 4), DType.FLOAT32, None),
                tensor(4, (1, 4)),
            ),
            (
                Op(0, "QUANTIZE", (0,), (1,)),
                Op(1, "RELU", (1,), (2,)),
                Op(2, "DEQUANTIZE", (2,), (3,)),
            ),
            (0,),
            (3,),
        )
    )


def test_the_float_boundary_is_dropped() -> None:
    graph = boundary()
    after = verify(drop_boundary_quantization(graph))
    assert (after.inputs, after.outputs) == ((1,), (2,))
    assert after.ops == (Op(0, "RELU", (1,), (2,)),)
    assert after.tensors == graph.tensors
    assert drop_boundary_quantization(after) == after


def test_the_boundary_is_the_files_unless_the_caller_wants_another() -> None:
    graph = boundary()
    assert own_ends(graph, False, ("file", "file"), "file") == graph
    assert own_ends(graph, True, ("file", "file"), "file") == drop_boundary_quantization(graph)


def test_a_float_input_that_others_read_stays() -> None:
    graph = boundary()
    graph = replace(graph, ops=(*graph.ops, Op(3, "QUANTIZE", (0,), (4,))))
    after = verify(drop_boundary_quantization(graph))
    assert (after.inputs, after.outputs) == ((0,), (2,))


def test_a_quantised_output_stays() -> None:
    graph = replace(boundary(), outputs=(3, 1))
    after = verify(drop_boundary_quantization(graph))
    assert (after.inputs, after.outputs) == ((0,), (2, 1))
    graph = replace(boundary(), outputs=(2, 3))
    after = verify(drop_boundary_quantization(graph))
    assert (after.inputs, after.outputs) == ((1,), (2, 3))


def test_a_float_output_that_others_read_stays() -> None:
    graph = boundary()
    graph = replace(graph, ops=(*graph.ops, Op(3, "QUANTIZE", (3,), (4,))))
    assert verify(drop_boundary_quantization(graph)).outputs == (3,)


def test_a_conversion_and_back_is_not_dropped_whole() -> None:
    graph = boundary()
    ops = (graph.ops[0], replace(graph.ops[2], id=1, inputs=(1,)))
    after = verify(drop_boundary_quantization(replace(graph, ops=ops)))
    assert (after.inputs, after.outputs) == ((1,), (3,))


def test_requantisation_at_the_boundary_stays() -> None:
    graph = boundary()
    tensors = (replace(graph.tensors[0], dtype=DType.UINT8), *graph.tensors[1:])
    after = drop_boundary_quantization(replace(graph, tensors=tensors))
    assert (after.inputs, after.outputs) == ((0,), (2,))

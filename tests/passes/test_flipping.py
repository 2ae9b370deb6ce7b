"""uint8 as int8: which tensors are flipped, and where bytes of both kinds meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.ir.flipped import flipped, unflipped
from lowtide.ir.windows import normalise_windows
from lowtide.lower import has_kernel, lower_op
from lowtide.passes.flipping import FLIP, flip_bytes, flips_by_readers
from lowtide.passes.simplify.result import Kept

_QUANT = Quant((0.5,), (3,), 0)


def _bytes(index: int, **fields: object) -> Tensor:
    tensor = Tensor(index, f"t{index}", (1, 4, 4, 2), DType.UINT8, _QUANT)
    return replace(tensor, **fields)  # type: ignore[arg-type]  # any of a tensor's


def _weights(index: int, kernel: int, quant: Quant = _QUANT) -> Tensor:
    shape = (2, kernel, kernel, 2)
    data = bytes(int(np.prod(shape)))
    return _bytes(index, shape=shape, data=data, quant=quant)


def _graph(
    tensors: Sequence[Tensor], ops: Sequence[tuple[str, Sequence[int], Sequence[int]]], *ends: int
) -> Graph:
    """`ends` are the one input and then the outputs."""
    options = {"padding": 0, "stride_h": 1, "stride_w": 1}
    made = tuple(Op(i, kind, tuple(a), tuple(b), options) for i, (kind, a, b) in enumerate(ops))
    return normalise_windows(Graph("g", tuple(tensors), made, ends[:1], ends[1:]))


def _shown(graph: Graph) -> list[tuple[str, str]]:
    """Operators, and of which kinds what they read and make is: u uint8; f int8, of uint8 once."""
    kinds = {
        t.id: "u" if t.dtype is DType.UINT8 else "f" if t.flipped else "" for t in graph.tensors
    }
    return [
        (
            op.type,
            "".join(kinds[t] for t in op.inputs) + ">" + "".join(kinds[t] for t in op.outputs),
        )
        for op in graph.ops
    ]


def test_flipping_there_and_back_changes_nothing() -> None:
    tensor = _bytes(0, data=bytes(range(32)))
    there = flipped(tensor)
    assert there.dtype is DType.INT8
    assert there.quant == Quant((0.5,), (-125,), 0)
    assert there.data == bytes(range(128, 160))
    assert unflipped(there) == tensor


def test_a_window_flips_what_it_reads_and_a_pixel_does_not() -> None:
    """Between convolutions all is flipped; the caller's tensors stay as they are."""
    tensors = [_bytes(0), _weights(1, 3), _bytes(2), _bytes(3), _weights(4, 1), _bytes(5)]
    ops = [
        ("CONV_2D", (0, 1), (2,)),
        ("MAX_POOL_2D", (2,), (3,)),
        ("CONV_2D", (3, 4), (5,)),
    ]
    result = flip_bytes(_graph(tensors, ops, 0, 5), has_kernel)
    assert _shown(result.graph) == [
        ("CONV_2D", "uu>f"),
        ("MAX_POOL_2D", "f>f"),
        ("CONV_2D", "fu>f"),
        ("FLIP", "f>u"),
    ]
    assert result.kept[result.graph.ops[2].outputs[0]] == Kept(5)
    assert [t.id for t in result.graph.tensors if t.dtype is DType.UINT8 and t.flipped] == [0]
    assert result.graph.outputs == (5,)
    tensors[1] = _weights(1, 1)
    first = _shown(flip_bytes(_graph(tensors, ops, 0, 5), has_kernel).graph)[:2]
    assert first == [("FLIP", "u>f"), ("CONV_2D", "fu>f")]


def test_flipped_bytes_that_are_an_output_are_made() -> None:
    """Though the convolution that reads them as well could flip them on its way."""
    tensors = [_bytes(0), flipped(_bytes(1)), _weights(2, 3), flipped(_bytes(3))]
    ops = [(FLIP, (0,), (1,)), ("CONV_2D", (1, 2), (3,))]
    assert [op.type for op in flips_by_readers(_graph(tensors, ops, 0, 3), has_kernel).ops] == [
        "CONV_2D"
    ]
    both = _graph(tensors, ops, 0, 3, 1)
    assert flips_by_readers(both, has_kernel) is both


def test_what_flips_itself_meets_both_kinds() -> None:
    """A pool's average is uint8's; it reads flipped bytes, and gives those that are not."""
    tensors = [_bytes(0), _weights(1, 3), _bytes(2), _bytes(3)]
    ops = [("CONV_2D", (0, 1), (2,)), ("AVERAGE_POOL_2D", (2,), (3,))]
    assert _shown(flip_bytes(_graph(tensors, ops, 0, 3), has_kernel).graph)[1] == (
        "AVERAGE_POOL_2D",
        "f>u",
    )


def test_other_operators_get_bytes_as_they_were() -> None:
    """Once for all of them, and constants at once."""
    tensors = [_bytes(0), _weights(1, 3), _bytes(2), _bytes(3), _bytes(4), _bytes(5), _bytes(6)]
    tensors += [_bytes(7, data=bytes(32)), _bytes(8)]
    ops = [
        ("CONV_2D", (0, 1), (2,)),
        ("MEAN", (2,), (3,)),
        ("ODD", (2,), (4,)),
        ("ADD", (4, 2), (5,)),
        ("ADD", (5, 7), (6,)),
        ("MEAN", (6,), (8,)),
    ]
    result = flip_bytes(_graph(tensors, ops, 0, 3, 8), has_kernel)
    assert _shown(result.graph) == [
        ("CONV_2D", "uu>f"),
        ("FLIP", "f>u"),
        ("MEAN", "u>u"),
        ("ODD", "u>u"),
        ("FLIP", "u>f"),
        ("ADD", "ff>f"),
        ("ADD", "ff>f"),
        ("FLIP", "f>u"),
        ("MEAN", "u>u"),
    ]
    constant = result.graph.tensors[result.graph.ops[6].inputs[1]]
    assert constant.data == bytes([0x80] * 32)
    assert constant.buffer != tensors[7].buffer


@pytest.mark.parametrize(
    "weights",
    [
        _weights(1, 3, Quant((0.5, 0.5), (3, 3), 0)),
        replace(_weights(1, 3), dtype=DType.INT8),
        replace(_weights(1, 3), shape=(2, 3, 3, 1)),
        replace(_weights(1, 3), data=None),
    ],
)
def test_what_no_kernel_does_stays(weights: Tensor) -> None:
    """The lowering says why there is none."""
    graph = _graph([_bytes(0), weights, _bytes(2)], [("CONV_2D", (0, 1), (2,))], 0, 2)
    assert flip_bytes(graph, has_kernel).graph is graph


def test_without_convolutions_nothing_is_flipped() -> None:
    graph = _graph([_bytes(0), _bytes(1)], [("MAX_POOL_2D", (0,), (1,))], 0, 1)
    assert flip_bytes(graph, has_kernel).graph is graph


def _int8(index: int, **fields: object) -> Tensor:
    return _bytes(index, **{"dtype": DType.INT8, "quant": Quant((0.5,), (-125,), 0), **fields})


def _converted(kind: str = "CONV_2D", kernel: int = 3, **weights: object) -> Graph:
    """QUANTIZE, RESHAPE and a convolution of int8 for bytes from 0 to 255."""
    filters = replace(_weights(3, kernel), dtype=DType.INT8, **weights)  # type: ignore[arg-type]  # any
    tensors = [_bytes(0), _int8(1), _int8(2), filters, _int8(4)]
    ops = [("QUANTIZE", (0,), (1,)), ("RESHAPE", (1,), (2,)), (kind, (2, 3), (4,))]
    return _graph(tensors, ops, 0, 4)


def test_a_conversion_is_done_by_who_reads_the_bytes() -> None:
    graph = flip_bytes(_converted(), has_kernel).graph
    assert _shown(graph) == [("RESHAPE", "u>u"), ("CONV_2D", "u>")]
    assert [t.flipped for t in graph.tensors] == [True, False, True, False, False]
    assert graph.tensors[2].quant == _QUANT


def test_a_table_that_only_flips_is_a_flip() -> None:
    """It has a second input, the table, which the FLIP does not read."""
    graph = _converted()
    flips, other = bytes(i ^ 0x80 for i in range(256)), bytes(256)
    for data, types in ((flips, ["RESHAPE", "CONV_2D"]), (other, ["TABLE", "RESHAPE", "CONV_2D"])):
        table = _int8(5, shape=(256,), data=data)
        ops = (replace(graph.ops[0], type="TABLE", inputs=(0, 5)), *graph.ops[1:])
        made = replace(graph, tensors=(*graph.tensors, table), ops=ops)
        assert [op.type for op in flip_bytes(made, has_kernel).graph.ops] == types


def test_who_cannot_do_it_reads_flipped_bytes() -> None:
    """No window, many channels, weights of four bits; or another reader beside one that can."""
    pixel, depthwise = _converted(kernel=1), _converted("DEPTHWISE_CONV_2D")
    other = _converted()
    other = replace(
        other,
        tensors=(*other.tensors, _int8(5)),
        ops=(*other.ops, Op(3, "RELU", (2,), (5,))),
        outputs=(4, 5),
    )
    for graph in (pixel, depthwise, _converted(of_nibbles=True), other):
        flips = flip_bytes(graph, has_kernel).graph
        assert [op.type for op in flips.ops] == ["FLIP", *(op.type for op in graph.ops[1:])]
        assert not any(t.flipped for t in flips.tensors)


def test_between_scales_that_are_nearly_equal_bytes_are_converted_first() -> None:
    """All a conversion does is to flip, but the convolution's factors are of the scale behind it."""
    graph = _converted()
    first = replace(graph.tensors[0], quant=Quant((0.5 * (1 + 2.0**-23),), (3,), 0))
    graph = replace(graph, tensors=(first, *graph.tensors[1:]))
    assert [op.type for op in flip_bytes(graph, has_kernel).graph.ops] == [
        FLIP,
        "RESHAPE",
        "CONV_2D",
    ]


def test_what_a_file_mixes_is_refused() -> None:
    """A convolution of int8 that reads uint8 without a conversion between."""
    tensors = [_bytes(0), replace(_weights(1, 3), dtype=DType.INT8), _int8(2)]
    graph = flip_bytes(_graph(tensors, [("CONV_2D", (0, 1), (2,))], 0, 2), has_kernel).graph
    with pytest.raises(ModelError, match="its input and output must have the same type"):
        lower_op(graph, graph.ops[0])


def test_a_kernel_that_does_not_flip_is_refused() -> None:
    """Whatever let its operator flip."""
    graph = _converted(kernel=1)
    tensors = (*graph.tensors[:2], flipped(graph.tensors[2]), *graph.tensors[3:])
    graph = replace(graph, tensors=tensors)
    with pytest.raises(ModelError, match="its kernel does not flip the sign bits"):
        lower_op(graph, graph.ops[2])


def test_another_conversion_stays() -> None:
    graph = _converted()
    for quant in (Quant((0.5,), (-124,), 0), Quant((0.25,), (-125,), 0)):
        tensors = (graph.tensors[0], _int8(1, quant=quant), *graph.tensors[2:])
        scaled = replace(graph, tensors=tensors)
        assert flip_bytes(scaled, has_kernel).graph is scaled

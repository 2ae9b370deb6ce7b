"""What operators make of the shapes that they are given, and files in which their outputs say otherwise.

Why when a file is read: every later stage works on what a file says of sizes, and passes, searches and
tables grow with it. Where an output says four million columns and its input has three, all that is
refused in the end; but only once it was built. So what a shape claims must follow from what comes
before it. Dimensions of 1 are not looked at: converters and runtimes leave them out and put them in.

A rule gives the shapes that an operator makes, or None where they are not known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.graph import Graph, Op, Tensor
from lowtide.ir.operands import NUMPY_TYPES, constant

Shape = tuple[int, ...]
_MOST_NUMBERS = 64
"""Of an operand that says what an operator does, a number or two per dimension."""


@dataclass(frozen=True, slots=True)
class _Made:
    """An operator whose outputs are looked at."""

    graph: Graph
    op: Op

    def wrong(self, why: str) -> ModelError:
        return ModelError(
            f"operator {self.op.id} ({self.op.label}): {why}",
            "export the model again with a current converter; the file contradicts itself",
        )

    def tensor(self, index: int) -> Tensor | None:
        return self.graph.tensor(self.op, index)

    def shape(self, index: int) -> Shape | None:
        tensor = self.tensor(index)
        return None if tensor is None else tensor.shape

    @property
    def shapes(self) -> list[Shape]:
        """Those of all inputs that are there."""
        return [self.graph.tensors[t].shape for t in self.op.inputs if t >= 0]

    @property
    def outputs(self) -> list[Shape]:
        return [self.graph.tensors[t].shape for t in self.op.outputs]

    def option(self, name: str, default: int = 0) -> int:
        value = self.op.options.get(name, default)
        return int(value) if isinstance(value, bool | int) else default

    def numbers(self, index: int) -> list[int] | None:
        """The integers of a constant input; None if they are not known."""
        tensor = self.tensor(index)
        if tensor is None or tensor.data is None or tensor.is_sparse:
            return None
        kind = NUMPY_TYPES.get(tensor.dtype)
        if kind is None or kind.kind != "i" or tensor.elements > _MOST_NUMBERS:
            return None
        return [int(number) for number in constant(tensor).reshape(-1)]

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise self.wrong(f"axis {axis} does not exist in {rank} dimensions")
        return axis % rank


Rule = Callable[[_Made], Sequence[Shape] | None]


def check_shapes(graph: Graph) -> Graph:
    """`graph` itself if every output has the size that its operator makes of its inputs, as far as that
    is known; else raises ModelError."""
    for op in graph.ops:
        rule = _RULES.get(op.type)
        kinds = [graph.tensors[t].dtype for t in (*op.inputs, *op.outputs) if t >= 0]
        if rule is None or not op.outputs or not all(kind.bits for kind in kinds):
            continue
        made = _Made(graph, op)
        wanted = rule(made)
        if wanted is None:
            continue
        if len(wanted) != len(op.outputs):
            raise made.wrong(f"it makes {len(wanted)} tensors, and has {len(op.outputs)} outputs")
        for shape, said in zip(wanted, made.outputs, strict=True):
            if _plain(shape) != _plain(said):
                given = ", ".join(str(list(source)) for source in made.shapes[:4])
                more = ", ..." if len(made.shapes) > 4 else ""
                raise made.wrong(
                    f"of {given}{more} it makes {list(shape)}, but its output says {list(said)}"
                )
    return graph


def _plain(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def _as_many(made: _Made) -> Sequence[Shape] | None:
    """As many elements as the first input, in whatever shape."""
    source = made.shape(0)
    if source is None:
        return None
    said = made.outputs[0]
    return [said if math.prod(said) == math.prod(source) else source, *made.outputs[1:]]


def _within(made: _Made) -> Sequence[Shape] | None:
    """No more elements than the first input."""
    source = made.shape(0)
    if source is None:
        return None
    said = made.outputs[0]
    return [said if math.prod(said) <= math.prod(source) else source, *made.outputs[1:]]


def _broadcast(made: _Made, begin: int = 0) -> Sequence[Shape] | None:
    shapes = [made.shape(begin), made.shape(begin + 1)]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < 2:
        return None
    try:
        return [np.broadcast_shapes(*known)]
    except ValueError:
        first, second = map(list, known)
        raise made.wrong(f"{first} and {second} do not broadcast") from None


def _select(made: _Made) -> Sequence[Shape] | None:
    return _broadcast(made, 1)


def _windows(made: _Made, source: Shape) -> Shape | None:
    """Rows and columns of a map behind windows; None without any."""
    window = made.op.window
    if window is None:
        return None
    lengths = zip((window.rows, window.columns), source[1:3], strict=True)
    return tuple(max(0, axis.made(length)) for axis, length in lengths)


def _convolution(made: _Made) -> Sequence[Shape] | None:
    source, filters = made.shape(0), made.shape(1)
    if source is None or filters is None or len(source) != 4 or len(filters) != 4:
        return None
    sides = _windows(made, source)
    depthwise = made.op.type == "DEPTHWISE_CONV_2D"
    if not depthwise and (not filters[3] or source[3] % filters[3]):
        raise made.wrong(f"filters of {filters[3]} channels do not divide {source[3]}")
    if depthwise and (not source[3] or filters[3] % source[3]):
        raise made.wrong(f"{filters[3]} filters are no multiple of {source[3]} channels")
    made_of = filters[3] if depthwise else filters[0]
    return None if sides is None else [(source[0], *sides, made_of)]


def _pool(made: _Made) -> Sequence[Shape] | None:
    source = made.shape(0)
    if source is None or len(source) != 4:
        return None
    sides = _windows(made, source)
    return None if sides is None else [(source[0], *sides, source[3])]


def _transpose_conv(made: _Made) -> Sequence[Shape] | None:
    wanted, filters, source = made.numbers(0), made.shape(1), made.shape(2)
    if wanted is None or filters is None or source is None:
        return None
    if len(wanted) != 4 or len(filters) != 4 or len(source) != 4:
        return None
    sides = _windows(made, tuple(wanted))
    if sides is not None and _plain((*sides, wanted[0])) != _plain((*source[1:3], source[0])):
        raise made.wrong(f"it makes no {wanted} of {list(source)}")
    return [tuple(wanted)]


def _dense(made: _Made) -> Sequence[Shape] | None:
    source, filters = made.shape(0), made.shape(1)
    if source is None or filters is None or made.option("weights_format"):
        return None
    if len(filters) < 2 or math.prod(filters) != filters[-1] * filters[-2] or not filters[-1]:
        raise made.wrong(f"its weights have the shape {list(filters)}")
    rows, rest = divmod(math.prod(source), filters[-1])
    if rest:
        raise made.wrong(f"{list(source)} are no rows of {filters[-1]}")
    said = made.outputs[0]
    return [said if math.prod(said) == rows * filters[-2] else (rows, filters[-2])]


def _joined(made: _Made) -> Sequence[Shape] | None:
    shapes = made.shapes
    if not shapes or len(shapes) < len(made.op.inputs):
        raise made.wrong("an input is missing" if shapes else "it has no inputs")
    axis = made.axis(made.option("axis"), len(shapes[0]))
    if len({(*shape[:axis], len(shape), *shape[axis + 1 :]) for shape in shapes}) != 1:
        raise made.wrong(
            f"its inputs differ in more than axis {axis}: "
            + ", ".join(str(list(shape)) for shape in shapes[:4])
        )
    first = shapes[0]
    return [(*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])]


def _packed(made: _Made) -> Sequence[Shape] | None:
    shapes = made.shapes
    if not shapes or len(shapes) < len(made.op.inputs):
        raise made.wrong("an input is missing" if shapes else "it has no inputs")
    if len(set(shapes)) != 1:
        raise made.wrong("its inputs differ in their shapes")
    axis = made.axis(made.option("axis"), len(shapes[0]) + 1)
    return [(*shapes[0][:axis], len(shapes), *shapes[0][axis:])]


def _unpacked(made: _Made) -> Sequence[Shape] | None:
    source = made.shape(0)
    if source is None:
        return None
    axis = made.axis(made.option("axis"), len(source))
    if len(made.outputs) > source[axis]:
        raise made.wrong(f"it makes {len(made.outputs)} of the {source[axis]} of axis {axis}")
    return [(*source[:axis], *source[axis + 1 :])] * len(made.outputs)


def _split(made: _Made) -> Sequence[Shape] | None:
    at, named = (0, 2) if made.op.type == "SPLIT_V" else (1, 0)
    source, axes = made.shape(at), made.numbers(named)
    if source is None or axes is None or len(axes) != 1:
        return None
    axis = made.axis(axes[0], len(source))
    count = len(made.outputs)
    sizes = [source[axis] // count] * count
    if made.op.type == "SPLIT_V":
        told = made.numbers(1)
        if told is None or len(told) != count:
            return None
        rest = source[axis] - sum(size for size in told if size != -1)
        sizes = [rest if size == -1 else size for size in told]
    if sum(sizes) != source[axis] or min(sizes) < 0:
        raise made.wrong(f"axis {axis} of {list(source)} has no {count} such parts")
    return [(*source[:axis], size, *source[axis + 1 :]) for size in sizes]


def _padded(made: _Made) -> Sequence[Shape] | None:
    source, sides = made.shape(0), made.numbers(1)
    if source is None or sides is None:
        return None
    if len(sides) != 2 * len(source):
        raise made.wrong(f"it has {len(sides)} paddings for {len(source)} dimensions")
    sums = (a + b for a, b in zip(sides[::2], sides[1::2], strict=True))
    return [tuple(size + more for size, more in zip(source, sums, strict=True))]


def _transposed(made: _Made) -> Sequence[Shape] | None:
    source, order = made.shape(0), made.numbers(1)
    if source is None or order is None:
        return None
    axes = [made.axis(axis, len(source)) for axis in order]
    if sorted(axes) != list(range(len(source))):
        raise made.wrong(f"{order} is no order of {len(source)} dimensions")
    return [tuple(source[axis] for axis in axes)]


def _reduced(made: _Made) -> Sequence[Shape] | None:
    source, axes = made.shape(0), made.numbers(1)
    if source is None or axes is None:
        return None
    gone = {made.axis(axis, len(source)) for axis in axes if source}
    return [tuple(1 if axis in gone else size for axis, size in enumerate(source))]


def _resized(made: _Made) -> Sequence[Shape] | None:
    source, size = made.shape(0), made.numbers(1)
    if source is None or size is None or len(source) != 4 or len(size) != 2:
        return None
    return [(source[0], *size, source[3])]


def _gathered(made: _Made) -> Sequence[Shape] | None:
    source, index = made.shape(0), made.shape(1)
    if source is None or index is None or made.option("batch_dims"):
        return None
    axis = made.axis(made.option("axis"), len(source))
    return [(*source[:axis], *index, *source[axis + 1 :])]


def _tiled(made: _Made) -> Sequence[Shape] | None:
    source, times = made.shape(0), made.numbers(1)
    if source is None or times is None:
        return None
    if len(times) != len(source):
        raise made.wrong(f"it has {len(times)} multiples for {len(source)} dimensions")
    return [tuple(size * n for size, n in zip(source, times, strict=True))]


def _product(made: _Made) -> Sequence[Shape] | None:
    first, second = made.shape(0), made.shape(1)
    if first is None or second is None or min(len(first), len(second)) < 2:
        return None
    (rows, inner), (other, columns) = (
        (shape[-1], shape[-2]) if made.option(name) else (shape[-2], shape[-1])
        for shape, name in ((first, "adj_x"), (second, "adj_y"))
    )
    if inner != other:
        raise made.wrong(f"rows of {inner} meet columns of {other}")
    try:
        batch = np.broadcast_shapes(first[:-2], second[:-2])
    except ValueError:
        raise made.wrong("its batches do not broadcast") from None
    return [(*batch, rows, columns)]


_EACH = (
    *("ABS", "CAST", "CEIL", "COS", "CUMSUM", "DEQUANTIZE", "ELU", "EXP", "FLOOR", "GELU"),
    *("HARD_SWISH", "L2_NORMALIZATION", "LEAKY_RELU", "LOG", "LOGICAL_NOT", "LOGISTIC"),
    *("LOG_SOFTMAX", "NEG", "PRELU", "QUANTIZE", "RELU", "RELU6", "RELU_0_TO_1"),
    *("RELU_N1_TO_1", "REVERSE_V2", "ROUND", "RSQRT", "SIGN", "SIN", "SOFTMAX", "SQRT"),
    *("SQUARE", "TANH", "ZEROS_LIKE", "EXPAND_DIMS", "RESHAPE", "SQUEEZE"),
    *("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"),
)
_PAIRS = (
    *("ADD", "SUB", "MUL", "DIV", "FLOOR_DIV", "FLOOR_MOD", "POW", "SQUARED_DIFFERENCE"),
    *("MINIMUM", "MAXIMUM", "LOGICAL_AND", "LOGICAL_OR", "EQUAL", "NOT_EQUAL", "LESS"),
    *("LESS_EQUAL", "GREATER", "GREATER_EQUAL"),
)
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_EACH, _as_many),
    **dict.fromkeys(_PAIRS, _broadcast),
    **dict.fromkeys(("SELECT", "SELECT_V2"), _select),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), _pool),
    **dict.fromkeys(("SPLIT", "SPLIT_V"), _split),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _padded),
    **dict.fromkeys(("SLICE", "STRIDED_SLICE", "BATCH_TO_SPACE_ND", "ARG_MAX", "ARG_MIN"), _within),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), _resized),
    **dict.fromkeys(
        ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"),
        _reduced,
    ),
    "TRANSPOSE_CONV": _transpose_conv,
    "FULLY_CONNECTED": _dense,
    "CONCATENATION": _joined,
    "PACK": _packed,
    "UNPACK": _unpacked,
    "TRANSPOSE": _transposed,
    "GATHER": _gathered,
    "TILE": _tiled,
    "BATCH_MATMUL": _product,
}

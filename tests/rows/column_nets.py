"""Random operators on maps, with the taps of their kernels: what strips are checked against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.block import BlockOp
from lowtide.ir.graph import Option
from lowtide.ir.window import Axis, Window
from lowtide.ir.windows import normalise_windows
from lowtide.lower import columns_read
from lowtide.lower.nodes import Reads
from lowtide.rows.columns import (
    Stripes,
    stage_windows,
    stripes,
)

SAME, VALID, EXPLICIT = 0, 1, 2


@dataclass(slots=True)
class Drawing:
    """Operators on maps 1 x H x W x C; `taps[op]` are the columns of the kernel before stride and pad.

    `pads[op]` is how far left of the map the first window begins.
    """

    rng: Random
    tensors: list[Tensor] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    taps: list[tuple[int, ...]] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    pads: list[int] = field(default_factory=list)

    def tensor(self, shape: Sequence[int], *, constant: bool = False) -> int:
        data = b"" if constant else None
        number = len(self.tensors)
        self.tensors.append(Tensor(number, f"t{number}", tuple(shape), DType.INT8, data=data))
        return number

    def add(
        self,
        kind: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        taps: tuple[int, ...] = (0,),
        stride: int = 1,
        pad: int = 0,
        **options: Option,
    ) -> int:
        out = self.tensor(shape)
        self.ops.append(Op(len(self.ops), kind, tuple(inputs), (out,), options))
        self.taps.append(taps)
        self.strides.append(stride)
        self.pads.append(pad)
        return out

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.tensors[tensor].shape

    def window(self, x: int, *, keep: bool = False) -> int:
        """A convolution or a pool; `keep` keeps the width. Its kernel may be wider than the map."""
        rng, (_, high, wide, deep) = self.rng, self.shape(x)
        kind = rng.choice(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"))
        kernel, stride, dilation = rng.choice((1, 1, 2, 3, 5, 9)), rng.choice((1, 1, 2, 3)), 1
        if kind.endswith("CONV_2D"):
            dilation = rng.choice((1, 1, 2, 3))
        padding = rng.choice((SAME, VALID, EXPLICIT))
        if keep:
            stride, padding = 1, SAME
        size = (kernel - 1) * dilation + 1
        options: dict[str, Option] = {"stride_w": stride, "stride_h": 1, "padding": VALID}
        left, right = 0, 0
        if padding == SAME:
            out = -(-wide // stride)
            total = max(0, (out - 1) * stride + size - wide)
            left, right = total // 2, total - total // 2
            options["padding"] = SAME
        elif padding == EXPLICIT:
            left, right = rng.randint(0, size), rng.randint(0, size)  # windows may miss the map
        out = (wide + left + right - size) // stride + 1
        if out < 1:
            return self.window(x, keep=keep)
        taps = tuple(k * dilation for k in range(kernel))
        explicit = (left, right) if padding == EXPLICIT else None
        if kind.endswith("POOL_2D"):
            options |= {"filter_width": kernel, "filter_height": 1}
            made = self.add(kind, [x], (1, high, out, deep), taps, stride, left, **options)
            return self.padded(made, explicit)
        options["dilation_w_factor"] = dilation
        many = deep if kind[0] == "D" else rng.randint(1, 4)
        filters = (1, 1, kernel, deep) if kind[0] == "D" else (many, 1, kernel, deep)
        weights = self.tensor(filters, constant=True)
        made = self.add(kind, [x, weights], (1, high, out, many), taps, stride, left, **options)
        return self.padded(made, explicit)

    def padded(self, made: int, sides: tuple[int, int] | None) -> int:
        """Give the last operator this padding of its own."""
        if sides is not None:
            graph = Graph("", tuple(self.tensors), (self.ops[-1],), (), ())
            (op,) = normalise_windows(graph).ops
            assert op.window is not None
            columns = replace(op.window.columns, before=sides[0], after=sides[1])
            self.ops[-1] = replace(op, window=replace(op.window, columns=columns))
        return made

    def plain(self, x: int) -> int:
        kind = self.rng.choice(("RELU", "TANH", "QUANTIZE", "ADD", "MUL", "MINIMUM"))
        inputs = [x]
        if kind in ("ADD", "MUL", "MINIMUM"):
            inputs.append(
                self.tensor(self.rng.choice(((), (1,), self.shape(x)[3:])), constant=True)
            )
        return self.add(kind, inputs, self.shape(x))

    def block(self, x: int) -> int:
        """A block whose rows need not be counted: only its columns are looked at."""
        rng, (_, high, wide, deep) = self.rng, self.shape(x)
        kernel = rng.choice((1, 2, 3, 3, 5))
        stride = rng.randint(1, min(kernel, 3))
        left, right = rng.randint(0, kernel), rng.randint(0, kernel)
        out = (wide + left + right - kernel) // stride + 1
        if out < 1:
            return self.window(x)
        rows, pixel = rng.randint(1, 3 * high), rng.choice((0, 7))
        lines = []
        if rng.random() < 0.6:
            lines.append(self.tensor((1, 2, wide, 2 * deep)))
        made = self.add("", [x], (1, high, out, deep), tuple(range(kernel)), stride, left)
        self.ops[-1] = BlockOp(
            id=self.ops[-1].id,
            inputs=(x,),
            outputs=(made,),
            intermediates=tuple(lines),
            window=Window(Axis(), Axis(kernel, stride, 1, left, right)),
            expand=None,
            core=0,
            project=None,
            kept=0,
            expanded_rows=rows,
            expanded_height=high,
            expanded_columns=min(wide, (out - 1) * stride + kernel - left),
            expand_macs=pixel,
            pixel_macs=rng.randint(1, 9),
        )
        return made

    def branches(self, x: int) -> int:
        """Two ways to the same width, put together again."""
        one, other = self.window(x, keep=True), x
        if self.rng.random() < 0.5:
            other = self.window(x, keep=True)
        a, b = self.shape(one), self.shape(other)
        if a == b and self.rng.random() < 0.6:
            return self.add("ADD", [one, other], a)
        axis = 1 if a[3] == b[3] and self.rng.random() < 0.5 else 3
        shape = list(a)
        shape[axis] += b[axis]
        signed = axis - 4 if self.rng.random() < 0.5 else axis
        return self.add("CONCATENATION", [one, other], shape, axis=signed)


def drawn(seed: int) -> tuple[Drawing, Graph]:
    """A network whose operators can all run as one stage in strips, and its last tensor's maker."""
    draw = Drawing(Random(seed))
    rng = draw.rng
    source = draw.tensor((1, rng.randint(1, 3), rng.randint(1, 17), rng.randint(1, 4)))
    x = source
    for _ in range(rng.randint(1, 4)):
        x = rng.choice((*[draw.window] * 3, draw.plain, draw.branches, draw.block))(x)
    graph = Graph("columns", tuple(draw.tensors), tuple(draw.ops), (source,), (x,))
    return draw, normalise_windows(graph)


def reading(graph: Graph) -> Callable[[int], tuple[Reads, ...] | None]:
    """What an operator of the graph reads."""
    return lambda op: columns_read(graph, graph.ops[op])


def needed(draw: Drawing, op: int, column: int, wide: int) -> set[int]:
    """The columns of an input `wide` wide that the operator's output column needs."""
    left = column * draw.strides[op] - draw.pads[op]
    return {left + tap for tap in draw.taps[op] if 0 <= left + tap < wide}


def gaps(draw: Drawing, op: int) -> bool:
    """Whether windows leave columns out; one beside the map may then reach into it for nothing."""
    size = max(draw.taps[op]) + 1
    return len(draw.taps[op]) < size or draw.strides[op] > size


def cuts_of(seed: int) -> tuple[Drawing, Graph, list[tuple[int, Stripes | None]]]:
    """The network in strips of every width, also wider ones than the map."""
    draw, graph = drawn(seed)
    out = graph.outputs[0]
    of = [columns_read(graph, op) for op in graph.ops]
    assert all(w is not None for w in of), seed
    wide = graph.tensors[out].shape[2]
    found = stage_windows(graph, range(len(graph.ops)), frozenset({out}), reading(graph))
    assert (found is None) == (wide == 1), seed
    plain = [w for w in of if w is not None]
    return (
        draw,
        graph,
        [
            (width, stripes(graph, range(len(graph.ops)), plain, out, width))
            for width in range(1, wide + 2)
        ],
    )

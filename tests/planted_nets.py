"""Random networks in which some channels never change, are read by nobody, or are equal to others.

Why planted: a random convolution hardly ever has a channel that its input cannot change, and what goes
wrong goes wrong where such channels meet: before a border, in a sum with one that does change, across a
view that makes one channel of many. Every number is drawn from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec
from lowtide.zoo.writer import write

Shape = tuple[int, ...]

_SCALE = 0.25
_SAME, _VALID = 0, 1
_MOST = 900  # elements of a map
_TYPES = ("INT8", "INT8", "INT8", "INT8", "INT16", "UINT8")


class Planted:
    """One network: its tensors so far, and one method per thing that can be done with them."""

    def __init__(self, seed: int, dtype: str = "", *, biased: bool = False) -> None:
        self.rng = Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.dtype = dtype or self.rng.choice(_TYPES)
        self.biased = biased or self.dtype != "INT8"  # else some do without
        ends = np.iinfo(self.dtype.lower())
        self.ends = int(ends.min), int(ends.max)
        self.zero = 0
        if self.dtype != "INT16":
            self.zero = self.rng.choice((self.ends[0], self.ends[0], 0, 3, self.ends[1]))
            self.zero = max(self.ends[0], self.zero)
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: list[int] = []
        self.read: set[int] = set()

    def shape(self, tensor: int) -> Shape:
        return self.tensors[tensor].shape

    def tensor(self, shape: Shape, scale: float = _SCALE, zero: int | None = None) -> int:
        """A tensor of the network's type."""
        scales = np.array([scale], np.float32)
        zero = self.zero if zero is None else zero
        name = f"t{len(self.tensors)}"
        self.tensors.append(TensorSpec(name, shape, self.dtype, scales, zero))
        return len(self.tensors) - 1

    def constant(self, values: Any, dtype: str, **fields: Any) -> int:
        data = np.array(values, dtype.lower())
        name = f"t{len(self.tensors)}"
        self.tensors.append(TensorSpec(name, data.shape, dtype, data=data, **fields))
        return len(self.tensors) - 1

    def input(self, shape: Shape) -> int:
        self.inputs.append(self.tensor(shape))
        return self.inputs[-1]

    def add(
        self, kind: str, sources: Sequence[int], out: int, table: str = "", **options: Option
    ) -> int:
        """An operator of one output, which is returned; `table` is the name of its options."""
        self.more(kind, sources, (out,), table, **options)
        return out

    def more(
        self, kind: str, sources: Sequence[int], outs: Sequence[int], table: str, **options: Option
    ) -> None:
        name = table or "".join(part.title() for part in kind.split("_")) + "Options"
        self.ops.append(OpSpec(kind, 1, tuple(sources), tuple(outs), name, options))
        self.read |= set(sources)

    # Sums of products

    def _planted(self, weights: NDArray[Any], products: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`weights` [outputs, taps, depth] with something planted, and biases."""
        outputs = len(weights)
        large = (9500 if self.dtype == "INT16" else 37) * 73 * math.sqrt(products)
        bias = self.numbers.normal(0, large, outputs)
        for channel in range(outputs):
            match self.rng.randrange(7):
                case 0:  # always at one end
                    bias[channel] = self.rng.choice((-1, 1)) * large * 60
                case 1:  # always something in between
                    weights[channel] = 0
                case 2:  # little
                    weights[channel] //= 40
                case 3:  # equal to another
                    other = self.rng.randrange(outputs)
                    weights[channel], bias[channel] = weights[other], bias[other]
                case _:
                    pass
        for channel in range(weights.shape[2]):  # read by nobody
            if self.rng.random() < 0.15:
                weights[:, :, channel] = 0
        limit = 2.0**31 - 1
        return weights, np.clip(np.rint(bias), -limit, limit)

    def _layer(
        self,
        kind: str,
        x: int,
        shape: Shape,
        axis: int,
        out: Shape,
        options_type: str,
        options: dict[str, Option],
    ) -> int:
        """`shape` of the weights has the outputs in `axis`, which is its first or last."""
        outputs = shape[axis]
        is_byte = self.dtype == "UINT8"
        products = math.prod(shape) // outputs
        if kind == "TRANSPOSE_CONV":
            products = max(1, products // 2)
        drawn = self.numbers.integers(-127, 128, (outputs, math.prod(shape) // outputs))
        depth = shape[3] if axis == 0 and len(shape) == 4 else shape[-1] if axis == 0 else 1
        planted, bias = self._planted(drawn.reshape(outputs, -1, depth), products)
        weights = planted.reshape(outputs, -1)
        weights = weights.reshape(shape) if axis == 0 else weights.T.reshape(shape)
        spread = 9000.0 if self.dtype == "INT16" else 50.0
        real = spread / ((9500 if self.dtype == "INT16" else 37) * 73 * math.sqrt(products))
        varied = (1,) if is_byte else (outputs,)
        scales = (real * self.numbers.uniform(0.5, 1.5, varied)).astype(np.float32)
        zero = self.rng.choice((0, 127, 255)) if is_byte else 0
        stored = np.clip(weights + zero, 0, 255) if is_byte else weights
        sources = [
            x,
            self.constant(
                stored,
                "UINT8" if is_byte else "INT8",
                scales=scales,
                zero_point=zero,
                axis=axis % len(shape),
            ),
        ]
        if kind == "TRANSPOSE_CONV":
            sources = [self.constant(out, "INT32"), sources[1], x]
        if kind != "TRANSPOSE_CONV" and (self.rng.random() < 0.85 or self.biased):
            wide = "INT64" if self.dtype == "INT16" else "INT32"
            sources.append(self.constant(bias, wide, scales=scales * np.float32(_SCALE)))
        return self.add(kind, sources, self.tensor(out), options_type, **options)

    def conv(self, x: int, outputs: int = 0, *, keep: bool = False) -> int:
        """CONV_2D, in groups now and then; `keep` keeps height and width."""
        _, height, width, depth = self.shape(x)
        kernel, stride, padding, dilation = self._window(height, width, keep)
        outputs = outputs or self.rng.randint(1, 9)
        groups = 1
        if depth % 2 == 0 and self.rng.random() < 0.2 and self.dtype == "INT8":
            groups, outputs = 2, outputs + outputs % 2
        out = (1, *_made(height, width, kernel, stride, padding, dilation), outputs)
        options = self._window_options(stride, padding, dilation)
        shape = (outputs, *kernel, depth // groups)
        return self._layer("CONV_2D", x, shape, 0, out, "Conv2DOptions", options)

    def depthwise(self, x: int, *, keep: bool = False) -> int:
        _, height, width, depth = self.shape(x)
        kernel, stride, padding, dilation = self._window(height, width, keep)
        multiple = 1 if self.rng.random() < 0.7 or depth > 8 else 2
        out = (1, *_made(height, width, kernel, stride, padding, dilation), depth * multiple)
        options = self._window_options(stride, padding, dilation) | {"depth_multiplier": multiple}
        shape = (1, *kernel, depth * multiple)
        return self._layer("DEPTHWISE_CONV_2D", x, shape, 3, out, "DepthwiseConv2DOptions", options)

    def separable(self, x: int) -> int:
        return self.conv(self.depthwise(x))

    def transpose_conv(self, x: int) -> int:
        _, height, width, depth = self.shape(x)
        if self.dtype != "INT8" or height * width > 60:
            return self.conv(x)
        outputs = self.rng.randint(1, 6)
        out = (1, 2 * height, 2 * width, outputs)
        kernel = self.rng.choice(((2, 2), (3, 3)))
        options: dict[str, Option] = {"padding": _SAME, "stride_h": 2, "stride_w": 2}
        return self._layer(
            "TRANSPOSE_CONV", x, (outputs, *kernel, depth), 0, out, "TransposeConvOptions", options
        )

    def dense(self, x: int) -> int:
        depth = math.prod(self.shape(x))
        if len(self.shape(x)) == 4 and self.rng.random() < 0.7:
            x = self.view(x, (1, depth))
        outputs = self.rng.randint(1, 8)
        options: dict[str, Option] = {"fused_activation_function": self.rng.choice((0, 0, 1))}
        return self._layer(
            "FULLY_CONNECTED",
            x,
            (outputs, depth),
            0,
            (1, outputs),
            "FullyConnectedOptions",
            options,
        )

    def _window(
        self, height: int, width: int, keep: bool
    ) -> tuple[tuple[int, int], tuple[int, int], int, int]:
        rng = self.rng
        kernel = rng.choice([(1, 1), (1, 1), (3, 3), (3, 1), (2, 3)])
        stride = (1, 1) if keep else rng.choice([(1, 1), (1, 1), (2, 2), (1, 2)])
        padding = _SAME if keep or rng.random() < 0.6 else _VALID
        if kernel[0] > height or kernel[1] > width:
            padding = _SAME
        dilation = 2 if stride == (1, 1) and padding == _SAME and rng.random() < 0.15 else 1
        return kernel, stride, padding, dilation

    def _window_options(
        self, stride: tuple[int, int], padding: int, dilation: int
    ) -> dict[str, Option]:
        return {
            "padding": padding,
            "stride_h": stride[0],
            "stride_w": stride[1],
            "dilation_h_factor": dilation,
            "dilation_w_factor": dilation,
            "fused_activation_function": self.rng.choice((0, 0, 1, 3)),
        }

    # Element by element

    def pool(self, x: int) -> int:
        _, height, width, depth = self.shape(x)
        kernel = self.rng.randint(1, min(3, height)), self.rng.randint(1, min(3, width))
        stride = self.rng.choice(((1, 1), (2, 2)))
        padding = self.rng.choice((_SAME, _VALID))
        out = self.tensor((1, *_made(height, width, kernel, stride, padding, 1), depth))
        kind = self.rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))
        return self.add(
            *(kind, (x,), out, "Pool2DOptions"),
            padding=padding,
            stride_h=stride[0],
            stride_w=stride[1],
            filter_height=kernel[0],
            filter_width=kernel[1],
        )

    def binary(self, x: int) -> int:
        """With a branch, with a constant per channel or of one element, or with itself."""
        shape = self.shape(x)
        kinds = ["ADD", "ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"]
        kind = "ADD" if self.dtype == "UINT8" else self.rng.choice(kinds)
        match self.rng.randrange(4):
            case 0:
                values = self.numbers.integers(*self.ends, (shape[-1],))
                scales = np.array([_SCALE], np.float32)
                y = self.constant(values, self.dtype, scales=scales, zero_point=self.zero)
            case 1:
                values = self.numbers.integers(*self.ends, (1,))
                scales = np.array([_SCALE], np.float32)
                y = self.constant(values, self.dtype, scales=scales, zero_point=self.zero)
            case 2 if len(shape) == 4:
                y = self.conv(x, shape[3], keep=True)
                if self.shape(y) != shape:
                    y = x
            case _:
                y = x
        pair = (x, y) if self.rng.random() < 0.5 else (y, x)
        scale = _SCALE * 8 if kind == "MUL" else _SCALE
        extreme = kind in ("MINIMUM", "MAXIMUM")
        table = "MaximumMinimumOptions" if extreme else ""
        options = {} if extreme else {"fused_activation_function": self.rng.choice((0, 0, 1))}
        out = self.tensor(shape, scale)
        made = self.add(kind, pair, out, table, **options)
        return made if scale == _SCALE else self.conv(made) if len(shape) == 4 else made

    def residual(self, x: int) -> int:
        y = self.conv(self.conv(x, keep=True), self.shape(x)[3], keep=True)
        if self.shape(y) != self.shape(x):
            return y
        return self.add("ADD", (y, x), self.tensor(self.shape(x)), fused_activation_function=0)

    def unary(self, x: int) -> int:
        if self.dtype == "UINT8":
            return self.pool(x)
        kind = self.rng.choice(("RELU", "LEAKY_RELU", "RELU6"))
        options: dict[str, Option] = {"alpha": 0.3} if kind == "LEAKY_RELU" else {}
        return self.add(kind, (x,), self.tensor(self.shape(x)), "LeakyReluOptions", **options)

    # Moves

    def view(self, x: int, shape: Shape) -> int:
        operand = self.constant(shape, "INT32")
        return self.add("RESHAPE", (x, operand), self.tensor(shape), new_shape=shape)

    def folded(self, x: int) -> int:
        """A view with other channels, and back again or not."""
        _, height, width, depth = self.shape(x)
        if self.rng.random() < 0.5 and width % 2 == 0:
            return self.view(x, (1, height, width // 2, depth * 2))
        if depth % 2 == 0:
            return self.view(x, (1, height, width * 2, depth // 2))
        return self.view(x, (1, width, height, depth))

    def joined(self, x: int) -> int:
        parts = [self.conv(x, keep=True), x, self.conv(x, keep=True)]
        parts = [part for part in parts if self.shape(part)[1:3] == self.shape(x)[1:3]]
        shape = (*self.shape(x)[:3], sum(self.shape(part)[3] for part in parts))
        return self.add("CONCATENATION", parts, self.tensor(shape), axis=self.rng.choice((3, -1)))

    def stacked(self, x: int) -> int:
        """Joined along columns or rows."""
        axis = self.rng.choice((1, 2))
        y = self.conv(x, self.shape(x)[3], keep=True)
        parts = [x, y] if self.shape(y) == self.shape(x) else [x, x]
        shape = list(self.shape(x))
        shape[axis] *= 2
        return self.add("CONCATENATION", parts, self.tensor(tuple(shape)), axis=axis)

    def split(self, x: int) -> int:
        """In equal parts or not, all of them read but now and then one."""
        shape = self.shape(x)
        if shape[3] < 2:
            return self.conv(x, 4)
        if shape[3] % 2 == 0 and self.rng.random() < 0.5:
            sizes = [shape[3] // 2] * 2
        else:
            first = self.rng.randint(1, shape[3] - 1)
            sizes = [first, shape[3] - first]
        outs = [self.tensor((*shape[:3], size)) for size in sizes]
        axis = self.constant((3,), "INT32")
        if sizes[0] == sizes[1]:
            self.more("SPLIT", (axis, x), outs, "SplitOptions", num_splits=2)
        else:
            cut = self.constant(sizes, "INT32")
            self.more("SPLIT_V", (x, cut, axis), outs, "SplitVOptions", num_splits=2)
        if self.rng.random() < 0.2:
            return outs[1]
        parts = [self.conv(outs[0], keep=True), outs[1]]
        if self.shape(parts[0])[:3] != shape[:3]:
            return outs[0]
        wide = (*shape[:3], sum(self.shape(part)[3] for part in parts))
        return self.add("CONCATENATION", parts, self.tensor(wide), axis=3)

    def sliced(self, x: int) -> int:
        shape = self.shape(x)
        begin = [self.rng.randint(0, size - 1) if i else 0 for i, size in enumerate(shape)]
        size = [
            self.rng.randint(1, n - b) if i else 1
            for i, (n, b) in enumerate(zip(shape, begin, strict=True))
        ]
        if self.rng.random() < 0.5:
            operands = (x, self.constant(begin, "INT32"), self.constant(size, "INT32"))
            return self.add("SLICE", operands, self.tensor(tuple(size)))
        end = [b + n for b, n in zip(begin, size, strict=True)]
        mask = self.rng.choice((0, 8))
        if mask:
            end[3] = 1
            size[3] = shape[3] - begin[3]
        operands4 = (
            *(x, self.constant(begin, "INT32"), self.constant(end, "INT32")),
            self.constant((1, 1, 1, 1), "INT32"),
        )
        return self.add("STRIDED_SLICE", operands4, self.tensor(tuple(size)), end_mask=mask)

    def padded(self, x: int) -> int:
        sides = np.zeros((4, 2), np.int32)
        for axis in self.rng.choice(((1, 2), (2,), (3,), (1, 2))):
            sides[axis] = self.rng.randint(0, 2), self.rng.randint(0, 2)
        shape = tuple(int(n) for n in np.array(self.shape(x)) + sides.sum(axis=1))
        return self.add("PAD", (x, self.constant(sides, "INT32")), self.tensor(shape))

    def gathered(self, x: int) -> int:
        shape = self.shape(x)
        picks = [self.rng.randrange(shape[3]) for _ in range(self.rng.randint(1, 6))]
        if self.dtype != "INT8":
            return self.conv(x)
        operands = (x, self.constant(picks, "INT32"))
        return self.add("GATHER", operands, self.tensor((*shape[:3], len(picks))), axis=3)

    def turned(self, x: int) -> int:
        order = self.rng.choice(((0, 2, 1, 3), (0, 3, 1, 2)))
        shape = tuple(self.shape(x)[i] for i in order)
        return self.add("TRANSPOSE", (x, self.constant(order, "INT32")), self.tensor(shape))

    def resized(self, x: int) -> int:
        _, height, width, depth = self.shape(x)
        size = self.constant((2 * height, 2 * width), "INT32")
        out = self.tensor((1, 2 * height, 2 * width, depth))
        if self.dtype == "UINT8":
            return self.conv(x)
        return self.add("RESIZE_NEAREST_NEIGHBOR", (x, size), out)

    def mean(self, x: int) -> int:
        if self.dtype == "UINT8":
            return self.pool(x)
        depth = self.shape(x)[3]
        axes = self.constant((1, 2), "INT32")
        out = self.tensor((1, 1, 1, depth))
        return self.add("MEAN", (x, axes), out, "ReducerOptions", keep_dims=True)

    def grown(self, x: int) -> int:
        """One more thing done."""
        kinds: list[Callable[[int], int]] = [
            *(self.conv, self.conv, self.separable, self.depthwise, self.pool, self.binary),
            *(self.residual, self.unary, self.joined, self.stacked, self.split, self.sliced),
            *(self.padded, self.gathered, self.folded, self.turned, self.resized),
            *(self.transpose_conv, self.mean),
        ]
        made = self.rng.choice(kinds)(x)
        return self.pool(made) if math.prod(self.shape(made)) > _MOST else made

    def finish(self, *outputs: int) -> bytes:
        """The file; what nobody reads stays as it is, an operator in vain."""
        return write(
            NetSpec("planted", tuple(self.tensors), tuple(self.ops), tuple(self.inputs), outputs)
        )


def _made(
    height: int,
    width: int,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: int,
    dilation: int,
) -> tuple[int, int]:
    made = []
    for size, k, s in zip((height, width), kernel, stride, strict=True):
        window = (k - 1) * dilation + 1
        made.append(-(-size // s) if padding == _SAME else (size - window + s) // s)
    return made[0], made[1]


def planted_network(seed: int, *, biased: bool = False) -> bytes:
    """The network number `seed`: 3 to 8 things done one after the other, one or two outputs.

    If `biased`, no convolution is without biases, which LiteRT demands.
    """
    net = Planted(seed, biased=biased)
    rng = net.rng
    maps = [net.conv(net.input((1, rng.randint(2, 7), rng.randint(2, 7), rng.randint(1, 4))))]
    for _ in range(rng.randint(3, 8)):
        maps.append(net.grown(maps[-1]))
    outputs = [net.dense(maps[-1]) if rng.random() < 0.6 else maps[-1]]
    if rng.random() < 0.3:
        outputs.append(rng.choice(maps))
    return net.finish(*dict.fromkeys(outputs))

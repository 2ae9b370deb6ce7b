"""Sums of products: CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, TRANSPOSE_CONV of all types.

Sources, in tensorflow/lite/kernels/internal/reference: conv.h, depthwiseconv_uint8.h, fully_connected.h,
integer_ops/conv.h, integer_ops/depthwise_conv.h, integer_ops/fully_connected.h,
integer_ops/transpose_conv.h; factors by kernels/kernel_util.cc.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arithmetic import (
    RANGES,
    Ints,
    activation_range,
    multipliers,
    padding,
    scaled,
    scaled_wide,
    wrapped,
)
from .drawing import _NEAR_ONE, Case, Draw, RedrawError

_WORK = 3_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Weights of an operator, [products, channels] to be, and what becomes of their sums."""

    dtype: str
    weights: Ints
    weights_zero: int
    in_scale: float
    in_zero: int
    out_scale: float
    out_zero: int
    scales: NDArray[np.float32]
    bias: Ints | None
    activation: int
    once: bool
    narrow: bool

    @property
    def reals(self) -> NDArray[np.float64]:
        """The factors of the sums: uint8 convolutions multiply scales as float32."""
        if self.dtype == "UINT8" and not self.once:
            product = np.float32(self.in_scale) * self.scales
            return np.asarray(product.astype(np.float64) / float(self.out_scale))
        return np.asarray(
            float(self.in_scale) * self.scales.astype(np.float64) / float(self.out_scale)
        )

    def _scaled(self, sums: Ints) -> Ints:
        if self.once:  # fully_connected.h: std::round of a double
            exact = sums * self.reals
            return np.asarray((np.sign(exact) * np.floor(np.abs(exact) + 0.5)).astype(np.int64))
        wide = self.dtype == "INT16" and not self.narrow
        return (scaled_wide if wide else scaled)(sums, *multipliers(self.reals))

    def finish(self, sums: Ints) -> Ints:
        """Outputs of sums, channels last, without bias."""
        if self.bias is not None:
            sums = sums + self.bias
        made = wrapped(self._scaled(sums) + self.out_zero)
        low, high = activation_range(self.activation, self.dtype, self.out_scale, self.out_zero)
        return np.clip(made, low, high)


def _type(draw: Draw) -> str:
    return draw.often("INT8", "UINT8", "INT16", share=0.6)


def _weights(draw: Draw, shape: tuple[int, ...], dtype: str) -> tuple[Ints, int]:
    kind = "UINT8" if dtype == "UINT8" else "INT8"
    zero = draw.zero(kind) if kind == "UINT8" else 0
    values = draw.values(shape, kind, zero).astype(np.int64)
    return values, zero


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """A tensor that is made, or an input: its values, [samples, *shape], and how it is quantised."""

    tensor: int
    values: Ints
    dtype: str
    scale: float
    zero: int


def _factor(draw: Draw, dtype: str, size: float) -> tuple[float, float, float]:
    """(scale of the input, about that of the weights, factor of the sums)."""
    spread = 9000.0 if dtype == "INT16" else 50.0
    usual = spread / max(1.0, size)
    kinds = "small", "large", "power", "one", "one", "tiny", "greatest"
    kind = draw.wished("factor", lambda: draw.often("usual", *kinds, share=0.6))
    in_scale = draw.scale()
    if kind in ("broad", "mixed"):
        return in_scale, draw.scale(), float(draw.rng.uniform(0.5, 4.0 if kind == "broad" else 1.0))
    if kind == "greatest":
        power = 2.0 ** math.floor(math.log2(usual))
        return 1 - _NEAR_ONE, 1 + _NEAR_ONE, power
    real = {
        "usual": usual,
        "small": usual / 8,
        "large": usual * 16,
        "power": 2.0 ** math.floor(math.log2(usual)),
        "one": draw.one(0.4999, 0.5, 0.7, 1.0, 1.9, 3.0),
        "tiny": usual * 2.0 ** -draw.within(4, 22),
        "least": usual * 2.0**-20,
    }[kind]
    return in_scale, draw.scale(), float(real)


def _layer(
    draw: Draw,
    dtype: str,
    shape: tuple[int, ...],
    axis: int,
    products: int,
    *,
    per_channel: bool = True,
    once: bool = False,
    narrow: bool = False,
    four_bits: bool = True,
    source: Map | None = None,
) -> tuple[Layer, int, int]:
    """A layer, the weights' tensor and the bias's (-1: there is none)."""
    channels = shape[axis]
    weights, zero = _weights(draw, shape, dtype)
    nibbles = dtype == "INT8" and four_bits and not once
    nibbles = nibbles and draw.wished("nibbles", lambda: draw.chance(0.1))
    if nibbles:
        weights = weights >> 4
    typical = 9500 if dtype == "INT16" else 37
    in_scale, scale, real = _factor(draw, dtype, typical * 73 * math.sqrt(products))
    in_scale, scale = float(np.float32(in_scale)), float(np.float32(scale))
    in_zero = draw.zero(dtype)
    if source is not None:
        in_scale, in_zero = source.scale, source.zero
    many = per_channel and dtype != "UINT8" and draw.chance(0.7)
    scales = np.full(channels if many else 1, scale, np.float32)
    if many and draw.chance(0.8):
        scales = (scale * draw.rng.uniform(0.3, 1.0, channels)).astype(np.float32)
    six = draw.wished("six", lambda: False) and source is None  # RELU6 that limits above alone
    if six:
        in_scale = float(np.float32(0.05 * real / scale))
    out_scale = float(np.float32(in_scale * scale / real))
    if not (1e-30 < out_scale < 1e30):
        raise RedrawError
    if dtype == "INT16" and not narrow and in_scale * float(scales.max()) / out_scale >= 60:
        raise RedrawError
    low, high = RANGES[dtype]
    worst = (
        int(np.abs(weights - zero).max()) * max(abs(low - in_zero), abs(high - in_zero)) * products
    )
    if worst >= 1 << 31 and (dtype != "INT16" or narrow):
        raise RedrawError
    bias = None
    kind = draw.wished("bias", lambda: draw.often("usual", "none", "most", "zero", share=0.6))
    if kind == "none" and dtype == "UINT8" and not once:  # LiteRT has no such convolution
        kind = "zero"
    if kind != "none":
        room = (1 << 31) - 1 - worst
        if dtype == "INT16" and not narrow:  # what is scaled must be an int32
            room = int(min(1 << 46, (1 << 30) * out_scale / in_scale / float(scales.max())))
        if room <= 0:
            raise RedrawError
        bias = draw.rng.normal(0, typical * 73 * math.sqrt(products), channels).astype(np.int64)
        bias = np.clip(bias, -room, room)
        if kind == "most":
            bias = draw.rng.choice([-room, room], channels)
        if kind == "zero":
            bias = np.zeros(channels, np.int64)
    out_zero = RANGES[dtype][0] if six and dtype != "INT16" else draw.zero(dtype)
    usual = draw.wished("activation", lambda: draw.often(0, 1, 2, 3, share=0.6))
    activation = 3 if six else usual
    layer = Layer(
        *(dtype, weights, zero, in_scale, in_zero, out_scale, out_zero, scales, bias),
        *(activation, once, narrow and bias is not None),
    )
    kind_of = "UINT8" if dtype == "UINT8" else "INT8"
    if nibbles:
        pairs = np.append(weights.reshape(-1), 0)[: weights.size + weights.size % 2] & 15
        packed = (pairs[::2] | pairs[1::2] << 4).astype(np.uint8)
        made = draw.tensor(shape, "INT4", scales, data=packed, axis=axis)
    else:
        made = draw.constant(weights, kind_of, scales, zero=zero, axis=axis)
    biases = -1
    if bias is not None:
        wide = "INT64" if dtype == "INT16" and not narrow else "INT32"
        biases = draw.constant(bias, wide, (in_scale * scales).astype(np.float32))
    return layer, made, biases


def windows(
    values: Ints,
    fill: int,
    size: tuple[int, int],
    step: tuple[int, int],
    apart: tuple[int, int],
    same: bool,
) -> Ints:
    """The windows of a map, [samples, images, rows, columns, kernel rows, kernel columns, channels]."""
    _, _, height, width, _ = values.shape
    (out_h, top), (out_w, left) = (
        padding(n, k, s, d, same)
        for n, k, s, d in zip((height, width), size, step, apart, strict=True)
    )
    if out_h < 1 or out_w < 1:
        raise RedrawError
    rows = np.arange(out_h)[:, None] * step[0] - top + np.arange(size[0]) * apart[0]
    columns = np.arange(out_w)[:, None] * step[1] - left + np.arange(size[1]) * apart[1]
    inside = ((rows >= 0) & (rows < height))[:, None, :, None] & (
        (columns >= 0) & (columns < width)
    )[None, :, None, :]
    taken = values[:, :, rows.clip(0, height - 1)][:, :, :, :, columns.clip(0, width - 1)]
    taken = taken.transpose(0, 1, 2, 4, 3, 5, 6)
    return np.where(inside[None, None, ..., None], taken, fill)


def window_of(draw: Draw) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], bool]:
    """(kernel, strides, dilations, whether SAME)."""
    k = draw.within(1, 7)
    kernel = draw.one((1, 1), (3, 3), (3, 3), (k, k), (k, 1), (1, k), (k, draw.within(1, 5)))
    strides = draw.often((1, 1), (2, 2), (1, 2), (2, 1), (3, 3), (3, 1), share=0.6)
    dilations = draw.often((1, 1), (2, 2), (1, 2), (3, 1), share=0.8)
    return kernel, strides, dilations, draw.chance(0.65)


def map_shape(draw: Draw, channels: int) -> tuple[int, int, int, int]:
    """The shape of a map."""
    batch = draw.often(1, 2, 3, share=0.9)
    return batch, draw.within(1, 9), draw.within(1, 17), channels


def _options(step: tuple[int, int], apart: tuple[int, int], same: bool, of: int) -> dict[str, int]:
    return {
        "padding": 0 if same else 1,
        "stride_h": step[0],
        "stride_w": step[1],
        "dilation_h_factor": apart[0],
        "dilation_w_factor": apart[1],
        "fused_activation_function": of,
    }


def _product(a: Ints, b: Ints) -> Ints:
    """Products of matrices: sums below 2^53 are exact as doubles."""
    return np.asarray((a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64))


Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int], bool]
"""Kernel, strides, dilations, whether SAME."""


def _given(draw: Draw, source: Map | None, shape: tuple[int, ...], layer: Layer) -> Map:
    """What a layer reads: `source`, or a new input."""
    if source is not None:
        return source
    x, values = draw.input(shape, layer.dtype, layer.in_scale, layer.in_zero)
    return Map(x, values, layer.dtype, layer.in_scale, layer.in_zero)


def _made(draw: Draw, layer: Layer, sums: Ints) -> Map:
    made = layer.finish(sums)
    out = draw.tensor(made.shape[1:], layer.dtype, layer.out_scale, layer.out_zero)
    return Map(out, made, layer.dtype, layer.out_scale, layer.out_zero)


def framed(draw: Draw, dtype: str, shape: tuple[int, ...], window: Window) -> Map:
    """A map that a PAD makes of an input of `shape`."""
    scale, zero = draw.scale(), draw.zero(dtype)
    x, values = draw.input(shape, dtype, scale, zero)
    return _padded(draw, Map(x, values, dtype, scale, zero), window)


def _padded(draw: Draw, source: Map, window: Window) -> Map:
    """What a PAD makes of a map. A window that is no SAME one can do that as well, and then some windows
    lie in padding alone: now and then, several beside each other."""
    size, _, apart, _ = window
    far = draw.wished("far", lambda: draw.often(1, 9, share=0.85))
    most = [far + 1 + (k - 1) * d for k, d in zip(size, apart, strict=True)]
    sides = [(draw.within(0, n), draw.within(0, n)) for n in most]
    frame = [(0, 0), (0, 0), *sides, (0, 0)]
    made = np.pad(source.values, frame, constant_values=source.zero)
    out = draw.tensor(made.shape[1:], source.dtype, source.scale, source.zero)
    at = draw.constant(np.array(frame[1:]), "INT32")
    draw.op("PAD", (source.tensor, at), (out,), ("PadOptions", {}), 2)
    return Map(out, made, source.dtype, source.scale, source.zero)


def _source(
    draw: Draw, dtype: str, channels: int, window: Window
) -> tuple[tuple[int, ...], Map | None]:
    """The shape of what a convolution reads, and that, if it is no input."""
    shape = map_shape(draw, channels)
    if window[3] or draw.chance(0.6):
        return shape, None
    source = framed(draw, dtype, shape, window)
    return source.values.shape[1:], source


def convolve(
    draw: Draw,
    dtype: str,
    shape: tuple[int, ...],
    out_c: int,
    window: Window,
    groups: int = 1,
    source: Map | None = None,
) -> Map:
    """A CONV_2D of an input of `shape`, or of `source`."""
    size, step, apart, same = window
    if math.prod(shape) * math.prod(size) * out_c * draw.count > _WORK:
        raise RedrawError
    depth = shape[3] // groups
    layer, weights, bias = _layer(
        *(draw, dtype, (out_c, *size, depth), 0, math.prod(size) * depth),
        narrow=draw.wished("narrow", lambda: draw.chance(0.3)),
        source=source,
    )
    given = _given(draw, source, shape, layer)
    seen = windows(given.values - layer.in_zero, 0, size, step, apart, same)
    flat = seen.shape[:4]
    filters = (layer.weights - layer.weights_zero).reshape(groups, out_c // groups, -1)
    parts = [
        _product(seen[..., g * depth : (g + 1) * depth].reshape(*flat, -1), filters[g].T)
        for g in range(groups)
    ]
    made = _made(draw, layer, np.concatenate(parts, axis=-1))
    options = _options(step, apart, same, layer.activation)
    inputs = (given.tensor, weights) if bias < 0 else (given.tensor, weights, bias)
    draw.op("CONV_2D", inputs, (made.tensor,), ("Conv2DOptions", options), 3)
    return made


def conv(draw: Draw) -> Case:
    """CONV_2D."""
    dtype = _type(draw)
    window = window_of(draw)
    in_c, out_c, groups = draw.within(1, 40), draw.within(1, 24), 1
    if dtype != "UINT8" and draw.chance(0.06):
        groups = draw.one(2, 3, 4)
        in_c, out_c = groups * draw.within(1, 8), groups * draw.within(1, 6)
    shape, source = _source(draw, dtype, in_c, window)
    return draw.done(convolve(draw, dtype, shape, out_c, window, groups, source))


def convolve_depthwise(
    draw: Draw,
    dtype: str,
    shape: tuple[int, ...],
    multiple: int,
    window: Window,
    source: Map | None = None,
) -> Map:
    """A DEPTHWISE_CONV_2D of an input of `shape`, or of `source`."""
    size, step, apart, same = window
    channels = shape[3] * multiple
    if math.prod(shape) * math.prod(size) * multiple * draw.count > _WORK:
        raise RedrawError
    layer, weights, bias = _layer(
        draw, dtype, (1, *size, channels), 3, math.prod(size), source=source
    )
    given = _given(draw, source, shape, layer)
    seen = windows(given.values - layer.in_zero, 0, size, step, apart, same)
    filters = (layer.weights - layer.weights_zero).reshape(*size, shape[3], multiple)
    sums = np.einsum("snyxijc,ijcm->snyxcm", seen, filters)
    made = _made(draw, layer, sums.reshape(*seen.shape[:4], channels))
    options = _options(step, apart, same, layer.activation) | {"depth_multiplier": multiple}
    inputs = (given.tensor, weights) if bias < 0 else (given.tensor, weights, bias)
    draw.op("DEPTHWISE_CONV_2D", inputs, (made.tensor,), ("DepthwiseConv2DOptions", options), 3)
    return made


def depthwise(draw: Draw) -> Case:
    """DEPTHWISE_CONV_2D."""
    dtype = _type(draw)
    multiple = draw.often(1, 2, 3, 4, 8, share=0.75)
    window = window_of(draw)
    shape, source = _source(draw, dtype, draw.within(1, 40), window)
    return draw.done(convolve_depthwise(draw, dtype, shape, multiple, window, source))


def block(draw: Draw) -> Case:
    """A depthwise convolution with pointwise ones around it, which can be one operator."""
    dtype = draw.often("INT8", "UINT8", share=0.85)
    kinds = ((True, True), (True, False), (False, True))
    expands, projects = draw.wished("parts", lambda: draw.one(*kinds))
    usual = (1, *map_shape(draw, draw.within(1, 20))[1:])
    shape: tuple[int, ...] = draw.wished("shape", lambda: usual)
    point: Window = ((1, 1), (1, 1), (1, 1), True)
    k = draw.one(3, 3, 5, draw.within(1, 7))
    stride = draw.often(1, 2, share=0.7)
    kernel = draw.wished("kernel", lambda: (k, draw.often(k, 3)))
    same = draw.chance(0.8) and "far" not in draw.wishes
    window: Window = (kernel, (stride, stride), (1, 1), same)
    source = None
    if expands:
        inner = draw.wished("inner", lambda: draw.within(2, 40))
        source = convolve(draw, dtype, shape, inner, point)
        if "far" in draw.wishes:
            source = _padded(draw, source, window)
        shape = source.values.shape[1:]
    made = convolve_depthwise(draw, dtype, shape, 1, window, source)
    if projects:
        outer = draw.wished("outer", lambda: draw.within(1, 20))
        made = convolve(draw, dtype, made.values.shape[1:], outer, point, 1, made)
    return draw.done(made)


def dense(draw: Draw) -> Case:
    """FULLY_CONNECTED."""
    dtype = _type(draw)
    once = dtype == "UINT8" or draw.chance(0.15)
    depth, out_c, rows = draw.within(1, 130), draw.within(1, 40), draw.within(1, 12)
    layer, weights, bias = _layer(
        *(draw, dtype, (out_c, depth), 0, depth),
        per_channel=dtype == "INT8",
        once=once,
        narrow=draw.chance(0.3),
        four_bits=False,  # with a scale for each channel, TFLM does not run it
    )
    draw.once = once
    x, values = draw.input((rows, depth), dtype, layer.in_scale, layer.in_zero)
    filters = (layer.weights - layer.weights_zero).T
    made = layer.finish(_product(values - layer.in_zero, filters))
    out = draw.tensor(made.shape[1:], dtype, layer.out_scale, layer.out_zero)
    options = ("FullyConnectedOptions", {"fused_activation_function": layer.activation})
    if once and dtype == "INT16":
        options[1]["quantized_bias_type"] = 2 if layer.narrow else 4
    return draw.case("FULLY_CONNECTED", (x, weights, bias), (out,), (made,), options, 4)

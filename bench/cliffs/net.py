"""A network of many operators beside each other under construction.

Weights are random, and scales such that outputs spread over their type, but for factors at and above
1/2, with which they clamp. What each operator makes is named by the point's number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.cliffs.grid import Point, Value
from lowtide.zoo.spec import OpSpec, Option, TensorSpec

TYPES = {
    "s8": "INT8",
    "u8": "UINT8",
    "s16": "INT16",
    "w4": "INT8",
    "f32": "FLOAT32",
    "s32": "INT32",
    "s64": "INT64",
    "b8": "BOOL",
}
NO_ZERO = frozenset({"s16", "f32", "s32", "s64", "b8"})
"""Types whose zero point is 0, or that have none."""
LOW = {"s8": -128, "u8": 0, "s16": 0, "w4": -128, "s32": 0}
_SPREAD = {
    "s8": 50 / (37 * 73),
    "u8": 50 / (37 * 73),
    "s16": 9000 / (9500 * 73),
    "w4": 50 / (37 * 4),
}
SCALE = 0.05
_WEIGHTS_ZERO, _NINE = 120, 248
"""uint8 weights from _NINE on need nine bits less their zero point."""
_FACTORS = {"half": 0.5, "above": 0.9, "two": 1.7}
_PARTS = {"none": 0.0, "below": 0.0, "one": 0.0, "some": 1 / 3, "all": 1.0}


class Net:
    """A network under construction, at the point of `number`."""

    number: int
    point: Point
    dtype: str

    def __init__(self) -> None:
        self.values = np.random.default_rng(1)
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: dict[tuple[object, ...], int] = {}

    def size(self, name: str) -> int:
        return self.point.size(name)

    def word(self, name: str) -> Value:
        return self.point.axes[name]

    @property
    def kind(self) -> str:
        """The kind of an operator, which families of several have in their name: "pad of KIND"."""
        return self.point.family.split(" ")[2]

    def zero(self) -> int:
        """The zero point of what is read, and made."""
        if self.dtype in NO_ZERO:
            return 0
        kind = self.point.axes.get("zero", "middle")
        return LOW[self.dtype] + {"least": 0, "middle": 128, "most": 255}[str(kind)]

    def tensor(
        self, shape: Sequence[int], dtype: str, scale: float, zero: int, name: str = ""
    ) -> int:
        is_plain = dtype == "FLOAT32" or not scale
        scales = None if is_plain else np.array([scale], np.float32)
        name = name or f"t{len(self.tensors)}"
        self.tensors.append(TensorSpec(name, tuple(shape), dtype, scales, zero))
        return len(self.tensors) - 1

    def input(self, *shape: int, which: int = 0, scale: float = SCALE, dtype: str = "") -> int:
        """An input of the network: points of one shape and quantisation have it in common. A scale of 0
        is none."""
        kind = dtype or self.dtype
        zero = 0 if kind in NO_ZERO else self.zero()
        key = (shape, kind, zero, which, scale)
        if key not in self.inputs:
            self.inputs[key] = self.tensor(shape, TYPES[kind], scale, zero)
        return self.inputs[key]

    def const(self, data: NDArray[np.int32]) -> int:
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", data.shape, "INT32", data=data))
        return len(self.tensors) - 1

    def made(
        self, shape: Sequence[int], scale: float = SCALE, dtype: str = "", zero: int | None = None
    ) -> int:
        """What the operator makes."""
        kind = dtype or self.dtype
        at = self.zero() if zero is None else zero
        return self.tensor(shape, TYPES[kind], scale, at, f"point_{self.number}")

    def another(self, made: int) -> int:
        """One more tensor that the operator makes, as the first."""
        number = len(self.tensors)
        self.tensors.append(replace(self.tensors[made], name=f"t{number}"))
        return number

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        made: int | Sequence[int],
        table: str,
        **options: Option,
    ) -> None:
        """The operator of the point, which makes one tensor or several."""
        outputs = (made,) if isinstance(made, int) else tuple(made)
        self.ops.append(OpSpec(kind, 2, tuple(inputs), outputs, f"{table}Options", options))

    def layer(self, shape: tuple[int, ...], axis: int, products: int) -> tuple[int, int, float]:
        """Weights, bias, and the scale of what is made."""
        channels, number = shape[axis], len(self.tensors)
        factors = np.full(channels, _SPREAD[self.dtype] / math.sqrt(products))
        factors *= self.values.uniform(0.5, 1.0, channels)
        kind = str(self.point.axes.get("factor", "below"))
        if kind in _FACTORS:
            factors[:] = _FACTORS[kind]
        else:
            factors[self._some(kind, channels)] = 0.6
        scale = float(np.float32(SCALE * 0.01 / _SPREAD[self.dtype] * math.sqrt(products)))
        if self.dtype == "u8":  # one factor for all channels
            scale = SCALE * 0.01 / float(factors.max())
            factors[:] = factors.max()
        scales = (factors * scale / SCALE).astype(np.float32)
        low, high, zero, dtype = {
            "u8": (0, _NINE, _WEIGHTS_ZERO, "UINT8"),
            "w4": (-7, 8, 0, "INT4"),
        }.get(self.dtype, (-127, 128, 0, "INT8"))
        data = self.values.integers(low, high, shape)
        if self.dtype == "u8":
            scales = scales[:1]
            nine = self._some(str(self.point.axes.get("nine", "none")), channels)
            np.moveaxis(data, axis, 0)[nine, ..., 0] = 255
        stored = data.astype(np.uint8 if self.dtype == "u8" else np.int8)
        if self.dtype == "w4":
            flat = np.pad(data.reshape(-1), (0, data.size % 2)) & 15
            stored = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        weights = TensorSpec(f"t{number}", shape, dtype, scales, zero, axis, stored)
        wide = self.dtype == "s16"
        size = (9500 if wide else 37) * (4 if self.dtype == "w4" else 73) * math.sqrt(products)
        bias = self.values.normal(0, size, channels).astype(np.int64 if wide else np.int32)
        kept = "INT64" if wide else "INT32"
        of_bias = (SCALE * scales).astype(np.float32)
        self.tensors += [
            weights,
            TensorSpec(f"t{number + 1}", (channels,), kept, of_bias, data=bias),
        ]
        return number, number + 1, scale

    def _some(self, kind: str, channels: int) -> NDArray[np.bool_]:
        """Which channels are of a kind."""
        some = np.zeros(channels, np.bool_)
        if kind == "one":
            some[channels // 2] = True
        elif kind in _PARTS:
            some[: round(_PARTS[kind] * channels)] = True
        return some

    def act(self) -> int:
        return 3 if self.point.axes.get("act") == "relu6" else 0

    def window(self) -> tuple[tuple[int, ...], tuple[int, int], dict[str, Option]]:
        """Height and width of what is read, of what is made, and the options."""
        at = self.point.axes
        stride, dilation = int(at.get("stride", 1)), int(at.get("dilation", 1))
        made = self.size("height"), self.size("width")
        is_valid = at.get("padding") == "valid"
        more = [
            (int(at.get(name, 1)) - 1) * dilation + 1 - stride if is_valid else 0
            for name in ("kh", "kw")
        ]
        read = tuple(max(1, n * stride + m) for n, m in zip(made, more, strict=True))
        options: dict[str, Option] = {
            "padding": int(is_valid),
            "stride_h": stride,
            "stride_w": stride,
            "fused_activation_function": self.act(),
        }
        return read, made, options

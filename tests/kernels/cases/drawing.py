"""Draws operators: shapes, types, scales and values together, the extremes with weight.

Why weight: at random, a zero point is hardly ever at an end, nor a multiplier a power of two, and there
faults are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lowtide.zoo.spec import NetSpec, OpSpec, Option, TensorSpec

from .arithmetic import RANGES, TYPES, Ints

Array = NDArray[Any]
Reference = Callable[[Sequence[Ints]], Sequence[Ints]]
T = TypeVar("T")

_NEAR_ONE = 181 / (1 << 23)
"""(1 - x) * (1 + x) is 1 - 2^-31, nearly: the greatest multiplier there is."""


class RedrawError(Exception):
    """What was drawn is no operator, or too large."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """An operator, or some, as a network, and what it makes of its inputs' values, [samples, ...] each.

    `samples` are by tensor: of inputs, and of variables before the run; `kept` is what the latter hold
    after it. Its dense layers round `once`, as LiteRT's, not as TFLM's.
    """

    spec: NetSpec
    samples: Mapping[int, Array]
    wanted: Sequence[Array]
    kept: Mapping[int, Ints]
    once: bool = False


class Made(Protocol):
    """A tensor, and what it should hold."""

    @property
    def tensor(self) -> int:
        """Its number."""

    @property
    def values(self) -> Ints:
        """[samples, *shape]."""


class Draw:
    """A network of one operator under construction, and the generator that all is drawn from.

    If `fresh`, variables are before the run as interpreters have them: bytes at their zero point, int16
    at 0. `wishes` are by name what is not drawn: seldom.py has them.
    """

    def __init__(self, rng: np.random.Generator, count: int, fresh: bool = False) -> None:
        self.rng = rng
        self.count = count
        self.fresh = fresh
        self.tensors: list[TensorSpec] = []
        self.inputs: list[int] = []
        self.ops: list[OpSpec] = []
        self.once = False
        self.samples: dict[int, Array] = {}
        self.wishes: dict[str, Any] = {}

    def wished(self, name: str, otherwise: Callable[[], T]) -> T:
        """What `wishes` have of that name, or else what is drawn."""
        return self.wishes[name] if name in self.wishes else otherwise()

    def one(self, *of: T) -> T:
        """One of some things."""
        return of[int(self.rng.integers(len(of)))]

    def often(self, usual: T, *others: T, share: float = 0.6) -> T:
        """The usual one, mostly."""
        return usual if self.rng.random() < share else self.one(*others)

    def within(self, low: int, high: int) -> int:
        """An integer; small ones more often."""
        span = high - low + 1
        return low + min(span - 1, int(span * self.rng.random() ** 1.7))

    def chance(self, share: float) -> bool:
        """True, so often."""
        return bool(self.rng.random() < share)

    def zero(self, dtype: str, low: int | None = None) -> int:
        """A zero point."""
        ends = RANGES[dtype]
        if dtype not in ("INT8", "UINT8"):
            return 0
        least = ends[0] if low is None else low
        middle = 128 if dtype == "UINT8" else 0
        drawn = int(self.rng.integers(least, ends[1] + 1))
        if self.wishes.get("zero") == "least":
            return least
        return self.one(middle, least, ends[1], drawn, drawn, drawn)

    def scale(self) -> float:
        """A scale, as float32 holds it."""
        plain = float(np.exp(self.rng.uniform(math.log(1e-3), math.log(1))))
        power = 2.0 ** int(self.rng.integers(-10, 1))
        return float(np.float32(self.one(plain, plain, plain, power, power * (1 - _NEAR_ONE))))

    def values(self, shape: tuple[int, ...], dtype: str, zero: int = 0) -> Array:
        """Values of one tensor, all of one kind."""
        low, high = RANGES[dtype]
        kinds = ("all", "all", "all", "all", "least", "most", "ends", "near", "zero")
        kind = self.wished("values", lambda: self.one(*kinds))
        if kind == "least":
            return np.full(shape, low, TYPES[dtype])
        if kind == "most":
            return np.full(shape, high, TYPES[dtype])
        if kind == "zero":
            return np.full(shape, zero, TYPES[dtype])
        if kind == "ends":
            return self.rng.choice([low, high], shape).astype(TYPES[dtype])
        if kind == "near":
            near = zero + self.rng.integers(-3, 4, shape)
            near = near if dtype not in ("INT32", "INT64") else near * self.one(1, 100, 30_000)
            return np.clip(near, low, high).astype(TYPES[dtype])
        return self.rng.integers(low, high, shape, endpoint=True).astype(TYPES[dtype])

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str,
        scale: float | Array | None = None,
        zero: int = 0,
        **fields: Any,
    ) -> int:
        """A tensor."""
        scales = None if scale is None else np.atleast_1d(np.asarray(scale, np.float32))
        name = f"t{len(self.tensors)}"
        self.tensors.append(
            TensorSpec(name, shape, dtype, scales=scales, zero_point=zero, **fields)
        )
        return len(self.tensors) - 1

    def constant(self, values: Array, dtype: str, scale: Any = None, **fields: Any) -> int:
        """A constant tensor."""
        data = np.ascontiguousarray(values, TYPES[dtype])
        return self.tensor(data.shape, dtype, scale, data=data, **fields)

    def input(
        self, shape: tuple[int, ...], dtype: str, scale: float | None = None, zero: int = 0
    ) -> tuple[int, Ints]:
        """An input of the network, and its values, [samples, *shape]."""
        if math.prod(shape) > 40_000:
            raise RedrawError
        made = self.tensor(shape, dtype, scale, zero)
        values = np.stack([self.values(shape, dtype, zero) for _ in range(self.count)])
        self.inputs.append(made)
        self.samples[made] = values
        return made, values.astype(np.int64)

    def variable(
        self, shape: tuple[int, ...], dtype: str, scale: float, zero: int = 0
    ) -> tuple[int, Ints]:
        """A variable, and what it holds before the run."""
        made = self.tensor(shape, dtype, scale, zero, is_variable=True)
        values = np.stack([self.values(shape, dtype, zero) for _ in range(self.count)])
        if self.fresh:
            values = np.full_like(values, zero if dtype in ("INT8", "UINT8") else 0)
        self.samples[made] = values
        return made, values.astype(np.int64)

    def case(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        wanted: Sequence[Array],
        options: tuple[str, Mapping[str, Option]] = ("", {}),
        version: int = 1,
        kept: Mapping[int, Ints] = MappingProxyType({}),
        **more: Any,
    ) -> Case:
        """The network of one operator."""
        self.op(kind, inputs, outputs, options, version, **more)
        return self._case(tuple(outputs), wanted, kept)

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: tuple[str, Mapping[str, Option]],
        version: int = 1,
        **more: Any,
    ) -> None:
        """An operator."""
        self.ops.append(OpSpec(kind, version, tuple(inputs), tuple(outputs), *options, **more))

    def done(self, made: Made) -> Case:
        """The network of all operators, which makes one tensor."""
        return self._case((made.tensor,), (made.values,), {})

    def _case(
        self, outputs: tuple[int, ...], wanted: Sequence[Array], kept: Mapping[int, Ints]
    ) -> Case:
        tensors, ops, inputs = tuple(self.tensors), tuple(self.ops), tuple(self.inputs)
        spec = NetSpec("case", tensors, ops, inputs, outputs)
        return Case(spec, self.samples, wanted, kept, self.once)

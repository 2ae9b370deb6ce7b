"""Random networks of operators that move bytes: views of parts of views, joined and taken apart.

Why beside `random_nets`: those are int8 maps that convolutions make, cut in equal parts, and each is
taken apart or joined once. Here any tensor of any type may be viewed, cut unevenly, joined with what was
made of its own parts, given, handed over, or all of that; a few operators compute, so that rows have to
wait for one another. Every number is drawn from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import numpy as np

from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write

Shape = tuple[int, ...]
Options = dict[str, int | float | bool | Shape]

_TYPES = ("INT8", "INT8", "UINT8", "INT16", "INT32")
_SAME = 0  # of the schema's padding
_MOST_BYTES = 600
_MOST_OUTPUTS = 4


class Drawn:
    """One network: its tensors so far, and one method per thing that can be done with them."""

    def __init__(self, seed: int, dtype: str = "") -> None:
        self.rng = Random(seed)
        self.dtype = dtype or self.rng.choice(_TYPES)
        self.size = np.dtype(self.dtype.lower()).itemsize
        self.zero_point = self.rng.choice((0, 3)) if self.size == 1 else 0
        self.tensors: list[TensorSpec] = []
        self.ops: list[OpSpec] = []
        self.inputs: list[int] = []
        self.shapes: dict[int, Shape] = {}  # of what may be read
        self.read: set[int] = set()
        self.fixed: set[int] = set()
        kinds: list[Callable[[], object]] = [self.view] * 5
        kinds += [self.split, self.concatenation, self.rejoined] * 3
        kinds += [self.piece, self.strided, self.pack, self.unpack, self.transpose, self.pad]
        self.kinds = kinds + [lambda: self.changed(self.pick())] * 3

    def pick(self) -> int:
        """A tensor to read: mostly a new one."""
        known = list(self.shapes)
        return self.rng.choice(known[-4:] if self.rng.random() < 0.7 else known)

    def tensor(self, shape: Shape, values: Sequence[int] | None = None, **fields: bool) -> int:
        """A tensor of the network's type, a constant if there are values; it may be read from now on."""
        data = None if values is None else np.array(values, self.dtype.lower()).reshape(shape)
        scales = None if self.size == 4 else np.array([0.5], np.float32)
        name = f"t{len(self.tensors)}"
        self.tensors.append(
            TensorSpec(name, shape, self.dtype, scales, self.zero_point, data=data, **fields)
        )
        self.shapes[len(self.tensors) - 1] = shape
        return len(self.tensors) - 1

    def integers(self, values: int | Sequence[int] | Sequence[Sequence[int]]) -> int:
        """An operand that says what an operator does."""
        data = np.array(values, np.int32)
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", data.shape, "INT32", data=data))
        return len(self.tensors) - 1

    def add(
        self,
        kind: str,
        sources: Sequence[int],
        *shapes: Shape,
        table: str = "",
        options: Options | None = None,
    ) -> int:
        """An operator and its outputs, of which the first is returned; `table` is that of its options,
        mostly named as itself."""
        made = tuple(self.tensor(tuple(shape)) for shape in shapes)
        table = table or kind.title().replace("_", "")
        self.ops.append(OpSpec(kind, 1, tuple(sources), made, f"{table}Options", options or {}))
        self.read.update(sources)
        return made[0]

    def shape(self, elements: int) -> Shape:
        """A shape of so many elements; mostly that of a feature map."""
        rank = self.rng.choice((2, 3, *[4] * 6))
        found = [1]
        for _ in range(rank - 2):
            left = elements // math.prod(found)
            found.append(self.rng.choice([n for n in range(1, left + 1) if left % n == 0]))
        return (*found, elements // math.prod(found))

    def map(self, elements: int) -> Shape:
        """A feature map of so many elements, of several rows or columns if they can be divided."""
        rows = self.rng.choice([n for n in range(1, elements + 1) if elements % n == 0][-3:])
        columns = self.rng.choice([n for n in range(1, rows + 1) if rows % n == 0])
        return (1, rows // columns, columns, elements // rows)

    def cut(self, size: int, most: int) -> list[int]:
        """`size` in up to `most` parts that need not be equal."""
        edges = self.rng.sample(range(1, size), min(size, self.rng.randint(1, most)) - 1)
        borders = [0, *sorted(edges), size]
        return [b - a for a, b in pairwise(borders)]

    def axis(self, shape: Shape) -> int:
        """Mostly one that is longer than 1, and rows or columns of maps."""
        long = [axis for axis, n in enumerate(shape) if n > 1]
        maps = [axis for axis in long if len(shape) == 4 and axis in (1, 2)]
        return self.rng.choice((maps if self.rng.random() < 0.7 else long) or long or [0])

    def input(self) -> None:
        high, wide, deep = self.rng.randint(1, 8), self.rng.randint(1, 4), self.rng.randint(1, 4)
        shape = self.shape(high * wide * deep) if self.rng.random() < 0.5 else (1, high, wide, deep)
        self.inputs.append(self.tensor(shape))

    def constant(self) -> None:
        """A constant, or a variable that is only read."""
        shape = self.shape(self.rng.randint(1, 12))
        values = [self.rng.randint(0, 100) for _ in range(math.prod(shape))]
        if self.rng.random() < 0.7:
            self.fixed.add(self.tensor(shape, values))
        else:
            self.fixed.add(self.tensor(shape, is_variable=True))

    def view(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        match self.rng.randrange(6):
            case 0 if len(shape) < 4:
                at = self.rng.randint(0, len(shape))
                axis = self.integers([at])
                self.add("EXPAND_DIMS", (x, axis), (*shape[:at], 1, *shape[at:]))
            case 1 if 1 in shape[1:] and len(shape) > 2:
                at = shape.index(1, 1)
                self.add(
                    "SQUEEZE",
                    (x,),
                    (*shape[:at], *shape[at + 1 :]),
                    options={"squeeze_dims": (at,)},
                )
            case _:
                target = self.shape(math.prod(shape))
                self.add("RESHAPE", (x, self.integers(target)), target)

    def split(self) -> None:
        x = self.pick()
        if self.rng.random() < 0.6:  # in other rows
            target = self.map(math.prod(self.shapes[x]))
            x = self.add("RESHAPE", (x, self.integers(target)), target)
        self.parts(x)

    def parts(self, x: int) -> tuple[int, list[int]]:
        """`x` cut in parts: the axis, and the parts."""
        shape = self.shapes[x]
        axis = self.axis(shape)
        sizes = self.cut(shape[axis], 4)
        shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
        where = self.integers(axis if self.rng.random() < 0.7 else axis - len(shape))
        if len(set(sizes)) == 1 and self.rng.random() < 0.5:
            first = self.add("SPLIT", (where, x), *shapes, options={"num_splits": len(sizes)})
        else:
            options: Options = {"num_splits": len(sizes)}
            sources = (x, self.integers(sizes), where)
            first = self.add("SPLIT_V", sources, *shapes, options=options)
        return axis, [first + i for i in range(len(sizes))]

    def rejoined(self) -> None:
        """What was made of a tensor, or of its parts, and maybe of what was made of that, joined."""
        x = self.pick()
        if self.rng.random() < 0.5:
            axis, parts = self.parts(x)
        else:
            axis, parts = self.axis(self.shapes[x]), [x]
        for _ in range(self.rng.randint(1, 3)):
            parts.append(self.changed(self.rng.choice(parts)))
        self.rng.shuffle(parts)
        self.join(parts, axis, self.shapes[x])

    def concatenation(self) -> None:
        """Tensors that fit, one of them maybe twice; what does not fit is made of others."""
        x = self.pick()
        shape = self.shapes[x]
        axis = self.axis(shape) if self.rng.random() < 0.7 else self.rng.randrange(len(shape))
        rest = (*shape[:axis], *shape[axis + 1 :])
        alike = [
            t
            for t, s in self.shapes.items()
            if len(s) == len(shape) and (*s[:axis], *s[axis + 1 :]) == rest
        ]
        parts = [x, *self.rng.choices(alike, k=self.rng.randint(0, 3))]
        if self.rng.random() < 0.5:
            parts = list(dict.fromkeys(parts))
        self.rng.shuffle(parts)
        self.join(parts, axis, shape)

    def join(self, parts: Sequence[int], axis: int, shape: Shape) -> None:
        """Tensors of `shape` but for `axis` in one, if that is small."""
        total = sum(self.shapes.get(part, shape)[axis] for part in parts)
        target = (*shape[:axis], total, *shape[axis + 1 :])
        if math.prod(target) * self.size <= _MOST_BYTES:
            self.add("CONCATENATION", parts, target, options={"axis": axis})

    def box(self, shape: Shape) -> tuple[list[int], list[int]]:
        """Where a box begins in `shape`, and how large it is."""
        begin = [self.rng.randrange(n) if self.rng.random() < 0.5 else 0 for n in shape]
        size = [
            self.rng.randint(1, n - b) if self.rng.random() < 0.5 else n - b
            for n, b in zip(shape, begin, strict=True)
        ]
        return begin, size

    def piece(self) -> None:
        x = self.pick()
        begin, size = self.box(self.shapes[x])
        self.add("SLICE", (x, self.integers(begin), self.integers(size)), tuple(size))

    def strided(self) -> None:
        x = self.pick()
        begin, size = self.box(self.shapes[x])
        strides = [self.rng.choice((1, 1, 2, 3)) for _ in begin]
        ends = [b + n for b, n in zip(begin, size, strict=True)]
        made = [len(range(b, e, s)) for b, e, s in zip(begin, ends, strides, strict=True)]
        where = [self.integers(values) for values in (begin, ends, strides)]
        self.add("STRIDED_SLICE", (x, *where), tuple(made))

    def pack(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        parts = [x, *self.rng.choices([t for t, s in self.shapes.items() if s == shape], k=1)]
        axis = self.rng.randint(0, len(shape))
        if len(shape) < 4 and 2 * math.prod(shape) * self.size <= _MOST_BYTES:
            options: Options = {"values_count": len(parts), "axis": axis}
            target = (*shape[:axis], len(parts), *shape[axis:])
            self.add("PACK", parts, target, options=options)

    def unpack(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        axis = self.axis(shape)
        if len(shape) > 1 and shape[axis] <= 4:
            options: Options = {"num": shape[axis], "axis": axis}
            rest = (*shape[:axis], *shape[axis + 1 :])
            self.add("UNPACK", (x,), *[rest] * shape[axis], options=options)

    def transpose(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        order = self.rng.sample(range(len(shape)), len(shape))
        target = tuple(shape[axis] for axis in order)
        self.add("TRANSPOSE", (x, self.integers(order)), target)

    def pad(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        sides = [[self.rng.choice((0, 0, 1)), self.rng.choice((0, 0, 1))] for _ in shape]
        target = tuple(n + a + b for n, (a, b) in zip(shape, sides, strict=True))
        if len(shape) <= 4 and math.prod(target) * self.size <= _MOST_BYTES:
            self.add("PAD", (x, self.integers(sides)), target)

    def changed(self, x: int) -> int:
        """As large as `x`: something of each row, of two, or of each row and its neighbours."""
        shape = self.shapes[x]
        if self.dtype == "INT32":  # nothing computes; rows in another order
            axis = 1 if len(shape) == 4 else 0
            picks = self.rng.choices(range(shape[axis]), k=shape[axis])
            return self.add("GATHER", (x, self.integers(picks)), shape, options={"axis": axis})
        if len(shape) == 4 and shape[0] == 1 and self.rng.random() < 0.4:
            return self.max_pool(x, self.rng.randint(1, 3), self.rng.randint(1, 2))
        if self.dtype == "UINT8" or self.rng.random() < 0.4:
            other = self.rng.choice([t for t, s in self.shapes.items() if s == shape])
            return self.add("ADD", (x, other), shape)
        if self.rng.random() < 0.3:
            other = self.rng.choice([t for t, s in self.shapes.items() if s == shape])
            return self.add("MUL", (x, other), shape)
        return self.leaky_relu(x)

    def leaky_relu(self, x: int) -> int:
        return self.add("LEAKY_RELU", (x,), self.shapes[x], options={"alpha": 0.5})

    def max_pool(self, x: int, high: int, wide: int) -> int:
        """As large as `x`."""
        window: Options = {
            "filter_height": high,
            "filter_width": wide,
            "stride_h": 1,
            "stride_w": 1,
        }
        options: Options = {**window, "padding": _SAME}
        return self.add("MAX_POOL_2D", (x,), self.shapes[x], table="Pool2D", options=options)

    def finish(self) -> bytes:
        """The file; mostly what nobody reads is an output, and sometimes what somebody reads."""
        made = [t for t in self.shapes if t not in self.inputs and t not in self.fixed]
        outputs = [
            t for t in made if self.rng.random() < (0.08 if t in self.read else 0.8)
        ] or made[-1:]
        if self.rng.random() < 0.05:
            outputs.append(self.rng.choice([*self.inputs, *outputs]))
        self.rng.shuffle(outputs)
        return self.written(outputs[:_MOST_OUTPUTS])

    def written(self, outputs: Sequence[int]) -> bytes:
        tensors, ops = tuple(self.tensors), tuple(self.ops)
        return write(NetSpec("moving", tensors, ops, tuple(self.inputs), tuple(outputs)))


def reshaped_and_split(shape: Shape, target: Shape, sizes: Sequence[int]) -> bytes:
    """What a decoder begins with: a tensor seen as `target`, its rows cut in `sizes`."""
    drawn = Drawn(0, "INT8")
    x = drawn.tensor(shape)
    drawn.inputs.append(x)
    view = drawn.add("RESHAPE", (x, drawn.integers(target)), target)
    operands = (view, drawn.integers(sizes), drawn.integers(1))
    shapes = [(1, size, *target[2:]) for size in sizes]
    options: Options = {"num_splits": len(sizes)}
    first = drawn.add("SPLIT_V", operands, *shapes, options=options)
    made = [drawn.leaky_relu(first + part) for part in range(len(shapes))]
    return drawn.written(made)


def joined_with_its_own(steps: int, axis: int) -> bytes:
    """Part of a map, joined with what `steps` operators, one after the other, make of it, twice over."""
    drawn = Drawn(0, "INT16")
    x = drawn.tensor((1, 4, 2, 4))
    drawn.inputs.append(x)
    operands = (x, drawn.integers([0, 1, 0, 1]), drawn.integers([1, 3, 2, 3]))
    parts = [drawn.add("SLICE", operands, (1, 3, 2, 3))]
    for _ in range(2):
        made = parts[0]
        for step in range(steps):
            made = drawn.max_pool(made, 3, 1) if step % 2 else drawn.leaky_relu(made)
        parts.append(made)
    target = (1, 9, 2, 3) if axis == 1 else (1, 3, 6, 3)
    whole = drawn.add("CONCATENATION", parts, target, options={"axis": axis})
    return drawn.written([drawn.add("ADD", (whole, whole), target)])


def moving_network(seed: int) -> bytes:
    """The network number `seed`: one or two inputs, 3 to 12 operators, any number of outputs."""
    drawn = Drawn(seed)
    for _ in range(drawn.rng.choice((1, 1, 2))):
        drawn.input()
    if drawn.rng.random() < 0.2:
        drawn.constant()
    wanted = drawn.rng.randint(3, 12)
    while len(drawn.ops) < wanted:
        drawn.rng.choice(drawn.kinds)()
    return drawn.finish()

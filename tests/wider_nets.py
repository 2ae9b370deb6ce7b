"""Random networks of the operators that only rearrange, compare, select, cast or count, between others.

Why beside `moving_nets`: there any tensor is of one type; here values go through int32 and booleans and
back, in what TFLM runs, so that it can say what is right. Every number is drawn from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowtide.zoo.spec import OpSpec, TensorSpec
from moving_nets import Drawn, Options, Shape


class _Wider(Drawn):
    """A network of int8 with more kinds of operators."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, "INT8")
        self.zero_point = 0  # TFLM pads batches with chance bytes otherwise
        wider = [
            self.blocks,
            self.batches,
            self.mirrored,
            self.reversed,
            self.indexed,
            self.counted,
            self.updated,
        ]
        wider += [self.images, self.images, self.windowed, self.windowed, self.pooled]
        wider += [self.difference, self.selected, self.cast_and_back, self.normalised, self.placed]
        self.kinds = [*self.kinds[:8], *wider, *wider, *[self.map_view] * 3]

    def other(self, shape: Shape, dtype: str) -> int:
        """A tensor of another type, which only its maker's reader reads."""
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", shape, dtype, None, 0))
        return len(self.tensors) - 1

    def op(
        self, kind: str, sources: Sequence[int], made: int, options: Options | None = None
    ) -> int:
        table = (
            kind.title()
            .replace("_", "")
            .replace("SpaceNd", "SpaceND")
            .replace("BatchNd", "BatchND")
        )
        table = {"L2Normalization": "L2Norm"}.get(table, table) + "Options"
        if kind in ("MAXIMUM", "MINIMUM"):
            table = "MaximumMinimumOptions"
        self.ops.append(OpSpec(kind, 1, tuple(sources), (made,), table, options or {}))
        self.read.update(sources)
        return made

    def map_view(self) -> None:
        """A map that can be cut in blocks."""
        x = self.pick()
        elements = int(np.prod(self.shapes[x]))
        target = self.map(elements)
        self.add("RESHAPE", (x, self.integers(target)), target)

    def map_of(self) -> tuple[int, Shape] | None:
        maps = [(t, s) for t, s in self.shapes.items() if len(s) == 4 and s[0] == 1]
        return self.rng.choice(maps) if maps else None

    def blocks(self) -> None:
        found = self.map_of()
        if found is None:
            return
        x, (_, high, wide, deep) = found
        if deep % 4 == 0 and self.rng.random() < 0.5:
            shape: Shape = (1, high * 2, wide * 2, deep // 4)
            self.op("DEPTH_TO_SPACE", (x,), self.tensor(shape), {"block_size": 2})
        elif high % 2 == 0 and wide % 2 == 0:
            shape = (1, high // 2, wide // 2, deep * 4)
            self.op("SPACE_TO_DEPTH", (x,), self.tensor(shape), {"block_size": 2})

    def batches(self) -> None:
        found = self.map_of()
        if found is None:
            return
        x, (_, high, wide, deep) = found
        block = self.rng.choice([(2, 1), (2, 2), (1, 3)])
        sides = [[self.rng.randint(0, 2), 0], [self.rng.randint(0, 1), 0]]
        for side, n, size in zip(sides, (high, wide), block, strict=True):
            side[1] = -(n + side[0]) % size
        shape = (
            block[0] * block[1],
            (high + sum(sides[0])) // block[0],
            (wide + sum(sides[1])) // block[1],
            deep,
        )
        if np.prod(shape) > 600:
            return
        operands = (self.integers(block), self.integers(sides))
        sorted_ = self.op("SPACE_TO_BATCH_ND", (x, *operands), self.tensor(shape))
        if self.rng.random() < 0.7:
            self.op("BATCH_TO_SPACE_ND", (sorted_, *operands), self.tensor((1, high, wide, deep)))

    def mirrored(self) -> None:
        x = self.pick()
        shape, mode = self.shapes[x], self.rng.randint(0, 1)
        sides = [[self.rng.choice((0, 0, 1)) if n > 1 else 0 for _ in range(2)] for n in shape]
        target = tuple(n + sum(side) for n, side in zip(shape, sides, strict=True))
        if len(shape) <= 4 and np.prod(target) <= 600:
            self.op("MIRROR_PAD", (x, self.integers(sides)), self.tensor(target), {"mode": mode})

    def reversed(self) -> None:
        x = self.pick()
        axis = self.rng.randrange(len(self.shapes[x]))
        self.op("REVERSE_V2", (x, self.integers([axis])), self.tensor(self.shapes[x]))

    def indexed(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        depth = self.rng.randint(1, len(shape))
        picks = [[self.rng.randrange(n) for n in shape[:depth]] for _ in range(3)]
        self.op("GATHER_ND", (x, self.integers(picks)), self.tensor((3, *shape[depth:])))

    def alike(self, shape: Shape) -> int:
        return self.rng.choice([t for t, s in self.shapes.items() if s == shape])

    def difference(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        if len(shape) <= 4:
            self.op("SQUARED_DIFFERENCE", (x, self.alike(shape)), self.tensor(shape))

    def selected(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        if len(shape) > 4:
            return
        kind = self.rng.choice(("LESS", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"))
        a, b = self.alike(shape), self.alike(shape)
        condition = self.op(kind, (x, a), self.other(shape, "BOOL"))
        if self.rng.random() < 0.5:
            other = self.op("LESS_EQUAL", (a, b), self.other(shape, "BOOL"))
            joined = self.other(shape, "BOOL")
            condition = self.op("LOGICAL_AND", (condition, other), joined)
        self.op("SELECT_V2", (condition, x, b), self.tensor(shape))

    def cast_and_back(self) -> None:
        x = self.pick()
        shape = self.shapes[x]
        if len(shape) > 4:
            return
        wide = [self.op("CAST", (t,), self.other(shape, "INT32")) for t in (x, self.alike(shape))]
        kind = self.rng.choice(("ADD", "SUB", "MUL", "MAXIMUM"))
        made = self.op(kind, wide, self.other(shape, "INT32"))
        self.op("CAST", (made,), self.tensor(shape))

    def normalised(self) -> None:
        x = self.pick()
        if len(self.shapes[x]) <= 4:
            self.op("L2_NORMALIZATION", (x,), self.tensor(self.shapes[x]))

    def placed(self) -> None:
        """Places, cast to values."""
        x = self.pick()
        shape = self.shapes[x]
        axis = self.rng.randrange(len(shape))
        kept = (*shape[:axis], *shape[axis + 1 :])
        if not kept:
            return
        kind = self.rng.choice(("ARG_MAX", "ARG_MIN"))
        options: Options = {"output_type": 2}
        places = self.op(kind, (x, self.integers(axis)), self.other(kept, "INT32"), options)
        self.op("CAST", (places,), self.tensor(kept))

    def updated(self) -> None:
        """A box of a tensor replaced; it may reach beyond the tensor, and is then moved back."""
        x = self.pick()
        shape = self.shapes[x]
        box = tuple(self.rng.randint(1, n) for n in shape)
        start = self.integers([self.rng.randint(-1, n) for n in shape])
        source, piece = self.alike(shape), self.tensor(box)
        begin = self.integers([self.rng.randint(0, n - b) for n, b in zip(shape, box, strict=True)])
        self.op("SLICE", (source, begin, self.integers(box)), piece)
        self.op("DYNAMIC_UPDATE_SLICE", (x, piece, start), self.tensor(shape))

    def images(self) -> None:
        """A batch of maps."""
        x = self.pick()
        elements = int(np.prod(self.shapes[x]))
        batch = self.rng.choice([n for n in (2, 3, 4, 6) if elements % n == 0] or [1])
        shape = (batch, *self.map(elements // batch)[1:])
        self.add("RESHAPE", (x, self.integers(shape)), shape)

    def windows(self) -> tuple[int, Shape, Shape, Options] | None:
        """A map, of any batch; the size of a window, that of what it makes, and options."""
        maps = [(t, s) for t, s in self.shapes.items() if len(s) == 4]
        if not maps:
            return None
        batched = [(t, s) for t, s in maps if s[0] > 1]
        x, shape = self.rng.choice(batched if batched and self.rng.random() < 0.7 else maps)
        same = self.rng.random() < 0.6
        size = tuple(self.rng.randint(1, 3 if same else min(3, n)) for n in shape[1:3])
        stride = tuple(self.rng.choice((1, 1, 2)) for _ in size)
        made = tuple(
            -(-n // s) if same else (n - k + s) // s
            for n, k, s in zip(shape[1:3], size, stride, strict=True)
        )
        options: Options = {"padding": int(not same), "stride_h": stride[0], "stride_w": stride[1]}
        return x, size, (shape[0], *made, shape[3]), options

    def pooled(self) -> None:
        found = self.windows()
        if found is None:
            return
        x, size, made, options = found
        options |= {"filter_height": size[0], "filter_width": size[1]}
        kind = self.rng.choice(("MAX_POOL_2D", "AVERAGE_POOL_2D"))
        self.add(kind, (x,), made, table="Pool2D", options=options)

    def weights(self, shape: Shape, products: int) -> int:
        """Random ones, for sums that spread over their type."""
        count = int(np.prod(shape))
        data = np.array([self.rng.randint(-127, 127) for _ in range(count)], np.int8).reshape(shape)
        scales = np.array([1 / (73 * products**0.5)], np.float32)
        self.tensors.append(TensorSpec(f"t{len(self.tensors)}", shape, "INT8", scales, data=data))
        return len(self.tensors) - 1

    def windowed(self) -> None:
        found = self.windows()
        if found is None:
            return
        x, size, made, options = found
        deep = made[3]
        if self.rng.random() < 0.5:
            weights = self.weights((1, *size, deep), size[0] * size[1])
            options |= {"depth_multiplier": 1}
            self.add(
                "DEPTHWISE_CONV_2D", (x, weights), made, table="DepthwiseConv2D", options=options
            )
        else:
            wide = self.rng.randint(1, 3)
            weights = self.weights((wide, *size, deep), size[0] * size[1] * deep)
            self.add("CONV_2D", (x, weights), (*made[:3], wide), table="Conv2D", options=options)

    def counted(self) -> None:
        x = self.pick()
        self.op("ZEROS_LIKE", (x,), self.tensor(self.shapes[x]))


def wider_network(seed: int) -> bytes:
    """The network number `seed`: one or two inputs, 3 to 10 operators or a few more, some outputs."""
    drawn = _Wider(seed)
    for _ in range(drawn.rng.choice((1, 1, 2))):
        drawn.input()
    wanted = drawn.rng.randint(3, 10)
    while len(drawn.ops) < wanted:
        drawn.rng.choice(drawn.kinds)()
    return drawn.finish()

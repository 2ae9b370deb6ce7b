"""Random networks that keep something from one invocation to the next, in variables with names.

Why beside `moving_nets`: state goes wrong where a variable is read twice, or again after an assignment,
where rings of several lengths lie side by side, or where what was read is looked at after its memory has
changed. Here anything that `moving_nets` makes stands between reads and assignments. Every number is
drawn from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from lowtide.zoo.spec import NetSpec, OpSpec, TensorSpec
from lowtide.zoo.writer import write
from moving_nets import Drawn, Options, Shape

_TYPES = ("INT8", "INT8", "INT8", "INT16", "INT32")
_VALID = 1  # of the schema's padding
_MOST_ELEMENTS = 400
_MOST_KEPT = 9  # rows


class _Keeping(Drawn):
    """One network: its variables, and one method per way to use them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, Random(seed).choice(_TYPES))
        self.variables: dict[str, Shape] = {}
        self.handles: dict[str, int] = {}
        self.first: list[tuple[str, TensorSpec]] = []
        self.later: list[tuple[str, int]] = []  # assignments that come after all else

    def variable(self, shape: Shape) -> str:
        """A new variable, of which half have first values: of one value, or of many.

        All of INT32 do: LiteRT alone gathers their rows, and it reads no variable that has none.
        """
        name = f"v{len(self.variables)}"
        self.variables[name] = shape
        if self.dtype == "INT32" or self.rng.random() < 0.5:
            self.begin(name)
        return name

    def begin(self, name: str) -> None:
        shape = self.variables[name]
        count = math.prod(shape)
        values = [self.rng.randint(-90, 90)] * count
        if self.rng.random() < 0.7:
            values = [self.rng.randint(-90, 90) for _ in range(count)]
        data = np.array(values, self.dtype.lower()).reshape(shape)
        scales = None if self.size == 4 else np.array([0.5], np.float32)
        spec = TensorSpec(f"{name}/first", shape, self.dtype, scales, self.zero_point, data=data)
        self.first.append((name, spec))

    def handle(self, name: str) -> int:
        """A handle of the variable: sometimes one more."""
        if name not in self.handles or self.rng.random() < 0.2:
            self.handles[name] = len(self.tensors)
            self.tensors.append(TensorSpec(f"t{len(self.tensors)}", (), "RESOURCE"))
            made = (self.handles[name],)
            self.ops.append(
                OpSpec("VAR_HANDLE", 1, (), made, "VarHandleOptions", {"shared_name": name})
            )
        return self.handles[name]

    def value(self, name: str) -> int:
        """The variable, read."""
        return self.add("READ_VARIABLE", (self.handle(name),), self.variables[name])

    def assign(self, name: str, value: int) -> None:
        """Now, or after all else."""
        if self.rng.random() < 0.4:
            self.later.append((name, value))
        else:
            self.assign_now(name, value)

    def assign_now(self, name: str, value: int) -> None:
        sources = (self.handle(name), value)
        self.ops.append(OpSpec("ASSIGN_VARIABLE", 1, sources, (), "AssignVariableOptions", {}))
        self.read.add(value)

    def rows(self) -> int:
        """Something that has rows and is small."""
        small = [t for t, s in self.shapes.items() if len(s) > 1 and math.prod(s) <= 60]
        x = self.rng.choice(small[-6:] or self.inputs)
        if len(self.shapes[x]) < 3 and self.rng.random() < 0.7:
            target = self.map(math.prod(self.shapes[x]))
            x = self.add("RESHAPE", (x, self.integers(target)), target)
        return x

    def ring(self) -> None:
        """The last rows (rarely columns or channels) behind new ones, used, and the last ones kept."""
        x = self.rows()
        shape = self.shapes[x]
        axis = 1 if self.rng.random() < 0.8 else self.rng.randrange(1, len(shape))
        new = shape[axis]
        rest = math.prod(shape) // new
        kept = self.rng.randint(1, max(1, min(_MOST_KEPT, _MOST_ELEMENTS // rest - new)))

        def of(rows: int) -> Shape:
            return (*shape[:axis], rows, *shape[axis + 1 :])

        name = self.variable(of(kept))
        old = self.value(name)
        newest_first = self.rng.random() < 0.15
        parts = (x, old) if newest_first else (old, x)
        joined = self.add("CONCATENATION", parts, of(kept + new), options={"axis": axis})
        if self.rng.random() < 0.5:
            self.look_at(joined)
        self.assign(name, self.last(joined, of(kept), axis, 0 if newest_first else new))
        if self.rng.random() < 0.6:
            self.look_at(joined)
        if self.rng.random() < 0.3:
            self.changed(self.value(name))  # as it is now: before or after it was assigned

    def stream(self) -> None:
        """Rings one behind the other, as streaming networks have them, some side by side; the oldest
        rows are dropped when others come, or before."""
        made = [self.rows()]
        for _ in range(self.rng.randint(2, 5)):
            x = self.rng.choice(made[-2:])
            shape = self.shapes[x]
            if len(shape) != 4 or shape[0] > 1:
                self.ring()
                return
            new = shape[1]
            kept = self.rng.randint(1, max(1, min(_MOST_KEPT, _MOST_ELEMENTS // math.prod(shape))))
            high = kept + new
            before = self.rng.random() < 0.3
            drop = self.rng.randint(1, new) if before and self.rng.random() < 0.3 else new
            name = self.variable(self.shape_of(x, kept + drop if before else kept))
            old = self.value(name)
            if before:
                old = self.last(old, self.shape_of(x, kept), 1, drop, ways=2)
            joined = self.add(
                "CONCATENATION", (old, x), self.shape_of(x, high), options={"axis": 1}
            )
            first = self.rng.random() < 0.5
            if first:
                made.append(self.used(joined))
            if before and drop == new:
                self.assign(name, joined)
            elif before:
                held = self.shape_of(x, kept + drop)
                self.assign(name, self.last(joined, held, 1, new - drop, ways=2))
            else:
                begin = new if self.rng.random() < 0.8 else self.rng.randint(1, new)
                self.assign(name, self.last(joined, self.shape_of(x, kept), 1, begin, ways=2))
            if not first or self.rng.random() < 0.2:
                made.append(self.used(joined))

    def used(self, joined: int) -> int:
        """Windows of all rows but a few."""
        high = self.shapes[joined][1]
        if self.dtype == "INT32" or self.rng.random() < 0.3:
            self.look_at(joined)
        if self.dtype == "INT32":
            return self.last(joined, self.shape_of(joined, 1), 1, high - 1)
        return self.window(joined, self.rng.randint(max(1, high - 2), high))

    def last(self, joined: int, kept: Shape, axis: int, begin: int, ways: int = 4) -> int:
        """The rows from `begin` on, in one of the ways that converters have to say so."""
        shape = self.shapes[joined]
        size = kept[axis]
        starts = [begin if a == axis else 0 for a in range(len(shape))]
        match self.rng.randrange(min(ways, 3 if self.dtype == "INT16" else 4)):
            case 0:
                ends = [s + n for s, n in zip(starts, kept, strict=True)]
                where = [self.integers(values) for values in (starts, ends, [1] * len(shape))]
                return self.add("STRIDED_SLICE", (joined, *where), kept)
            case 1:
                where = [self.integers(starts), self.integers(kept)]
                return self.add("SLICE", (joined, *where), kept)
            case 2:
                rest = shape[axis] - size
                sizes = [rest, size] if begin else [size, rest]
                shapes = [(*shape[:axis], n, *shape[axis + 1 :]) for n in sizes]
                sources = (joined, self.integers(sizes), self.integers(axis))
                first = self.add("SPLIT_V", sources, *shapes, options={"num_splits": 2})
                return first + bool(begin)
            case _:
                picks = self.integers(list(range(begin, begin + size)))
                return self.add("GATHER", (joined, picks), kept, options={"axis": axis})

    def look_at(self, x: int) -> None:
        """Windows of its rows, of one length or of several side by side."""
        shape = self.shapes[x]
        if len(shape) != 4 or shape[0] > 1 or self.dtype == "INT32":
            self.changed(x)
            return
        high, deep = shape[1], shape[3]
        if deep % 2 == 0 and self.rng.random() < 0.5:
            half = (*shape[:3], deep // 2)
            first = self.add("SPLIT", (self.integers(3), x), half, half, options={"num_splits": 2})
            lengths = sorted(self.rng.choices(range(1, high + 1), k=2))
            made = [
                self.window(self.tail(first + i, lengths[1] - n), n) for i, n in enumerate(lengths)
            ]
            self.join(made, 3, self.shapes[made[0]])
        else:
            self.window(x, self.rng.randint(1, high))

    def tail(self, x: int, begin: int) -> int:
        """Rows of a map from `begin` on."""
        high = self.shapes[x][1]
        return x if not begin else self.last(x, self.shape_of(x, high - begin), 1, begin)

    def shape_of(self, x: int, rows: int) -> Shape:
        shape = self.shapes[x]
        return (shape[0], rows, *shape[2:])

    def window(self, x: int, length: int) -> int:
        """A depthwise convolution, or a maximum, over so many rows."""
        shape = self.shape_of(x, self.shapes[x][1] - length + 1)
        window: Options = {"stride_h": 1, "stride_w": 1, "padding": _VALID}
        if self.rng.random() < 0.3:
            pool: Options = {**window, "filter_height": length, "filter_width": 1}
            return self.add("MAX_POOL_2D", (x,), shape, table="Pool2D", options=pool)
        depth = shape[3]
        scale = np.array([1 / (50 * math.sqrt(length))], np.float32)
        weights = np.array(
            [self.rng.randint(-100, 100) for _ in range(length * depth)], np.int8
        ).reshape(1, length, 1, depth)
        kind = "INT32" if self.dtype == "INT8" else "INT64"
        bias = np.array([self.rng.randint(-999, 999) for _ in range(depth)], kind.lower())
        self.tensors.append(TensorSpec("w", weights.shape, "INT8", scale, axis=3, data=weights))
        self.tensors.append(TensorSpec("b", bias.shape, kind, 0.5 * scale, data=bias))
        sources = (x, len(self.tensors) - 2, len(self.tensors) - 1)
        options: Options = {**window, "depth_multiplier": 1}
        return self.add(
            "DEPTHWISE_CONV_2D", sources, shape, table="DepthwiseConv2D", options=options
        )

    def delay(self) -> None:
        """What was given before: read, and replaced by what is given now."""
        x = self.pick()
        name = self.variable(self.shapes[x])
        if self.rng.random() < 0.5:
            old = self.value(name)
            self.assign(name, x)
            self.changed(old)
        else:
            self.assign(name, x)
            self.value(name)

    def blend(self) -> None:
        """Half of what was, and half of what is, so that it goes on for long and does not saturate."""
        x = self.pick()
        shape = self.shapes[x]
        name = self.variable(shape)
        old = self.value(name)
        if self.dtype == "INT32":
            self.assign(name, self.changed(old))  # its rows in another order
            return
        one = self.integers_like([1])
        halves = [self.add("MUL", (part, one), shape) for part in (old, x)]
        self.assign(name, self.add("ADD", halves, shape))

    def integers_like(self, real: Sequence[int]) -> int:
        """A constant of the network's type: so many quantisation steps each."""
        made = self.tensor((len(real),), [self.zero_point + n for n in real])
        del self.shapes[made]  # not for others: it is no map
        return made

    def fixed_values(self) -> None:
        """A variable that is never assigned but at the very start."""
        name = self.variable(self.shapes[self.pick()])
        if name not in dict(self.first):
            self.begin(name)
        self.changed(self.value(name))

    def exchange(self) -> None:
        """Two variables change places, or one is copied to the other."""
        name = self.rng.choice(list(self.variables))
        alike = [n for n, s in self.variables.items() if s == self.variables[name]]
        other = self.rng.choice(alike)
        if other == name:
            other = self.variable(self.variables[name])
        first = self.value(name)
        second = self.value(other) if self.rng.random() < 0.6 else -1
        self.assign_now(other, first)
        if second >= 0:
            self.assign_now(name, second)

    def reread(self) -> None:
        """A variable once more, whatever has become of it."""
        self.value(self.rng.choice(list(self.variables)))

    def again(self) -> None:
        """A variable assigned once more, something made of what it holds."""
        name = self.rng.choice(list(self.variables))
        self.assign(name, self.changed(self.value(name)))

    def finish(self) -> bytes:
        self.rng.shuffle(self.later)
        for name, value in self.later:
            self.assign_now(name, value)
        return super().finish()

    def written(self, outputs: Sequence[int]) -> bytes:
        tensors, ops = tuple(self.tensors), tuple(self.ops)
        inputs, first = tuple(self.inputs), tuple(self.first)
        return write(NetSpec("keeping", tensors, ops, inputs, tuple(outputs), initial=first))


def variable_network(seed: int) -> bytes:
    """The network number `seed`: one or two inputs, one to four variables and what is made of them."""
    drawn = _Keeping(seed)
    for _ in range(drawn.rng.choice((1, 1, 2))):
        drawn.input()
    drawn.rng.choice((drawn.ring, drawn.stream, drawn.stream, drawn.delay, drawn.blend))()
    ways: list[Callable[[], None]] = [drawn.ring] * 3 + [drawn.stream] * 2 + [drawn.reread] * 2
    ways += [drawn.delay, drawn.blend, drawn.exchange, drawn.again, drawn.fixed_values]
    for _ in range(drawn.rng.randint(0, 3)):
        for _ in range(drawn.rng.randint(0, 2)):
            drawn.rng.choice(drawn.kinds)()
        drawn.rng.choice(ways)()
    for _ in range(drawn.rng.randint(0, 2)):
        drawn.rng.choice(drawn.kinds)()
    return drawn.finish()

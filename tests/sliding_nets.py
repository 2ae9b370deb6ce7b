"""Random networks whose first axis is time: what a window that slides can keep of them, and what not.

Why beside `random_nets`: rows are kept wrongly where paddings, strides and branches of other delays meet
along time, and windows are long there. Every number is drawn from the seed.
"""

from __future__ import annotations

from random import Random

import numpy as np

from byte_nets import in_bytes
from lowtide.zoo.builder import Act
from lowtide.zoo.quantise import Activation
from lowtide.zoo.spec import OpSpec
from lowtide.zoo.writer import write
from odd_nets import requantised
from random_nets import Maker

RELU6 = Activation.RELU6


class _Drawn:
    """One network: maps so far, and one method per thing that can be added to them. Time is along axis
    `time` of them: their rows, or their columns."""

    def __init__(self, seed: int, time: int = 1) -> None:
        self.rng = Random(seed)
        self.net = Maker(f"sliding-{seed}")
        self.count = 0
        self.time = time
        self.other = 3 - time

    def pair(self, along: int, across: int) -> tuple[int, int]:
        """(rows, columns) of what is so long along time, and so wide."""
        return (along, across) if self.time == 1 else (across, along)

    def name(self) -> str:
        self.count += 1
        return f"layer_{self.count}"

    def conv(self, x: Act, channels: int = 0, *, keep: bool = False) -> Act:
        """A convolution along time; `keep` keeps height and width."""
        rng = self.rng
        kernel = self.pair(rng.choice([1, 2, 3, 3, 4, 5, 7]), rng.choice([1, 1, 3]))
        stride, same = (1, 1), True
        if not keep:
            stride = self.pair(rng.choice([1, 1, 1, 2, 3]), rng.choice([1, 1, 2]))
            same = rng.random() < 0.4 or kernel[0] > x.shape[1] or kernel[1] > x.shape[2]
        if rng.random() < 0.5 and not channels:
            out = self.net.depthwise(x, self.name(), kernel, stride, RELU6, same=same)
        else:
            wide = channels or rng.randint(1, 6)
            out = self.net.conv(x, self.name(), wide, kernel, stride, RELU6, same=same)
        if same and stride == (1, 1) and rng.random() < 0.3:
            self.net.dilate(2)
        return out

    def pool(self, x: Act) -> Act:
        rng = self.rng
        long, wide = x.shape[self.time], x.shape[self.other]
        kernel = self.pair(rng.randint(1, min(4, long)), rng.randint(1, min(3, wide)))
        stride, same = self.pair(rng.choice([1, 1, 2, 3]), 1), rng.random() < 0.5
        if rng.random() < 0.5:
            return self.net.average_pool(x, self.name(), kernel, stride, same=same)
        return self.net.max_pool(x, self.name(), kernel, stride, same=same)

    def residual(self, x: Act) -> Act:
        """A sum of sides with other delays."""
        branch = self.conv(x, keep=True) if self.rng.random() < 0.5 else x
        branch = self.conv(branch, x.shape[3], keep=True)
        pair = (branch, x) if self.rng.random() < 0.5 else (x, branch)
        return self.net.add(*pair, self.name(), RELU6)

    def cropped(self, x: Act) -> Act:
        """The same without padding: the short side is cut."""
        kernel = self.rng.randint(1, min(5, x.shape[self.time]))
        name, deep = self.name(), x.shape[3]
        branch = self.net.conv(x, name, deep, self.pair(kernel, 1), 1, RELU6, same=False)
        short = self.rows(x, self.rng.randint(0, kernel - 1), branch.shape[self.time])
        return self.net.add(branch, short, self.name(), RELU6)

    def rows(self, x: Act, first: int, count: int) -> Act:
        """Some rows of a map, or columns: SLICE or STRIDED_SLICE."""
        name, net = self.name(), self.net
        taken = [slice(None)] * 4
        taken[self.time] = slice(first, first + count)
        q = x.q[tuple(taken)]
        made = net._add_activation(f"{name}/rows", (1, *q.shape[1:]), x.quant)
        begin, size = (0, *self.pair(first, 0), 0), (1, *q.shape[1:])
        if self.rng.random() < 0.5:
            both = net._int32(f"{name}/begin", begin), net._int32(f"{name}/size", size)
            net._ops.append(OpSpec("SLICE", 1, (x.id, *both), (made,), "SliceOptions", {}))
        else:
            ends = (1, *self.pair(first + count, x.shape[self.other]), x.shape[3])
            given = (("begin", begin), ("end", ends), ("strides", (1, 1, 1, 1)))
            sources = (x.id, *(net._int32(f"{name}/{what}", values) for what, values in given))
            op = OpSpec("STRIDED_SLICE", 1, sources, (made,), "StridedSliceOptions", {})
            net._ops.append(op)
        return Act(made, (1, *q.shape[1:]), x.quant, np.ascontiguousarray(q))

    def joined(self, x: Act) -> Act:
        """Branches at different speeds, joined along channels, columns or time."""
        axis = self.rng.choice((1, 2, 3, 3))
        parts = [self.conv(x, 3, keep=True), self.conv(self.conv(x, keep=True), 3, keep=True)]
        return self.net.concat(parts, self.name(), axis)

    def folded(self, x: Act) -> Act:
        """Columns become channels."""
        return self.net.reshape(x, self.name(), (1, x.shape[1], 1, x.shape[2] * x.shape[3]))

    def head(self, x: Act) -> Act:
        rng, (_, high, wide, deep) = self.rng, x.shape
        match rng.randrange(4):
            case 0:
                return self.net.mean(x, self.name())
            case 1:
                return self.net.average_pool(x, self.name())
            case 2:
                flat = self.net.reshape(x, self.name(), (1, high * wide * deep))
                return self.net.probabilities(flat, rng.randint(2, 5), 1.0)
            case _:
                tokens = self.net.reshape(x, self.name(), (1, high, wide * deep))
                return self.net.fully_connected(tokens, self.name(), 3, keep_num_dims=True)


def sliding_network(seed: int, time: int = 1) -> bytes:
    """The network number `seed`: int8, uint8 or int16. Axis `time` of its input is time: rows, or
    columns."""
    drawn = _Drawn(seed, time)
    rng, net = drawn.rng, drawn.net
    shape = *drawn.pair(rng.randint(6, 24), rng.randint(1, 5)), rng.randint(1, 3)
    if rng.random() < 0.15 and time == 1:
        return _in_a_row(drawn)
    if seed % 10 == 7:
        return _summed(drawn, shape)
    if rng.random() < 0.3:
        flat = net.input((1, shape[0] * shape[1] * shape[2]))
        x = net.reshape(flat, "rows", (1, *shape))
    else:
        x = net.input((1, *shape))
    x = drawn.conv(x)
    kinds = (
        *(drawn.conv, drawn.conv, drawn.pool, drawn.residual, drawn.cropped),
        *(drawn.joined, drawn.folded),
    )
    maps = [x]
    for _ in range(rng.randint(1, 4)):
        maps.append(rng.choice(kinds)(maps[-1]))
    outputs = [drawn.head(maps[-1])]
    if rng.random() < 0.4:
        outputs.append(rng.choice(maps))
    if rng.random() < 0.3:
        outputs.insert(0, drawn.head(rng.choice(maps)))
    return _written(drawn, outputs)


def _summed(drawn: _Drawn, shape: tuple[int, int, int]) -> bytes:
    """Layers without padding, whose last rows are summed: nothing is tied to an edge."""
    rng, net = drawn.rng, drawn.net
    x = net.input((1, *shape))
    for _ in range(rng.randint(1, 3)):
        kernel = rng.randint(1, min(4, x.shape[1])), rng.choice([1, min(3, x.shape[2])])
        if rng.random() < 0.5:
            x = net.depthwise(x, drawn.name(), kernel, 1, RELU6, same=False)
        else:
            x = net.conv(x, drawn.name(), rng.randint(1, 9), kernel, 1, RELU6, same=False)
    heads = [net.mean(x, drawn.name()) if rng.random() < 0.5 else net.average_pool(x, drawn.name())]
    return _written(drawn, [*heads, *([x] if rng.random() < 0.3 else [])])


def _in_a_row(drawn: _Drawn) -> bytes:
    """Convolutions of one dimension, as converters write them: time is the columns of one row."""
    rng, net = drawn.rng, drawn.net
    x = net.input((1, 1, rng.randint(8, 24), rng.randint(1, 4)))
    for _ in range(rng.randint(1, 3)):
        kernel, stride, same = rng.choice([1, 2, 3, 5]), rng.choice([1, 1, 2]), rng.random() < 0.5
        same = same or kernel > x.shape[2]
        size = (1, kernel), (1, stride)
        if rng.random() < 0.5:
            x = net.depthwise(x, drawn.name(), *size, RELU6, same=same)
        else:
            x = net.conv(x, drawn.name(), rng.randint(1, 6), *size, RELU6, same=same)
    return _written(drawn, [drawn.head(x)])


def _written(drawn: _Drawn, outputs: list[Act]) -> bytes:
    rng = drawn.rng
    spec = drawn.net.described(*outputs)
    kind = rng.choice(("", "INT8", "UINT8", "INT16"))
    if kind == "UINT8":
        return write(in_bytes(spec, rng))
    return write(requantised(spec, kind, rng) if kind else spec)

"""Random small int8 networks with the shapes that make rows hard to schedule.

Why drawn and not listed: a schedule goes wrong where windows, strides and branches meet in ways that
nobody thought of. Every number is drawn from the seed, so that a failure can be run again.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation
from lowtide.zoo.spec import NetSpec, OpSpec, Quant, TensorSpec
from lowtide.zoo.writer import write

RELU6 = Activation.RELU6  # gives every map the same quantisation, so that all can be joined


class Maker(NetBuilder):
    """A builder that also splits, pads and dilates, and may make all maps for a batch of images."""

    batch = 1

    def _add_activation(self, name: str, shape: tuple[int, ...], quant: Quant) -> int:
        return super()._add_activation(name, (self.batch, *shape[1:]), quant)

    def _int32(self, name: str, values: tuple[int, ...]) -> int:
        shaped = name.endswith("/Reshape/shape")
        return super()._int32(name, (self.batch, *values[1:]) if shaped else values)

    def split(self, x: Act, name: str, axis: int, parts: int) -> list[Act]:
        """SPLIT into equal parts along `axis`."""
        pieces = np.split(x.q, parts, axis=axis)
        made = [
            self._add_activation(f"{name}/split:{i}", (1, *piece.shape[1:]), x.quant)
            for i, piece in enumerate(pieces)
        ]
        sources = (self._int32(f"{name}/split/axis", (axis,)), x.id)
        self._ops.append(
            OpSpec("SPLIT", 2, sources, tuple(made), "SplitOptions", {"num_splits": parts})
        )
        return [
            Act(index, (1, *piece.shape[1:]), x.quant, piece)
            for index, piece in zip(made, pieces, strict=True)
        ]

    def pad(self, x: Act, name: str, sides: tuple[int, int, int, int]) -> Act:
        """PAD of rows (top, bottom) and columns (left, right), with the zero point."""
        top, bottom, left, right = sides
        widths = ((0, 0), (top, bottom), (left, right), (0, 0))
        q = np.pad(x.q, widths, constant_values=x.quant.zero_point)
        shape = (1, *q.shape[1:])
        made = self._add_activation(f"{name}/pad", shape, x.quant)
        flat = np.array(widths, np.int32)
        amounts = self._add(TensorSpec(f"{name}/pad/by", flat.shape, "INT32", data=flat))
        self._ops.append(OpSpec("PAD", 1, (x.id, amounts), (made,), "PadOptions", {}))
        return Act(made, shape, x.quant, q)

    def dilate(self, factor: int) -> None:
        """Make the operator just added, a convolution with SAME padding and stride 1, a dilated one."""
        op = self._ops.pop()
        wide = {"dilation_h_factor": factor, "dilation_w_factor": factor}
        self._ops.append(
            OpSpec(
                op.kind, op.version, op.inputs, op.outputs, op.options_type, {**op.options, **wide}
            )
        )


class _Drawn:
    """One network: maps so far, and one method per thing that can be added to them."""

    def __init__(self, seed: int, heads: int) -> None:
        self.rng = Random(seed)
        self.net = Maker(f"random-{seed}")
        self.count = 0
        self.heads = heads

    def name(self) -> str:
        self.count += 1
        return f"layer_{self.count}"

    def conv(self, x: Act, channels: int = 0, *, keep: bool = False) -> Act:
        """A convolution with ReLU6; `keep` keeps height and width."""
        rng = self.rng
        kernel, stride, same = (1, 1), (1, 1), True
        kernel = rng.choice([(1, 1), (3, 3), (3, 1), (2, 3), (5, 3)])
        if not keep:
            stride = rng.choice([(1, 1), (1, 1), (2, 2), (2, 1), (3, 2)])
            same = rng.random() < 0.5 or kernel[0] > x.shape[1] or kernel[1] > x.shape[2]
        wide = channels or rng.randint(1, 6)
        if rng.random() < 0.4 and not channels:
            out = self.net.depthwise(x, self.name(), kernel, stride, RELU6, same=same)
        else:
            out = self.net.conv(x, self.name(), wide, kernel, stride, RELU6, same=same)
        if same and stride == (1, 1) and rng.random() < 0.25:
            self.net.dilate(2)
        return out

    def pool(self, x: Act) -> Act:
        rng = self.rng
        kernel = (rng.randint(1, min(3, x.shape[1])), rng.randint(1, min(3, x.shape[2])))
        stride, same = rng.randint(1, 2), rng.random() < 0.5
        if rng.random() < 0.5:
            return self.net.average_pool(x, self.name(), kernel, stride, same=same)
        return self.net.max_pool(x, self.name(), kernel, stride, same=same)

    def residual(self, x: Act) -> Act:
        """The sum's other side lags one to three windows behind."""
        branch = x
        for _ in range(self.rng.randint(1, 3)):
            branch = self.conv(branch, keep=True)
        branch = self.conv(branch, x.shape[3], keep=True)
        pair = (branch, x) if self.rng.random() < 0.5 else (x, branch)
        return self.net.add(*pair, self.name(), RELU6)

    def joined(self, x: Act) -> Act:
        """Branches at different speeds, joined along channels, columns or rows."""
        axis = self.rng.choice((1, 2, 3))
        parts = [self.conv(x, 3, keep=True), self.conv(self.conv(x, keep=True), 3, keep=True)]
        if self.rng.random() < 0.3:
            parts.append(parts[0])  # one map twice
        return self.net.concat(parts, self.name(), axis)

    def taken_apart(self, x: Act) -> Act:
        """Split along some axis, parts treated differently, and joined again."""
        even = [axis for axis in (1, 2, 3) if x.shape[axis] % 2 == 0]
        if not even:
            return self.conv(x, 4)
        axis = self.rng.choice(even)
        first, second = self.net.split(x, self.name(), axis, 2)
        parts = [
            self.conv(second, second.shape[3], keep=True),
            self.conv(first, first.shape[3], keep=True),
        ]
        return self.net.concat(parts, self.name(), axis)

    def head(self, x: Act) -> Act:
        """A reduction of some kind."""
        rng, (_, high, wide, deep) = self.rng, x.shape
        match rng.randrange(self.heads):
            case 0:
                return self.net.mean(x, self.name())
            case 1:
                return self.net.average_pool(x, self.name())
            case 2:
                flat = self.net.reshape(x, self.name(), (1, high * wide * deep))
                return self.net.probabilities(flat, rng.randint(2, 5), 1.0)
            case 3:
                turned = self.net.transpose(
                    x, self.name(), rng.choice([(0, 3, 1, 2), (0, 2, 1, 3)])
                )
                flat = self.net.reshape(turned, self.name(), (1, high * wide * deep))
                return self.net.fully_connected(flat, self.name(), 3)
            case _:
                tokens = self.net.reshape(x, self.name(), (1, high * wide, deep))
                scores = self.net.batch_matmul(tokens, tokens, self.name(), adj_y=True)
                weights = self.net.softmax(scores, self.name())
                return self.net.batch_matmul(weights, tokens, self.name())


def random_network(seed: int, batch: int = 1) -> bytes:
    """The network number `seed`: 3 to 6 blocks, one to three outputs, some of which are read as well.

    It is for `batch` images at a time.
    """
    return write(random_spec(seed, batch))


def random_spec(seed: int, batch: int = 1, heads: int = 5) -> NetSpec:
    """What its file is written from; with fewer `heads`, the last kinds of reductions are left out."""
    drawn = _Drawn(seed, heads)
    rng, net = drawn.rng, drawn.net
    net.batch = batch

    def image(shape: tuple[int, int, int]) -> Act:
        return net.input((1, *shape))

    shape = (rng.randint(5, 13), rng.randint(3, 11), rng.randint(1, 4))
    source = image(shape)
    x = drawn.conv(source)
    if rng.random() < 0.5:  # the input once more, by another way or beside a second one
        other = image(shape) if rng.random() < 0.5 else source
        a, b = drawn.conv(source, 3, keep=True), drawn.conv(other, 3, keep=True)
        x = net.add(a, b, drawn.name(), RELU6)
    kinds: list[Callable[[Act], Act]] = [
        *(drawn.conv, drawn.pool, drawn.residual, drawn.joined, drawn.taken_apart)
    ]
    maps = [x]
    for _ in range(rng.randint(2, 5)):
        maps.append(rng.choice(kinds)(maps[-1]))
    outputs = [drawn.head(maps[-1])]
    if rng.random() < 0.5:
        outputs.append(rng.choice(maps))
    if rng.random() < 0.4:
        outputs.insert(0, drawn.head(rng.choice(maps)))
    return net.described(*outputs)

"""A large random network, to plan against the clock.

Why drawn: what architecture search finds has hundreds of small operators whose branches meet anywhere,
and no two plans of it are alike. All is drawn from a seed, so that a figure can be had again.
"""

from __future__ import annotations

from random import Random

from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation

_RELU6 = Activation.RELU6  # gives every map the same quantisation, so that all can be joined
_IMAGE = (1, 64, 64, 3)
_SIZES = 5  # maps of 32, 16, 8, 4 and 2 rows
_OPEN = 5  # maps that nothing has read yet
_REACH = 8  # how many maps back an operator may read
_CHANNELS = 32


class _Drawn:
    """The network so far: maps of the present size, and those of them that nothing has read yet."""

    def __init__(self, seed: int, name: str) -> None:
        self.rng = Random(seed)
        self.net = NetBuilder(name)
        self.count = 0
        self.recent: list[Act] = []
        self.unread: list[Act] = []

    def name(self) -> str:
        self.count += 1
        return f"layer_{self.count}"

    def keep(self, made: Act, *read: Act) -> None:
        self.unread = [act for act in self.unread if act not in read] + [made]
        self.recent = [*self.recent, made][-_REACH:]

    def convolved(self, x: Act) -> None:
        channels, kernel = self.rng.choice((4, 6, 8, 12)), self.rng.choice((1, 1, 3))
        self.keep(self.net.conv(x, self.name(), channels, kernel, 1, _RELU6), x)

    def windowed(self, x: Act) -> None:
        """A depthwise convolution or a pool: as many channels as before."""
        match self.rng.randrange(4):
            case 0:
                made = self.net.max_pool(x, self.name(), 3)
            case 1:
                made = self.net.average_pool(x, self.name(), 3, same=True)
            case _:
                kernel = self.rng.choice((3, 5))
                made = self.net.depthwise(x, self.name(), kernel, 1, _RELU6)
        self.keep(made, x)

    def joined(self) -> None:
        """An add of two maps, or a concat where their channels differ."""
        x = self.unread[0]
        other = self.rng.choice([act for act in self.recent if act is not x])
        if x.shape == other.shape:
            made = self.net.add(x, other, self.name(), _RELU6)
        elif x.shape[3] + other.shape[3] <= _CHANNELS:
            made = self.net.concat([x, other], self.name())
        else:
            self.convolved(x)
            return
        self.keep(made, x, other)

    def halved(self) -> None:
        """All that nothing has read, in one map of half the size."""
        if len(self.unread) > 1:
            self.unread = [self.net.concat(self.unread, self.name())]
        made = self.net.conv(self.unread[0], self.name(), 8, 3, 2, _RELU6)
        self.recent = self.unread = [made]

    def grow(self) -> None:
        draw = self.rng.random()
        if len(self.recent) > 1 and (len(self.unread) >= _OPEN or draw < 0.3):
            self.joined()
        elif draw < 0.7:
            self.convolved(self.rng.choice(self.recent))
        else:
            self.windowed(self.rng.choice(self.recent))


def random_network(operators: int, seed: int) -> bytes:
    """A .tflite file with exactly that many operators, at least 50; all of them count."""
    drawn = _Drawn(seed, f"random-{operators}-{seed}")
    drawn.unread = [drawn.net.input(_IMAGE)]
    for size in range(1, _SIZES + 1):
        drawn.halved()
        while drawn.count < size * operators // _SIZES - 2:
            drawn.grow()
    if len(drawn.unread) > 1:
        last = drawn.net.concat(drawn.unread, drawn.name())
    else:
        last = drawn.net.conv(drawn.unread[0], drawn.name(), 8, 1, 1, _RELU6)
    return drawn.net.finish(drawn.net.mean(last, drawn.name()))

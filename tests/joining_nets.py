"""Random networks whose widest maps are concatenations along channels that are read a pixel at a time.

Why: lowtide puts such a concatenation together where it is read (kernels/include/lt_joined.h) only if
that saves RAM: parts that are read more than once, and convolutions of one tap after them. Other
generators draw both, but hardly ever together.
"""

from __future__ import annotations

from random import Random

from lowtide.zoo.builder import Act
from lowtide.zoo.writer import write
from random_nets import RELU6, Maker


class _Drawn:
    """One network: maps of one size, all with the same quantisation."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.net = Maker(f"joining-{seed}")
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"layer_{self.count}"

    def conv(self, x: Act, channels: int, kernel: int = 1) -> Act:
        return self.net.conv(x, self.name(), channels, kernel, 1, RELU6)

    def part(self, x: Act) -> Act:
        """A map that a concatenation may have as its part."""
        match self.rng.randrange(5):
            case 0:
                return self.net.max_pool(x, self.name(), 3, 1, same=True)
            case 1:
                return self.net.depthwise(x, self.name(), 3, 1, RELU6)
            case 2:
                return self.conv(x, self.rng.randint(1, 9), 3)
            case _:
                return self.conv(x, self.rng.randint(1, 9))

    def cell(self, maps: list[Act]) -> Act:
        """Parts joined, and what one convolution of one tap makes of them, maybe with another before."""
        rng = self.rng
        parts = rng.sample(maps, rng.randint(2, min(5, len(maps))))
        if rng.random() < 0.2:
            parts.append(parts[0])  # one map twice
        x = self.net.concat(parts, self.name())
        if rng.random() < 0.3:
            x = self.net.depthwise(x, self.name(), 3, rng.choice((1, 1, 2)), RELU6)
        return self.conv(x, rng.randint(1, 7))


def joining_network(seed: int) -> bytes:
    """The network number `seed`: parts, one or two cells of them, and maybe a mean."""
    drawn = _Drawn(seed)
    rng, net = drawn.rng, drawn.net
    source = net.input((1, rng.randint(4, 12), rng.randint(3, 12), rng.randint(1, 4)))
    maps = [drawn.conv(source, rng.randint(2, 8), rng.choice((1, 3)))]
    for _ in range(rng.randint(2, 5)):
        maps.append(drawn.part(rng.choice(maps)))
    x = drawn.cell(maps)
    if x.shape == maps[0].shape[:3] + x.shape[3:] and rng.random() < 0.7:
        x = drawn.cell([*maps, x])  # the same parts once more
    if rng.random() < 0.5:
        x = net.mean(x, drawn.name())
    return write(net.described(x))

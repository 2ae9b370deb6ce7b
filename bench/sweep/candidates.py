"""Networks as an architecture search makes them: seeded, with branches, 10 to 60 operators.

Why three families: how hard an order is depends on how wide the branches are. Blocks as searches for
microcontrollers have them branch a little; cells of five nodes that read any two earlier states (Zoph et
al., "Learning Transferable Architectures", 2018) more; randomly wired stages the most.
"""

from __future__ import annotations

from random import Random
from typing import Final

from bench.reorder.graphs import randomly_wired
from lowtide import Graph, Shapes

LEAST, MOST = 10, 60
"""Operators of a candidate."""

FAMILIES: Final = ("blocks", "cells", "wired")
_NODES = 5
"""Of a cell."""


def family(seed: int) -> str:
    """The kind of network that `candidate` makes of a seed."""
    return FAMILIES[seed % len(FAMILIES)]


def candidate(seed: int) -> Graph:
    """A network of 10 to 60 operators, of the families by turns."""
    rng = Random(seed)
    if family(seed) == "wired":
        return randomly_wired(rng.randint(LEAST + 8, MOST), seed)
    while True:
        made = _drawn(rng, seed, rng.randint(LEAST, MOST))
        if LEAST <= len(made.ops) <= MOST:
            return made


def _drawn(rng: Random, seed: int, operators: int) -> Graph:
    """A stem, then blocks or cells until there are about as many operators, then a classifier."""
    net = Shapes(f"{family(seed)} {seed}")
    size = rng.choice((32, 48, 64, 80, 96))
    x = net.conv(net.input((size, size, 3)), 8 * rng.randint(1, 3), kernel=3, stride=2)
    last, count = x, 1
    while count < operators - 3:
        if family(seed) == "blocks":
            last = x
            x, more = _block(net, rng, x)
        else:
            (last, x), more = (x, _cell(net, rng, last, x)), _CELL
        count += more
        if net.shape(x)[0] > 6 and rng.random() < 0.5:
            x = last = net.conv(x, net.shape(x)[2], kernel=3, stride=2)
            count += 1
    return net.graph(net.softmax(net.dense(net.mean(x), 10)))


def _block(net: Shapes, rng: Random, x: int) -> tuple[int, int]:
    """One to four branches of one to three layers, added up or joined; and of how many operators."""
    wide, count = net.shape(x)[2], 0
    added = rng.random() < 0.5
    ends = []
    for _ in range(rng.randint(1, 4)):
        at = x
        for layer in range(rng.randint(1, 3)):
            channels = wide if added or layer == 0 else 8 * rng.randint(1, 4)
            if rng.random() < 0.5:
                at, count = net.depthwise(at, kernel=rng.choice((3, 5))), count + 1
            at, count = net.conv(at, channels, kernel=rng.choice((1, 3))), count + 1
        ends.append(at)
    if added:
        at = x
        for end in ends:
            at, count = net.add(at, end), count + 1
        return at, count
    return (net.concat(ends), count + 1) if len(ends) > 1 else (ends[0], count)


_CELL = 2 + 5 * _NODES + 1
"""Operators of a cell."""


def _cell(net: Shapes, rng: Random, last: int, x: int) -> int:
    """Five nodes, each the sum of two separable convolutions of earlier states, unread ones joined."""
    wide = 8 * rng.randint(1, 3)
    states = [net.conv(last, wide), net.conv(x, wide)]
    unread = set(states)
    for _ in range(_NODES):
        chosen = [rng.choice(states) for _ in range(2)]
        parts = [net.conv(net.depthwise(s, kernel=rng.choice((3, 5))), wide) for s in chosen]
        states.append(net.add(*parts))
        unread = unread - set(chosen) | {states[-1]}
    return net.concat(sorted(unread)) if len(unread) > 1 else states[-1]

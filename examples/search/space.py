"""The networks that are searched: a stem, stages of separable convolutions with branches, a classifier.

Why everything goes through `build`: a search weighs shapes alone, and what it finds is to be the same
network with weights. `Shapes` and `Weighted` are two builders of the same operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lowtide
from lowtide.machines.board import find_board
from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation

MAX_STAGES = 4
CLASSES = 10


@dataclass(frozen=True, slots=True)
class Stage:
    """Blocks of `branches` separable convolutions each; kernels are `kernel`, and less in turn."""

    blocks: int
    kernel: int
    branches: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A network for images of `size` by `size` pixels; a stage has half the rows of the one before, and
    `width` channels more."""

    size: int
    width: int
    stages: tuple[Stage, ...]

    def __str__(self) -> str:
        stages = " | ".join(f"{s.blocks} of {s.branches}x{s.kernel}" for s in self.stages)
        return f"{self.size} px, {self.width} channels: {stages}"


@dataclass(frozen=True, slots=True)
class Found:
    """What a candidate takes: bytes of arena and state, None if they are more than allowed, and MACs."""

    ram: int | None
    macs: int


def suggested(trial: Any) -> Candidate:
    """A candidate of an Optuna trial. All numbers are always drawn, so that trials can be crossed."""
    stages = tuple(
        Stage(
            trial.suggest_int(f"blocks_{i}", 1, 3),
            trial.suggest_categorical(f"kernel_{i}", (3, 5, 7)),
            trial.suggest_int(f"branches_{i}", 1, 3),
        )
        for i in range(MAX_STAGES)
    )
    return Candidate(
        size=trial.suggest_int("size", 32, 160, step=16),
        width=trial.suggest_int("width", 8, 48, step=8),
        stages=stages[: trial.suggest_int("depth", 2, MAX_STAGES)],
    )


def build(net: Any, candidate: Candidate) -> Any:
    """The candidate's operators, with either builder; returns the map before the classifier."""
    x = net.conv(net.input((candidate.size, candidate.size, 3)), candidate.width, 3, 2)
    for number, stage in enumerate(candidate.stages, start=1):
        x = net.conv(net.depthwise(x, stage.kernel, 2), number * candidate.width)
        for _ in range(stage.blocks):
            ends = [
                net.conv(net.depthwise(x, max(3, stage.kernel - 2 * k)), number * candidate.width)
                for k in range(stage.branches)
            ]
            for end in ends:
                x = net.add(x, end)
    return x


def shapes(candidate: Candidate) -> lowtide.Graph:
    """The candidate without weights."""
    net = lowtide.Shapes()
    x = build(net, candidate)
    return net.graph(net.softmax(net.dense(net.mean(x), CLASSES)))


def evaluate(candidate: Candidate, max_ram: int, board: str) -> Found:
    """What a candidate takes on the core of a board, with its input in the arena."""
    graph = shapes(candidate)
    target = find_board(board).core.target
    found = lowtide.estimate(graph, max_ram, inputs=("resident",), target=target)
    return Found(found.needs["resident"].ram_bytes if found.fits else None, found.macs or 0)


class Weighted:
    """`NetBuilder`, which makes networks with seeded weights, called as `Shapes` is."""

    def __init__(self) -> None:
        self._net = NetBuilder("found")
        self._layers = 0

    def _name(self) -> str:
        self._layers += 1
        return f"layer_{self._layers}"

    def input(self, shape: tuple[int, ...]) -> Act:
        return self._net.input((1, *shape))

    def conv(self, x: Act, channels: int, kernel: int = 1, stride: int = 1) -> Act:
        return self._net.conv(x, self._name(), channels, kernel, stride, Activation.RELU6)

    def depthwise(self, x: Act, kernel: int = 3, stride: int = 1) -> Act:
        return self._net.depthwise(x, self._name(), kernel, stride, Activation.RELU6)

    def add(self, x: Act, y: Act) -> Act:
        return self._net.add(x, y, self._name())

    def file(self, x: Act) -> bytes:
        """The .tflite file, with a classifier behind `x`."""
        return self._net.finish(self._net.probabilities(self._net.mean(x, "mean"), CLASSES, 2.0))


def with_weights(candidate: Candidate) -> bytes:
    """The candidate as a .tflite file, with seeded weights in place of trained ones."""
    net = Weighted()
    return net.file(build(net, candidate))

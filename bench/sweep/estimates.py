"""How near are estimates to what is compiled?

Networks of the zoo, the shared models and small random networks, each in one input mode. A random
network is estimated as shapes alone, and compiled with weights drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

import lowtide
from bench.shared.outside import ROOT
from bench.shared.tables import Detail, Row, amount, verdict
from bench.shared.work import in_two_processes, note
from lowtide import Graph, LowtideError, Model, Options, Shapes
from lowtide.commands.compiling import compile_model
from lowtide.commands.estimating import MODES
from lowtide.emit.footprint import flash_bytes
from lowtide.plans.cost import load_model
from lowtide.zoo import names

_NEAR: Final = {"RAM": 3, "flash": 10, "instructions": 10}
"""Percent that an estimate may be off."""
_MOST: Final = 95
"""Percent of the networks that must be that near."""
_CORE: Final = "cortex-m4"

_Task = tuple[str, int]
"""A network, or "" and the seed of a random one; and its number, which says the input mode."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """(estimated, compiled) by kind; RAM is arena and state. `refused` says why there are none."""

    name: str
    mode: str
    bound: int = 0
    figures: tuple[tuple[str, int, int], ...] = ()
    refused: str = ""

    def off(self, kind: str) -> float:
        """Percent by which the estimate is off, and to which side."""
        found = {name: (one, other) for name, one, other in self.figures}
        return 100 * (found[kind][0] / found[kind][1] - 1)


def accuracy(networks: int) -> list[Row]:
    """The rows: known networks, and so many random ones."""
    known = [*(f"zoo:{name}" for name in names()), *map(str, _shared())]
    return [
        _row("zoo and shared models", [(name, at) for at, name in enumerate(known)]),
        _row(f"{networks} random networks", [("", seed) for seed in range(networks)]),
    ]


def _shared() -> list[Path]:
    folder = ROOT.parent / "shared"
    return sorted([*folder.glob("models/*.tflite"), *folder.glob("world/**/*.tflite")])


def _row(on: str, tasks: Sequence[_Task]) -> Row:
    found = []
    for number, compared in in_two_processes(_compared, tasks):
        if number.startswith("1 ") or number.split()[0].endswith("0"):
            note(f"estimates and programs of {on}: {number}")
        found.append(compared)
    done = sorted((each for each in found if not each.refused), key=lambda each: each.name)
    near = {kind: _near(done, kind) for kind in _NEAR}
    broken = sum(each.bound > _compiled(each) for each in done)
    shares = (f"{kind} {100 * len(near[kind]) / len(done):.1f} %" for kind in _NEAR)
    missed = (each for each in done if any(each not in near[kind] for kind in _NEAR))
    return Row(
        on=f"{on}, {len(done)} compiled",
        asked="RAM within 3 %, flash and instructions within 10 %, of 95 %; never below the bound",
        measured=f"within that: {', '.join(shares)}; {broken} below the bound",
        status=verdict(not broken and all(_enough(near[kind], done) for kind in _NEAR)),
        values={"near": {kind: len(near[kind]) for kind in _NEAR}, "networks": len(done)},
        details=(_misses(on, missed),),
        record={"on": on, "networks": len(done), "below_bound": broken}
        | {f"{kind}_near_percent": round(100 * len(near[kind]) / len(done), 1) for kind in _NEAR},
    )


def _near(compared: Iterable[_Compared], kind: str) -> list[_Compared]:
    return [each for each in compared if abs(each.off(kind)) <= _NEAR[kind]]


def _enough(near: Sequence[_Compared], of: Sequence[_Compared]) -> bool:
    return 100 * len(near) >= _MOST * len(of)


def _compiled(compared: _Compared) -> int:
    return next(ram for kind, _, ram in compared.figures if kind == "RAM")


def _misses(on: str, missed: Iterable[_Compared]) -> Detail:
    lines = tuple(
        (
            each.name,
            each.mode,
            amount(_compiled(each)),
            *(f"{each.off(kind):+.1f} %" for kind in _NEAR),
        )
        for each in missed
    )
    return Detail(f"Off by more, {on}", ("network", "input", "RAM", *_NEAR), lines)


def _compared(task: _Task) -> _Compared:
    """One network in the input mode of its turn."""
    name, number = task
    mode = MODES[number % len(MODES)]
    graph = None if name else random_network(number)
    model = lowtide.load(name) if graph is None else weighted(graph, number)
    name = name.rpartition("/")[2] or model.path
    try:
        needs = lowtide.estimate(model if graph is None else graph, inputs=(mode,)).needs[mode]
        compiled = compile_model(model, Options(input_mode=mode, simplify=False))
    except LowtideError as error:
        return _Compared(name, mode, refused=error.cause)
    assert needs.ram_bytes is not None
    assert needs.flash_bytes is not None
    assert needs.instructions is not None
    executed = load_model(_CORE).run(compiled.assembly)
    flash = flash_bytes(compiled.assembly, compiled.files)
    figures = (
        ("RAM", needs.ram_bytes, compiled.ram_bytes),
        ("flash", needs.flash_bytes, flash),
        ("instructions", needs.instructions, executed),
    )
    return _Compared(name, mode, needs.bound_bytes, figures)


def random_network(seed: int) -> Graph:
    """Six to thirty operators on a small map: layers, pools, residuals and branches."""
    rng = Random(seed)
    net = Shapes(f"random {seed}")
    size = rng.choice((10, 12, 16, 20, 24, 32))
    x = net.conv(net.input((size, size + rng.randint(0, 6), 3)), 4 * rng.randint(1, 4), kernel=3)
    for _ in range(rng.randint(1, 5)):
        x = _part(net, rng, x)
        if min(net.shape(x)[:2]) > 5 and rng.random() < 0.5:
            x = net.max_pool(x) if rng.random() < 0.5 else net.depthwise(x, kernel=3, stride=2)
    head = net.flatten(x) if rng.random() < 0.2 else net.mean(x)
    return net.graph(net.softmax(net.dense(head, rng.randint(2, 12))))


def _part(net: Shapes, rng: Random, x: int) -> int:
    """A layer, an inverted residual, a residual, or branches that are joined."""
    wide = net.shape(x)[2]
    match rng.randrange(4):
        case 0:
            return net.conv(x, 4 * rng.randint(1, 6), kernel=rng.choice((1, 3, 5)))
        case 1:
            made = net.depthwise(net.conv(x, wide * rng.randint(2, 6)), kernel=rng.choice((3, 5)))
            return net.add(x, net.conv(made, wide, activation="none"))
        case 2:
            made = net.conv(net.conv(x, 4 * rng.randint(1, 6), kernel=3), wide, kernel=3)
            return net.add(made, x)
        case _:
            ends = [net.conv(x, 4 * rng.randint(1, 3), kernel=3)]
            for _ in range(rng.randint(1, 3)):
                at = net.conv(x, 4 * rng.randint(1, 3)) if rng.random() < 0.7 else x
                ends.append(net.depthwise(at, kernel=rng.choice((3, 5))))
            return net.concat(ends)


def weighted(graph: Graph, seed: int) -> Model:
    """The same network with weights and biases drawn at random, as if it had been trained."""
    rng = np.random.default_rng(seed)
    tensors = list(graph.tensors)
    for op in graph.ops:
        if op.type in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            weights, bias = (tensors[t] for t in op.inputs[1:])
            drawn = rng.integers(-127, 128, weights.elements, np.int8)
            tensors[weights.id] = replace(weights, data=drawn.tobytes())
            drawn_bias = rng.integers(-4000, 4000, bias.elements, np.int32)
            tensors[bias.id] = replace(bias, data=drawn_bias.tobytes())
    return Model(graph.name, replace(graph, tensors=tuple(tensors)), b"")

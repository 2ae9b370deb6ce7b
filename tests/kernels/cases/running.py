"""Draws and plays cases of a family, and keeps count.

Why a seed for each operator: a find is told in three words (family, seed, number), and comes again at
once.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from lowtide.errors import LowtideError
from lowtide.ir import Graph
from lowtide.lower import has_kernel
from lowtide.lower.nodes import Node
from lowtide.machines.board import targets
from lowtide.passes.flipping import flip_bytes
from lowtide.passes.nibbles import unpack_weights
from lowtide.passes.pads import fold_pads
from lowtide.passes.rounding import round_once
from lowtide.rows.prepare import prepare
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse
from lowtide.zoo.writer import write

from .boards import CORES, Batch, Watch
from .drawing import Case, Draw, RedrawError
from .families import FAMILIES
from .memory import FullError
from .playing import Find, Network, PlayedError, Player

SAMPLES = 4
_CORES = ("any", "cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m55", "rv32imc")


@dataclass(frozen=True, slots=True)
class Found:
    """A find, and where it comes again: `python -m tests.kernels.cases --family F --seed S --only N`."""

    family: str
    seed: int
    number: int
    core: str
    find: Find

    @property
    def variant(self) -> str:
        """The best variant of kernels that the core has."""
        return variant_of(_targets()[self.core])

    def __str__(self) -> str:
        again = f"--family {self.family} --seed {self.seed} --only {self.number}"
        return f"{self.find.kernel} ({self.core}): {self.find.what} [{again}]"


@dataclass(slots=True)
class Tally:
    """What was played of a family so far. `cases` are calls of kernels, by variant."""

    family: str
    cases: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    finds: list[Found] = field(default_factory=list)
    kernels: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


@cache
def _targets() -> dict[str, Target]:
    return {"any": ANY, **targets()}


def variant_of(target: Target) -> str:
    """The best variant that a target has."""
    return "any" if target is ANY else target.variants[-1]


def drawn(family: str, seed: int, number: int) -> tuple[Case, np.random.Generator]:
    """Operator `number` of a family, and the generator to draw on from."""
    rng = np.random.default_rng([seed, zlib.crc32(family.encode()), number])
    while True:
        try:
            return FAMILIES[family](Draw(rng, SAMPLES)), rng
        except RedrawError:
            continue


def network(
    case: Case, rng: np.random.Generator, cores: Sequence[str] = _CORES
) -> tuple[Network, str]:
    """A case lowered for a core, its nodes in some of their forms; and the core."""
    core = cores[int(rng.integers(len(cores)))]
    graph = fold_pads(unpack_weights(parse(write(case.spec)).graph))
    graph = flip_bytes(round_once(graph) if case.once else graph, has_kernel).graph
    return lowered(graph, core, rng), core


def lowered(graph: Graph, core: str, rng: np.random.Generator) -> Network:
    """A graph's nodes, each in one of its forms; operators that can be a block are mostly one."""
    blocks = len([op for op in graph.ops if op.window is not None or "CONV" in op.type]) > 1
    ready = prepare(graph, range(len(graph.ops)), join=blocks, target=_targets()[core])
    instead: dict[int, int] = {}
    if ready.blocks and rng.random() < 0.9:
        chosen = ready.blocks[int(rng.integers(len(ready.blocks)))]
        instead = {**dict.fromkeys(chosen.operators, -1), chosen.operators[-1]: chosen.op}
    nodes: list[Node] = []
    for op in graph.ops:
        number = instead.get(op.id, op.id)
        for node in ready.lowered[number].nodes if number >= 0 else ():
            forms = (node, *node.forms)
            nodes.append(forms[int(rng.integers(len(forms)))])
    return Network(ready.wide, tuple(nodes), ready.views)


def play_one(player: Player, tally: Tally, seed: int, number: int) -> None:
    """Draw and play one operator; what is found goes into the tally."""
    case, rng = drawn(tally.family, seed, number)
    try:
        net, core = network(case, rng)
    except LowtideError as error:
        tally.refused[str(error).split(": ", 1)[-1]] += 1
        return
    variant = variant_of(_targets()[core])
    tally.operators[variant] += 1
    for end, garbage in (("end", 0xA5), ("start", 0x5A)):
        player.memory.end = end  # type: ignore[assignment]  # one of two words
        player.calls = {}
        try:
            made = player.play(net, case.samples, garbage)
            find = _difference(case, net, made)
        except FullError:
            tally.refused["too large"] += 1
            return
        except PlayedError as error:
            find = error.find
        tally.cases[variant] += sum(node.steps for node in net.nodes) * SAMPLES
        tally.kernels.update(player.calls)
        if find is not None:
            tally.finds.append(Found(tally.family, seed, number, core, find))
            return


def _difference(case: Case, net: Network, made: dict[int, Any]) -> Find | None:
    wanted = [*zip(net.graph.outputs, case.wanted, strict=True), *case.kept.items()]
    for tensor, want in wanted:
        dtype = np.dtype(net.graph.tensors[tensor].dtype.name.lower())
        got = made[net.root(tensor)].view(dtype).reshape(len(want), -1)
        flat = want.reshape(len(want), -1)
        if got.shape != flat.shape:
            return Find(_last(net), f"{got.shape} instead of {flat.shape}")
        bad = np.argwhere(got != flat)
        if len(bad):
            sample, at = bad[0]
            what = f"{len(bad)} of {flat.size} elements, first {at} of sample {sample}: "
            what += f"{got[sample, at]} instead of {flat[sample, at]}"
            return Find(_last(net), what)
    return None


def on_board(
    name: str, families: Sequence[str], cases: int, seed: int, watch: Watch | None = None
) -> Tally:
    """The same on an emulated board, in one start for each thousands of cases, maybe watched."""
    tally, player = Tally(name), Player()
    number = 0
    began = time.process_time()
    player.built.calls.cases_watch(1)
    while tally.cases.total() < cases:
        batch = Batch(name, np.random.default_rng([seed, number]), watch)
        names: dict[int, tuple[str, int, str]] = {}
        while sum(batch.cases.values()) < min(20_000, cases):
            family = families[number % len(families)]
            case, rng = drawn(family, seed, number)
            number += 1
            try:
                net, core = network(case, rng, CORES[name])
                player.played = []
                player.play(net, case.samples, 0xA5)
                for played in player.played:
                    batch.add(number, played)
            except (LowtideError, FullError, PlayedError):
                continue
            names[number] = family, number - 1, core
            tally.operators[family] += 1
            tally.kernels.update(node.works.name for node in net.nodes)
        for at, kernel, what in batch.run():
            family, own, core = names.get(at, ("?", at, "?"))
            tally.finds.append(Found(family, seed, own, core, Find(kernel, what)))
        tally.cases[name] += sum(batch.cases.values())
    player.built.calls.cases_watch(0)
    tally.seconds = time.process_time() - began
    return tally


def _last(net: Network) -> str:
    """The kernel that a wrong output is of: the last one that is no flip."""
    names = [node.works.name for node in net.nodes if node.kernel != "lt_flip_row"]
    return names[-1] if names else "none"


def run(
    family: str,
    cases: int,
    seed: int,
    *,
    most_finds: int = 20,
    only: Sequence[int] = (),
    player: Player | None = None,
) -> Tally:
    """Play at least so many cases of a family, or the operators `only`."""
    tally, player = Tally(family), player or Player()
    began = time.process_time()
    player.built.calls.cases_watch(1)
    try:
        number = 0
        while not only and tally.cases.total() < cases and len(tally.finds) < most_finds:
            play_one(player, tally, seed, number)
            number += 1
        for one in only:
            play_one(player, tally, seed, one)
    finally:
        player.built.calls.cases_watch(0)
    tally.seconds = time.process_time() - began
    return tally

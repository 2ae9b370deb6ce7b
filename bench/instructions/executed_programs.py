"""What the bench of the cost model runs: a network compiled one way, on boards, and what it executed.

Generated networks (FIT) of one operator, or a few in strips, show what each thing costs that a kernel
does; plans of real networks (`plans`) show how far the model is off where it is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from bench.instructions.signal_networks import KINDS, signal_network
from bench.instructions.typed_networks import KINDS as TYPED
from bench.instructions.typed_networks import typed_network
from bench.shared.programs import M4, Program, path_of
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking, reordering
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.machines.board import find_target, load_boards
from lowtide.plans.cost import features
from lowtide.rows.stages import Choice, Fused
from lowtide.tflite.read import parse
from lowtide.zoo.builder import Act, NetBuilder
from lowtide.zoo.quantise import Activation

BOARDS = {
    "cortex-m0": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": M4,
    "cortex-m55": "mps3-an547",
    "rv32imac": "rv32-virt",
}
"""Core -> the board on which its model is fitted and checked; if it has too little memory, the roomy
machine in its place."""

ANY = "any"
_DRAWN = {"conv": 60, "depthwise": 32, "strips": 10, "block": 40}
_DRAWN_FOR_DSP = {"conv": 48, "columns": 36, "strips": 10, "block": 30, "add": 6, "dense": 6}
_DRAWN_FOR_HELIUM = {"conv": 48, "depthwise": 30, "columns": 24, "strips": 10, "add": 6, "dense": 6}
_DRAWN_FOR_BYTES = {"conv": 36, "depthwise": 24, "dense": 6}
"""Kinds that are also compiled for a core with DSP instructions, with Helium, or with neither: each has
own kernels."""
OWN = {
    "cortex-m3": _DRAWN_FOR_BYTES,
    "cortex-m4": _DRAWN_FOR_DSP,
    "cortex-m55": _DRAWN_FOR_HELIUM,
}
_ALIKE = {"cortex-m3": ("cortex-m0", "cortex-m3", "rv32imac")}
"""Core of OWN -> those that run the same programs."""
_OTHERS = ("dense", "add", "average", "global", "max", "softmax", "mean", "concat")
_EACH_OTHER = 4
_EACH_TYPED = 8
"""Of networks of uint8 and int16, each also for every core that has own kernels."""
_MOST_MACS = 1_500_000

Key = tuple[str, str]
"""Kernel and feature."""


@dataclass(frozen=True, slots=True)
class Case:
    """A generated network "KIND NUMBER", or zoo:NAME or a shared model, compiled one way.

    It is compiled for any core, or for `core`. With `max_overhead`, the input is const and the output
    streamed: what is resident whatever the plan would leave strips nothing to save.
    """

    network: str
    max_overhead: float | None = None
    generated: bool = False
    core: str = ANY

    @property
    def label(self) -> str:
        """Which plan this is."""
        kind = "" if self.core == ANY else ", for that core"
        if self.max_overhead is None:
            return f"{self.network}{kind}"
        return f"{self.network}, at most {self.max_overhead:g} x MACs{kind}"

    def cores(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Those of `wanted` that it runs on."""
        mine = wanted if self.core == ANY else _ALIKE.get(self.core, (self.core,))
        return tuple(core for core in wanted if core in mine)


@dataclass(frozen=True, slots=True)
class Executed:
    """What a program did in one run: `counts` of every feature, its MACs, and the instructions that
    were measured on each core."""

    case: Case
    counts: Mapping[Key, float]
    macs: int
    arena_bytes: int
    instructions: Mapping[str, int]


FIT = tuple(
    Case(f"{kind} {number}", generated=True)
    for kind, count in (*_DRAWN.items(), *((kind, _EACH_OTHER) for kind in (*_OTHERS, *KINDS)))
    for number in range(count)
) + tuple(
    Case(f"{kind} {number}", generated=True, core=core)
    for core, drawn in OWN.items()
    for kind, count in (*drawn.items(), *((kind, _EACH_TYPED) for kind in TYPED))
    for number in range(count)
)
"""The generated networks."""


def run_all(cases: Sequence[Case], cores: Sequence[str]) -> list[Executed]:
    """Every case on a board of every core, in two processes, with progress on stderr."""
    cases = [case for case in cases if case.cores(cores)]
    found: dict[Case, Executed] = {}
    for progress, executed_ in in_two_processes(partial(run_case, cores=tuple(cores)), cases):
        found[executed_.case] = executed_
        said = f"{progress} programs done: {executed_.case.label}"
        note(said)
    return [found[case] for case in cases]


def run_case(case: Case, cores: Sequence[str]) -> Executed:
    """Compile, run on a board of each core, and count."""
    if case.generated:
        model, options = generated(case.network)
    else:
        model = reordering.load(path_of(case.network))
        program = Program(case.network)
        if case.max_overhead is not None:
            program = Program(case.network, "const", "streamed")
        options = replace(program.options, max_overhead=case.max_overhead)
    options = replace(options, target=find_target(case.core))
    compiled = compile_model(model, options)
    counts: dict[Key, float] = defaultdict(float)
    for node, times in compiled.assembly.executed:
        for name, number in features(node).items():
            called, _, own = name.rpartition("/")
            counts[called or node.kernel, own] += times * number
    plan = compiled.assembly.plan
    assert plan is not None
    boards, measured = load_boards(), {}
    for core in case.cores(cores):
        board = boards[BOARDS[core]]
        board = board if board.roomy == board.machine else board.with_plenty
        ran = checking.run(compiled, board, samples=1)
        assert ran.bit_exact, case
        measured[core] = ran.measured.max_instructions
    return Executed(case, dict(counts), plan.macs, compiled.arena_bytes, measured)


def generated(name: str) -> tuple[Model, Options]:
    """The generated network of that name, and how to compile it."""
    kind, _, number = name.partition(" ")
    rng = Random(name)
    if kind in KINDS:
        return parse(signal_network(kind, rng), path=name), Options(name="fit")
    if kind in TYPED:
        return parse(typed_network(kind, rng), path=name), Options(name="fit")
    net = NetBuilder(name.replace(" ", "_"))
    lean = int(number) % 2 == 1  # kernels in the forms of least scratch memory
    choices: tuple[Choice, ...] | None = None
    if kind == "strips":
        x = net.input((1, rng.choice((9, 12, 16)), 24, rng.choice((3, 8, 12))))
        wide = net.conv(x, "expand", rng.choice((16, 24, 30)), 1)
        deep = net.depthwise(wide, "depthwise", rng.choice((3, 5)), rng.choice((1, 1, 2)))
        out = net.conv(deep, "project", rng.choice((8, 11, 16)), rng.choice((1, 3)))
        choices = (_stage((0, 1, 2), rng.choice((2, 3, 4, 5)), lean=lean),)
    elif kind == "block":
        out, block = _block(net, rng)
        choices = (_stage(block.operators, None, (block,), lean=lean),)
    else:
        out = _one(kind, net, rng)
        if kind in ("conv", "depthwise"):
            choices = (_stage((0,), None, lean=lean),)
    return parse(net.finish(out), path=name), Options(name="fit", stages=choices)


def _stage(
    operators: tuple[int, ...],
    width: int | None,
    blocks: tuple[Fused, ...] = (),
    *,
    lean: bool,
) -> Choice:
    limits = tuple((operator, 0) for operator in operators) if lean else ()
    return Choice(operators, width, blocks, limits)


def _block(net: NetBuilder, rng: Random) -> tuple[Act, Fused]:
    """A block of two or three operators."""
    width = rng.choice((3, 4, 7, 9, 12, 16, 20, 36, 72))
    x = net.input((1, rng.choice((6, 9, 12)), width, rng.choice((8, 16, 24))))
    relu = rng.choice((Activation.NONE, Activation.RELU6))
    expands, projects = rng.choice(((True, True), (True, True), (True, False), (False, True)))
    kernel, stride = rng.choice((3, 3, 5)), rng.choice((1, 1, 2))
    if expands:
        x = net.conv(x, "expand", rng.choice((16, 30, 48)), 1, 1, relu)
    x = net.depthwise(x, "depthwise", kernel, stride, relu)
    if projects:
        x = net.conv(x, "project", rng.choice((8, 16, 24)), 1)
    kept = rng.choice((kernel - stride, kernel - stride, 0)) if expands else 0
    return x, Fused(tuple(range(1 + expands + projects)), kept)


def _one(kind: str, net: NetBuilder, rng: Random) -> Act:
    """A network of one operator."""
    relu = rng.choice((Activation.NONE, Activation.RELU6))
    match kind:
        case "conv":
            shapes = _shapes(rng, (1, 1, 1, 3, 3, 5, 2), (1, 3, 4, 5, 8, 11, 16, 24, 33, 48, 64))
            height, width, channels, kernel = next(
                s for s in shapes if s[0] * s[1] * s[2] * s[3] ** 2 * 8 < _MOST_MACS
            )
            area = height * width * channels * kernel**2
            out_c = rng.choice(
                [c for c in (1, 2, 3, 5, 8, 11, 16, 33, 48, 96) if area * c < _MOST_MACS]
            )
            x = net.input((1, height, width, channels))
            return net.conv(x, "conv", out_c, kernel, rng.choice((1, 1, 2)), relu)
        case "depthwise":
            shapes = _shapes(rng, (3, 3, 5, 7), (2, 3, 8, 11, 16, 30, 48, 66, 96))
            height, width, channels, kernel = next(
                s for s in shapes if s[0] * s[1] * s[2] * s[3] ** 2 < _MOST_MACS
            )
            x = net.input((1, height, width, channels))
            return net.depthwise(x, "depthwise", kernel, rng.choice((1, 1, 2)), relu)
        case "columns":
            height, width, channels, _ = next(_shapes(rng, (3,), (4, 8, 16, 32, 48, 96, 120)))
            x = net.input((1, height, width, channels))
            return net.depthwise(x, "depthwise", 3, rng.choice((1, 1, 2)), relu)
        case "dense":
            x = net.input((1, rng.choice((16, 50, 128, 333, 640))))
            return net.fully_connected(x, "dense", rng.choice((2, 10, 33, 128)))
        case "softmax":
            return net.softmax(net.input((1, rng.choice((10, 40, 200, 1000)))), "softmax")
    many = (24, 64, 128, 256) if kind == "global" else (4, 8, 11, 24, 64)  # as behind a backbone
    height, width, channels, _ = next(_shapes(rng, (1,), many))
    x = net.input((1, height, width, channels))
    match kind:
        case "add":
            return net.add(x, net.input(x.shape), "add", relu)
        case "concat":
            return net.concat([x, net.input(x.shape)], "concat")
        case "average":
            return net.average_pool(x, "pool", rng.choice((2, 3)), rng.choice((1, 2)), same=True)
        case "global":
            return net.average_pool(x, "pool")
        case "max":
            return net.max_pool(x, "pool", rng.choice((2, 3)), rng.choice((1, 2)))
        case _:
            return net.mean(x, "mean")


def _shapes(
    rng: Random, kernels: Sequence[int], channels: Sequence[int]
) -> Iterator[tuple[int, int, int, int]]:
    """Height, width, channels and a kernel, again and again."""
    while True:
        size = rng.choice((5, 8, 9, 12, 16, 24)), rng.choice((1, 2, 3, 4, 5, 7, 9, 12, 20, 40))
        yield (*size, rng.choice(channels), rng.choice(kernels))

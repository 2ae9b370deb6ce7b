"""A profile in the network's terms: what each operator and each kernel executes, and what it multiplies.

Profiled (nodes, functions) --program's table of nodes--> operators, kernels, functions, and what is left
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from lowtide.commands.compiling import Compiled
from lowtide.ir.macs import op_macs
from lowtide.machines.cycles import Manual
from lowtide.machines.executed import NOTHING, Span
from lowtide.machines.flash import FlashReads
from lowtide.machines.profiled import Part, Profiled
from lowtide.program.tables import Entry, ExchangeEntry, KernelEntry, MoveEntry, StripEntry

STEP_PROGRAM = "step program"
CALLER = "caller's functions"
_MOVES = "moves of tensors"
_EXCHANGES = "rows given and taken"


@dataclass(frozen=True, slots=True)
class Share:
    """What a part of the program executed in one inference; `macs` is 0 where nothing is multiplied.

    `operators` are the network's that it stands for, of the type `type`, and `kernels` what ran for
    them. `cycles` are by the core's manual, None if there is none.
    """

    name: str
    operators: tuple[int, ...]
    type: str
    kernels: tuple[str, ...]
    macs: int
    instructions: int
    cycles: Span | None


@dataclass(frozen=True, slots=True)
class Profile:
    """One inference, the one that took most. Each of the three adds up to `instructions`.

    `operators` are in the order of the network, `kernels` and `functions` by what they executed; what
    the step program itself does, and what it does not do, is in each a share of its own. `cycles` are by
    `manual`, both None where a core has none. `flash` is None for a part whose flash is not described.
    """

    instructions: int
    macs: int
    cycles: Span | None
    manual: Manual | None
    operators: tuple[Share, ...]
    kernels: tuple[Share, ...]
    functions: tuple[Share, ...]
    flash: FlashReads | None = None


def profile_of(compiled: Compiled, counted: Profiled) -> Profile:
    """What was counted of the program, by the network's operators."""
    nodes = compiled.assembly.nodes
    macs = _macs(compiled)
    shares = _Shares(compiled, counted.manual is not None)

    def own(part: Part) -> str:
        """The share that a part is of whatever it is divided by, or "" if that depends."""
        if part.role == "caller":
            return CALLER
        return STEP_PROGRAM if part.role == "step program" or part.node < 0 else ""

    operators = shares.by(counted.parts, lambda p: own(p) or _operators(compiled, nodes[p.node]))
    kernels = shares.by(counted.parts, lambda p: own(p) or _kernel(nodes[p.node]))
    functions = shares.by(counted.parts, lambda p: p.function)
    cycles = None
    if counted.manual is not None:
        cycles = sum((p.cycles for p in counted.parts if p.cycles is not None), NOTHING)
    by_kernel: Counter[str] = Counter()
    for (_, kernel), count in macs.items():
        by_kernel[kernel] += count
    by_operator: Counter[tuple[int, ...]] = Counter()
    for (of, _), count in macs.items():
        by_operator[of] += count
    return Profile(
        instructions=counted.instructions,
        macs=sum(macs.values()),
        cycles=cycles,
        manual=counted.manual,
        operators=tuple(
            sorted(
                (shares.share(key, parts, by_operator) for key, parts in operators.items()),
                key=lambda share: (not share.operators, share.operators),
            )
        ),
        kernels=_most_first(shares.share(key, p, by_kernel) for key, p in kernels.items()),
        functions=_most_first(shares.share(key, p, {}) for key, p in functions.items()),
        flash=counted.flash,
    )


def _most_first(shares: Iterable[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.instructions, share.name)))


@dataclass(frozen=True, slots=True)
class _Shares:
    """Adds parts up."""

    compiled: Compiled
    has_cycles: bool

    def by(
        self, parts: Sequence[Part], key: Callable[[Part], Hashable]
    ) -> dict[Hashable, list[Part]]:
        groups: dict[Hashable, list[Part]] = {}
        for part in parts:
            groups.setdefault(key(part), []).append(part)
        return groups

    def share(self, key: Hashable, parts: Sequence[Part], macs: Mapping[Any, int]) -> Share:
        graph, nodes = self.compiled.graph, self.compiled.assembly.nodes
        operators = key if isinstance(key, tuple) else ()
        kernels = {_kernel(nodes[p.node]) for p in parts if p.role == "kernel" and p.node >= 0}
        cycles = None
        if self.has_cycles:
            cycles = sum((p.cycles for p in parts if p.cycles is not None), NOTHING)
        labels = dict.fromkeys(graph.ops[op].label for op in operators)
        return Share(
            name=" ".join(map(str, operators)) if operators else str(key),
            operators=operators,
            type=" + ".join(labels),
            kernels=tuple(sorted(kernels)),
            macs=macs.get(key, 0),
            instructions=sum(part.instructions for part in parts),
            cycles=cycles,
        )


def _operators(compiled: Compiled, entry: Entry) -> tuple[int, ...] | str:
    """The network's operators that a node stands for, or what else it does."""
    match entry:
        case KernelEntry(node):
            return compiled.assembly.members.get(node.op, (node.op,))
        case MoveEntry():
            return _MOVES
        case ExchangeEntry():
            return _EXCHANGES
        case StripEntry():
            return STEP_PROGRAM
        case _:
            assert_never(entry)


def _kernel(entry: Entry) -> str:
    match entry:
        case KernelEntry(node) | MoveEntry(node):
            return node.kernel
        case ExchangeEntry():
            return _EXCHANGES
        case StripEntry():
            return STEP_PROGRAM
        case _:
            assert_never(entry)


def _macs(compiled: Compiled) -> dict[tuple[tuple[int, ...], str], int]:
    """MACs of one inference by the network's operators and the kernel, computed twice where they are.

    An operator of several nodes has its MACs where the first of them is.
    """
    assembly = compiled.assembly
    graph = assembly.program_graph
    found: Counter[tuple[tuple[int, ...], str]] = Counter()
    seen: set[int] = set()
    for node, times in assembly.executed:
        if node.op not in seen:
            seen.add(node.op)
            of = assembly.members.get(node.op, (node.op,))
            found[of, node.kernel] += op_macs(graph, graph.ops[node.op]) * times
    return dict(found)

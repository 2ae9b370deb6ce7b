"""What a program for any core would save if it were made for one: instructions, and bytes of constants.

Why computed: only the reader knows the core; a program for any core holds nothing of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lowtide.emit.footprint import bytes_of
from lowtide.lower.lowerings import Lowerings
from lowtide.lower.nodes import Node
from lowtide.plans.cost import CostModel, load_model
from lowtide.target import ANY, Target

_ROW = re.compile(r"\| `--core (\S+)` \|.*\n")
_SECTION = re.compile(r"\n## For one core\n.*?(?=\n## )", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gain:
    """Predicted instructions of all operators on a core, and bytes of their constants, as a program for
    any core has them and as one for that core has. Operators are one after the other, rows whole."""

    core: str
    instructions: tuple[int, int]
    constants: tuple[int, int]


def gains(lowerings: Lowerings, targets: Iterable[Target]) -> tuple[Gain, ...]:
    """What each of the `targets` would save, if at least 1 % of the instructions. `lowerings` are of a
    graph that can be lowered as it is."""
    shared = tuple(lowerings.nodes(ANY))
    sizes: dict[tuple[Node, ...], int] = {}
    found = []
    for target in targets:
        model, own = load_model(target.priced_as), tuple(lowerings.nodes(target))
        before, after = _instructions(model, shared), _instructions(model, own)
        if 100 * after < 99 * before:
            for nodes in (shared, own):
                if nodes not in sizes:
                    sizes[nodes] = bytes_of(nodes)
            found.append(Gain(target.core, (before, after), (sizes[shared], sizes[own])))
    return tuple(found)


def _instructions(model: CostModel, nodes: Iterable[Node]) -> int:
    return sum(model.node(node) for node in nodes)


def paragraph(found: tuple[Gain, ...]) -> str:
    """The section of the README; empty if there is nothing to be saved."""
    if not found:
        return ""
    rows = "\n".join(
        f"| `--core {gain.core}` | {round(100 - 100 * gain.instructions[1] / gain.instructions[0])} % "
        f"| {gain.constants[0]} | {gain.constants[1]} |"
        for gain in found
    )
    return f"""
## For one core

This program runs on any core. If you build it for one core, it uses that core's own kernels:

| | fewer instructions | weights and tables now, bytes | built for the core, bytes |
| --- | ---: | ---: | ---: |
{rows}

Instructions are predicted and bytes are computed, operator by operator, without the step program. To
measure them, use `lowtide run`. The size of the arena can change, too.
"""


def only_cores(readme: str, wanted: Callable[[str], bool]) -> str:
    """A README without the rows of its table of cores that are not `wanted`, by their names, and without
    the section if no row is left."""
    text = _ROW.sub(lambda row: row[0] if wanted(row[1]) else "", readme)
    return text if _ROW.search(text) else _SECTION.sub("", text)

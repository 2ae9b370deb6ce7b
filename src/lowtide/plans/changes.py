"""Which changes of form are worth the flash that they take.

Why: each part of an operator that runs in a form of its own is a node more in the program's tables, and
forms of different kernel families store the weights in different layouts. A change that saves few
instructions is not made: the part runs in the form of another one that needs no more scratch memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from lowtide.lower.nodes import Node
from lowtide.plans.copies import weights_of
from lowtide.plans.cost import share

NODE_BYTES = 120
"""Bytes of flash that a node more takes, about: its params and its share of the program's tables."""

FOR_A_NODE = 1e-3
"""The part of a network's instructions that these bytes must save."""

Run = tuple[Node, int]
"""A form of an operator, and how many of its steps run in it."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a node costs in instructions, all its steps, and how many a byte of flash must save."""

    price: Callable[[Node], int]
    byte: float

    @classmethod
    def of(cls, price: Callable[[Node], int], instructions: int) -> Worth:
        """That of a network of so many instructions."""
        return cls(price, instructions * FOR_A_NODE / NODE_BYTES)


def worthwhile(fitting: Sequence[Run], worth: Worth) -> list[Run]:
    """The parts of an operator, each in the form that there is room for or in one of another part that
    needs no more scratch memory, so that instructions and flash together cost least. Parts that follow
    each other in the same form are one."""
    runs = _merged(fitting)
    forms = list({id(form): form for form, _ in runs}.values())
    if len(forms) == 1 or not worth.byte:
        return runs
    layouts = list(dict.fromkeys(frozenset(weights_of((form,))) for form in forms))
    found = [
        _cheapest(runs, [form for form in forms if weights_of((form,)).keys() <= stored], worth)
        for count in range(1, len(layouts) + 1)
        for some in combinations(layouts, count)
        for stored in (frozenset().union(*some),)
    ]
    return min((way for way in found if way is not None), key=lambda way: way[0])[1]


def _cheapest(
    runs: Sequence[Run], forms: Sequence[Node], worth: Worth
) -> tuple[float, list[Run]] | None:
    """What the best way costs to run all of them in some of these forms, and the way; None if some have
    room for none."""
    steps = sum(count for _, count in runs)
    prices = [worth.price(form) for form in forms]
    stored = worth.byte * sum(weights_of(forms).values())
    ways: list[tuple[float, list[Node]]] = [(stored, [])]
    first = 0
    for fitting, count in runs:
        ways = [
            min(
                (
                    (
                        cost
                        + share(price, first, first + count, steps)
                        + (0 if way[-1:] == [form] else worth.byte * NODE_BYTES),
                        [*way, form],
                    )
                    for cost, way in ways
                ),
                key=lambda of: of[0],
            )
            for form, price in zip(forms, prices, strict=True)
            if ways and form.scratch <= fitting.scratch
        ]
        first += count
    if not ways:
        return None
    cost, way = min(ways, key=lambda of: of[0])
    return cost, _merged(zip(way, (count for _, count in runs), strict=True))


def _merged(each: Iterable[Run]) -> list[Run]:
    """Parts in the same form that follow each other as one."""
    runs: list[Run] = []
    for form, steps in each:
        if runs and runs[-1][0] is form:
            runs[-1] = form, runs[-1][1] + steps
        else:
            runs.append((form, steps))
    return runs


def parts_of(runs: Sequence[Run]) -> Iterator[Node]:
    """A node for each of the runs; if there is one alone, it is the form itself."""
    first = 0
    for form, steps in runs:
        yield form if len(runs) == 1 else form.part(first, first + steps)
        first += steps

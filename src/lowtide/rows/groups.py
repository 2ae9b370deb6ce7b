"""Nodes by operator: what stages are made of, and positions in the order are counted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes [first, last) of one operator, with the exchanges of rows that belong to it."""

    operator: int
    first: int
    last: int
    exchanges: bool = False


def groups_of(operators: Sequence[int]) -> list[Group]:
    """Nodes by operator; `operators[n]` is that of node n, or -1 for an exchange of rows.

    What is exchanged before any operator belongs to the first one, the rest to the one before.
    """
    found: list[Group] = []
    for node, operator in enumerate(operators):
        last = found[-1] if found else None
        if last is not None and (operator in (-1, last.operator) or last.operator < 0):
            found[-1] = Group(
                max(last.operator, operator),
                last.first,
                node + 1,
                last.exchanges or operator < 0,
            )
        else:
            found.append(Group(operator, node, node + 1, operator < 0))
    return found

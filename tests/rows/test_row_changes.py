"""Which changes of form are worth their flash, against all ways that there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from lowtide.lower.nodes import Array, Node, Params
from lowtide.plans.changes import NODE_BYTES, Run, Worth, parts_of, worthwhile
from lowtide.plans.cost import share


def _form(scratch: int, weights: Array) -> Node:
    params = Params("lt_conv_params", (("weights", weights),))
    return Node(0, "lt_conv_s8_row", "lt_conv.h", params, (), (), 1, scratch, False)


def _weights(forms: set[Node]) -> int:
    return sum({id(a): a.bytes for form in forms for a in form.params.arrays()}.values())


def _each_step(runs: list[Run]) -> list[Node]:
    return [form for form, steps in runs for _ in range(steps)]


def _cost(steps: list[Node], parts: list[int], worth: Worth) -> float:
    """What forms of all steps cost, in instructions; `parts` are how many steps each part has."""
    found, at = worth.byte * _weights(set(steps)), 0
    for count in parts:
        found += share(worth.price(steps[at]), at, at + count, len(steps))
        at += count
    changes = sum(one is not other for one, other in pairwise(steps))
    return found + worth.byte * NODE_BYTES * (1 + changes)


def _ways(fitting: list[Run]) -> Iterator[list[Node]]:
    forms = {form for form, _ in fitting}
    for way in product(forms, repeat=len(fitting)):
        each = list(zip(way, fitting, strict=True))
        if all(form.scratch <= fits.scratch for form, (fits, _) in each):
            yield [form for form, (_, count) in each for _ in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_no_other_way_costs_less(seed: int) -> None:
    rng = Random(seed)
    layouts = [Array("int8_t", np.zeros(rng.randint(1, 400), np.int8), weights=True) for _ in "ab"]
    prices = {
        _form(scratch, rng.choice(layouts)): rng.randint(100, 2_000)
        for scratch in rng.sample(range(0, 400, 4), rng.randint(1, 4))
    }
    fitting = [(rng.choice(list(prices)), rng.randint(1, 6)) for _ in range(rng.randint(1, 5))]
    worth = Worth(prices.__getitem__, rng.choice([0.01, 0.1, 1.0, 10.0]))
    found = worthwhile(fitting, worth)
    assert all(a is not b for (a, _), (b, _) in pairwise(found))
    parts = [count for _, count in fitting]
    steps = _each_step(found)
    assert len(steps) == sum(parts)
    for form, fits in zip(steps, _each_step(fitting), strict=True):
        assert form.scratch <= fits.scratch
    best = min(_cost(way, parts, worth) for way in _ways(fitting))
    assert _cost(steps, parts, worth) == pytest.approx(best)
    assert len(list(parts_of(found))) == len(found)


def test_flash_that_costs_nothing_changes_nothing() -> None:
    """Each part runs in the form that there is room for."""
    weights = Array("int8_t", np.zeros(8, np.int8), weights=True)
    small, large = _form(0, weights), _form(64, weights)
    fitting = [(large, 3), (small, 1), (large, 2)]
    worth = Worth({small: 900, large: 600}.__getitem__, 0.0)
    assert worthwhile(fitting, worth) == fitting
    assert worthwhile(fitting, Worth(worth.price, 100.0)) == [(small, 6)]

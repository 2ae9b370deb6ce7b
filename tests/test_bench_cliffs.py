"""The grid of operators that prices are fitted on, and what is added to prices there are."""

from __future__ import annotations

import pytest

from bench.cliffs.fit import added, error
from bench.cliffs.grid import Point
from bench.cliffs.logic_points import logic_grids
from bench.cliffs.measured import Measured, nodes_of
from lowtide.plans.cost import OTHER, CostModel, load_model, priced_cores

_KNOWN = CostModel("core", "board", 0.05, {OTHER: {"work": 9.0}, "lt_known": {"step": 100.0}})


def _measured(number: int, instructions: int, **counts: float) -> Measured:
    """A point that is fitted, of kernels by what they do: `kernel__name`."""
    found: dict[tuple[str, str], float] = {}
    for key, count in counts.items():
        kernel, _, name = key.partition("__")
        found[kernel, name] = count
    point = Point("signal", (("number", number),))
    return Measured(point, tuple(dict.fromkeys(k for k, _ in found)), found, 1, instructions)


def test_new_kernels_are_priced_without_what_known_ones_cost() -> None:
    """Of two kernels that are apart, and one that calls what has a price, which stays."""
    points = [
        *(_measured(n, 7 * n + 30, lt_one__work=n, lt_one__step=1) for n in (1, 4, 9)),
        *(_measured(10 + n, 100 + 2 * n, lt_known__step=1, lt_two__work=n) for n in (3, 5)),
        _measured(20, 400, lt_known__step=1),  # of what has a price alone: it stays
    ]
    model = added(_KNOWN, points)
    assert model.kernels["lt_known"] == {"step": 100.0}
    assert model.kernels[OTHER] == {"work": 9.0}
    assert model.kernels["lt_one"] == pytest.approx({"work": 7.0, "step": 30.0})
    assert model.kernels["lt_two"] == pytest.approx({"work": 2.0})
    assert all(abs(error(model, one)) < 1e-4 for one in points[:-1])


@pytest.mark.parametrize("core", priced_cores())
def test_each_kernel_of_the_grid_has_prices(core: str) -> None:
    """Of each family a point; none costs what stands for kernels that the model does not know."""
    points = [next(grid.points()) for grid in logic_grids()]
    known = load_model(core).kernels
    for point, mine in zip(points, nodes_of(points, core), strict=True):
        assert mine, point
        kernels = {node.kernel for node in mine} | {node.works.name for node in mine}
        assert kernels <= known.keys(), point

"""Fits what each feature costs on a core: least squares of relative errors, no price below zero.

Kernels are fitted apart from each other, but for those that call others. Half of the grid's points are
fitted; what the prices say of the other half is how far they are off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bench.cliffs.measured import Key, Measured
from bench.shared.lined import lined
from lowtide.plans.cost import OTHER, CostModel

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Off:
    """How far predictions are off, relative to what was measured: how many there are, what 95 % keep to,
    and the most."""

    points: int
    usual: float
    most: float

    @staticmethod
    def of(errors: Iterable[float]) -> Off:
        """Of some errors."""
        sizes = np.sort(np.abs(np.array([*errors], float)))
        if not len(sizes):
            return Off(0, 0.0, 0.0)
        return Off(len(sizes), float(np.quantile(sizes, 0.95)), float(sizes[-1]))


def fitted(
    core: str, board: str, measured: Sequence[Measured], other: Mapping[str, float]
) -> CostModel:
    """The model of a core from what ran on it. `other` are the prices for kernels that did not."""
    samples = [one for one in measured if one.is_fitted]
    found: dict[Key, float] = {}
    for part in _apart(samples):
        found |= _solve([(one.counts, one.instructions) for one in part])
    kernels: dict[str, dict[str, float]] = {OTHER: dict(other)}
    for (kernel, name), each in sorted(found.items()):
        if each > 0:
            kernels.setdefault(kernel, {})[name] = float(f"{each:.5g}")
    for twin, kernel in _TWINS.items():
        if kernel in kernels and twin not in kernels:
            kernels[twin] = dict(kernels[kernel])
    return CostModel(core, board, 0.0, dict(sorted(kernels.items())))


def added(model: CostModel, measured: Sequence[Measured]) -> CostModel:
    """The same model with prices of kernels that it has none of. What others do that these call costs
    what the model says."""
    samples, others = [], {}
    for one in measured:
        counts = {key: count for key, count in one.counts.items() if key[0] not in model.kernels}
        if one.is_fitted and counts:
            known = {key: count for key, count in one.counts.items() if key not in counts}
            samples.append(replace(one, counts=counts))
            others[one.point] = predicted(model, known)
    found: dict[Key, float] = {}
    for part in _apart(samples):
        rest = [others[one.point] for one in part]
        found |= _solve([(one.counts, one.instructions) for one in part], rest)
    kernels = {name: dict(each) for name, each in model.kernels.items()}
    for (kernel, name), each in sorted(found.items()):
        if each > 0:
            kernels.setdefault(kernel, {})[name] = float(f"{each:.5g}")
    return replace(model, kernels=dict(sorted(kernels.items())))


_TWINS = dict.fromkeys(("lt_conv_4x2_s8_three", "lt_conv_4x2_s8_one"), "lt_conv_4x2_s8_row")
"""Forms of a kernel that are no points of the grid, and cost what it does."""


def _apart(samples: Sequence[Measured]) -> list[list[Measured]]:
    """Samples that have kernels in common, together."""
    head: dict[str, str] = {}

    def first(kernel: str) -> str:
        while head.setdefault(kernel, kernel) != kernel:
            kernel = head[kernel]
        return kernel

    for one in samples:
        names = [first(kernel) for kernel, _ in one.counts]
        head |= dict.fromkeys(names, names[0])
    parts: dict[str, list[Measured]] = defaultdict(list)
    for one in samples:
        parts[first(next(iter(one.counts))[0])].append(one)
    return list(parts.values())


def _solve(
    samples: Sequence[tuple[Mapping[Key, float], int]], others: Sequence[float] = ()
) -> dict[Key, float]:
    """What each key costs. `others` are what else there is in each sample."""
    keys = sorted({key for counts, _ in samples for key, n in counts.items() if n})
    index = {key: column for column, key in enumerate(keys)}
    counts = np.zeros((len(samples), len(keys)))
    for row, (found, _) in enumerate(samples):
        for key, count in found.items():
            if count:
                counts[row, index[key]] = count
    measured = np.array([instructions for _, instructions in samples], float)
    rest = np.array(others, float) if others else np.zeros(len(samples))
    each = least_squares(counts / measured[:, None], 1 - rest / measured)
    return dict(zip(keys, each.tolist(), strict=True))


def least_squares(a: Reals, b: Reals) -> Reals:
    """x >= 0 of least |a x - b|: Lawson and Hanson's active sets."""
    scale = np.maximum(np.linalg.norm(a, axis=0), 1e-300)
    a = a / scale
    x = np.zeros(a.shape[1])
    free = np.zeros(a.shape[1], bool)
    for _ in range(20 * a.shape[1]):
        slope = np.where(free, -np.inf, a.T @ (b - a @ x))
        best = int(slope.argmax())
        if slope[best] <= 1e-9:
            break
        free[best] = True
        while True:
            trial = np.zeros_like(x)
            trial[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
            below = free & (trial <= 0)
            if not below.any():
                x = trial
                break
            step = (x[below] / (x[below] - trial[below])).min()
            x = x + step * (trial - x)
            free &= x > 1e-14
            x[~free] = 0
    result: Reals = x / scale
    return result


def predicted(model: CostModel, counts: Mapping[Key, float]) -> float:
    """The cost of what was done."""
    by_kernel: dict[str, dict[str, float]] = defaultdict(dict)
    for (kernel, name), count in counts.items():
        by_kernel[kernel][name] = count
    return sum(model.of(kernel, each) for kernel, each in by_kernel.items())


def error(model: CostModel, one: Measured) -> float:
    """How far a prediction is off, relative to what was measured."""
    return predicted(model, one.counts) / one.instructions - 1


def stored(models: Sequence[CostModel]) -> str:
    """The models as costs.json."""
    document = {model.core: {"board": model.board, "kernels": model.kernels} for model in models}
    return lined(document, 3)

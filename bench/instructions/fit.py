"""Fits what each feature costs: least squares of relative errors, no coefficient below zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.instructions.executed_programs import Executed, Key
from lowtide.plans.cost import OTHER, CostModel

_PROGRAM: Key = ("", "program")
_PLAIN = {"step", "pointer", "written", "work"}
"""What is counted of kernels that are not counted in detail."""

_SMALL = 20_000
"""Instructions; below it, errors count absolutely: boards count in ticks."""

Reals = NDArray[np.float64]


def fitted(
    core: str, board: str, samples: Sequence[Executed], known: CostModel | None = None
) -> CostModel:
    """The model of a core from what ran on it; its worst error is not known yet. What a model that
    is `known` has prices of stays as it is there, and is not in the one that is returned."""
    samples = [sample for sample in samples if core in sample.instructions]
    if known is not None:
        samples = [_without(sample, known) for sample in samples]
    found = _solve(core, samples, lambda key: key)
    # Kernels of few features: together they stand for those that are not among the samples.
    others = [s for s in samples if {name for _, name in s.counts} <= _PLAIN]
    pooled = _solve(core, others, lambda key: (OTHER, key[1]))
    kernels: dict[str, dict[str, float]] = {}
    for (kernel, name), each in sorted({**found, **pooled}.items()):
        if kernel and each > 0:
            kernels.setdefault(kernel, {})[name] = float(f"{each:.5g}")
    return CostModel(core, board, 0.0, kernels)


def _without(sample: Executed, known: CostModel) -> Executed:
    """What is left of a sample without what is known."""
    left = {
        key: n for key, n in sample.counts.items() if key[1] not in known.kernels.get(key[0], {})
    }
    mine = {key: n for key, n in sample.counts.items() if key not in left}
    measured = sample.instructions[known.core] - round(total(known, mine))
    return replace(sample, counts=left, instructions={known.core: measured})


def _solve(
    core: str, samples: Sequence[Executed], rename: Callable[[Key], Key]
) -> dict[Key, float]:
    keys = sorted({rename(key) for s in samples for key, n in s.counts.items() if n} | {_PROGRAM})
    index = {key: column for column, key in enumerate(keys)}
    counts = np.zeros((len(samples), len(keys)))
    for row, sample in enumerate(samples):
        counts[row, index[_PROGRAM]] = 1
        for key, count in sample.counts.items():
            if count:
                counts[row, index[rename(key)]] += count
    measured = np.array([s.instructions[core] for s in samples], float)
    weight = 1 / np.maximum(measured, _SMALL)
    each = least_squares(counts * weight[:, None], measured * weight)
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


def total(model: CostModel, counts: Mapping[Key, float]) -> float:
    """The cost of what a program did."""
    by_kernel: dict[str, dict[str, float]] = {}
    for (kernel, name), count in counts.items():
        by_kernel.setdefault(kernel, {})[name] = count
    return sum(model.of(kernel, each) for kernel, each in by_kernel.items())


def stored(models: Sequence[tuple[CostModel, float]]) -> str:
    """The models, each with its worst error, as costs.toml."""
    lines = [
        "# Written by `bench/run instructions --fit`: instructions per feature (see cost.py), kernel.",
        "# `worst_error` is that of predictions for plans of real networks, against measured runs.",
    ]
    for model, worst in models:
        lines += ["", f"[{model.core}]", f'board = "{model.board}"', f"worst_error = {worst:.4f}"]
        for kernel, each in model.kernels.items():
            lines += ["", f"[{model.core}.kernels.{kernel}]"]
            lines += [f"{name} = {value}" for name, value in each.items()]
    return "\n".join(lines) + "\n"

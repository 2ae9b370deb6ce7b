"""Another network beside a program, such as the float one: what it makes of the same samples.

And how far the program's outputs are from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.commands.loading import End, ends_of
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import reference_tensors
from lowtide.oracle.unwritten import flags, unwritten
from lowtide.passes.floats import is_float

Array = NDArray[Any]
Tell = Callable[[str], None]

_MOST: Final = 512
"""So many samples are given to one call of the interpreter, so that progress can be told."""
_PATIENCE: Final = 3600.0
"""Seconds after which a call of the interpreter is given up."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far an output is from the other network's, as real numbers.

    `same_top1` is in how many places the greatest value of the last axis is the same one, as a share;
    None where that axis has one element. `snr_db` is signal to noise in decibels: infinite if they are
    equal, None if the other's output is zero throughout.
    """

    same_top1: float | None
    greatest: float
    mean: float
    rms: float
    snr_db: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """An output over all samples: its least and greatest value as real numbers, and its distance."""

    name: str
    shape: tuple[int, ...]
    least: float
    greatest: float
    distance: Distance | None = None


class Other:
    """Another network to compare with, and how its inputs and outputs go with the program's."""

    def __init__(self, inputs: Sequence[End], outputs: Sequence[End], model: Model) -> None:
        """`inputs` and `outputs` are the program's. Raises UsageError if those of `model` differ."""
        self.model, self._ends = model, inputs
        self.engine: EngineName = "litert"
        self._inputs, self._outputs = ends_of(model, model.graph)
        self._given = _matched("input", inputs, self._inputs, model.path)
        self._made = _matched("output", outputs, self._outputs, model.path)

    def outputs(
        self, inputs: Sequence[Array], made: Sequence[Array], sequence: int | None, tell: Tell
    ) -> Sequence[Array]:
        """Its outputs as real numbers, in the order and the shapes of the program's, which are `made`.
        What its interpreter leaves as it happens to be is taken from these."""
        count, part = len(inputs[0]), 8
        arrays = [np.empty(0)] * len(self._inputs)
        for end, array, at in zip(self._ends, inputs, self._given, strict=True):
            real = array if array.dtype.kind == "f" else end.real(array)
            other = self._inputs[at]
            arrays[at] = other.checked(other.stored(real)).reshape(count, *other.shape)
        graph = self.model.graph
        found: list[Mapping[int, Array]] = []
        start = 0
        while start < count:
            stop = count if sequence is not None else min(start + part, count)
            found += self._run([array[start:stop] for array in arrays], sequence)
            tell(f"{stop:,} of {count:,} samples in the reference interpreter")
            part, start = min(2 * part, _MOST), stop
        chance = [unwritten(graph, sample) for sample in found]
        outputs = []
        for at, own in zip(self._made, made, strict=True):
            of = graph.outputs[at]
            told = self._outputs[at].real(np.stack([sample[of] for sample in found]))
            masks = [masks.get(of, np.zeros(told.shape[1:], np.bool_)) for masks in chance]
            outputs.append(
                np.where(np.stack(masks).reshape(own.shape), own, told.reshape(own.shape))
            )
        return outputs

    def _run(self, arrays: Sequence[Array], sequence: int | None) -> Sequence[Mapping[int, Array]]:
        graph = self.model.graph
        samples = [dict(zip(graph.inputs, row, strict=True)) for row in zip(*arrays, strict=True)]
        # An interpreter without state need not be made anew.
        fresh = range(0, len(samples), sequence or len(samples))
        found = reference_tensors(
            self.model.source,
            samples,
            [*dict.fromkeys((*graph.outputs, *flags(graph)))],
            engine="litert" if is_float(graph) else "auto",
            fresh=fresh,
            timeout=_PATIENCE,
        )
        self.engine = found.engine
        return found.samples


def _matched(kind: str, ours: Sequence[End], theirs: Sequence[End], path: str) -> list[int]:
    """For each of our inputs or outputs the number of theirs: by name if they are named alike, else in
    order.

    Shapes may differ by an axis of 1.
    """
    names = [end.name for end in theirs]
    if len(ours) != len(theirs):
        raise UsageError(
            f"{path} has {len(theirs)} {kind}s, but the program has {len(ours)}",
            "compare with the network that it was made from",
        )
    by_name = sorted(names) == sorted(end.name for end in ours)
    found = [names.index(e.name) if by_name else i for i, e in enumerate(ours)]
    for end, at in zip(ours, found, strict=True):
        if _sizes(end) != _sizes(theirs[at]):
            raise UsageError(
                f"the {kind} {end.name!r} has shape {list(end.shape)}, and that of {path} "
                f"{list(theirs[at].shape)}",
                "compare with the network that it was made from",
            )
    return found


def _sizes(end: End) -> list[int]:
    return [size for size in end.shape if size != 1]


def figures(end: End, made: Array, wanted: Array | None) -> Figures:
    """An output of all samples as real numbers, and as the other network has it, if there is one."""
    least, greatest = (float(made.min()), float(made.max())) if made.size else (0.0, 0.0)
    distance = None if wanted is None or not made.size else distance_of(made, wanted)
    return Figures(end.name, end.shape, least, greatest, distance)


def distance_of(made: Array, wanted: Array) -> Distance:
    """How far real numbers [n, ...] of an output are from those `wanted`, of the same shape."""
    exact, got = wanted.astype(np.float64), made.astype(np.float64)
    error = np.abs(got - exact)
    noise, signal = float((error**2).sum()), float((exact**2).sum())
    snr = None if signal == 0 else math.inf if noise == 0 else 10 * math.log10(signal / noise)
    same = None
    if made.ndim > 1 and made.shape[-1] > 1:
        same = float((exact.argmax(-1) == got.argmax(-1)).mean())
    return Distance(
        same, float(error.max()), float(error.mean()), math.sqrt(noise / error.size), snr
    )

"""How good a program is on a data set: the stages behind `lowtide evaluate`.

data (real numbers, or the network's integers) --> programs of commands/loading.py, as many as this
computer has cores, one if there is state --> outputs as real numbers --> against labels, and against
another network in its reference interpreter
"""

from __future__ import annotations

import math
import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowtide.arguments import whole
from lowtide.commands.compiling import Compiled, compiled_from
from lowtide.commands.cutting import signature_of
from lowtide.commands.datasets import ARRAYS, DAMAGED, load_arrays, load_samples
from lowtide.commands.loading import End, Given, Program
from lowtide.commands.others import Figures, Other, figures
from lowtide.errors import UsageError
from lowtide.ir import DType, Graph
from lowtide.modes import EngineName
from lowtide.shown import Shown
from lowtide.zoo.loading import Named, load

Array = NDArray[Any]
Tell = Callable[[str], None]

_PART: Final = 64
"""Samples that a program takes at a time, before another may, and before progress is told."""


@dataclass(frozen=True, slots=True)
class Top1:
    """In how many of `places` the greatest value of the output's last axis is the one that was labelled.

    There is a place for each sample, or for each of the positions that the output has before its last
    axis. `against` is how many the other network gets right.
    """

    output: str
    correct: int
    places: int
    against: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated(Shown):
    """The result of `evaluate`: `samples` inferences of `compiled`.

    `given` says whether the samples were real numbers, the network's integers, or both. A network
    with state took them as sequences of `sequence` samples, with a reset before each; without
    state, `sequence` is None. `against` is the path of the network that it was compared with, and
    `engine` is what ran that network.
    """

    compiled: Compiled = field(repr=False)
    samples: int
    given: Literal["real", "integers", "mixed"]
    sequence: int | None
    top1: Top1 | None
    against: str | None
    engine: EngineName | None
    outputs: tuple[Figures, ...]


def data_for(
    compiled: Compiled, path: str | Path, image_range: tuple[float, float] = (0.0, 1.0)
) -> dict[str, Array]:
    """All samples for a program, by the names of its inputs, from what `lowtide evaluate --data` takes.

    Arrays of a .npz or .npy file keep their types: floats are real numbers, integers those that the
    network has. Files of a folder are real numbers, with pixels from `image_range`. Raises UsageError
    for what cannot be used, MissingToolError for images without Pillow.
    """
    path, graph = Path(path), compiled.graph
    names = [name for name, _ in signature_of(compiled.model).inputs]
    if path.suffix.lower() in ARRAYS and not path.is_dir():
        return dict(zip(names, load_arrays(path, graph, names).values(), strict=True))
    real = _with_real_inputs(graph)
    found = load_samples(path, real, names, most=10**9, image_range=image_range).samples
    return {
        name: np.stack([sample[t] for sample in found])
        for name, t in zip(names, graph.given, strict=True)
    }


def labels_from(path: str | Path) -> Array:
    """The array of a .npy file, or the only one of a .npz. Raises UsageError for what has none."""
    try:
        stored = np.load(path, allow_pickle=False)
        if isinstance(stored, np.lib.npyio.NpzFile):
            with stored:
                if len(stored.files) != 1:
                    raise UsageError(
                        f"{path} has {len(stored.files)} arrays", "give labels as a .npy file"
                    )
                stored = stored[stored.files[0]]
    except DAMAGED as error:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UsageError(f"cannot read {path}: {said}", "give labels as a .npy file") from None
    return np.asarray(stored)


def evaluate(
    compiled: Compiled | Named,
    data: Given,
    *,
    labels: ArrayLike | None = None,
    against: Named | None = None,
    reset_every: int | None = None,
    cached: bool = True,
    tell: Tell = lambda _: None,
) -> Evaluated:
    """Run the program on all samples of `data`, and compare with `labels` and another network.

    `compiled` is the result of `compile`, or a network, which is compiled with the default options.

    `data` is what `Program.many` takes, except for the types: floats are real numbers, which the
    input's scale quantises, and integers are used unchanged. `labels` are the classes: one for each
    sample, or one for each position before the last axis of the first output with classes.
    `against` is a network with the same inputs and outputs, such as the float one; its reference
    interpreter runs it on the same samples. A network with state takes the samples as one sequence;
    with `reset_every`, as sequences of this length. `tell` is called with the progress.

    Raises UsageError for data or labels that do not match, OracleError if the other network cannot
    run, and the errors of `Compiled.load`; for a network, also those of `compile`.
    """
    compiled = compiled_from(compiled)
    state = compiled.state_bytes > 0
    beside = None if against is None else load(against)
    if reset_every is not None:
        reset_every = whole("reset_every", reset_every, 1)
    if reset_every is not None and not state:
        raise UsageError(
            f"{compiled.model.path} has no state to reset",
            "leave out --reset-every (in Python, reset_every): samples are independent",
        )
    with compiled.load(cached=cached) as program:
        inputs = program.samples(data)
        count = len(inputs[0]) if inputs else 0
        if count == 0:
            raise UsageError("there are no samples to evaluate", "give at least one sample")
        sequence = (reset_every or count) if state else None
        classes = None if labels is None else _Classes(program.outputs, labels, count)
        other = None if beside is None else Other(program.inputs, program.outputs, beside)
        programs = [program]
        try:
            if sequence is None:
                more = min(_cores(), math.ceil(count / _PART)) - 1
                programs += [compiled.load(cached=cached) for _ in range(more)]
            outputs = _outputs(programs, inputs, sequence, tell)
        finally:
            for each in programs[1:]:
                each.close()
    wanted: Sequence[Array | None] = [None] * len(outputs)
    if other is not None:
        wanted = other.outputs(inputs, outputs, sequence, tell)
    return Evaluated(
        compiled=compiled,
        samples=count,
        given=_kind(program.inputs, inputs),
        sequence=sequence,
        top1=None if classes is None else classes.top1(outputs, wanted),
        against=None if beside is None else beside.path,
        engine=None if other is None else other.engine,
        outputs=tuple(
            figures(end, made, want)
            for end, made, want in zip(program.outputs, outputs, wanted, strict=True)
        ),
    )


def _with_real_inputs(graph: Graph) -> Graph:
    """The graph as if its inputs that stand for real numbers were floats."""
    tensors = list(graph.tensors)
    for t in graph.inputs:
        if tensors[t].quant is not None:
            tensors[t] = replace(tensors[t], dtype=DType.FLOAT32)
    return replace(graph, tensors=tuple(tensors))


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _kind(ends: Sequence[End], inputs: Sequence[Array]) -> Literal["real", "integers", "mixed"]:
    kinds = {
        "real" if array.dtype.kind == "f" else "integers"
        for end, array in zip(ends, inputs, strict=True)
        if end.scale is not None or end.dtype.kind == "f"
    }
    if len(kinds) > 1:
        return "mixed"
    return "real" if kinds == {"real"} else "integers"


def _taken(end: End, array: Array) -> Array:
    """What was given for an input, as the program takes it."""
    return end.stored(array) if array.dtype.kind == "f" else array


def _outputs(
    programs: Sequence[Program], inputs: Sequence[Array], sequence: int | None, tell: Tell
) -> list[Array]:
    """The outputs of all samples as real numbers, [n, ...] each; each program takes a part at a time."""
    ends, count = programs[0].inputs, len(inputs[0])
    length = sequence or count
    parts = [
        (start, min(start + _PART, stop))
        for first in range(0, count, length)
        for stop in [min(first + length, count)]
        for start in range(first, stop, _PART)
    ]
    idle: queue.SimpleQueue[Program] = queue.SimpleQueue()
    for program in programs:
        idle.put(program)

    def run(part: tuple[int, int]) -> tuple[Array, ...]:
        start, stop = part
        program = idle.get()
        try:
            if sequence is not None and start % sequence == 0:
                program.reset()
            arrays = tuple(
                _taken(end, array[start:stop]) for end, array in zip(ends, inputs, strict=True)
            )
            made = program.many(arrays)
        finally:
            idle.put(program)
        made = made if isinstance(made, tuple) else (made,)
        return tuple(end.real(each) for end, each in zip(program.outputs, made, strict=True))

    found = []
    with ThreadPoolExecutor(len(programs)) as pool:
        try:
            for (_, stop), made in zip(parts, pool.map(run, parts), strict=True):
                found.append(made)
                tell(f"{stop:,} of {count:,} samples")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [np.concatenate(each) for each in zip(*found, strict=True)]


class _Classes:
    """What is labelled, and by which output's last axis."""

    def __init__(self, outputs: Sequence[End], labels: ArrayLike, count: int) -> None:
        """Raises UsageError for labels that do not fit the first output with classes."""
        at = next((i for i, e in enumerate(outputs) if e.shape and e.shape[-1] > 1), None)
        if at is None:
            raise UsageError(
                "no output has classes to label", "leave out --labels (in Python, labels)"
            )
        self.number, self.end = at, outputs[at]
        array = np.asarray(labels)
        places = (count, *self.end.shape[:-1])
        if array.shape[:1] != (count,) or array.size != math.prod(places):
            each = (
                "one class for each sample"
                if math.prod(places) == count
                else f"labels of shape {list(places)}"
            )
            raise UsageError(
                f"labels have shape {list(array.shape)}, but there are {count:,} samples",
                f"give {each}; output {self.end.name!r} has {self.end.shape[-1]} classes",
            )
        most = self.end.shape[-1] - 1
        whole = array.dtype.kind in "iu" or (
            array.dtype.kind == "f" and bool((array == np.rint(array)).all())
        )
        if not whole or array.min() < 0 or array.max() > most:
            said = f"are from {array.min()} to {array.max()}" if whole else "are not whole numbers"
            raise UsageError(f"labels {said}", f"number the classes from 0 to {most}")
        self.labels = array.reshape(places).astype(np.int64)

    def top1(self, outputs: Sequence[Array], wanted: Sequence[Array | None]) -> Top1:
        """How often both networks are right."""
        other = wanted[self.number]
        return Top1(
            self.end.name,
            self._correct(outputs[self.number]),
            self.labels.size,
            None if other is None else self._correct(other),
        )

    def _correct(self, made: Array) -> int:
        return int((made.argmax(-1) == self.labels).sum())

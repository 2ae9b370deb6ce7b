"""The same network as a smaller .tflite file, for those who run it elsewhere: `lowtide simplify`.

load -> passes whose graphs a file can hold -> file -> checked in the reference kernels -> written
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lowtide.commands.cutting import as_file
from lowtide.commands.reordering import (
    Reordered,
    reorder,
    with_better_offsets,
    with_offline_plan,
)
from lowtide.commands.savings import Savings, savings
from lowtide.errors import DiffersError, LowtideError, MissingToolError
from lowtide.files import Replacing, write_atomically
from lowtide.ir import DType, Model
from lowtide.ir.soundness import graph_of
from lowtide.modes import EngineName
from lowtide.oracle.interpreters import (
    OracleError,
    Reference,
    TflmArena,
    first_difference,
    reference_tensors,
    tflm_arena,
    tflm_outputs,
)
from lowtide.oracle.samples import sample_inputs
from lowtide.passes.simplify import FILE_PASSES, simplify
from lowtide.passes.simplify.result import Simplified
from lowtide.place.offline_plan import METADATA_NAME
from lowtide.shown import Shown
from lowtide.tflite.read import parse
from lowtide.tflite.write import with_graph
from lowtide.zoo.loading import Named

Array = NDArray[Any]

_DEPENDENCIES = "model_control_dependencies"  # names operators by their position
_SEQUENCE = 32
"""At least so many inputs in a row, for a network with state."""

_ENGINES: tuple[EngineName, ...] = ("tflm", "litert")


@dataclass(frozen=True, slots=True)
class OutputsCheck:
    """What was compared before a simplified file was given out.

    All outputs were equal, byte for byte, on `samples` inputs, in each of `engines`; with state, the
    inputs were a sequence. The arenas are TFLM's own figures, None where it cannot run the network.
    """

    engines: tuple[EngineName, ...]
    samples: int
    arena_before: TflmArena | None
    arena_after: TflmArena | None


@dataclass(frozen=True, slots=True)
class SimplifiedFile(Shown):
    """The result of `simplify`: the new `model`, what it saves, and what was checked.

    `model` is the original one if there was nothing to do.
    """

    before: Model = field(repr=False)
    model: Model = field(repr=False)
    savings: Savings = field(repr=False)
    reordered: Reordered | None = field(repr=False)
    check: OutputsCheck | None

    @property
    def changed(self) -> bool:
        """False when there was nothing to simplify."""
        return self.savings.anything

    @property
    def better(self) -> bool:
        """False if the model is the original one."""
        return self.model is not self.before

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the .tflite file completely or not at all. Raises UsageError if that is not
        possible.

        It never replaces the original model; `force` replaces a file of another kind.
        """
        replacing = Replacing((Path(self.before.path),), force)
        write_atomically(Path(path), self.model.source, replacing)


def simplify_model(
    model: Named,
    *,
    reordered: bool = False,
    offline_plan: bool = False,
    check: bool = True,
    samples: int = 16,
    always: bool = False,
    effort: float = 1.0,
) -> SimplifiedFile:
    """Remove from `model` the channels and operators that are constant for all inputs.

    Inputs, outputs and signatures stay the same. Metadata stays too, unless it names tensors or
    operators by their position. With `reordered`, also put the operators in their best order. With
    `offline_plan`, also store tensor offsets, as `lowtide.reorder` does. If the file has an offline
    plan, a new one replaces it. If there is nothing to simplify, the result is the original model with
    the order or offsets that you ask for, if these are better. Give `always` to store offsets even if
    they aren't. For a part of a network, a file with only that part is made first.

    With `check`, both files run in TFLM and LiteRT, as far as these can run the network, on
    `samples` random and extreme inputs. Raises DiffersError if an output differs, OracleError if no
    reference engine runs the network, and MissingToolError if none is installed.
    """
    model = as_file(model, check=check)
    graph = graph_of(model)
    found = simplify(graph, FILE_PASSES)
    told = savings(model, graph, found)
    new = _file(model, found) if told.anything else model
    planned = any(entry.name == METADATA_NAME for entry in model.metadata)
    better = None
    if reordered:
        better = reorder(new, offline_plan=offline_plan or planned, check=False, effort=effort)
        new = better.model
    elif told.anything or always:
        new = with_offline_plan(new) if offline_plan or planned else new
    elif offline_plan:
        better = with_better_offsets(new, effort=effort)
        new = better.model
    if new is model and not always:
        return SimplifiedFile(model, model, told, better, None)
    checked = compare_outputs(model, new, samples) if check else None
    return SimplifiedFile(model, new, told, better, checked)


def _file(model: Model, found: Simplified) -> Model:
    origins = [kept.origin for kept in found.kept]
    without = (METADATA_NAME, _DEPENDENCIES)
    return parse(with_graph(model, found.graph, origins, without), path=model.path)


def compare_outputs(old: Model, new: Model, samples: int, seed: int = 1) -> OutputsCheck:
    """Run both models on the same inputs, in every engine that can, and compare the outputs' bytes.

    Raises as `simplify_model`.
    """
    state = any(t.is_variable or t.dtype is DType.RESOURCE for t in old.graph.tensors)
    inputs = sample_inputs(old, max(samples, _SEQUENCE) if state else samples, seed, walking=state)
    fresh = (0,) if state else None
    moved = [_renamed(sample, old.graph.inputs, new.graph.inputs) for sample in inputs]
    engines: list[EngineName] = []
    failures: list[LowtideError] = []
    for engine in _ENGINES:
        try:
            want = reference_tensors(
                old.source, inputs, old.graph.outputs, engine=engine, fresh=fresh
            )
        except (OracleError, MissingToolError) as error:
            failures.append(error)
            continue
        made = reference_tensors(new.source, moved, new.graph.outputs, engine=engine, fresh=fresh)
        _expect_same(want, _as_old(made, old, new))
        if engine == "tflm":  # as on a device, where an offline plan decides what shares memory
            made = tflm_outputs(new.source, moved, fresh=fresh)
            _expect_same(want, _as_old(made, old, new))
        engines.append(engine)
    if not engines:
        raise failures[0]
    return OutputsCheck(tuple(engines), len(inputs), _arena(old), _arena(new))


def _renamed(
    sample: Mapping[int, Array], names: Sequence[int], others: Sequence[int]
) -> dict[int, Array]:
    """Arrays by the ids `others` that have the ids `names` in `sample`."""
    return {other: sample[name] for name, other in zip(names, others, strict=True)}


def _as_old(made: Reference, old: Model, new: Model) -> Reference:
    """The outputs of the new file under the old one's ids."""
    samples = (_renamed(s, new.graph.outputs, old.graph.outputs) for s in made.samples)
    return Reference(made.engine, tuple(samples))


def _expect_same(want: Reference, made: Reference) -> None:
    differs = first_difference(want, made)
    if differs is not None:
        raise DiffersError(
            f"the simplified model gives different results in {want.engine}: sample {differs.sample}, "
            f"output tensor {differs.tensor}, element {differs.index}: {differs.left} became "
            f"{differs.right}",
            "this is an internal error of lowtide, and it wrote no file; report it, with the model",
        )


def _arena(model: Model) -> TflmArena | None:
    try:
        return tflm_arena(model.source)
    except LowtideError:
        return None

"""The one-page tour: what each command does, stage by stage, with nothing printed.

    load -> graph -> schedule -> place -> write back, checked against the reference kernels

Every function here takes frozen values and returns a new one; the command line and the Python API
are both thin layers over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lowtide import zoo
from lowtide.commands.analysis import Analysis, analysis_of
from lowtide.commands.analysis import analyze as analyze
from lowtide.errors import DiffersError, LowtideError, ModelError
from lowtide.files import write_atomically
from lowtide.ir import Graph, Model
from lowtide.ir.liveness import in_arena
from lowtide.oracle.interpreters import Difference, first_difference, tflm_arena, tflm_outputs
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.order import OrderResult
from lowtide.place import Placement, compacting, greedy, planned
from lowtide.place.offline_plan import METADATA_NAME, encode
from lowtide.place.tensors import tensor_problem, tflm_problem
from lowtide.tflite.read import load as load_file
from lowtide.tflite.read import parse
from lowtide.tflite.rewrite import permute_operators, set_metadata

_ZOO = "zoo:"


def load(model: str | Path) -> Model:
    """The model at a path, or a built-in one named as "zoo:NAME".

    Raises ModelError for a file that cannot be used, UsageError for an unknown zoo name.
    """
    text = str(model)
    if not text:
        raise ModelError("no model is named", "give the path of a .tflite file, or zoo:NAME")
    if text.startswith(_ZOO):
        return parse(zoo.build(text.removeprefix(_ZOO)), path=text)
    return load_file(model)


@dataclass(frozen=True, slots=True)
class Placements:
    """The three allocators on whole tensors, for one order; every one validated."""

    greedy: Placement
    planned: Placement
    compacting: Placement


def place_tensors(graph: Graph, order: Sequence[int], *, align: int = 16) -> Placements:
    """Place the tensors of `graph`, run in `order`, with each allocator."""
    problem = tensor_problem(graph, order, align=align)
    return Placements(greedy(problem), planned(problem), compacting(problem))


@dataclass(frozen=True, slots=True)
class Check:
    """What was compared before a rewritten model was given out.

    `engine` ran both models; `tensors` tensors were equal, byte for byte, on `samples` inputs.
    `head_before` and `head_after` are the arena heads (bytes) that TFLM itself reports, None where it
    cannot run the model.
    """

    engine: Literal["tflm", "litert"]
    samples: int
    tensors: int
    head_before: int | None
    head_after: int | None


@dataclass(frozen=True, slots=True)
class Reordered:
    """The result of `reorder`: the new model, what it was made from, and what was proved of it."""

    model: Model = field(repr=False)
    before: Analysis = field(repr=False)
    after: Analysis = field(repr=False)
    plan: Placement | None
    check: Check | None

    @property
    def changed(self) -> bool:
        """False when the file's order was already the best one found."""
        return self.before.best.order != self.before.file.order

    def write(self, path: str | Path) -> None:
        """Write the .tflite file, whole or not at all. Raises UsageError if it cannot be written."""
        write_atomically(Path(path), self.model.source)


def reorder(
    model: Model, *, offline_plan: bool = False, check: bool = True, effort: float = 1.0
) -> Reordered:
    """Put the operators of `model` in their best order; nothing else in the file changes.

    With `offline_plan`, tensor offsets are stored too, in metadata that TFLM honours; a plan that the
    file already has is made anew, since it belongs to the old order. With `check`, both models are
    run and every tensor compared; raises DiffersError if one differs, OracleError if neither
    reference engine runs the model. `effort` is a factor of what the search for the
    order may do.
    """
    before = analyze(model, effort=effort)
    data, plan = model.source, None
    if before.best.order != before.file.order:
        _refuse_positions(model)
        data = permute_operators(data, before.best.order)
        offline_plan |= any(entry.name == METADATA_NAME for entry in model.metadata)
    if offline_plan:
        # With TFLM's own sizes: it does not pack narrow types, and it places unused tensors too.
        plan = planned(tflm_problem(model.graph, before.best.order))
        data = set_metadata(data, METADATA_NAME, _offline_offsets(model, plan))
    new = parse(data, path=model.path)
    after = analysis_of(new, _renumbered(before.best_order), new.graph)
    return Reordered(new, before, after, plan, compare(model, new) if check else None)


def _renumbered(found: OrderResult) -> OrderResult:
    """The same order in the new file, where it is the file's own."""
    return replace(found, order=tuple(range(len(found.order))))


def _refuse_positions(model: Model) -> None:
    name = "model_control_dependencies"
    if any(entry.name == name for entry in model.metadata):
        raise ModelError(
            f"the file's metadata entry {name!r} names operators by their position, so they cannot "
            "be put in another order",
            "export the model without control dependencies",
        )


def _offline_offsets(model: Model, plan: Placement) -> bytes:
    offsets: list[int | None] = [None] * sum(model.subgraph_tensors)
    for block in plan.blocks:  # the main subgraph's tensors come first
        if block.offset >= 1 << 31:
            raise ModelError(
                f"tensor {block.item} would lie at {block.offset}, beyond what a plan can say",
                "leave --offline-plan out",
            )
        offsets[block.item] = block.offset
    return encode(offsets, len(model.subgraph_tensors))


def compare(old: Model, new: Model, *, samples: int = 2, seed: int = 1) -> Check:
    """Run both models on the same inputs and compare every tensor's bytes.

    The models must have the same tensors. Raises DiffersError, OracleError or MissingToolError.
    """
    graph = old.graph
    try:
        inputs = sample_inputs(old, samples, seed)
    except ModelError as error:
        leave = f"leave this check out (`lowtide reorder --no-check`); or: {error.remedy}"
        raise ModelError(error.cause, leave) from None
    used = {t for op in graph.ops for t in (*op.inputs, *op.outputs) if t >= 0} | set(graph.inputs)
    ids = [t.id for t in graph.tensors if t.id in used and in_arena(t)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(reference, m, inputs, ids) for m in (old, new)]
        left, right = (job.result() for job in jobs)
        _expect_same(first_difference(left, right))
        heads: list[int | None] = [None, None]
        if left.engine == "tflm":
            arenas = [pool.submit(_head, m) for m in (old, new)]
            outputs = [pool.submit(tflm_outputs, m.source, inputs) for m in (old, new)]
            heads = [job.result() for job in arenas]
            # Once more as on a device, where an offline plan decides which tensors share memory.
            _expect_same(first_difference(outputs[0].result(), outputs[1].result()))
    return Check(left.engine, samples, len(ids), heads[0], heads[1])


def _head(model: Model) -> int | None:
    try:
        return tflm_arena(model.source).head
    except LowtideError:
        return None


def _expect_same(difference: Difference | None) -> None:
    if difference is None:
        return
    raise DiffersError(
        f"the rewritten model computes something else: sample {difference.sample}, tensor "
        f"{difference.tensor}, element {difference.index}: {difference.left} became {difference.right}",
        "this is a fault of lowtide; nothing was written. Please report it with the model",
    )

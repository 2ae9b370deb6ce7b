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

from lowtide.commands.analysis import Analysis, analysis_of
from lowtide.commands.analysis import analyze as analyze
from lowtide.commands.cutting import as_file
from lowtide.commands.sequences import inputs_for
from lowtide.errors import DiffersError, LowtideError, ModelError
from lowtide.files import Replacing, write_atomically
from lowtide.ir import Graph, Model
from lowtide.ir.liveness import in_arena
from lowtide.oracle.interpreters import Difference, first_difference, tflm_arena, tflm_outputs
from lowtide.oracle.samples import reference
from lowtide.order import OrderResult
from lowtide.passes import resolve_variables
from lowtide.place import Placement, compacting, greedy, planned
from lowtide.place.offline_plan import METADATA_NAME, encode
from lowtide.place.tensors import tensor_problem, tflm_arena_bytes, tflm_problem
from lowtide.shown import Shown
from lowtide.tflite.read import parse
from lowtide.tflite.rewrite import permute_operators, set_metadata
from lowtide.zoo.loading import Named


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

    `engine` ran both models; `tensors` tensors were equal, byte for byte, on `samples` inputs. Those
    of a network with state were a sequence, of which the first `again` came again after a fresh start.
    `head_before` and `head_after` are the arena heads (bytes) that TFLM itself reports, None where it
    cannot run the model.
    """

    engine: Literal["tflm", "litert"]
    samples: int
    tensors: int
    head_before: int | None
    head_after: int | None
    again: int = 0


@dataclass(frozen=True, slots=True, eq=False)  # one of several ways, whatever it holds
class Rewrite:
    """One way to write the file anew: operators in the order `order` (of the old numbers), and offsets
    by `plan`. `head` is the arena head, in bytes, that TFLM has for it."""

    model: Model = field(repr=False)
    order: tuple[int, ...]
    plan: Placement | None
    head: int

    @property
    def reordered(self) -> bool:
        """Whether its operators stand in another order than in the file."""
        return self.order != tuple(range(len(self.order)))


@dataclass(frozen=True, slots=True)
class Reordered(Shown):
    """The result of `reorder`: the new model, what it was made from, and what was checked.

    The new model is the best of `ways` to write it; the first of them is the file as it is. The
    best one has the least arena head, and then the least peak. The arena heads are TFLM's own if
    they were `measured`, or else predicted.
    """

    before: Analysis = field(repr=False)
    after: Analysis = field(repr=False)
    chosen: Rewrite
    ways: tuple[Rewrite, ...] = field(repr=False)
    measured: bool
    check: Check | None

    @property
    def model(self) -> Model:
        """The new model, or the old one if nothing is better."""
        return self.chosen.model

    @property
    def plan(self) -> Placement | None:
        """The stored offsets, if any."""
        return self.chosen.plan

    @property
    def changed(self) -> bool:
        """Whether the operators have another order."""
        return self.chosen.reordered

    @property
    def better(self) -> bool:
        """False if no other order or plan is better than that of the file."""
        return self.chosen is not self.ways[0]

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the .tflite file completely or not at all. Raises UsageError if that is not
        possible.

        It never replaces the original model; `force` replaces a file of another kind.
        """
        replacing = Replacing((Path(self.ways[0].model.path),), force)
        write_atomically(Path(path), self.model.source, replacing)


def reorder(
    model: Named, *, offline_plan: bool = False, check: bool = True, effort: float = 1.0
) -> Reordered:
    """Put the operators of `model` in their best order, if that is better. The rest of the file
    stays the same.

    With `offline_plan`, also store tensor offsets, in metadata that TFLM uses. If the file already
    has an offline plan and its order changes, a new plan replaces the old one. TFLM measures which
    combination is best, if it is installed and has all operators; otherwise its planner is
    predicted.

    With `check`, the old and the new model run, and every tensor is compared. Raises DiffersError
    if one differs, and OracleError if no reference engine runs the model. `effort` is the search
    budget for the order. For a part of a network, a file with only that part is made first.
    """
    model = as_file(model, check=check)
    before = analyze(model, effort=effort)
    return _best_of(model, before, _ways(model, before, offline_plan), check)


def with_better_offsets(model: Model, *, effort: float = 1.0) -> Reordered:
    """The model, in the order that it has, with stored tensor offsets, if these are better. Not
    checked against the reference kernels. `effort` is the search budget for the best order, which
    the analyses have."""
    before = analyze(model, effort=effort)
    ways = [_as_is(model, before), _planned(model, model.source, before.file.order)]
    return _best_of(model, before, ways, check=False)


def _best_of(model: Model, before: Analysis, ways: list[Rewrite], check: bool) -> Reordered:
    """The best of some ways to write a model anew; the first is the file as it is."""
    ways, measured = _weighed(ways)
    peaks = {False: before.file.peak_bytes, True: before.best.peak_bytes}
    chosen = min(ways, key=lambda way: (way.head, peaks[way.reordered]))
    # Of equal ones the last, which does most of what was asked for, but none that gains nothing.
    least = chosen.head, peaks[chosen.reordered]
    chosen = [way for way in ways if (way.head, peaks[way.reordered]) == least][-1]
    if least == (ways[0].head, peaks[False]):
        return Reordered(before, before, ways[0], tuple(ways), measured, None)
    found = _renumbered(before.best_order) if chosen.reordered else before.best_order
    after = analysis_of(chosen.model, found, chosen.model.graph)
    heads = (ways[0].head, chosen.head) if measured else (None, None)
    checked = compare(model, chosen.model, heads=heads) if check else None
    return Reordered(before, after, chosen, tuple(ways), measured, checked)


def _ways(model: Model, before: Analysis, offline_plan: bool) -> list[Rewrite]:
    """The file as it is, and the others, the more of them done the later; heads are predicted."""
    given, best = before.file.order, before.best.order
    ways = [_as_is(model, before)]
    if offline_plan:
        ways.append(_planned(model, model.source, given))
    if best != given:
        _refuse_positions(model)
        data = permute_operators(model.source, best)
        has_plan = any(entry.name == METADATA_NAME for entry in model.metadata)
        if not has_plan:
            ways.append(_way(model, data, best, None))
        if offline_plan or has_plan:
            ways.append(_planned(model, data, best))
    return ways


def _as_is(model: Model, before: Analysis) -> Rewrite:
    """The file itself, whose analysis is known."""
    return _way(model, model.source, before.file.order, None, before.stored_plan_bytes)


def _planned(model: Model, data: bytes, order: tuple[int, ...]) -> Rewrite:
    """The file `data`, whose operators stand in `order`, with offsets."""
    plan = offline_placement(model, order)
    data = set_metadata(data, METADATA_NAME, _offline_offsets(model, plan))
    return _way(model, data, order, plan, plan.arena_bytes)


def _way(
    model: Model,
    data: bytes,
    order: tuple[int, ...],
    plan: Placement | None,
    head: int | None = None,
) -> Rewrite:
    new = model if data is model.source else parse(data, path=model.path)
    return Rewrite(new, order, plan, tflm_arena_bytes(model.graph, order) if head is None else head)


def _weighed(ways: list[Rewrite]) -> tuple[list[Rewrite], bool]:
    """The same with the heads that TFLM has for them, if it has them for all, and whether it has."""
    if len(ways) == 1:
        return ways, False
    with ThreadPoolExecutor(max_workers=2) as pool:
        heads = [head for head in pool.map(_head, [way.model for way in ways]) if head is not None]
    if len(heads) < len(ways):
        return ways, False
    return [replace(way, head=head) for way, head in zip(ways, heads, strict=True)], True


def offline_placement(model: Model, order: Sequence[int]) -> Placement:
    """Offsets that TFLM can follow: its own sizes, as it does not pack narrow types, and places unused
    tensors too."""
    return planned(tflm_problem(model.graph, order))


def with_offline_plan(model: Model) -> Model:
    """The model, in the order that it has, with tensor offsets as metadata that TFLM honours."""
    return _planned(model, model.source, tuple(range(len(model.graph.ops)))).model


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
    for rectangle in plan.rectangles:  # the main subgraph's tensors come first
        if rectangle.offset >= 1 << 31:
            raise ModelError(
                f"tensor {rectangle.item} would be at offset {rectangle.offset}, more than "
                "the metadata can store",
                "leave out --offline-plan",
            )
        offsets[rectangle.item] = rectangle.offset
    return encode(offsets, len(model.subgraph_tensors))


def compare(
    old: Model,
    new: Model,
    *,
    samples: int | None = None,
    seed: int = 1,
    heads: tuple[int | None, int | None] | None = None,
) -> Check:
    """Run both models on the same inputs and compare every tensor's bytes.

    There are `samples` inputs, by default 2, or for networks with state a sequence of 16 or more, its
    state carried, and after a fresh start the first ones again. `heads` are those of TFLM, if known.
    The models must have the same tensors. Raises DiffersError, OracleError or MissingToolError.
    """
    graph = old.graph
    kept = [(t, t.bytes) for t in resolve_variables(graph).tensors if t.is_variable]
    try:
        inputs = inputs_for(old, kept, samples, 2, seed)
    except ModelError as error:
        leave = f"leave this check out (`lowtide reorder --no-check`); or: {error.remedy}"
        raise ModelError(error.cause, leave) from None
    used = {t for op in graph.ops for t in (*op.inputs, *op.outputs) if t >= 0} | set(graph.inputs)
    ids = [t.id for t in graph.tensors if t.id in used and in_arena(t)]
    given, fresh = inputs.samples, inputs.fresh
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(reference, m, given, ids, fresh=fresh) for m in (old, new)]
        left, right = (job.result() for job in jobs)
        _expect_same(first_difference(left, right))
        if left.engine == "tflm":
            if heads is None:
                first, second = pool.map(_head, (old, new))
                heads = first, second
            outputs = [pool.submit(tflm_outputs, m.source, given, fresh=fresh) for m in (old, new)]
            # Once more as on a device, where an offline plan decides which tensors share memory.
            _expect_same(first_difference(outputs[0].result(), outputs[1].result()))
    before, after = heads if left.engine == "tflm" and heads is not None else (None, None)
    again = 0 if inputs.state is None else inputs.state.again
    return Check(left.engine, inputs.counted, len(ids), before, after, again)


def _head(model: Model) -> int | None:
    try:
        return tflm_arena(model.source).head
    except LowtideError:
        return None


def _expect_same(difference: Difference | None) -> None:
    if difference is None:
        return
    raise DiffersError(
        f"the rewritten model gives different results: sample {difference.sample}, tensor "
        f"{difference.tensor}, element {difference.index}: {difference.left} became {difference.right}",
        "this is an internal error of lowtide, and it wrote no file; report it, with the model",
    )

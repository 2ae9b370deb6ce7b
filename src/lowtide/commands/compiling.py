"""From a model to a bundle of C files: the stages behind `lowtide compile`.

load -> passes -> best order -> lower and place (emit.assemble) -> C (emit.bundle) -> proof (prove)
"""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from lowtide.commands.cutting import proposed
from lowtide.commands.ends import InputType, Layout, ends_notes, own_ends, with_bytes
from lowtide.commands.proving import proof_of, told
from lowtide.commands.savings import Savings, savings
from lowtide.emit.bundle import README, bundle, superseded
from lowtide.emit.exports import export
from lowtide.emit.names import c_name, check_name
from lowtide.emit.one_core import Gain, gains
from lowtide.emit.readme import readme
from lowtide.errors import FloatError, ModelError, UsageError
from lowtide.files import Replacing, write_below
from lowtide.ir import Graph, Model
from lowtide.kinds import GENERATED, kind_of
from lowtide.machines.board import find_target
from lowtide.oracle.interpreters import EngineName
from lowtide.order import OrderResult, best_order
from lowtide.passes import (
    carry_rows,
    fold_dilations,
    fold_pads,
    resolve_variables,
    round_once,
    show_signal_state,
    unpack_weights,
)
from lowtide.passes.branches import inline_branches
from lowtide.passes.flipping import flip_bytes
from lowtide.passes.floats import is_float
from lowtide.passes.simplify import PASSES, Price, Simplified, priced, simplify, then, unchanged
from lowtide.passes.variables import check_set
from lowtide.place.tensors import tflm_arena_bytes, tflm_variable_bytes
from lowtide.plans import planner
from lowtide.plans.bound import plan_bound
from lowtide.plans.cost import CostModel, known_model, load_model, priced_cores
from lowtide.plans.file import check_graph, graph_digest, stage_order, with_views
from lowtide.plans.placer import Point, Tell
from lowtide.plans.planner import Plans
from lowtide.program.assemble import Assembly, Schedule, assemble_placed, assemble_tensors
from lowtide.program.tables import called
from lowtide.prove.proof import Proof
from lowtide.rows.prepare import InputMode, OutputMode, Prepared, prepare
from lowtide.rows.stages import Choice
from lowtide.shown import Shown
from lowtide.target import ANY, Target
from lowtide.tflite import foreign

if TYPE_CHECKING:
    from lowtide.commands.loading import Program

Cost = Literal["macs", "instructions"]

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule": get_args(Schedule),
    "allocator": ("planned", "greedy", "compacting"),
    "input_mode": get_args(InputMode),
    "output_mode": get_args(OutputMode),
    "input_layout": get_args(Layout),
    "output_layout": get_args(Layout),
    "input_type": get_args(InputType),
    "cost": get_args(Cost),
    "rounding": get_args(EngineName),
}
"""What options may be, for callers whose types nobody checks: a slip would change nothing, unseen."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. `align` is the arena's alignment in bytes, a power of two from 4 up.

    `schedule` is rows, which interleaves the steps of operators and places rows, or operators, which
    runs them one after the other and places whole tensors with `allocator`: planned, greedy or
    compacting. `input_mode` says where inputs live: resident in the arena; const, in memory of the
    caller's that stays readable; or streamed, their rows given as they are needed. `output_mode`:
    resident, or streamed, their rows handed over as they are made. `preserve_input` keeps resident
    inputs intact. `quantized_io` drops a QUANTIZE or DEQUANTIZE at the model's boundary. A layout of
    nhwc drops a TRANSPOSE there, so that inputs or outputs have their channels last. With an
    `input_type` of uint8, inputs of int8 are given as uint8.

    By default nothing is computed twice. With `max_overhead`, stages may run in strips, for the least
    RAM at no more than that many times the network's MACs (infinity is allowed); with `max_ram`, for
    the fewest MACs in an arena and state of no more than that many bytes. `stages` prescribes them, by
    the operators' numbers in the graph of digest `stages_of` (None: whatever it is). `cost` is
    what counts instead of MACs, in both: instructions as predicted for `target`, which is the core that
    the program is for, whose kernels, scratch memory and prices are taken.
    `name` prefixes every public C name; by default it is made from the file's name. `effort` is a factor
    of the work that all searches may do: what they find depends on it, and not on the computer.

    `rounding` says whose matrix products (passes/rounding.py) to have: of dense layers tflm rounds the
    sums twice, litert once, which costs double arithmetic. All else costs the same in both.

    With `simplify`, what no input can change is not computed: see `lowtide.passes.simplify`.

    With `slices`, the program has NAME_invoke_some, which runs a part of it: about as many instructions
    as it is told, as predicted for `target`.
    """

    schedule: Schedule = "rows"
    allocator: str = "planned"
    input_mode: InputMode = "resident"
    output_mode: OutputMode = "resident"
    preserve_input: bool = False
    quantized_io: bool = False
    input_layout: Layout = "file"
    output_layout: Layout = "file"
    input_type: InputType = "file"
    align: int = 16
    name: str | None = None
    max_overhead: float | None = None
    max_ram: int | None = None
    stages: tuple[Choice, ...] | None = None
    stages_of: str | None = None
    cost: Cost = "macs"
    target: Target = ANY
    effort: float = 1.0
    rounding: EngineName = "tflm"
    simplify: bool = True
    slices: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} cannot be {getattr(self, name)!r}", f"use one of: {', '.join(choices)}"
                )
        if not 4 <= self.align <= 4096 or self.align & (self.align - 1):
            raise UsageError(
                f"--align {self.align} cannot be",
                "use a power of two, at least 4 and at most 4096 (default 16)",
            )
        if self.schedule == "operators" and "streamed" in (self.input_mode, self.output_mode):
            raise UsageError(
                "operators that run one after the other need their whole input",
                "leave out --schedule operators to stream rows in or out",
            )
        if self.schedule == "rows" and self.allocator != "planned":
            raise UsageError(
                f"rows are not placed by the {self.allocator} allocator",
                "give --schedule operators as well, to place whole tensors with it",
            )
        limited = self.max_overhead is not None or self.max_ram is not None
        if limited and self.schedule == "operators":
            raise UsageError(
                "operators that run one after the other leave no choice of RAM and cost",
                "leave out --schedule operators",
            )
        if limited and self.stages is not None:
            raise UsageError(
                "a plan that is given leaves no choice of RAM and cost",
                "give either --plan or limits",
            )
        if self.preserve_input and self.input_mode != "resident":
            raise UsageError(
                f"a {self.input_mode} input is not in the arena, so it cannot be preserved there",
                "leave out --preserve-input",
            )
        if self.cost == "instructions" or self.slices:
            load_model(self.target.priced_as)  # raises for a core without one

    @property
    def cost_model(self) -> CostModel | None:
        """The model of instructions, if they count."""
        return load_model(self.target.priced_as) if self.cost == "instructions" else None

    @property
    def predictor(self) -> CostModel | None:
        """The model of the target's instructions, whatever counts; None if there is none."""
        try:
            return load_model(self.target.priced_as)
        except UsageError:
            return None


@dataclass(frozen=True, slots=True)
class TflmBytes:
    """What TFLM takes from its arena, predicted: `arena` (its head) for tensors, `variables` for state.

    Its own structures and the scratch memory that some of its kernels ask for come on top.
    """

    arena: int
    variables: int

    @property
    def ram(self) -> int:
        """Both."""
        return self.arena + self.variables


@dataclass(frozen=True, slots=True, eq=False)
class Compiled(Shown):
    """A program as C: `files` is the whole bundle, {file name: contents}.

    `simplified` says what its tensors are in the network as it was, and what was left out of that.
    `proof` is what is proved of it for all inputs.
    The search was `complete` if the order of operators is proved the best and all stages were looked
    at, or all that was given: else more effort may find a better program.
    """

    model: Model = field(repr=False)
    name: str
    options: Options
    order: OrderResult
    assembly: Assembly = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    simplified: Simplified = field(repr=False)
    proof: Proof = field(repr=False)
    complete: bool = True

    @property
    def graph(self) -> Graph:
        """The graph that was compiled: the model's after the passes."""
        return self.assembly.graph

    @property
    def arena_bytes(self) -> int:
        """Bytes of arena the program needs (exact: nothing else is allocated from it)."""
        return self.assembly.arena_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes that the program keeps from one run to the next, in memory apart from the arena."""
        return self.assembly.state_bytes

    @property
    def ram_bytes(self) -> int:
        """Bytes of arena and state; the instance and the stack are beside them."""
        return self.arena_bytes + self.state_bytes

    @property
    def tflm_bytes(self) -> TflmBytes:
        """What TFLM needs for the model, its operators in the file's order."""
        graph = self.model.graph
        head = tflm_arena_bytes(graph, range(len(graph.ops)))
        return TflmBytes(head, tflm_variable_bytes(resolve_variables(graph)))

    @property
    def instructions_predicted(self) -> int | None:
        """Instructions of one inference as the cost model predicts them, if they count."""
        model = self.options.cost_model
        if model is None:
            return None
        return model.program(self.assembly.executed)

    @property
    def savings(self) -> Savings:
        """What simplification saved."""
        options = self.options
        before = passed(self.model, replace(options, simplify=False)).graph
        return savings(self.model, before, self.simplified, options.cost_model, options.target)

    def load(self, *, sanitize: bool = False, cached: bool = True) -> Program:
        """Build the bundle for this computer and load it: what comes back is called with arrays.

        It runs in this process, built with -O2; or, to `sanitize`, in one of its own, where what C
        forbids becomes a ProgramError. With `cached`, objects of sources that did not change are those
        of an earlier build. Raises MissingToolError without a C compiler, BuildError if the C is faulty,
        ProgramError if it does not start, ModelError for types that NumPy lacks.
        """
        from lowtide.commands.loading import Program, ends_of  # processes, which browsers lack

        inputs, outputs = ends_of(self.model, self.graph)
        return Program(self.files, self.name, inputs, outputs, sanitize=sanitize, cached=cached)

    def write(self, folder: str | Path, *, force: bool = False) -> tuple[str, ...]:
        """Write the bundle into `folder`, which is made if missing.

        Raises UsageError also where the folder has files that are not of a bundle; `force` replaces
        them. Returns what was removed: kernels of an earlier bundle that nothing there uses now.
        """
        return self.write_as(folder, Replacing((Path(self.model.path),), force))

    def write_as(self, folder: str | Path, replacing: Replacing) -> tuple[str, ...]:
        """The same, and other inputs may have to stay, too."""
        target = Path(folder)
        replacing.check_bundle(target, self.files)
        texts = _sources(target)
        old = superseded(texts, self.files)
        write_below(target, self.files, replacing)
        removed = []
        for name in old:
            if kind_of(name, texts[name].encode()) != GENERATED:  # whatever a README lists
                continue
            with contextlib.suppress(OSError):
                (target / name).unlink()
                removed.append(name)
        return tuple(removed)


_SOURCES = frozenset({".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".ino", ".S"})


def _sources(folder: Path) -> dict[str, str]:
    """The texts of the source files in `folder`, and of its README; what cannot be read is left out."""
    texts = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.suffix in _SOURCES or path.name == README:
                with contextlib.suppress(OSError):
                    texts[path.name] = path.read_text("utf-8", "replace")
    return texts


def exported(compiled: Compiled, kind: str) -> Compiled:
    """The same as a package for the build system `kind`, one of `KINDS` of emit/exports."""
    files = export(kind, compiled.assembly, compiled.name, compiled.files)
    return replace(compiled, files=files)


def compile_model(model: Model, options: Options | None = None) -> Compiled:
    """Compile `model` to C: operators in their best order, their rows interleaved.

    What comes out is a whole bundle of files, in memory: `Compiled.write` writes it to a folder. Its
    arena has `Compiled.arena_bytes` bytes.

    Raises ModelError for an operator or type without a kernel, UsageError for options that exclude each
    other or a plan that does not fit the model, InfeasibleError if no plan meets the limits, ProofError
    if what was made does not prove right: a fault of lowtide.
    """
    chosen = options or Options()
    name = check_name(chosen.name) if chosen.name is not None else c_name(_stem(model.path))
    simplified, order, ready = prepared(model, chosen)
    plans = None
    if chosen.schedule == "operators":
        assembly = assemble_tensors(ready, chosen.allocator)
    else:
        plans = _plans(ready, chosen, tell=lambda _: None)
        assembly = assemble_placed(ready, _point(plans, chosen).placed)
    complete = _complete(chosen, order, plans)
    return compiled_of(model, chosen, name, order, assembly, simplified, complete=complete)


def rounded_as(compiled: Compiled, rounding: EngineName) -> Compiled:
    """The same program, stage by stage, but for what the two engines compute differently."""
    options = compiled.options
    if rounding == options.rounding or _rounds_alike(compiled.model.graph):
        return compiled
    options = replace(options, rounding=rounding)
    plan = compiled.assembly.plan
    other = passed(compiled.model, options).graph  # what never changes may depend on the rounding
    if plan is not None and graph_digest(other) == graph_digest(compiled.simplified.graph):
        stages = tuple(stage.choice for stage in plan.stages)
        options = replace(options, stages=stages, stages_of=None, max_ram=None, max_overhead=None)
    return compile_model(compiled.model, options)


def _rounds_alike(graph: Graph) -> bool:
    """Whether nothing in the graph is rounded in two ways."""
    graph = inline_branches(graph)
    return round_once(graph) is graph


def _complete(options: Options, order: OrderResult, plans: Plans | None) -> bool:
    """Whether all searches came to their end."""
    if options.stages is not None:
        return True
    return order.proved_optimal and (plans is None or plans.complete)


def before_bytes(model: Model, options: Options) -> Graph:
    """The graph with the ends that the caller wants, but for their type: its inputs are the file's."""
    graph = resolve_variables(unpack_weights(inline_branches(model.graph)))
    graph = check_set(graph)
    graph = fold_pads(fold_dilations(carry_rows(show_signal_state(graph))))
    return own_ends(
        graph,
        quantized_io=options.quantized_io,
        input_layout=options.input_layout,
        output_layout=options.output_layout,
    )


def passed(model: Model, options: Options) -> Simplified:
    """The graph after all passes, and what simplification did to it.

    Raises ModelError for a graph that no program can have.
    """
    _check_ends(model.graph)
    graph = with_bytes(before_bytes(model, options), options.input_type)
    if options.rounding == "litert":
        graph = round_once(graph)
    if not options.simplify:
        return _flipped(unchanged(graph), options)
    prices = known_model(options.target.priced_as)
    simplified = simplify(
        graph, PASSES if prices is None else priced(Price(prices.of, options.target))
    )
    folded = fold_pads(simplified.graph)  # there may be more to fold
    return _flipped(replace(simplified, graph=folded), options)


def _flipped(simplified: Simplified, options: Options) -> Simplified:
    """With uint8 as int8, where that is quicker."""
    return then(simplified, flip_bytes(simplified.graph, options.target))


def prepared(model: Model, options: Options) -> tuple[Simplified, OrderResult, Prepared]:
    """What is compiled: simplified, in the best order, or that of the stages prescribed, and lowered."""
    simplified = passed(model, options)
    graph = simplified.graph
    order = best_order(graph, effort=options.effort)
    if options.stages is not None:
        check_graph(graph, options.stages_of)
        order = replace(order, order=stage_order(graph, options.stages))
    try:
        ready = prepare(
            graph,
            order.order,
            input_mode=options.input_mode,
            output_mode=options.output_mode,
            preserve_input=options.preserve_input,
            align=options.align,
            join=options.schedule == "rows",
            target=options.target,
        )
    except ModelError as error:
        raise advised(error, model, options) from None
    return simplified, order, ready


def advised(error: ModelError, model: Model, options: Options) -> ModelError:
    """The same refusal, with the part of the network that can be compiled, or what quantises it."""
    if isinstance(error, FloatError) and is_float(model.graph):
        nameless = model.path.startswith("<")  # made in memory
        file = "MODEL.tflite" if nameless else model.path
        made = f"{'NAME' if nameless else _stem(model.path)}_int8.tflite"
        command = f"lowtide quantize {shlex.quote(file)} -o {shlex.quote(made)} --data SAMPLES.npz"
        return FloatError(error.cause, f"`{command}` makes an int8 network of it")
    plain = replace(options, simplify=False)
    found = proposed(model, lambda part: passed(part, plain).graph)
    return error if found is None else ModelError(error.cause, f"{found}; or {error.remedy}")


def _check_ends(graph: Graph) -> None:
    """Raises ModelError for a graph without outputs, or with a constant that its caller should give."""
    if not graph.outputs:
        raise ModelError(
            "the model has no outputs: there is nothing to compute",
            "export it with its outputs named",
        )
    for tensor in graph.inputs:
        value = graph.tensors[tensor]
        if value.is_constant or value.is_variable:
            kind = "a constant" if value.is_constant else "a variable tensor"
            raise ModelError(
                f"graph input {tensor} is {kind}: the file has its contents, and no caller can give it",
                "take it off the list of the model's inputs, or take its contents out of the file",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Planned(Shown):
    """What `lowtide plan` shows. `points` is the front, if asked for; `complete` says that it is exact.

    `tflm_bytes` is the arena of TFLM's own planner, predicted, without its variables. No order of the
    program's steps, each run once, needs an arena of less than `lower_bound_bytes`.
    """

    compiled: Compiled
    points: tuple[Point, ...] | None
    complete: bool
    tflm_bytes: int
    lower_bound_bytes: int

    @property
    def proved_optimal(self) -> bool:
        """Whether the arena meets the bound."""
        return self.compiled.arena_bytes == self.lower_bound_bytes


def planned_model(
    model: Model,
    options: Options | None = None,
    *,
    front: bool = False,
    tell: Tell = lambda _: None,
) -> Planned:
    """Compile `model`, and show what its plan needs, beside lower bounds and TFLM; sizes are in bytes.

    With `front`, find all plans that no other beats in arena and cost, too. `tell` is told what is being
    done. `options.schedule` must be "rows"; else as `compile_model`, errors, too.
    """
    options = options or Options()
    if options.schedule == "operators":
        raise UsageError(
            "operators that run one after the other have no stages to plan",
            "`lowtide analyze` shows what they need",
        )
    name = check_name(options.name) if options.name is not None else c_name(_stem(model.path))
    simplified, order, ready = prepared(model, options)
    plans = _plans(ready, options, strips=front, tell=tell)
    point = _point(plans, options)
    points = None
    if front:  # with the plan that is taken, which may be quicker than others of its cost
        best = planner.front(plans, [point])
        taken = any(p.choices == point.choices for p in best)
        points = tuple(best if taken else [point, *best])
    assembly = assemble_placed(ready, point.placed)
    complete = _complete(options, order, plans)
    compiled = compiled_of(model, options, name, order, assembly, simplified, complete=complete)
    tell("looking for a lower bound")
    bound = plan_bound(point.placed, effort=options.effort * (0.1 if front else 1.0))
    return Planned(compiled, points, plans.complete, compiled.tflm_bytes.arena, bound)


def _limits(options: Options) -> tuple[float | None, int | None]:
    return options.max_overhead, options.max_ram


def _plans(ready: Prepared, options: Options, *, strips: bool = False, tell: Tell) -> Plans:
    limited = _limits(options) != (None, None)
    return planner.plans_of(
        ready,
        strips=strips or limited,
        effort=options.effort,
        tell=tell,
        model=options.cost_model,
    )


def _point(plans: Plans, options: Options) -> Point:
    """The plan that the options ask for."""
    if options.stages is not None:
        return plans.placer.best(with_views(plans.ready, options.stages))
    if options.max_ram is not None:
        return planner.within_ram(plans, options.max_ram, options.max_overhead or math.inf)
    if options.max_overhead is not None:
        return planner.within_cost(plans, options.max_overhead)
    return planner.least(plans)


def compiled_of(
    model: Model,
    options: Options,
    name: str,
    order: OrderResult,
    assembly: Assembly,
    simplified: Simplified,
    *,
    complete: bool = True,
) -> Compiled:
    """The bundle of an assembled program; `complete` is as in `Compiled`."""
    if options.slices:
        assembly = replace(assembly, costs=_step_costs(assembly, options.target))
    assembly = replace(assembly, notes=ends_notes(model.graph, assembly.graph))
    files = bundle(assembly, name)
    saved = _gains(assembly) if options.target == ANY else ()
    proof = proof_of(assembly, files, name, options.preserve_input)
    text = readme(assembly, name, files, options.preserve_input, saved, told(proof))
    files[README] = text.encode()
    return Compiled(model, name, options, order, assembly, files, simplified, proof, complete)


def _gains(assembly: Assembly) -> tuple[Gain, ...]:
    """What programs for the cores that can be priced would save."""
    return gains(assembly.graph, map(find_target, priced_cores()))


def _step_costs(assembly: Assembly, target: Target) -> tuple[int, ...]:
    """Instructions of a step of each node, as predicted; 0 for what is no kernel."""
    model = load_model(target.priced_as)
    nodes = map(called, assembly.nodes)
    return tuple(0 if n is None else max(1, model.node(n) // n.steps) for n in nodes)


def _stem(path: str) -> str:
    name = Path(path.removeprefix("zoo:"))
    return name.stem if name.suffix.lower() in (".tflite", *foreign.SUFFIXES) else name.name

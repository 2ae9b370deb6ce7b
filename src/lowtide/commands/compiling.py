"""From a model to a bundle of C files: the stages behind `lowtide compile`.

model -> prepared (passes, order, lowering) -> a plan -> placed and assembled -> C (emit.bundle) -> proof
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lowtide.commands.bundles import origin_of
from lowtide.commands.ends import ends_notes
from lowtide.commands.known import Known
from lowtide.commands.options import Options, options_from
from lowtide.commands.passing import passed
from lowtide.commands.preparing import point_of, prepared, searched
from lowtide.commands.proving import proof_of, told
from lowtide.commands.refusing import advising
from lowtide.commands.savings import Savings, savings
from lowtide.commands.sliding import settled
from lowtide.emit.bundle import README, bundle, superseded
from lowtide.emit.exports import export
from lowtide.emit.names import program_name
from lowtide.emit.origin import Origin
from lowtide.emit.readme import readme
from lowtide.errors import UsageError
from lowtide.files import Replacing, write_below
from lowtide.ir import Graph, Model
from lowtide.kinds import GENERATED, kind_of
from lowtide.modes import EngineName
from lowtide.order import OrderResult
from lowtide.passes import resolve_variables, round_once
from lowtide.passes.branches import inline_branches
from lowtide.passes.simplify.result import Simplified
from lowtide.place.tensors import tflm_head_bytes, tflm_variable_bytes
from lowtide.plans.cost import load_model
from lowtide.plans.file import graph_digest
from lowtide.program.assemble import Assembly, assemble_placed, assemble_tensors
from lowtide.program.tables import called
from lowtide.prove.proof import Proof
from lowtide.shown import Shown
from lowtide.target import ANY, Target
from lowtide.zoo.loading import Named, load

if TYPE_CHECKING:
    from lowtide.commands.loading import Program


def refuse_window(hop: object) -> None:
    """Raise UsageError if there is a `hop`: the program takes rows, not arrays."""
    if hop is not None:
        raise UsageError(
            "a program with a sliding window takes the rows of one recording, not arrays",
            "leave out --hop here: the outputs are the same",
        )


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
    """A program as C. `files` is the whole bundle: {file name: contents}.

    `simplified` states which tensors of the original network its tensors stand for, and what was
    removed. `proof` is what is proved of the program for all inputs. `complete` is True if the
    order of operators is proved optimal and the search looked at all stages, or if you gave them.
    Otherwise, more effort may find a better program.
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
        """Bytes of arena that the program needs. This is exact: the program allocates nothing else."""
        return self.assembly.arena_bytes

    @property
    def state_bytes(self) -> int:
        """Bytes that the program keeps from one run to the next, in memory separate from the arena."""
        return self.assembly.state_bytes

    @property
    def ram_bytes(self) -> int:
        """Bytes of arena and state. The instance and the stack come on top."""
        return self.arena_bytes + self.state_bytes

    @property
    def origin(self) -> Origin:
        """The model, and the command that makes the bundle again."""
        return origin_of(self.model, self.options, self.name)

    @property
    def tflm_bytes(self) -> TflmBytes:
        """What TFLM needs for the model, with its operators in the file's order, and by the file's
        offline plan if it has one.
        """
        variables = tflm_variable_bytes(resolve_variables(self.model.graph))
        return TflmBytes(tflm_head_bytes(self.model), variables)

    @property
    def instructions_predicted(self) -> int:
        """Instructions of one inference, predicted by the cost model of the target."""
        return self.options.predictor.run(self.assembly)

    @property
    def savings(self) -> Savings:
        """What simplification saved."""
        options = self.options
        before = passed(self.model, replace(options, simplify=False)).graph
        prices = options.predictor if options.cost == "instructions" else None
        return savings(self.model, before, self.simplified, prices, options.target)

    def load(self, *, sanitize: bool = False, cached: bool = True) -> Program:
        """Build the bundle for this computer and load it. Call the result with arrays.

        By default, the program is built with -O2 and runs in this process. With `sanitize`, it runs
        in a separate process, and undefined behaviour in C raises ProgramError. With `cached`,
        object files of unchanged sources are reused.

        Raises MissingToolError without a C compiler, BuildError if the C does not compile,
        ProgramError if the program does not start, ModelError for types that NumPy lacks, and
        UsageError for a sliding window, which takes rows instead of arrays.
        """
        refuse_window(self.graph.hop)
        from lowtide.commands.loading import Program, ends_of  # processes, which browsers lack

        inputs, outputs = ends_of(self.model, self.graph)
        return Program(self.files, self.name, inputs, outputs, sanitize=sanitize, cached=cached)

    def write(self, folder: str | Path, *, force: bool = False) -> tuple[str, ...]:
        """Write the bundle to `folder`. The folder is created if it does not exist.

        Raises UsageError if the folder has files that do not belong to a bundle; `force` replaces
        them. Returns the names of removed files: kernels of an earlier bundle that no bundle in the
        folder uses.
        """
        return self.write_as(folder, Replacing((Path(self.model.path),), force))

    def write_as(self, folder: str | Path, replacing: Replacing) -> tuple[str, ...]:
        """The same as `write`, but also keeps other inputs."""
        return write_bundle(Path(folder), self.files, replacing)


def write_bundle(folder: Path, files: Mapping[str, bytes], replacing: Replacing) -> tuple[str, ...]:
    """Write a bundle into `folder`, as `Compiled.write_as`; what was removed."""
    replacing.check_bundle(folder, files)
    texts = _sources(folder)
    old = superseded(texts, files)
    write_below(folder, files, replacing)
    removed = []
    for name in old:
        if kind_of(name, texts[name].encode()) != GENERATED:  # whatever a README lists
            continue
        with contextlib.suppress(OSError):
            (folder / name).unlink()
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
    """The same as a package for the build system `kind`, one of `KINDS` of emit/exports. Raises
    UsageError for a program that it cannot have."""
    of = compiled.assembly, compiled.name, compiled.files, compiled.origin
    files = export(kind, *of, compiled.options.preserve_input)
    return replace(compiled, files=files)


def compile_model(
    model: Named, options: Options | None = None, *, known: Known | None = None
) -> Compiled:
    """Compile `model` to C, with its operators in their best order and their rows interleaved.

    The result is a complete bundle of files, in memory; `Compiled.write` writes it to a folder. Its
    arena has `Compiled.arena_bytes` bytes. With `known`, results for the same model are not
    computed again.

    Raises ModelError for an operator or type without a kernel, UsageError for options that exclude
    each other or a plan that does not fit the model, and InfeasibleError if no plan meets the
    limits. Raises ProofError if the proof of the result fails, which is an internal error of
    lowtide.
    """
    loaded, options = load(model), options_from(options)
    with advising(loaded, options):
        return _compiled(loaded, options, known or Known(loaded))


def compiled_from(program: Compiled | Named) -> Compiled:
    """The program itself, or that of a network with the default options."""
    return program if isinstance(program, Compiled) else compile_model(program)


def _compiled(model: Model, options: Options, known: Known) -> Compiled:
    chosen = settled(model, options, known)
    name = program_name(chosen.name, model.path)
    if chosen.schedule == "operators":
        simplified, order, ready = prepared(model, chosen, known)
        assembly, complete = assemble_tensors(ready, chosen.allocator), order.proved_optimal
    else:
        found = searched(model, chosen, known=known)
        point = point_of(found.plans, chosen)
        assembly = assemble_placed(point.ready, point.placed)
        simplified, order = found.simplified, found.order_of(point)
        complete = found.complete or chosen.stages is not None
    of = chosen, name, order, assembly, simplified
    return compiled_of(model, *of, complete=complete, known=known)


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


def compiled_of(
    model: Model,
    options: Options,
    name: str,
    order: OrderResult,
    assembly: Assembly,
    simplified: Simplified,
    *,
    complete: bool = True,
    known: Known | None = None,
) -> Compiled:
    """The bundle of an assembled program; `complete` is as in `Compiled`."""
    if options.slices:
        assembly = replace(assembly, costs=_step_costs(assembly, options.target))
    assembly = replace(assembly, notes=ends_notes(model.graph, assembly.graph))
    origin = origin_of(model, options, name)
    files = bundle(assembly, name, origin)
    known = known or Known(model)
    saved = known.gains(assembly.graph) if options.target == ANY else ()
    proof = proof_of(assembly, files, name, options.preserve_input)
    text = readme(assembly, name, files, options.preserve_input, saved, told(proof), origin)
    files[README] = text.encode()
    return Compiled(model, name, options, order, assembly, files, simplified, proof, complete)


def _step_costs(assembly: Assembly, target: Target) -> tuple[int, ...]:
    """Instructions of a step of each node, as predicted; 0 for what is no kernel."""
    model = load_model(target.priced_as)
    nodes = map(called, assembly.nodes)
    return tuple(0 if n is None else max(1, model.node(n) // n.steps) for n in nodes)

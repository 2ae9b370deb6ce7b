"""Check and measure a compiled program: the stages behind `lowtide verify` and `lowtide run`.

Compiled --+--> host build, sanitizers on --> every tensor against the oracle   (verify)
           +--> board build --> QEMU --> outputs against the oracle, RAM, flash, instructions
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowtide.arguments import whole
from lowtide.commands.compiling import Compiled, compiled_from, rounded_as
from lowtide.commands.cutting import alone
from lowtide.commands.originals import Originals, in_file, known_tensors, originals
from lowtide.commands.profiling import Profile, profile_of
from lowtide.commands.second import Second, second_opinion
from lowtide.commands.sequences import Inputs, State, inputs_of, recorded
from lowtide.errors import UsageError
from lowtide.ir import Graph, Model, Op
from lowtide.ir.macs import graph_macs
from lowtide.machines.board import find_board
from lowtide.machines.host import HostTrace, host_build, host_trace
from lowtide.machines.parts import Board
from lowtide.machines.profiled import Profiled, Unprofiled
from lowtide.machines.qemu import BoardRun, run_on_board
from lowtide.modes import EngineName
from lowtide.oracle.faults import known_fault
from lowtide.oracle.interpreters import Difference, OracleError, Reference, first_difference
from lowtide.oracle.unwritten import agreed, flags
from lowtide.program.assemble import Assembly
from lowtide.shown import Shown
from lowtide.target import PORTABLE
from lowtide.temporary import temporary_folder
from lowtide.zoo.loading import Named

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element that differs from the oracle, in the order the operators run.

    What was left out is `claimed`: then the oracle's own tensor is not what simplification said, and
    `operator` is the file's. `second` is what the other engine has there; None if it could not be asked.
    `known` says what the oracle is known to compute wrong there, "" if nothing.
    """

    operator: int
    type: str
    difference: Difference
    claimed: bool = False
    second: Second | None = None
    known: str = ""


@dataclass(frozen=True, slots=True)
class Verified(Shown):
    """The result of `verify`: `tensors` tensors were compared on `samples` inputs with `engine`.

    With `state`, the samples are a sequence. In a difference, a sample whose number is `samples` or
    above comes after the reset.

    `claims` is the number of the file's tensors of which the program does not compute some or all
    channels. They have the values that simplification claims.

    `compared` is the program that was built and compared. It is `compiled`, except that dense
    layers round as in LiteRT if only LiteRT can run the model; `passed_over` says why.
    """

    compiled: Compiled = field(repr=False)
    compared: Compiled = field(repr=False)
    engine: EngineName
    passed_over: str
    samples: int
    seed: int
    tensors: int
    claims: int
    state: State | None
    mismatch: Mismatch | None

    @property
    def bit_exact(self) -> bool:
        """True if every byte of every tensor equals the oracle's."""
        return self.mismatch is None


def verify(
    compiled: Compiled | Named,
    *,
    samples: int | None = None,
    seed: int = 1,
    cached: bool = True,
    windows: Path | None = None,
) -> Verified:
    """Build for this computer with sanitizers, run, and compare every tensor with the oracle.

    `compiled` is the result of `compile`, or a network, which is compiled with the default options.

    There are `samples` inputs, by default 8: random ones by `seed`, and, from the second on,
    all-least, all-greatest and all-zero. Each is one array per input of the model, of its shape and
    type. A network with state runs them as a sequence, by default of 16 or more, in which most
    inputs change slowly. After a reset, it runs the first ones again.

    The oracle runs the same inputs. It is TFLM, or LiteRT's reference kernels if TFLM is not
    installed or does not run the model. Then the program is compiled once more, with LiteRT's
    arithmetic where the two differ. With `cached`, object files of unchanged sources are reused.

    A program with a sliding window gets windows that slide, for three times as many rows as a
    window has, or the `windows` that a .npz or .npy file has recorded. The oracle computes each
    window from scratch.

    A difference is a result (`Verified.mismatch`). Raises OracleError if no oracle runs the model,
    MissingToolError without an oracle or a compiler, BuildError if the C does not compile,
    ProgramError if the program crashes, hangs or trips a sanitizer, and ModelError for inputs that
    cannot be made; for a network, also the errors of `compile`.
    """
    compiled = compiled_from(compiled)
    tensors = [*compiled.graph.given, *_made(compiled), *compiled.graph.outputs]
    given = _given(compiled, samples, 8, seed, windows)
    compiled, inputs, told, passed_over = _told(compiled, tensors, given, claims=True)
    asked, compiled = compiled, rounded_as(compiled, told.kept.engine)
    if compiled is not asked:  # what never changes may depend on the rounding
        tensors = [*compiled.graph.given, *_made(compiled), *compiled.graph.outputs]
        told = originals(compiled, inputs, tensors, claims=True)
    wanted, graph, made = told.kept, compiled.graph, _made(compiled)
    with temporary_folder() as folder:
        program = host_build(compiled.files, compiled.name, folder, trace=True, cached=cached)
        trace = host_trace(program, _samples(graph, wanted), restart=inputs.restart)
    put_together = {part.tensor for part in compiled.assembly.parts.values()}
    skipped = {*compiled.assembly.views, *compiled.assembly.untraced} - put_together
    compared = [t for t in known_tensors(compiled, list(made)) if t not in skipped]
    outputs = [tensor for tensor in graph.outputs if tensor not in compared]
    got = []
    for number, sample in enumerate(wanted.samples):
        arrays = {t: _array(trace.tensors.get((number, t), b""), sample[t]) for t in compared}
        arrays |= _from_strips(compiled.assembly, trace, number, sample)
        arrays |= {
            t: _array(trace.outputs[number][graph.outputs.index(t)], sample[t]) for t in outputs
        }
        got.append(agreed(graph, sample, arrays))
    checked = [*compared, *outputs]
    limited = Reference(wanted.engine, tuple({t: s[t] for t in checked} for s in wanted.samples))
    difference = first_difference(Reference(wanted.engine, tuple(got)), limited)
    if difference is None:
        difference = _handed_over(graph, trace, wanted)
    mismatch = None
    if difference is not None:
        op = made.get(difference.tensor)
        number, label = (-1, "") if op is None else (op.id, op.label)
        known = "" if op is None else known_fault(wanted.engine, graph, op)
        mismatch = Mismatch(number, label, in_file(compiled, difference), known=known)
    elif told.dropped is not None:
        maker = next(op for op in compiled.model.graph.ops if told.dropped.tensor in op.outputs)
        known = known_fault(wanted.engine, compiled.model.graph, maker)
        mismatch = Mismatch(maker.id, maker.label, told.dropped, claimed=True, known=known)
    if mismatch is not None:
        asked_first = (compiled.model, inputs.samples, inputs.fresh, wanted.engine)
        mismatch = replace(mismatch, second=second_opinion(*asked_first, mismatch.difference))
    return Verified(
        compiled=asked,
        compared=compiled,
        engine=wanted.engine,
        passed_over=passed_over,
        samples=inputs.counted,
        seed=seed,
        tensors=len(checked),
        claims=told.claims,
        state=inputs.state,
        mismatch=mismatch,
    )


def _made(compiled: Compiled) -> dict[int, Op]:
    """The tensors that a program makes, in the order in which it does, and who makes them."""
    graph = compiled.graph
    return {
        tensor: op
        for op in (graph.ops[i] for i in compiled.order.order)
        for tensor in (*op.outputs, *_states(compiled.model, compiled.assembly, op))
        if graph.tensors[tensor].bytes
    }


def _given(
    compiled: Compiled, samples: int | None, default: int, seed: int, windows: Path | None
) -> Callable[[Compiled], Inputs]:
    """What a program is given, or one of the same network as a part of its own."""
    if samples is not None:
        samples = whole("samples", samples, 1)
    seed = whole("seed", seed, 0)
    if windows is not None:
        found = recorded(compiled, windows)
        return lambda _: found
    return lambda of: inputs_of(of, samples, default, seed)


def _told(
    compiled: Compiled,
    tensors: list[int],
    given: Callable[[Compiled], Inputs],
    *,
    claims: bool = False,
) -> tuple[Compiled, Inputs, Originals, str]:
    """What the oracle makes of a program's inputs, and why it is not what was asked for first, if so.

    A part of a network that no engine runs is compared as a network of its own.
    """
    inputs = given(compiled)
    try:
        told = originals(compiled, inputs, tensors, claims=claims)
        return compiled, inputs, told, told.kept.passed_over
    except OracleError as error:
        if compiled.model.whole is None:
            raise
        why = (
            "only the part was compared, because no reference engine runs the whole network: "
            f"{error.cause}"
        )
    compiled = replace(compiled, model=alone(compiled.model))
    inputs = given(compiled)
    return compiled, inputs, originals(compiled, inputs, tensors, claims=claims), why


def _states(model: Model, assembly: Assembly, op: Op) -> Iterator[int]:
    """The variable tensors of the file that `op` writes on the way, as an LSTM does."""
    known, tensors = len(model.graph.tensors), assembly.graph.tensors
    variables = {t for t in op.inputs if 0 <= t < known and tensors[t].is_variable}
    if variables:
        nodes = (entry.node for entry in assembly.kernels)
        yield from sorted(variables & {port.tensor for node in nodes for port in node.outputs})


def _handed_over(graph: Graph, trace: HostTrace, wanted: Reference) -> Difference | None:
    """The first difference in what the program gave its caller: NAME_output, or rows taken."""
    got = tuple(
        agreed(graph, sample, _outputs(graph, outputs, sample))
        for outputs, sample in zip(trace.outputs, wanted.samples, strict=True)
    )
    outputs = tuple({t: sample[t] for t in graph.outputs} for sample in wanted.samples)
    return first_difference(Reference(wanted.engine, got), Reference(wanted.engine, outputs))


def _from_strips(
    assembly: Assembly, trace: HostTrace, number: int, sample: Mapping[int, Array]
) -> dict[int, Array]:
    """Tensors that were made in strips or inside of blocks, put together; what was not made is the
    oracle's.

    Where strips overlap, a value that is wrong in any of them is found.
    """
    whole: dict[int, Array] = {}
    for made, part in assembly.parts.items():
        if part.tensor not in sample:  # some rows of one that the file has
            continue
        want = sample[part.tensor]
        if part.tensor not in whole:
            whole[part.tensor] = want.copy()
        rounds = trace.rounds.get((number, made), ())
        if assembly.graph.hop is not None:  # what counts of a whole window is its last run
            rounds = rounds[-len(part.columns) :]
        rows = want.reshape(-1, *want.shape[2:])[: part.rows]
        for columns, data in zip_longest(part.columns, rounds):
            inside = rows[:, columns.start : columns.stop] if columns is not None else rows[:0]
            if columns is None or data is None or len(data) != inside.nbytes:
                whole[part.tensor] = np.frombuffer(data or b"", np.uint8)  # of another size
                break
            got = np.frombuffer(data, want.dtype).reshape(inside.shape)
            differs = got != inside
            found = whole[part.tensor].reshape(-1, *want.shape[2:])[: part.rows]
            found[:, columns.start : columns.stop][differs] = got[differs]
    return whole


def _macs(compiled: Compiled) -> int:
    """MACs of one inference, what strips compute again included."""
    plan = compiled.assembly.plan
    return graph_macs(compiled.graph) if plan is None else plan.macs


def _samples(graph: Graph, reference: Reference) -> list[list[bytes]]:
    """Per sample, the bytes of each input of the compiled graph, as the oracle had them."""
    return [[sample[t].tobytes() for t in graph.given] for sample in reference.samples]


def _outputs(graph: Graph, made: Sequence[bytes], like: Mapping[int, Array]) -> dict[int, Array]:
    """The outputs of one sample, as arrays of the types of `like`."""
    return {t: _array(data, like[t]) for t, data in zip(graph.outputs, made, strict=True)}


def _array(data: bytes, like: Array) -> Array:
    """`data` as an array of the type of `like`; left as bytes where the size is wrong."""
    if len(data) != like.nbytes:
        return np.frombuffer(data, np.uint8)
    return np.frombuffer(data, like.dtype).reshape(like.shape)


@dataclass(frozen=True, slots=True)
class Ran(Shown):
    """The result of `run`: what the board measured, and whether its outputs equal the oracle's.

    `compiled` is the measured program; `compared` is the program whose outputs were compared (see
    `Verified`). `profile` is None if you did not ask for one.
    """

    compiled: Compiled = field(repr=False)
    compared: Compiled = field(repr=False)
    board: Board
    engine: EngineName
    passed_over: str
    samples: int
    seed: int
    state: State | None
    measured: BoardRun
    macs: int
    difference: Difference | None
    profile: Profile | Unprofiled | None = None

    @property
    def bit_exact(self) -> bool:
        """True if every output byte of every sample equals the oracle's."""
        return self.difference is None


def _check_core(compiled: Compiled, board: Board) -> None:
    """Raise UsageError where the board's core has quick kernels that the program is made without, or
    has not those that it is made of."""
    target, there = compiled.options.target, board.core.target.variants
    lacks = PORTABLE not in target.variants and target.variants[-1] not in there
    if lacks or set(there) - {PORTABLE} - set(target.variants):
        raise UsageError(
            f"the program is for {target.core}, but {board.name} has a {board.core.name}",
            f"give --core {board.core.name}, or --core any",
        )


def run(
    compiled: Compiled | Named,
    board: Board | str,
    *,
    samples: int | None = None,
    seed: int = 1,
    cached: bool = True,
    profile: bool = False,
    windows: Path | None = None,
) -> Ran:
    """Build for `board`, run in QEMU, measure, and compare all outputs with the oracle.

    `compiled` is as for `verify`. `board` can be a name that `lowtide boards` lists. The result has
    RAM and flash in bytes, and the instructions (not cycles) of one inference. Inputs and oracle
    are those of `verify`, but by default, a network without state has only 2 inputs, and only
    outputs are compared. With `cached`, object files of unchanged sources are reused. With
    `profile`, the measured run also counts what each operator and each kernel executes; if that is
    not possible, `profile` of the result says why.

    Raises UsageError for an unknown board, or one with another core, DoesNotFitError if RAM or
    flash is too small, and the errors of `verify`.
    """
    compiled = compiled_from(compiled)
    if isinstance(board, str):
        board = find_board(board)
    if not isinstance(board, Board):
        raise UsageError(f"board cannot be {board!r}", "use a name that `lowtide boards` lists")
    _check_core(compiled, board)
    graph = compiled.graph
    ends = [*dict.fromkeys([*graph.given, *graph.outputs, *flags(graph)])]
    given = _given(compiled, samples, 2, seed, windows)
    compiled, inputs, told, passed_over = _told(compiled, ends, given)
    wanted = told.kept
    whole = frozenset({0, inputs.restart} if inputs.slides else ())

    def on(part: Board, program: Compiled, profile: bool = False) -> BoardRun:
        what = program.files, program.name, _samples(graph, wanted)
        return run_on_board(
            part,
            *what,
            restart=inputs.restart,
            cached=cached,
            profile=profile,
            whole=whole,
        )

    measured = on(board, compiled, profile)
    compared, made = rounded_as(compiled, wanted.engine), measured
    if compared is not compiled:  # not measured, and double arithmetic may not fit the part
        made = on(board.with_plenty, compared)
    got = [
        agreed(graph, sample, _outputs(graph, outputs, sample))
        for outputs, sample in zip(made.outputs, wanted.samples, strict=True)
    ]
    expected = tuple({t: sample[t] for t in graph.outputs} for sample in wanted.samples)
    difference = first_difference(
        Reference(wanted.engine, tuple(got)), Reference(wanted.engine, expected)
    )
    return Ran(
        compiled=compiled,
        compared=compared,
        board=board,
        engine=wanted.engine,
        passed_over=passed_over,
        samples=inputs.counted,
        seed=seed,
        state=inputs.state,
        measured=measured,
        macs=_macs(compiled),
        difference=difference,
        profile=_profile(compiled, measured),
    )


def _profile(compiled: Compiled, measured: BoardRun) -> Profile | Unprofiled | None:
    counted = measured.profile
    if not isinstance(counted, Profiled):
        return counted
    kernels = {part.node >= 0 for part in counted.parts if part.role == "kernel"}
    if kernels == {False}:  # a compiler that takes the table of nodes apart
        return Unprofiled("could not tell which node runs: no read of the table of nodes")
    return profile_of(compiled, counted)

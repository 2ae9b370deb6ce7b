"""What a network will need, in milliseconds: behind `lowtide.estimate`, `lowtide fit`, `lowtide sweep`.

network -> passes -> best order -> estimates.network (rows and stages, without weights) -> figures

Nothing is placed, but in networks of a handful of rows, and nothing written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lowtide.arguments import number, several
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.commands.refusing import advised
from lowtide.emit.footprint import STACK
from lowtide.errors import ModelError, UsageError
from lowtide.estimates.figures import flash_bytes
from lowtide.estimates.network import Network
from lowtide.ir import Graph, Model
from lowtide.ir.macs import graph_macs
from lowtide.ir.soundness import graph_of
from lowtide.ir.windows import normalise_windows
from lowtide.modes import InputMode
from lowtide.order import best_order
from lowtide.passes import resolve_variables
from lowtide.place.tensors import tflm_head_bytes, tflm_variable_bytes
from lowtide.shown import Shown
from lowtide.sizes import bytes_of
from lowtide.target import ANY, Target
from lowtide.zoo.loading import Named, load

MODES: Final[tuple[InputMode, ...]] = ("resident", "const", "streamed")

INSTANCE: Final = 128
"""Bytes that are assumed for NAME_t, the instance of a program."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a program needs with its input in one mode, in bytes and instructions.

    `ram_bytes` is arena and state. No program that computes nothing twice takes less than
    `bound_bytes`. `instructions` is None if no cost model predicts them. If the budget is certainly
    too small, every figure but the bound is None.
    """

    bound_bytes: int
    ram_bytes: int | None = None
    flash_bytes: int | None = None
    instructions: int | None = None

    @property
    def total_ram_bytes(self) -> int | None:
        """RAM with the assumed size of instance and stack."""
        return None if self.ram_bytes is None else self.ram_bytes + INSTANCE + STACK


@dataclass(frozen=True, slots=True)
class Estimate(Shown):
    """What a network needs, estimated. All sizes are in bytes.

    `needs` has an entry for each input mode that was asked for. `order_peak_bytes` is the peak of
    the program's operators in their best order, with whole tensors, and `order_bound_bytes` is its
    lower bound. (A PAD, for example, is part of the operator that reads it; `analyze` counts it
    separately.) `tflm_bytes` is what TFLM takes for the file's tensors and state, with the operators
    in the file's order, and by the file's offline plan if it has one. These figures and `macs` are
    None if the inputs alone exceed the budget. `state_bytes` persist from one run to the next, and
    are part of `ram_bytes`.
    """

    name: str
    operators: int
    weights_bytes: int
    target: Target
    needs: Mapping[InputMode, Needs]
    budget: int | None = None
    macs: int | None = None
    order_peak_bytes: int | None = None
    order_bound_bytes: int | None = None
    tflm_bytes: int | None = None
    state_bytes: int = 0
    network: Network | None = field(default=None, repr=False, compare=False)

    @property
    def fits(self) -> bool | None:
        """Whether arena and state fit the budget in one of the modes; None without a budget."""
        if self.budget is None:
            return None
        sizes = (needs.ram_bytes for needs in self.needs.values())
        return any(size is not None and size <= self.budget for size in sizes)


def estimate(
    graph: Graph | Named,
    budget: int | str | None = None,
    *,
    inputs: Sequence[InputMode] | None = None,
    target: Target | str = ANY,
    simplify: bool = False,
    hop: int | None = None,
    hop_axis: int | None = None,
    effort: float = 1.0,
) -> Estimate:
    """Estimate in milliseconds what a network needs as a program, for each of the input modes
    `inputs` (default: all).

    `graph` is a graph (from `Shapes`, for example), a model, the bytes of a file, or a name that
    `load` takes. With a `budget`, in bytes of arena and state (or "16K"), a mode ends early once it
    cannot fit. `target` is the core to compile for, or its name. With `simplify`, constant channels
    are removed first, which takes longer than the rest. With a `hop`, the input is a window that
    moves on by this many rows in each run, or columns with a `hop_axis` of 2. They are streamed in,
    or, if `inputs` is ["const"], they stay in a ring in the caller's memory. Instructions are then
    those of a hop. `effort` is the search budget for the best order.

    Raises ModelError for a network that cannot be compiled, as `compile` does, and UsageError for
    an unknown mode, or for another argument that cannot be used.
    """
    effort = number("effort", effort, 0)
    if budget is not None:
        budget = bytes_of(budget, "budget")
    if inputs is None:
        inputs = MODES if hop is None else ("streamed",)
    _check_modes(inputs)
    if hop is not None and set(inputs) not in ({"streamed"}, {"const"}):
        raise UsageError(
            "the new rows of a sliding window are streamed in, or stay in a ring (const)",
            "give one of these, or leave out inputs",
        )
    options = Options(
        simplify=simplify,
        target=target,
        hop=hop,
        hop_axis=hop_axis,
        input_mode=inputs[0] if hop is not None else "resident",
    )
    target = options.target
    model = _model(graph)
    source = graph_of(model)
    given = _inputs_bytes(source)
    needs: dict[InputMode, Needs] = {}
    if budget is not None and given > budget and "resident" in inputs:
        needs["resident"] = Needs(given)
    found = Estimate(
        model.path, len(source.ops), source.weights_bytes, target, needs, budget=budget
    )
    if len(needs) == len(inputs):
        return found
    ready = passed(model, options).graph
    order = best_order(ready, effort=effort)
    try:
        network = Network(ready, order.order, target)
    except ModelError as error:
        raise advised(error, model, options) from None
    state = network.state_bytes
    for mode in inputs:
        if mode in needs:
            continue
        need = network.need(mode, None if budget is None else budget - state)
        if need.peak_bytes is None:
            needs[mode] = Needs(need.bound_bytes + state)
            continue
        needs[mode] = Needs(
            bound_bytes=need.bound_bytes + state,
            ram_bytes=need.peak_bytes + state,
            flash_bytes=flash_bytes(network, need, streamed=mode == "streamed"),
            instructions=need.instructions,
        )
    variables = tflm_variable_bytes(resolve_variables(source))
    return replace(
        found,
        needs={mode: needs[mode] for mode in inputs},
        macs=graph_macs(source),
        order_peak_bytes=order.peak_bytes,
        order_bound_bytes=order.lower_bound_bytes,
        tflm_bytes=tflm_head_bytes(model) + variables,
        state_bytes=state,
        network=network,
    )


def _check_modes(inputs: object) -> None:
    """Raise UsageError for what is not several input modes."""
    modes: Any = several("inputs", inputs)
    for mode in modes:
        Options(input_mode=mode)


def _model(given: Graph | Named) -> Model:
    if isinstance(given, Graph):
        return Model(given.name, normalise_windows(given), b"")
    return load(given)


def _inputs_bytes(graph: Graph) -> int:
    """Bytes of all inputs, which are there before anything runs."""
    return sum(graph.tensors[tensor].bytes for tensor in set(graph.inputs))

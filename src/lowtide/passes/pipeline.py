"""The passes that a network goes through before it is ordered and lowered, in their order.

graph of the file -> `_PASSES`, one after the other -> the graph that is compiled, and an account of it

Why here: the compiler runs them, and so does the checker of certificates (prove/), which
believes nothing that the compiler says. What they ask of kernels is answered by `Answers`: each answer
gives an exact graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lowtide.ir.graph import Graph
from lowtide.modes import EngineName, InputType, Layout
from lowtide.passes.branches import inline_branches
from lowtide.passes.carried import carry_rows
from lowtide.passes.dilations import fold_dilations
from lowtide.passes.ends import check_ends, own_ends
from lowtide.passes.flipping import HasKernel, flip_bytes
from lowtide.passes.hop import check_slides, slide, turned
from lowtide.passes.nibbles import unpack_weights
from lowtide.passes.pads import fold_pads
from lowtide.passes.rounding import round_once
from lowtide.passes.signal_state import show_signal_state
from lowtide.passes.simplify import priced, simplify
from lowtide.passes.simplify.counts import Price
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged
from lowtide.passes.variables import check_set, resolve_variables


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the passes; fields as in `commands.options.Options`."""

    simplify: bool = True
    rounding: EngineName = "tflm"
    quantized_io: bool = False
    input_layout: Layout = "file"
    output_layout: Layout = "file"
    input_type: InputType = "file"
    hop: int | None = None
    keep: int | None = None
    hop_axis: int | None = None
    ring: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """What the passes ask of kernels: what an operator costs (None: that is not looked at), and whether
    it has a kernel."""

    price: Price | None
    has_kernel: HasKernel


_Pass = Callable[[Graph, Asked, Answers], Simplified]


def run(graph: Graph, asked: Asked, answers: Answers) -> Simplified:
    """The graph after all passes, and what simplification did to it.

    Raises ModelError for a graph that no program can have, UsageError for ends that it cannot have.
    """
    found = unchanged(graph)
    for one in _PASSES:
        found = then(found, one(found.graph, asked, answers))
    return found


def _always(rewrite: Callable[[Graph], Graph]) -> _Pass:
    """A rewrite, whatever is asked for."""
    return lambda graph, *_: changed(graph, rewrite(graph))


def _ends(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    layouts = asked.input_layout, asked.output_layout
    return changed(graph, own_ends(graph, asked.quantized_io, layouts, asked.input_type))


def _rounded(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    return changed(graph, round_once(graph) if asked.rounding == "litert" else graph)


def _simplified(graph: Graph, asked: Asked, answers: Answers) -> Simplified:
    if not asked.simplify:
        return unchanged(graph)
    return simplify(graph) if answers.price is None else simplify(graph, priced(answers.price))


def _refolded(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    return changed(graph, fold_pads(graph) if asked.simplify else graph)


def _slides(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    return unchanged(graph if asked.hop is None else check_slides(graph))


def _turned(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    if asked.hop is None or (asked.hop_axis is None and not asked.ring):
        return unchanged(graph)
    return changed(graph, turned(graph, asked.hop_axis, asked.ring))


def _slid(graph: Graph, asked: Asked, _: Answers) -> Simplified:
    if asked.hop is None:
        return unchanged(graph)
    return slide(graph, asked.hop, asked.keep, asked.hop_axis, asked.ring)


def _flipped(graph: Graph, _: Asked, answers: Answers) -> Simplified:
    return flip_bytes(graph, answers.has_kernel)


_PASSES: Final[tuple[_Pass, ...]] = (
    # First of all, what no program can have is refused.
    _always(check_ends),
    _slides,
    # Branches and loops become operators: no pass after this one looks into subgraphs.
    _always(inline_branches),
    # Weights of four bits become bytes, as all that reads constants takes them.
    _always(unpack_weights),
    # Variables known by name become tensors; only then can it be seen that nobody sets one of them.
    _always(resolve_variables),
    _always(check_set),
    # What signal operators remember, too: from here on all state is in variable tensors.
    _always(show_signal_state),
    # Rows that are carried from run to run, while what reads, appends and assigns them is as the
    # converter wrote it.
    _always(carry_rows),
    # Windows take what stands around them; dilations first, whose padding a PAD may be.
    _always(fold_dilations),
    _always(fold_pads),
    # What the caller does goes, and what it gives is added: the rest is the program's own.
    _ends,
    # Whose rounding it has, before intervals follow from it.
    _rounded,
    # What no input can change is left out, of the program's own operators; that may leave a PAD beside
    # the operator that takes it.
    _simplified,
    _refolded,
    # Columns that are time become rows, before it is asked which operators have kernels.
    _turned,
    # As late as can be, as it is the storage of what is left: others need not know of flipped bytes.
    _flipped,
    # Last, so that the operators that are left are those whose rows are kept while the window moves on.
    _slid,
)

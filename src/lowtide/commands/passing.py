"""The passes that a network goes through before it is ordered and lowered, in their order.

graph of the file -> `_PASSES`, one after the other -> the graph that is compiled, and an account of it
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from lowtide.commands.ends import check_ends, check_streamed, own_ends
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.ir import Graph, Model
from lowtide.lower import has_kernel
from lowtide.lower.prices import Price, instructions
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
from lowtide.passes.hop import check_slides, slide
from lowtide.passes.simplify import priced, simplify
from lowtide.passes.simplify.result import Simplified, changed, then, unchanged
from lowtide.passes.variables import check_set
from lowtide.plans.cost import known_model

_Pass = Callable[[Graph, Options], Simplified]


def passed(model: Model, options: Options) -> Simplified:
    """The graph after all passes, and what simplification did to it.

    Raises ModelError for a graph that no program can have, UsageError for ends that it cannot have.
    """
    check_streamed(model.graph, options)
    whole = model.file_graph
    if options.hop is not None and model.graph.inputs != whole.inputs:
        raise UsageError(
            "--hop: the input of a part is no window that slides: what is before it has edges",
            "leave out --from",
        )
    found = unchanged(model.graph)
    for one in _PASSES:
        found = then(found, one(found.graph, options))
    return found


def _always(rewrite: Callable[[Graph], Graph]) -> _Pass:
    """A rewrite, whatever the options are."""
    return lambda graph, _: changed(graph, rewrite(graph))


def _ends(graph: Graph, options: Options) -> Simplified:
    return changed(graph, own_ends(graph, options))


def _rounded(graph: Graph, options: Options) -> Simplified:
    return changed(graph, round_once(graph) if options.rounding == "litert" else graph)


def _simplified(graph: Graph, options: Options) -> Simplified:
    if not options.simplify:
        return unchanged(graph)
    prices = known_model(options.target.priced_as)
    if prices is None:
        return simplify(graph)
    return simplify(graph, priced(partial(instructions, Price(prices.of, options.target))))


def _refolded(graph: Graph, options: Options) -> Simplified:
    return changed(graph, fold_pads(graph) if options.simplify else graph)


def _slides(graph: Graph, options: Options) -> Simplified:
    return unchanged(graph if options.hop is None else check_slides(graph))


def _slid(graph: Graph, options: Options) -> Simplified:
    if options.hop is None:
        return unchanged(graph)
    return slide(graph, options.hop, options.keep, options.hop_axis)


def _flipped(graph: Graph, options: Options) -> Simplified:
    return flip_bytes(graph, partial(has_kernel, target=options.target))


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
    # As late as can be, as it is the storage of what is left: others need not know of flipped bytes.
    _flipped,
    # Last, so that the operators that are left are those whose rows are kept while the window moves on.
    _slid,
)

"""Rewrites of the graph before it is scheduled: same results, less to store.

Why here: an operator that another can do on the way, or that the caller can do better, should be
gone before any order is searched or any memory placed. Every pass is a function Graph -> Graph.
Tensors keep their ids, also those that nothing makes any more, so that results can still be compared
with the file's tensors; operators are numbered anew, ops[i].id == i.
"""

from lowtide.passes.boundary import drop_boundary_quantization
from lowtide.passes.carried import carry_rows
from lowtide.passes.cut import cut
from lowtide.passes.dilations import fold_dilations
from lowtide.passes.layouts import channels_last
from lowtide.passes.nibbles import unpack_weights
from lowtide.passes.pads import fold_pads
from lowtide.passes.rounding import round_once
from lowtide.passes.signal_state import show_signal_state
from lowtide.passes.unsigned import unsigned_inputs
from lowtide.passes.variables import resolve_variables

__all__ = [
    "carry_rows",
    "channels_last",
    "cut",
    "drop_boundary_quantization",
    "fold_dilations",
    "fold_pads",
    "resolve_variables",
    "round_once",
    "show_signal_state",
    "unpack_weights",
    "unsigned_inputs",
]

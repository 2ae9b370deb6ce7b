"""The inputs that a program and its oracle are compared on: samples, or a sequence where there is state.

Why a sequence: a network with state (variable tensors: wake words, LSTMs) answers what it was given
before, too, so its inputs go in order to one instance of the program and to one interpreter. Then both
begin anew, and what came first comes once more: it must be as it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lowtide.commands.compiling import Compiled
from lowtide.commands.cutting import signature_of
from lowtide.commands.datasets import load_arrays
from lowtide.commands.turning import turned, turned_back
from lowtide.errors import UsageError
from lowtide.ir import Model, Tensor
from lowtide.oracle.samples import sample_inputs

# How many times in a row a network with state is run if nobody says: more often than a variable has
# rows, which most often get in and out one at a time, so that nothing is left of what it held at first.
_LEAST: Final = 16
_MOST: Final = 64
_MORE: Final = 8
_AGAIN: Final = 4
_WINDOWS: Final = 3


@dataclass(frozen=True, slots=True)
class State:
    """What a network keeps from one invocation to the next, and how that was tested.

    `tensors` has name and bytes of each variable. It was carried over `invocations` in a row, and one
    more that showed what the last of them had left; after a reset, the first `again` were run once more.
    """

    tensors: tuple[tuple[str, int], ...]
    invocations: int
    again: int

    @property
    def restart(self) -> int:
        """The number of the first sample after the reset."""
        return self.invocations + 1

    @property
    def bytes(self) -> int:
        """Bytes of all variables together."""
        return sum(size for _, size in self.tensors)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What to run: per sample, input tensor id -> array.

    With `state`, the samples are a sequence, and number `restart` is the first of those that come after
    the reset. Without, each is on its own, and `restart` is 0. If the program's window `slides`, they
    are whole windows, each of which the oracle computes anew.
    """

    samples: tuple[Mapping[int, NDArray[Any]], ...]
    state: State | None = None
    slides: bool = False

    @property
    def restart(self) -> int:
        """Before which sample program and oracle begin anew; 0 if before none."""
        return 0 if self.state is None else self.state.restart

    @property
    def counted(self) -> int:
        """How many samples there are, but for those that come for the state's sake."""
        return len(self.samples) if self.state is None else self.state.invocations

    @property
    def fresh(self) -> tuple[int, ...] | None:
        """Which samples a new interpreter runs; None for all of them."""
        return None if self.state is None or self.slides else (self.restart,)


def inputs_of(compiled: Compiled, samples: int | None, default: int, seed: int) -> Inputs:
    """`samples` inputs of a program, by default `default` or, if it has state, 16 to 64.

    Raises ModelError for an input type of which no array can be made.
    """
    tensors = compiled.graph.tensors
    kept = [(tensors[v.tensor], v.size) for v in compiled.assembly.variables]
    if compiled.graph.hop is not None:
        return _windows(compiled, kept, samples, seed)
    return inputs_for(compiled.model, kept, samples, default, seed)


def inputs_for(
    model: Model, kept: Sequence[tuple[Tensor, int]], samples: int | None, default: int, seed: int
) -> Inputs:
    """The same for a model, whose variables are `kept`: so many bytes of each."""
    if not kept:
        return Inputs(tuple(sample_inputs(model, samples or default, seed)))
    rows = max(math.prod(tensor.shape[:-1]) for tensor, _ in kept)
    count = samples or min(max(_LEAST, rows + _MORE), _MOST)
    sequence = sample_inputs(model, count + 1, seed, walking=True)
    again = sequence[: min(count, _AGAIN)]
    return Inputs((*sequence, *again), State(_names(kept), count, len(again)))


def recorded(compiled: Compiled, path: Path) -> Inputs:
    """Windows that were recorded one after the other, as a .npz or .npy file has them.

    Raises UsageError where the program has no window that slides, for samples of another type, and for a
    window whose old rows are not those that it had: such features cannot be kept.
    """
    hop, model = compiled.graph.hop, compiled.model
    if hop is None:
        raise UsageError("recorded windows need a program with a sliding window", "add --hop N")
    names = [name for name, _ in signature_of(model).inputs]
    ((tensor, found),) = load_arrays(path, model.file_graph, names).items()
    dtype = np.dtype(model.file_graph.tensors[tensor].dtype.name.lower())
    if found.dtype != dtype and not (found.dtype.kind == dtype.kind == "f"):
        raise UsageError(
            f"{path} holds {found.dtype}, but the network takes {dtype}",
            f"give windows of {dtype}",
        )
    each = [turned(compiled.graph, hop.window, window) for window in found.astype(dtype)]
    rows = np.stack(each).reshape(len(found), hop.rows, -1)
    for number in range(1, len(rows)):
        differs = (rows[number, : -hop.new] != rows[number - 1, hop.new :]).any(axis=1)
        if differs.any():
            row = int(differs.argmax())
            what = "column" if hop.window in compiled.graph.turned else "row"
            raise UsageError(
                f"{what} {row} of window {number} of {path} differs from {what} {row + hop.new} of "
                "the window before",
                "give windows that each move on by the hop; if features are normalised over the window, "
                "all of its rows change: normalise them by constants, or leave out --hop",
            )
    windows = tuple({tensor: each} for each in found.astype(dtype))
    if len(windows) < 2:
        raise UsageError(f"{path} has one window", "record at least two, one after the other")
    again = min(len(windows), _AGAIN)
    kept = _names([(compiled.graph.tensors[v.tensor], v.size) for v in compiled.assembly.variables])
    state = State(kept, len(windows) - 1, again)
    return Inputs((*windows, *windows[:again]), state, slides=True)


def _names(kept: Sequence[tuple[Tensor, int]]) -> tuple[tuple[str, int], ...]:
    return tuple((tensor.name, size) for tensor, size in kept)


def _windows(
    compiled: Compiled, kept: Sequence[tuple[Tensor, int]], samples: int | None, seed: int
) -> Inputs:
    """Windows of one long input, each `hop` further on: three times as many rows as a window has, by
    default, and after the reset the first ones again."""
    graph, hop = compiled.graph, compiled.graph.hop
    assert hop is not None
    count = samples or -(-_WINDOWS * hop.rows // hop.new)
    rows = hop.rows + count * hop.new
    made = sample_inputs(compiled.model, -(-rows // hop.rows), seed)
    ((given, like),) = made[0].items()
    each = (turned(graph, hop.window, window[given]) for window in made)
    stream = np.concatenate([window.reshape(hop.rows, -1) for window in each])

    def window(number: int) -> dict[int, NDArray[Any]]:
        first = number * hop.new
        found = stream[first : first + hop.rows]
        return {given: turned_back(graph, hop.window, found).reshape(like.shape)}

    again = min(count, _AGAIN)
    numbers = (*range(count + 1), *range(again))
    return Inputs(tuple(map(window, numbers)), State(_names(kept), count, again), slides=True)

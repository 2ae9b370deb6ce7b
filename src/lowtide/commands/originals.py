"""What a program is compared with: the tensors of the file that it came from, channel by channel.

Why here and nowhere else: a simplified program has fewer tensors, and fewer channels in them, than the
file. What it keeps must be the file's, and what it left out must be what was claimed of it. Both are
asked of the oracle, which runs the file as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from lowtide.commands.compiling import Compiled
from lowtide.commands.passing import passed
from lowtide.commands.sequences import Inputs
from lowtide.commands.turning import index_in_file, turned
from lowtide.ir import DType, Piece, Tensor
from lowtide.oracle.interpreters import Difference, Reference, first_difference
from lowtide.oracle.samples import reference
from lowtide.passes.simplify.result import Always, Channels, Dropped, Holds, Kept, Same, Unread

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Originals:
    """`kept` has the program's tensors, as the oracle computes them; `dropped` the first thing that was
    left out and is not what was claimed, and `claims` how many tensors something was claimed of."""

    kept: Reference
    claims: int
    dropped: Difference | None


def known_tensors(compiled: Compiled, tensors: Sequence[int]) -> list[int]:
    """Those of `tensors` that the file has, too, or some rows of which it has."""
    return [t for t in tensors if _kept(compiled, t).origin is not None]


def _kept(compiled: Compiled, tensor: int) -> Kept:
    """What a tensor is in the file, or that of which it is a piece."""
    piece = _piece(compiled, tensor)
    return compiled.simplified.kept[tensor if piece is None else piece.tensor]


def _piece(compiled: Compiled, tensor: int) -> Piece | None:
    hop = compiled.graph.hop
    return None if hop is None else hop.pieces.get(tensor)


def originals(
    compiled: Compiled, inputs: Inputs, tensors: Sequence[int], *, claims: bool = False
) -> Originals:
    """`tensors` of the program as the oracle has them; with `claims`, what was left out, too.

    A constant, which the oracle need not have, is as the program has it; where the file computes it,
    there is a claim of it.
    """
    graph, model = compiled.graph, compiled.model
    dropped = [
        entry
        for entry in (compiled.simplified.dropped if claims else ())
        if not isinstance(entry.claim, Unread)
    ]
    constants = {
        tensor: np.frombuffer(data, np.uint8)
        for tensor in tensors
        if (data := graph.tensors[tensor].data) is not None
    }
    wanted = {t: _kept(compiled, t) for t in tensors if t not in constants}
    bytes_of = _bytes_given(compiled)
    asked = [kept.origin for kept in wanted.values() if kept.origin is not None]
    asked += bytes_of.values()
    asked += [t for entry in dropped for t in _named(entry) if model.graph.tensors[t].data is None]
    found = reference(
        model,
        inputs.samples,
        [*dict.fromkeys(asked)],
        rounding=compiled.options.rounding,
        fresh=inputs.fresh,
    )
    kept = tuple(
        {
            t: _rows(compiled, t, _stored(graph.tensors[t], _taken(sample[k.origin], k.channels)))
            for t, k in wanted.items()
            if k.origin is not None
        }
        | {
            t: turned(graph, t, (sample[origin] ^ np.int8(-128)).view(np.uint8))
            for t, origin in bytes_of.items()
        }
        | constants
        for sample in found.samples
    )
    return Originals(
        replace(found, samples=kept), len({e.tensor for e in dropped}), _broken(found, dropped)
    )


def _bytes_given(compiled: Compiled) -> dict[int, int]:
    """Inputs of uint8 in place of the file's of int8: the program's tensor -> the file's."""
    if compiled.options.input_type == "file":
        return {}
    still = replace(compiled.options, hop=None, keep=None, hop_axis=None)
    plain = replace(still, input_type="file", simplify=False)
    of_file = passed(compiled.model, plain).graph.inputs
    pairs = zip(compiled.graph.given, of_file, strict=True)
    return {new: old for new, old in pairs if compiled.simplified.kept[new].origin is None}


def in_file(compiled: Compiled, difference: Difference) -> Difference:
    """A difference in a tensor of the program, in terms of the file's tensor."""
    piece = _piece(compiled, difference.tensor)
    if piece is not None:
        row = math.prod(compiled.graph.tensors[piece.tensor].shape[piece.axis + 1 :])
        index = difference.index + (piece.first * row if difference.index >= 0 else 0)
        difference = replace(difference, tensor=piece.tensor, index=index)
    kept = compiled.simplified.kept[difference.tensor]
    if kept.origin is None:
        return difference
    index = index_in_file(compiled.graph, difference.tensor, difference.index)
    channels = kept.channels
    if channels is not None and index >= 0:
        all_of = compiled.model.graph.tensors[kept.origin].shape[-1]
        index = index // len(channels) * all_of + channels[index % len(channels)]
    left, right = difference.left, difference.right
    by = _shifted(compiled, difference.tensor, kept.origin)
    left, right = (x + by if isinstance(x, int) else x for x in (left, right))
    return replace(difference, tensor=kept.origin, index=index, left=left, right=right)


def _named(entry: Dropped) -> tuple[int, ...]:
    """The tensors that a claim is about."""
    return (entry.tensor, entry.claim.tensor) if isinstance(entry.claim, Same) else (entry.tensor,)


def _stored(tensor: Tensor, values: Array) -> Array:
    """`values` of the file's as the program stores `tensor`, where int8 may be uint8, or uint8 int8."""
    stored = {DType.INT8: np.int8, DType.UINT8: np.uint8}.get(tensor.dtype)
    if stored is None or values.dtype not in (np.int8, np.uint8) or values.dtype == stored:
        return values
    return (values.view(np.uint8) ^ 0x80).view(stored)


def _shifted(compiled: Compiled, tensor: int, origin: int) -> int:
    """How much more a value in the file's tensor `origin` is than in the program's `tensor`."""
    kinds = compiled.model.graph.tensors[origin].dtype, compiled.graph.tensors[tensor].dtype
    return {(DType.UINT8, DType.INT8): 128, (DType.INT8, DType.UINT8): -128}.get(kinds, 0)


def _rows(compiled: Compiled, tensor: int, whole: Array) -> Array:
    """Of a tensor those rows that a piece of it has."""
    piece = _piece(compiled, tensor)
    if piece is None:
        return turned(compiled.graph, tensor, whole)
    whole = turned(compiled.graph, piece.tensor, whole)
    whole = whole.reshape(compiled.graph.tensors[piece.tensor].shape)  # of a flat one in rows
    rows = compiled.graph.tensors[tensor].shape[piece.axis]
    first = (slice(None),) * piece.axis
    return whole[(*first, slice(piece.first, piece.first + rows))]


def _taken(tensor: Array, channels: Channels) -> Array:
    return tensor if channels is None else tensor[..., list(channels)]


def _broken(found: Reference, dropped: Sequence[Dropped]) -> Difference | None:
    """The first of what was left out that is not as claimed; left is the claim, right the file."""
    for number, sample in enumerate(found.samples):
        for entry in dropped:
            if entry.tensor not in sample:
                continue
            is_so = _taken(sample[entry.tensor], entry.channels)
            said = _said(entry, sample, is_so)
            if said is None:
                continue
            left, right = (
                Reference(found.engine, ({entry.tensor: part},)) for part in (said, is_so)
            )
            differs = first_difference(left, right)
            if differs is not None:
                return replace(differs, sample=number)
    return None


def _said(entry: Dropped, sample: Mapping[int, Array], like: Array) -> Array | None:
    """What is claimed of what was left out, as an array of the type and shape of `like`."""
    claim = entry.claim
    match claim:
        case Always():
            return np.broadcast_to(np.array(claim.values, like.dtype), like.shape)
        case Holds():
            return np.frombuffer(claim.data, like.dtype)
        case Same():
            other = sample.get(claim.tensor)
            return None if other is None else _taken(other, claim.channels)
        case Unread():
            return None
        case _:
            assert_never(claim)

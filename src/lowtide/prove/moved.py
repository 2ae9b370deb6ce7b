"""What operators that only move elements make, element by element, from their definitions.

Each is a function of arrays of labels to arrays of labels: NumPy moves them as the operator moves
elements. Sources are the reference kernels of TensorFlow Lite, which the lowering follows too, by other
ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from lowtide.ir import Graph, Op, Tensor
from lowtide.ir.operands import Operands
from lowtide.ir.slices import sliced
from lowtide.prove.memory import PADDING, Labels


class _Moving(Operands):
    """An operator, and the labels of the elements of its inputs in their shapes."""

    def ints(self, index: int) -> list[int]:
        """A constant input of integers, flat."""
        found: list[int] = self.integers(index).reshape(-1).tolist()
        return found

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """A constant input of pairs."""
        return [(int(a), int(b)) for a, b in self.integers(index).reshape(-1, 2)]

    def axis(self, rank: int, name: str = "axis") -> int:
        """An option that names an axis."""
        return self.option(name) % max(1, rank)


_Inputs = list[Labels]
_Made = Callable[[_Moving, _Inputs], list[Labels]]


def _same(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [inputs[0].reshape(op.output().shape)]


def _transpose(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [inputs[0].transpose(op.ints(1))]


def _concatenation(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.concatenate(inputs, op.axis(len(op.output().shape)))]


def _pack(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.stack(inputs, op.axis(len(op.output().shape)))]


def _apart(op: _Moving, source: Labels, axis: int) -> list[Labels]:
    made = [op.output(i).shape[axis] for i in range(len(op.op.outputs))]
    return np.split(source, np.cumsum(made)[:-1].tolist(), axis)


def _split(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return _apart(op, inputs[1], op.ints(0)[0] % max(1, inputs[1].ndim))


def _split_v(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return _apart(op, inputs[0], op.ints(2)[0] % max(1, inputs[0].ndim))


def _unpack(op: _Moving, inputs: _Inputs) -> list[Labels]:
    axis = op.axis(inputs[0].ndim)
    return [np.take(inputs[0], i, axis) for i in range(len(op.op.outputs))]


def _slice(op: _Moving, inputs: _Inputs) -> list[Labels]:
    taken = np.ix_(*(np.array(r, np.int64) for r in sliced(op)))
    return [inputs[0][taken].reshape(op.output().shape)]


def _pad(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.pad(inputs[0], op.pairs(1), constant_values=PADDING)]


def _mirror_pad(op: _Moving, inputs: _Inputs) -> list[Labels]:
    if op.option("mode"):
        return [np.pad(inputs[0], op.pairs(1), mode="symmetric")]
    return [np.pad(inputs[0], op.pairs(1), mode="reflect")]


def _space_to_depth(op: _Moving, inputs: _Inputs) -> list[Labels]:
    n, h, w, c = inputs[0].shape
    b = op.option("block_size")
    made = np.empty((n, h // b, w // b, b * b * c), np.int64)
    for y in range(b):
        for x in range(b):
            at = (y * b + x) * c
            made[..., at : at + c] = inputs[0][:, y::b, x::b]
    return [made]


def _depth_to_space(op: _Moving, inputs: _Inputs) -> list[Labels]:
    n, h, w, c = inputs[0].shape
    b = op.option("block_size")
    depth = c // (b * b)
    made = np.empty((n, h * b, w * b, depth), np.int64)
    for y in range(b):
        for x in range(b):
            at = (y * b + x) * depth
            made[:, y::b, x::b] = inputs[0][..., at : at + depth]
    return [made]


def _space_to_batch(op: _Moving, inputs: _Inputs) -> list[Labels]:
    blocks, rest = op.ints(1), inputs[0].ndim - 1
    sides = [(0, 0), *op.pairs(2), *[(0, 0)] * (rest - len(op.ints(1)))]
    padded = np.pad(inputs[0], sides, constant_values=PADDING)
    parts = [
        padded[(slice(None), *(slice(o, None, b) for o, b in zip(at, blocks, strict=True)))]
        for at in np.ndindex(*blocks)
    ]
    return [np.concatenate(parts, 0)]


def _batch_to_space(op: _Moving, inputs: _Inputs) -> list[Labels]:
    blocks, crops, source = op.ints(1), op.pairs(2), inputs[0]
    batch = source.shape[0] // math.prod(blocks)
    space = [n * b for n, b in zip(source.shape[1:], blocks, strict=False)]
    made = np.empty((batch, *space, *source.shape[1 + len(blocks) :]), np.int64)
    for number, at in enumerate(np.ndindex(*blocks)):
        into = (slice(None), *(slice(o, None, b) for o, b in zip(at, blocks, strict=True)))
        made[into] = source[number * batch : (number + 1) * batch]
    kept = (slice(a, n - b) for (a, b), n in zip(crops, space, strict=True))
    return [made[(slice(None), *kept)]]


def _reverse(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.flip(inputs[0], tuple(a % inputs[0].ndim for a in op.ints(1)))]


def _broadcast_to(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.broadcast_to(inputs[0], op.output().shape)]


def _tile(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.tile(inputs[0], op.ints(1))]


def _gather(op: _Moving, inputs: _Inputs) -> list[Labels]:
    source, index = inputs[0], op.integers(1)
    axis, batch = op.axis(source.ndim), op.option("batch_dims")
    batch += index.ndim if batch < 0 else 0
    if not batch:
        return [np.take(source, index, axis)]
    shape = source.shape[:batch]
    made = [np.take(source[at], index[at], axis - batch) for at in np.ndindex(*shape)]
    return [np.stack(made).reshape(op.output().shape)]


def _gather_nd(op: _Moving, inputs: _Inputs) -> list[Labels]:
    index = op.integers(1)
    return [inputs[0][tuple(np.moveaxis(index, -1, 0))]]


def _fill(op: _Moving, inputs: _Inputs) -> list[Labels]:
    return [np.broadcast_to(inputs[1].reshape(()), op.output().shape)]


def _of_shapes(op: _Moving, inputs: _Inputs) -> list[Labels]:
    del inputs
    return [np.full(op.output().shape, PADDING, np.int64)]


def nearest(op: Operands, size: int, made: int) -> Labels:
    """Which of `size` pixels each of the `made` ones is: GetNearestNeighbor, in float32."""
    corners = bool(op.option("align_corners")) and made > 1
    scale = (
        np.float32(size - 1) / np.float32(made - 1)
        if corners
        else np.float32(size) / np.float32(made)
    )
    half = np.float32(0.5 if op.option("half_pixel_centers") else 0.0)
    at = (np.arange(made, dtype=np.float32) + half) * scale
    if op.option("align_corners"):
        at = np.floor(at.astype(np.float64) + 0.5)
    found: Labels = np.minimum(np.floor(at.astype(np.float64)).astype(np.int64), size - 1)
    return found


def _resize_nearest(op: _Moving, inputs: _Inputs) -> list[Labels]:
    source = inputs[0]
    _, height, width, _ = op.output().shape
    rows = nearest(op, source.shape[1], height)
    return [source[:, rows][:, :, nearest(op, source.shape[2], width)]]


def _assigned(op: _Moving, inputs: _Inputs) -> list[Labels]:
    """What the variable holds afterwards."""
    return [inputs[1].reshape(op.input(0).shape)]


_MOVES: Mapping[str, _Made] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "CAST", "READ_VARIABLE"), _same),
    "TRANSPOSE": _transpose,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "UNPACK": _unpack,
    "SLICE": _slice,
    "STRIDED_SLICE": _slice,
    "PAD": _pad,
    "PADV2": _pad,
    "MIRROR_PAD": _mirror_pad,
    "SPACE_TO_DEPTH": _space_to_depth,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "REVERSE_V2": _reverse,
    "BROADCAST_TO": _broadcast_to,
    "TILE": _tile,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "FILL": _fill,
    **dict.fromkeys(("ZEROS_LIKE", "SHAPE", "BROADCAST_ARGS"), _of_shapes),
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "ASSIGN_VARIABLE": _assigned,
    "DYNAMIC_UPDATE_SLICE": _same,
}

RENAMES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators whose output has the bytes of their input in their order."""


def moves(graph: Graph, op: Op) -> bool:
    """Whether the operator only moves elements, from places that are known beforehand."""
    if op.type in ("GATHER", "GATHER_ND"):
        return len(op.inputs) > 1 and graph.tensors[op.inputs[1]].is_constant
    if op.type == "CAST":
        return graph.tensors[op.inputs[0]].dtype is graph.tensors[op.outputs[0]].dtype
    if op.type == "DYNAMIC_UPDATE_SLICE":  # by nothing
        return graph.tensors[op.inputs[1]].elements == 0
    return op.type in _MOVES


def moved(graph: Graph, op: Op, labels: Callable[[Tensor], Labels]) -> list[Labels]:
    """The labels of the elements of each output, in its shape; `labels` has those of an input's,
    flat."""
    moving = _Moving(graph, op)
    tensors = [graph.tensors[t] if t >= 0 else None for t in op.inputs]
    inputs = [np.zeros(0, np.int64) if t is None else labels(t).reshape(t.shape) for t in tensors]
    return _MOVES[op.type](moving, inputs)

"""Operators that only rearrange their input, as maps from places to places (lower/picking.py)."""

from __future__ import annotations

import math

import numpy as np

from lowtide.ir import DType, Tensor
from lowtide.lower.common import Context, Lowering
from lowtide.lower.gather import looked_up_nd
from lowtide.lower.move import MOVABLE, axis_of, elements
from lowtide.lower.nodes import Lowered
from lowtide.lower.picking import PADDING, Places, known, picked, places


def _map(context: Context, of: Tensor) -> tuple[int, int, int, int]:
    """The shape of a feature map."""
    if len(of.shape) != 4:
        raise context.unsupported("its tensors should have 4 dimensions")
    batch, height, width, channels = of.shape
    return batch, height, width, channels


def _space_to_depth(context: Context) -> Lowered:
    source, out, block = context.input(0), context.output(), context.option("block_size")
    batch, height, width, channels = _map(context, source)
    if block < 1 or height % block or width % block:
        raise context.unsupported(f"{height} x {width} does not divide into blocks of {block}")
    blocks = places(source).reshape(batch, height // block, block, width // block, block, channels)
    made = blocks.transpose(0, 1, 3, 2, 4, 5)
    shape = batch, height // block, width // block, block * block * channels
    return picked(context, source, made.reshape(shape), elements(context, source, out))


def _depth_to_space(context: Context) -> Lowered:
    source, out, block = context.input(0), context.output(), context.option("block_size")
    batch, height, width, channels = _map(context, source)
    if block < 1 or channels % (block * block):
        raise context.unsupported(
            f"{channels} channels do not divide into blocks of {block} x {block}"
        )
    depth = channels // (block * block)
    blocks = places(source).reshape(batch, height, width, block, block, depth)
    made = blocks.transpose(0, 1, 3, 2, 4, 5)
    shape = batch, height * block, width * block, depth
    return picked(context, source, made.reshape(shape), elements(context, source, out))


def _blocks(context: Context) -> tuple[list[int], list[tuple[int, int]]]:
    """(block sizes, what is padded or cropped) of the dimensions after the first; the last has none."""
    blocks = context.integers(1).reshape(-1).tolist()
    sides = context.integers(2)
    rank = len(context.input(0).shape)
    sound = len(blocks) <= rank - 2 and sides.shape == (len(blocks), 2)
    if not sound or min(blocks, default=0) < 1 or (sides < 0).any():
        raise context.unsupported(
            "its block sizes and its paddings or crops do not match its input"
        )
    return blocks, [(int(before), int(after)) for before, after in sides]


def _space_to_batch(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    blocks, sides = _blocks(context)
    rest = len(source.shape) - 1 - len(blocks)
    padded = np.pad(places(source), [(0, 0), *sides, *[(0, 0)] * rest], constant_values=PADDING)
    batch, *space = padded.shape[: 1 + len(blocks)]
    if any(n % block for n, block in zip(space, blocks, strict=True)):
        raise context.unsupported(f"{space} does not divide into blocks of {blocks}")
    cut = [part for n, block in zip(space, blocks, strict=True) for part in (n // block, block)]
    apart = padded.reshape(batch, *cut, *padded.shape[1 + len(blocks) :])
    count = len(blocks)
    order = [2 + 2 * i for i in range(count)] + [0] + [1 + 2 * i for i in range(count)]
    made = apart.transpose(*order, *range(1 + 2 * count, apart.ndim))
    shape = (batch * math.prod(blocks), *made.shape[count + 1 :])
    value = bytes(size)
    zero = out.quant.zero_point[0] if out.quant is not None else 0
    if size == 1:
        value = bytes([zero & 0xFF])
    elif zero and any(side for pair in sides for side in pair):
        raise context.unsupported(
            f"it pads with the zero point {zero}, which takes more than one byte"
        )
    return picked(context, source, made.reshape(shape), size, value)


def _batch_to_space(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    blocks, sides = _blocks(context)
    count = len(blocks)
    batch, *space = source.shape[: 1 + count]
    if batch % math.prod(blocks):
        raise context.unsupported(f"a batch of {batch} does not divide into blocks of {blocks}")
    apart = places(source).reshape(*blocks, batch // math.prod(blocks), *source.shape[1:])
    order = [count] + [at for i in range(count) for at in (count + 1 + i, i)]
    made = apart.transpose(*order, *range(1 + 2 * count, apart.ndim))
    full = [n * block for n, block in zip(space, blocks, strict=True)]
    made = made.reshape(batch // math.prod(blocks), *full, *source.shape[1 + count :])
    if any(sum(side) >= n for side, n in zip(sides, full, strict=True)):
        raise context.unsupported("its crops leave nothing")
    taken = [slice(b, n - a) for (b, a), n in zip(sides, full, strict=True)]
    return picked(context, source, made[(slice(None), *taken)], size)


def _mirror_pad(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    sides = context.integers(1)
    reflect = context.option("mode") == 0
    if sides.shape != (len(source.shape), 2) or (sides < 0).any():
        raise context.unsupported("its paddings are not a non-negative pair per dimension")
    pairs = [(int(before), int(after)) for before, after in sides]
    if any(max(pair) > n - reflect for pair, n in zip(pairs, source.shape, strict=True)):
        raise context.unsupported("it pads with more elements than its input has to mirror")
    made = np.pad(places(source), pairs, mode="reflect" if reflect else "symmetric")
    return picked(context, source, made, elements(context, source, out))


def _reverse(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    rank = len(source.shape)
    axes = [axis_of(context, axis, rank) for axis in context.integers(1).reshape(-1).tolist()]
    return picked(
        context, source, np.flip(places(source), tuple(axes)), elements(context, source, out)
    )


def _broadcast_to(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    try:
        made = np.broadcast_to(places(source), out.shape)
    except ValueError:
        raise context.unsupported(
            f"it cannot make {list(out.shape)} from {list(source.shape)}"
        ) from None
    return picked(context, source, made, size)


def _tile(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    times = context.integers(1).reshape(-1).tolist()
    made: Places = np.tile(places(source), times)
    return picked(context, source, made, elements(context, source, out))


def _gather_nd(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    if context.input(1).data is None:
        return looked_up_nd(context, source, context.input(1), elements(context, source, out))
    index = context.integers(1)
    depth = index.shape[-1] if index.ndim else 0
    if not 1 <= depth <= len(source.shape):
        raise context.unsupported(f"its indices have {depth} parts")
    sizes = np.array(source.shape[:depth])
    if (index < 0).any() or (index >= sizes).any():
        raise context.unsupported(f"an index is outside {list(source.shape[:depth])}")
    made = places(source)[tuple(index[..., i] for i in range(depth))]
    return picked(context, source, made, elements(context, source, out))


def _fill(context: Context) -> Lowered:
    value, out = context.input(1), context.output()
    size = elements(context, value, out)
    if value.elements != 1:
        raise context.unsupported(f"it fills with {value.elements} values")
    return picked(context, value, np.zeros(out.shape, np.int64), size)


def _zeros_like(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    size = elements(context, source, out)
    nowhere = np.full(out.shape, PADDING, np.int64)
    return picked(context, source, nowhere, size, bytes(size))


def _shape(context: Context) -> Lowered:
    source, out = context.input(0), context.output()
    kind = {DType.INT32: "<i4", DType.INT64: "<i8"}.get(out.dtype)
    if kind is None:
        raise context.unsupported(f"its output is of type {out.dtype.name}")
    return known(context, source, np.array(source.shape, kind).tobytes())


def _broadcast_args(context: Context) -> Lowered:
    first, second = context.integers(0), context.integers(1)
    try:
        shape = np.broadcast_shapes(first.reshape(-1).tolist(), second.reshape(-1).tolist())
    except ValueError:
        raise context.unsupported("its tensors' shapes do not match") from None
    return known(context, context.input(0), np.array(shape, first.dtype).tobytes())


LOWERINGS = {
    "SPACE_TO_DEPTH": Lowering(_space_to_depth, MOVABLE),
    "DEPTH_TO_SPACE": Lowering(_depth_to_space, MOVABLE),
    "SPACE_TO_BATCH_ND": Lowering(_space_to_batch, MOVABLE),
    "BATCH_TO_SPACE_ND": Lowering(_batch_to_space, MOVABLE),
    "MIRROR_PAD": Lowering(_mirror_pad, MOVABLE),
    "REVERSE_V2": Lowering(_reverse, MOVABLE),
    "BROADCAST_TO": Lowering(_broadcast_to, MOVABLE, typed_by=0),
    "TILE": Lowering(_tile, MOVABLE, typed_by=0),
    "GATHER_ND": Lowering(_gather_nd, MOVABLE, typed_by=0),
    "FILL": Lowering(_fill, MOVABLE, typed_by=1),
    "SHAPE": Lowering(_shape, MOVABLE),
    "BROADCAST_ARGS": Lowering(_broadcast_args, frozenset({DType.INT32, DType.INT64})),
    "ZEROS_LIKE": Lowering(_zeros_like, MOVABLE),
}

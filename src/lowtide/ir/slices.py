"""SLICE and STRIDED_SLICE: which box of their input they take; PAD: what it puts around its own.

Why here: passes that follow elements and channels need the same numbers as the lowering.
"""

from __future__ import annotations

from lowtide.ir.graph import DType
from lowtide.ir.operands import Operands, integers_of


def sliced(operands: Operands) -> tuple[range, ...]:
    """The indices taken along each axis of the input; all exist."""
    taken = _strided(operands) if operands.op.type == "STRIDED_SLICE" else _plain(operands)
    source, out = operands.input(0), operands.output()
    if out.elements and any(
        not (0 <= r[0] < dim and 0 <= r[-1] < dim)
        for r, dim in zip(taken, source.shape, strict=True)
    ):
        raise operands.unsupported(f"it reaches outside its input, {list(source.shape)}")
    return taken


def pad_value(operands: Operands) -> int | None:
    """What a PAD pads with, as stored; None if that is no integer that is known."""
    given, out = operands.optional(2), operands.output()
    if given is not None:
        values = integers_of(given)
        fits = values is not None and len(values) == 1 and given.dtype is out.dtype
        return values[0] if values is not None and fits else None
    if out.dtype in (DType.INT8, DType.UINT8):
        return out.quant.zero_point[0] if out.quant is not None else None
    return 0


def _plain(operands: Operands) -> tuple[range, ...]:
    source, out = operands.input(0), operands.output()
    begin = tuple(operands.integers(1).reshape(-1).tolist())
    size = tuple(operands.integers(2).reshape(-1).tolist())
    kinds = [operands.input(i).dtype.name for i in (1, 2)]
    if kinds[0] != kinds[1] or kinds[0] not in ("INT32", "INT64"):
        # TFLM takes the second for the first's type, and LiteRT refuses it.
        why = "and the reference kernels take two of INT32 or two of INT64"
        raise operands.unsupported(f"its begin is {kinds[0]} and its size {kinds[1]}, {why}")
    if not len(begin) == len(size) == len(out.shape) == len(source.shape):
        raise operands.unsupported("its begin, size, input and output differ in rank")
    extent = tuple(
        dim - b if s == -1 else s for dim, b, s in zip(source.shape, begin, size, strict=True)
    )
    if extent != out.shape:
        raise operands.unsupported(f"it makes {list(extent)}, but its output is {list(out.shape)}")
    return tuple(range(b, b + n) for b, n in zip(begin, extent, strict=True))


def _strided(operands: Operands) -> tuple[range, ...]:
    source, out = operands.input(0), operands.output()
    for name in ("ellipsis_mask", "new_axis_mask", "offset"):
        if operands.option(name):
            raise operands.unsupported(f"it uses {name}, which TFLM has no kernel for")
    given = [operands.integers(i).reshape(-1).tolist() for i in (1, 2, 3)]
    rank = len(source.shape)
    if not len(given[0]) == len(given[1]) == len(given[2]) <= rank:
        raise operands.unsupported("its begin, end and strides differ in length")
    shrink = operands.option("shrink_axis_mask")
    ranges = []
    for axis, dim in enumerate(source.shape):
        if axis >= len(given[0]):  # dimensions that are not named are taken whole
            ranges.append(range(dim))
        else:
            ranges.append(_range(operands, axis, dim, *(int(g[axis]) for g in given)))
    kept = tuple(len(r) for axis, r in enumerate(ranges) if not shrink >> axis & 1)
    if kept != out.shape:
        raise operands.unsupported(f"it makes {list(kept)}, but its output is {list(out.shape)}")
    return tuple(ranges)


def _range(operands: Operands, axis: int, dim: int, begin: int, end: int, stride: int) -> range:
    """The indices taken along an axis: StartForAxis and StopForAxis, strided_slice_logic.h."""
    if stride == 0:
        raise operands.unsupported("a stride is 0")
    low, high = (0, dim) if stride > 0 else (-1, dim - 1)
    first, last = (low, high) if stride > 0 else (high, low)

    def clamp(value: int) -> int:
        return min(max(value + dim if value < 0 else value, low), high)

    start = first if operands.option("begin_mask") >> axis & 1 else clamp(begin)
    if operands.option("shrink_axis_mask") >> axis & 1:
        if not 0 <= start < dim:
            raise operands.unsupported(f"index {begin} does not exist in axis {axis}, of {dim}")
        return range(start, start + 1)
    stop = last if operands.option("end_mask") >> axis & 1 else clamp(end)
    return range(start, stop, stride)

"""TFLM's OfflineMemoryAllocation metadata: a placement as the bytes of a .tflite metadata buffer.

Why: an unmodified TFLM puts tensors where this metadata says, so that a better placement helps
people who keep their interpreter.

Format (tensorflow/lite/micro/docs/memory_management.md): little-endian int32 values

    version, subgraphs, n, offset of tensor 0, ..., offset of tensor n - 1

where n counts the tensors of all subgraphs, one after another, and an offset of -1 leaves a tensor
to TFLM's own planner. TFLM ignores the first two values and refuses an n that is not the model's.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

METADATA_NAME = "OfflineMemoryAllocation"

_VERSION = 1
_UNPLANNED = -1
_HEADER = struct.Struct("<3i")


def encode(offsets: Sequence[int | None], subgraphs: int) -> bytes:
    """The metadata for byte offsets per tensor (None: not planned), over all subgraphs.

    Raises ValueError for an offset outside [0, 2**31) or less than one subgraph.
    """
    if not 1 <= subgraphs < 2**31:
        raise ValueError(f"a model has at least one subgraph, not {subgraphs}")
    for tensor, offset in enumerate(offsets):
        if offset is not None and not 0 <= offset < 2**31:
            raise ValueError(f"the offset {offset} of tensor {tensor} is no 31-bit number")
    values = [_UNPLANNED if offset is None else offset for offset in offsets]
    return _HEADER.pack(_VERSION, subgraphs, len(values)) + struct.pack(f"<{len(values)}i", *values)


def decode(data: bytes) -> tuple[int | None, ...]:
    """The byte offset of each tensor, None where it is not planned.

    Version and number of subgraphs are not looked at, as in TFLM: compilers write different ones.
    Raises ValueError when the length and the count do not agree, or an offset is below -1.
    """
    if len(data) < _HEADER.size:
        raise ValueError(f"{METADATA_NAME} has {len(data)} bytes, less than its header")
    _, _, count = _HEADER.unpack_from(data)
    if count < 0 or len(data) != _HEADER.size + 4 * count:
        raise ValueError(
            f"{METADATA_NAME} has {len(data)} bytes, which do not hold {count} offsets"
        )
    values = struct.unpack_from(f"<{count}i", data, _HEADER.size)
    for tensor, value in enumerate(values):
        if value < _UNPLANNED:
            raise ValueError(f"{METADATA_NAME} has the offset {value} for tensor {tensor}")
    return tuple(None if value == _UNPLANNED else value for value in values)

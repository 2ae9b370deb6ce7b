"""The program as plain values, before it is C: nodes, ports, params, arrays.

Why: lowering (one small function per operator family) decides what a kernel needs; placing and
writing C happen later and know no operator. The C side of each type here is in
kernels/include/lowtide.h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from numpy.typing import NDArray

CType = Literal["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "int64_t", "float"]


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A constant array that a params struct points to. `weights` arrays are counted as such."""

    ctype: CType
    values: NDArray[Any]
    weights: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """`static const <ctype> x = { .field = value, ... };` with every field of the struct named."""

    ctype: str
    fields: tuple[tuple[str, Value], ...]


Value = int | float | Array | Params | None
"""A field of a params struct. An array, or the params of another kernel, is a pointer to a constant;
None is a null pointer."""


@dataclass(frozen=True, slots=True)
class Port:
    """A tensor as one node sees it: cut into `rows` rows of `row_bytes` bytes.

    Step r's window is `count` rows, `dilation` apart, from first + r * stride, or from table[r] if
    there is a table. Rows outside [0, rows) are padding.
    """

    tensor: int
    rows: int
    row_bytes: int
    first: int = 0
    stride: int = 1
    count: int = 1
    dilation: int = 1
    table: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`steps` steps of one kernel. `header` declares the kernel and its params' type.

    `scratch` is in bytes; its contents matter from one step to the next if `scratch_lasts`. An
    operator may become several nodes (a concatenation of rows) or none (a reshape).

    A node with an `exchange` runs no kernel: each step is a row of the graph input or output of that
    number, which the caller gives (the one output port) or takes (the one input port). With a
    `lean_scratch` there is a lean form, which needs that much: another kernel of the same params, other
    params, or the field `lean` in them set.
    """

    op: int
    kernel: str
    header: str
    params: Params
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: int
    scratch: int = 0
    scratch_lasts: bool = True
    exchange: int | None = None
    lean_scratch: int | None = None
    lean_kernel: str | None = None
    lean_params: Params | None = None

    @property
    def leaner(self) -> Node:
        """The node in its lean form, where there is one: less scratch memory, more instructions."""
        if self.lean_scratch is None:
            return self
        fields = tuple((name, 1 if name == "lean" else v) for name, v in self.params.fields)
        params = self.lean_params or replace(self.params, fields=fields)
        kernel = self.lean_kernel or self.kernel
        return replace(
            self, kernel=kernel, params=params, scratch=self.lean_scratch, lean_scratch=None
        )


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """What an operator becomes: nodes, and views (output tensor -> the tensor it is a view of)."""

    nodes: tuple[Node, ...] = ()
    views: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Crop:
    """A tensor that is part of `tensor`, whose memory is cut into rows of `pitch` bytes: row r begins
    `offset` bytes after that one's row r + row.

    The pitch is that of the whole as the part's operator sees it: `tensor` may have another shape. With
    `moves`, the offset is counted from where a strip begins, which the program moves on.
    """

    tensor: int
    pitch: int
    offset: int
    moves: bool = False
    row: int = 0

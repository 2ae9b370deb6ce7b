"""The program as plain values, before it is C: nodes, ports, params, arrays.

Why: lowering (one small function per operator family) decides what a kernel needs; placing and
writing C happen later and know no operator. The C side of each type here is in
kernels/include/lowtide.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lowtide.ir.window import Axis
from lowtide.lower.counts import PartOf, Work

NORMAL: Final = -1
"""Stands for an amount of scratch memory: that of a node's normal form."""

_MOST_STEPS = (1 << 15) - 1
"""Of a node that can part: fields that are counted in steps are int16_t."""

CType = Literal["int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "int64_t", "float"]
_DTYPES: dict[CType, str] = {
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": "int16",
    "uint16_t": "uint16",
    "int32_t": "int32",
    "int64_t": "int64",
    "float": "float32",
}


@dataclass(frozen=True, slots=True, eq=False)
class Later:
    """`size` values that `make` works out once they are asked for: packing weights takes longer than all
    else that a lowering does, and nothing before C is written reads them."""

    size: int
    make: Callable[[], NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A constant array that a params struct points to. `weights` arrays are counted as such.

    Values have the type of the C array, whatever they were made as, so that arrays with equal bytes are
    equal arrays. Raises OverflowError for a value that the type cannot hold.
    """

    ctype: CType
    given: NDArray[Any] | Later
    weights: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.given, Later):
            object.__setattr__(self, "given", _typed(self.given, self.ctype))

    @property
    def size(self) -> int:
        """Number of values."""
        return self.given.size

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.size * np.dtype(_DTYPES[self.ctype]).itemsize

    @property
    def values(self) -> NDArray[Any]:
        """The contents, which are made if they are not there yet."""
        if isinstance(self.given, Later):
            made = _typed(self.given.make(), self.ctype)
            assert made.size == self.given.size
            object.__setattr__(self, "given", made)
            return made
        return self.given

    def __reduce__(self) -> tuple[type[Array], tuple[CType, NDArray[Any], bool]]:
        """Programs are kept from run to run, with contents that are there."""
        return Array, (self.ctype, self.values, self.weights)


def _typed(given: NDArray[Any], ctype: CType) -> NDArray[Any]:
    """The same values as `ctype`."""
    dtype, values = np.dtype(_DTYPES[ctype]), np.asarray(given)
    if values.dtype == dtype:
        return values
    kept = values.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(kept, values):
        raise OverflowError(f"a constant has a value that does not fit {ctype}")
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """`static const <ctype> x = { .field = value, ... };` with every field of the struct named."""

    ctype: str
    fields: tuple[tuple[str, Value], ...]

    def arrays(self) -> Iterator[Array]:
        """The arrays that it points to, and those of other params that it does."""
        for _, value in self.fields:
            if isinstance(value, Array):
                yield value
            elif isinstance(value, Params):
                yield from value.arrays()


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that another one calls, and the header that declares it. If it is `within`, a part of the
    other one: what that takes of the stack includes it."""

    name: str
    header: str
    within: bool = False


Value = int | float | Array | Params | Kernel | None
"""A field of a params struct. An array, or the params of another kernel, is a pointer to a constant;
None is a null pointer."""


@dataclass(frozen=True, slots=True)
class Images:
    """A batch: the first `steps` steps are for the first `rows` rows, the next for the next ones, ..."""

    rows: int
    steps: int


@dataclass(frozen=True, slots=True)
class Port:
    """A tensor as one node sees it: cut into `rows` rows of `row_bytes` bytes.

    Step r's window is `count` rows, `dilation` apart, from first + r * stride, or from table[r] if
    there is a table. Rows outside [0, rows) are padding, and those of other `images` than the step's.
    """

    tensor: int
    rows: int
    row_bytes: int
    first: int = 0
    stride: int = 1
    count: int = 1
    dilation: int = 1
    table: tuple[int, ...] | None = None
    images: Images | None = None

    def window(self, step: int) -> range:
        """The rows of a step's window, padding included."""
        at = self.first + step * self.stride if self.table is None else self.table[step]
        return range(at, at + self.count * self.dilation, self.dilation)

    def inside(self, step: int) -> range:
        """Those of them that are no padding."""
        window, low, high = self.window(step), 0, self.rows
        if self.images is not None:
            low = step // self.images.steps * self.images.rows
            high = low + self.images.rows
        first = max(0, -(-(low - window.start) // self.dilation))
        stop = max(first, -(-(high - window.start) // self.dilation))
        return window[first:stop]

    def touched(self, steps: int) -> tuple[int, int]:
        """Rows of the windows of so many steps: those that exist, and those that are padding."""
        if self.table is not None or self.images is not None or self.stride < 1:
            inside = sum(len(self.inside(step)) for step in range(steps))
        else:
            taps = range(self.first, self.first + self.count * self.dilation, self.dilation)
            inside = sum(_steps_inside(tap, self.stride, steps, self.rows) for tap in taps)
        return inside, steps * self.count - inside


def _steps_inside(at: int, stride: int, steps: int, rows: int) -> int:
    """How many of the steps are in [0, rows), if the first is `at`, and each next `stride` further."""
    return max(0, min(steps, -(-(rows - at) // stride)) - max(0, -(at // stride)))


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`steps` steps of one kernel. `header` declares the kernel and its params' type.

    `scratch` is in bytes; its contents matter from one step to the next if `scratch_lasts`. An
    operator may become several nodes (a concatenation of rows) or none (a reshape).

    `forms` are other nodes that do the same: other kernels, or other params, which need less scratch
    memory and more instructions, or the other way round; one that `is_spare` runs only where rows leave
    room for it, and no plan is chosen for it. `work` is what the kernel does, for the cost
    model. If its scratch memory depends on how many columns it makes, `narrow_scratch[n]` is what n of
    them need, at most; each form has its own. What a step does may depend on its number (None), on
    nothing but its rows (""), or on a field of the params that is `counted` in steps. A part `of`
    another node has its steps from `first` on.
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
    work: Work | None = None
    narrow_scratch: tuple[int, ...] = ()
    forms: tuple[Node, ...] = field(default=(), repr=False)
    is_spare: bool = False
    counted: str | None = None
    of: Node | None = field(default=None, repr=False)
    first: int = 0

    @property
    def can_part(self) -> bool:
        """Whether some of its steps can be a node of their own."""
        ports = (*self.inputs, *self.outputs)
        rows = all(port.table is None and port.images is None for port in ports)
        lasts = self.scratch > 0 and self.scratch_lasts
        return self.counted is not None and rows and not lasts and self.steps <= _MOST_STEPS

    def part(self, first: int, stop: int) -> Node:
        """Steps [first, stop) of it, which can part, as a node of its own, in this form."""
        ports = (
            tuple(replace(port, first=port.first + first * port.stride) for port in of)
            for of in (self.inputs, self.outputs)
        )
        fields = tuple(
            (name, value - first)
            if name == self.counted and isinstance(value, int)
            else (name, value)
            for name, value in self.params.fields
        )
        inputs, outputs = ports
        return replace(
            self,
            params=replace(self.params, fields=fields),
            inputs=inputs,
            outputs=outputs,
            steps=stop - first,
            work=None if self.work is None else PartOf(self.work, stop - first, self.steps),
            forms=(),
            of=self,
            first=first,
        )

    @property
    def whole(self) -> Node:
        """The node of all steps of which this one has some; itself if it has all."""
        return self if self.of is None else self.of

    @property
    def works(self) -> Kernel:
        """The kernel that does the work: the one that is called image by image, or itself."""
        if self.params.ctype != "lt_images":
            return Kernel(self.kernel, self.header)
        return next(_called(self.params))

    @property
    def headers(self) -> frozenset[str]:
        """The headers of all kernels that run."""
        return frozenset((self.header, *(kernel.header for kernel in _called(self.params))))

    @property
    def leaner(self) -> Node:
        """The form of least scratch memory."""
        return self.within(0)

    def within(self, scratch: int) -> Node:
        """The form of the most scratch memory that is at most `scratch` bytes, else of the least; the
        last of those that need as much. With NORMAL, it as it is. None of them is spare."""
        if not self.forms or scratch == NORMAL:
            return self
        forms = (*(form for form in self.forms[::-1] if not form.is_spare), self)
        fitting = [node for node in forms if node.scratch <= scratch]
        if fitting:
            return max(fitting, key=lambda node: node.scratch)
        return min(forms, key=lambda node: node.scratch)

    @property
    def spare(self) -> tuple[Node, ...]:
        """The spare forms."""
        return tuple(form for form in self.forms if form.is_spare)


def _called(params: Params) -> Iterator[Kernel]:
    """The kernels that a kernel of `params` calls, and those that they call."""
    for _, value in params.fields:
        if isinstance(value, Kernel):
            yield value
        elif isinstance(value, Params):
            yield from _called(value)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Rows that the caller gives (of graph input `number`) or takes (of output `number`), one a step."""

    number: int
    port: Port
    given: bool

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The rows that are taken."""
        return () if self.given else (self.port,)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The rows that are given."""
        return (self.port,) if self.given else ()

    @property
    def steps(self) -> int:
        """Number of rows."""
        return self.port.rows


AnyNode = Node | Exchange
"""What steps are of."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Columns of an operator's output are made of those columns of `tensor`, a map, that `axis` says."""

    tensor: int
    axis: Axis = field(default_factory=Axis)


@dataclass(frozen=True, slots=True)
class Join:
    """An operator that only puts `parts` together to the map `whole`, or takes it apart into them.

    Each part is (tensor, its first row in the whole, the byte where it begins in the whole's rows).
    """

    whole: int
    parts: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """What an operator becomes: nodes, and views (output tensor -> the tensor it is a view of).

    Also what later stages ask of an operator: `columns`, for each input that is a map, so that it can
    be cut into strips; None if it cannot. If it is a `join`, it needs no code where its parts can be
    made and read in place.
    """

    nodes: tuple[Node, ...] = ()
    views: tuple[tuple[int, int], ...] = ()
    columns: tuple[Reads, ...] | None = None
    join: Join | None = None


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

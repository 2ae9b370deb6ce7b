"""Frozen values for a loaded model.

Why: every later stage (schedule, place, emit, report) reads these and none of them changes one. A
tensor is known by its index in the file (``Tensor.id``) and an operator by its position in the file
(``Op.id``), so that results can be written back and compared with other tools' figures.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from lowtide.ir.window import Window

Option = bool | int | float | str | tuple[int, ...] | tuple[float, ...] | None
"""A builtin option of an operator, under its schema name in snake case."""


class DType(enum.Enum):
    """The element type of a tensor: its schema name, and (width in bits, a kind to tell types
    apart).

    STRING, RESOURCE and VARIANT have no size in the file (0 bits). Strings are made at run time,
    and the runtime keeps handles outside the arena.
    """

    FLOAT32 = (32, "f")
    FLOAT16 = (16, "f")
    INT32 = (32, "i")
    UINT8 = (8, "u")
    INT64 = (64, "i")
    STRING = (0, "s")
    BOOL = (8, "b")
    INT16 = (16, "i")
    COMPLEX64 = (64, "c")
    INT8 = (8, "i")
    FLOAT64 = (64, "f")
    COMPLEX128 = (128, "c")
    UINT64 = (64, "u")
    RESOURCE = (0, "r")
    VARIANT = (0, "v")
    UINT32 = (32, "u")
    UINT16 = (16, "u")
    INT4 = (4, "i")
    BFLOAT16 = (16, "bf")
    INT2 = (2, "i")
    UINT4 = (4, "u")
    FLOAT8_E4M3FN = (8, "e4")
    FLOAT8_E5M2 = (8, "e5")

    def __init__(self, bits: int, kind: str) -> None:
        del kind
        self.bits = bits
        """Width of one element in bits; 0 where the file gives no size."""


@dataclass(frozen=True, slots=True)
class Quant:
    """real = scale * (q - zero_point), for the whole tensor or per slice along `dimension`."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    dimension: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of the main subgraph.

    `data` holds a constant's bytes as stored, or None: row-major, little-endian, or compressed if
    `is_sparse`. Tensors with the same `buffer` (its index in the file) share their contents. A
    variable tensor keeps its contents between invocations; it starts as `initial`, or as zero.
    `shape` is empty for a scalar. Weights `of_nibbles` are int8 here, and have four bits in the
    file. For tensors that are `flipped`, some operators compute with uint8 and others with int8:
    see `ir.flipped`.
    """

    id: int
    name: str
    shape: tuple[int, ...]
    dtype: DType
    quant: Quant | None = None
    data: bytes | None = field(default=None, repr=False)
    buffer: int = 0
    is_variable: bool = False
    is_sparse: bool = False
    initial: bytes | None = field(default=None, repr=False)
    flipped: bool = False
    of_nibbles: bool = False

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in bytes; types narrower than a byte are packed."""
        return (self.elements * self.dtype.bits + 7) // 8

    @property
    def is_constant(self) -> bool:
        """True for weights and other contents stored in the file."""
        return self.data is not None


@dataclass(frozen=True, slots=True)
class Op:
    """One operator. An omitted optional input is -1; `custom` is the code of a CUSTOM operator.

    `intermediates` are tensors that only carry quantisation parameters (LSTM gates). `ir.windows`
    sets the `window` of a convolution or pool when it reads a network. An operator computes
    `as_litert` if `passes.rounding` says so.
    """

    id: int
    type: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    custom: str | None = None
    version: int = 1
    intermediates: tuple[int, ...] = ()
    window: Window | None = None
    as_litert: bool = False

    @property
    def label(self) -> str:
        """The type as users know it: for a CUSTOM operator, its code."""
        return self.custom if self.custom else self.type


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of tensor `tensor` along `axis`, from the `first` on."""

    tensor: int
    axis: int
    first: int


@dataclass(frozen=True, slots=True)
class Slid:
    """What becomes of the `rows` rows of tensor `tensor` while the window slides: so many are `kept`
    from run to run, in tensor `variable`, so many `made` in each. The others nobody reads."""

    tensor: int
    rows: int
    kept: int
    made: int
    variable: int | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """Of a graph whose window slides (`passes.hop`): each run takes `new` rows of tensor `window`, which
    has `rows` rows; its outputs are those of the window that ends with them. Beside the input's, rows of
    `kept` tensors are kept, of `most` of which they could be; of some only every so many runs, so that
    they are in as many `phases`. If the window stays in a ring of the caller's, a run reads the last
    `ring` rows of it there; else that is 0. `pieces` are the tensors that are some rows of what the
    network has; `slid` are those with rows, in the network's order, the window first."""

    window: int
    rows: int
    new: int
    kept: int
    most: int
    phases: int = 1
    ring: int = 0
    pieces: Mapping[int, Piece] = field(default_factory=dict, repr=False)
    slid: tuple[Slid, ...] = field(default=(), repr=False)

    @property
    def runs(self) -> int:
        """How many runs a whole window takes, the first of which may begin with rows of no window."""
        return -(-self.rows // self.new)


@dataclass(frozen=True, slots=True)
class Graph:
    """The main subgraph: `tensors[i].id == i`, `ops[i].id == i`, operators in file order.

    A verified graph (see `lowtide.ir.soundness`) has every reference in range, one maker for each
    tensor, and a file order in which every tensor is made before it is read.

    `initial` holds what the subgraphs that CALL_ONCE runs assign to named variables. It is None if
    one of them does anything else. `subgraphs` are the file's subgraphs that IF and WHILE run, by
    number. For tensors that are `turned`, axes 1 and 2 are the file's axes 2 and 1 (see
    `passes.hop`). If the graph is a part of a network (see `passes.cut`), `left_out` are the tensors
    of the network that the part doesn't have. They only keep the numbers of the others.
    """

    name: str
    tensors: tuple[Tensor, ...] = field(repr=False)
    ops: tuple[Op, ...] = field(repr=False)
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    initial: Mapping[str, bytes] | None = field(default_factory=dict, repr=False)
    subgraphs: Mapping[int, Graph] = field(default_factory=dict, repr=False)
    hop: Hop | None = None
    turned: frozenset[int] = frozenset()
    left_out: frozenset[int] = field(default=frozenset(), repr=False)

    @property
    def own_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the graph has: all that aren't left out."""
        if not self.left_out:
            return self.tensors
        return tuple(t for t in self.tensors if t.id not in self.left_out)

    @property
    def given(self) -> tuple[int, ...]:
        """What callers give, as tensors: the inputs, or the sliding window."""
        return self.inputs if self.hop is None else (self.hop.window,)

    def tensor(self, op: Op, index: int) -> Tensor | None:
        """Input `index` of `op`, or None if it is omitted."""
        if index >= len(op.inputs) or op.inputs[index] < 0:
            return None
        return self.tensors[op.inputs[index]]

    @property
    def weights_bytes(self) -> int:
        """Bytes of all constants, with a shared buffer counted once: what the weights take in
        flash.
        """
        held = {t.buffer: len(t.data) for t in self.own_tensors if t.data is not None}
        return sum(held.values())

    @property
    def variables_bytes(self) -> int:
        """Bytes of variable tensors: RAM that persists between invocations, and that no peak
        includes.
        """
        return sum(t.bytes for t in self.own_tensors if t.is_variable)


@dataclass(frozen=True, slots=True)
class Metadata:
    """A named buffer that travels with the model."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Signature:
    """A named entry point: (name, tensor id) pairs of its subgraph."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded file: its main subgraph, and the bytes that it came from.

    `subgraph_tensors` holds the number of tensors of every subgraph in the file, the main one
    first. If `graph` is a part of the network in the file (see `passes.cut`), `whole` is the whole
    network.
    """

    path: str
    graph: Graph
    source: bytes = field(repr=False)
    description: str = ""
    metadata: tuple[Metadata, ...] = ()
    signatures: tuple[Signature, ...] = ()
    subgraph_tensors: tuple[int, ...] = ()
    whole: Graph | None = field(default=None, repr=False)

    @property
    def file_graph(self) -> Graph:
        """The network in the file: `graph`, or the network of which it is a part."""
        return self.graph if self.whole is None else self.whole

"""uint8 networks run through the kernels of int8: bytes are stored with their sign bit flipped.

Why: x - 128 is an int8, and a zero point that is 128 less makes up for it. So convolutions of uint8, and
what lies between them, are operators of int8, for which there are quick kernels; no tensor takes more
memory. Where the reference kernels' arithmetic differs between the two types, a kernel of uint8 flips
what it reads and writes on the way.

Cameras give uint8 and networks compute with int8, so files of int8 begin with a QUANTIZE that only adds
128. A kernel that gathers what it reads can flip it on the way; then there is no row of converted bytes
in RAM. Whoever knows the kernels says which do (`HasKernel`). What does not reads what a FLIP makes,
which needs no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir.byte_tables import BYTES
from lowtide.ir.elementwise import BYTE_FUNCTIONS, byte_table
from lowtide.ir.flipped import CONVOLUTIONS, EITHER, flipped, unflipped
from lowtide.ir.graph import DType, Graph, Op, Tensor
from lowtide.ir.operands import Operands
from lowtide.passes.rewriting import (
    makers_of,
    next_buffer,
    readers_of,
    reading,
    rewritten,
    with_ops,
)
from lowtide.passes.simplify.result import Kept, Simplified, then, unchanged

FLIP = "FLIP"
"""Flips the sign bit of every byte; no file has it."""

_VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})

_SAME = frozenset(
    {
        *("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "MAX_POOL_2D", "ARG_MAX", "ARG_MIN"),
        *("CONCATENATION", "PACK", "SPLIT", "SPLIT_V", "UNPACK", "PAD", "PADV2", "MIRROR_PAD"),
        *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "GATHER"),
        *("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "RESIZE_NEAREST_NEIGHBOR"),
    }
)
"""Give flipped results of flipped operands."""


HasKernel = Callable[[Graph, Op], bool]
"""Whether there is a kernel of an operator, which flips those `flipped` tensors that it reads."""


def flip_bytes(graph: Graph, has_kernel: HasKernel) -> Simplified:
    """The tensors of convolutions of uint8, and of what is between them, flipped.

    Tensors keep their ids. The network's inputs and outputs, and what other operators read or make,
    stay as they are: where both kinds meet, a FLIP is between them, whose tensor is a new one. What
    converts int8 and uint8 is one, too. None goes where the kernels of whoever reads what it makes flip
    it themselves.
    """
    taken = _taken(graph)
    result = _Flipped(graph, taken).result() if taken else unchanged(graph)
    plain = flips_by_readers(_conversions_as_flips(result.graph), has_kernel)
    return result if plain is result.graph else then(result, unchanged(plain))


def _taken(graph: Graph) -> frozenset[int]:
    """The operators whose tensors are flipped: convolutions, and what reads or makes such tensors."""
    makers, readers = makers_of(graph), readers_of(graph)
    able = {op.id for op in graph.ops if op.type in _SAME | EITHER and _is_quantised(graph, op)}
    taken = {op.id for op in graph.ops if _is_convolution(graph, op)}
    left = sorted(taken)
    while left:
        op = graph.ops[left.pop()]
        after = [reader for tensor in op.outputs for reader in readers.get(tensor, ())]
        before = [makers[tensor] for tensor in op.inputs if tensor in makers]
        at_once = [other for other in before if other.type in EITHER]
        for other in (*after, *at_once):
            if other.id in able - taken:
                taken.add(other.id)
                left.append(other.id)
    return frozenset(taken)


def _is_convolution(graph: Graph, op: Op) -> bool:
    """Whether `op` is a convolution of uint8 that has a kernel; the lowering says what another lacks."""
    if op.type not in CONVOLUTIONS or len(op.inputs) < 2 or not op.outputs:
        return False
    source, weights, out = (graph.tensors[t] for t in (*op.inputs[:2], op.outputs[0]))
    one_group = op.type == "DEPTHWISE_CONV_2D" or weights.shape[-1:] == source.shape[-1:]
    known = weights.is_constant and not weights.is_sparse and len(weights.shape) == 4
    return one_group and known and all(map(_is_bytes, (source, weights, out)))


def _is_quantised(graph: Graph, op: Op) -> bool:
    """Whether all bytes that `op` reads or makes can be flipped."""
    tensors = [graph.tensors[t] for t in (*_operands(op), *op.outputs)]
    mine = [t for t in tensors if t.dtype is DType.UINT8]
    if op.type in BYTE_FUNCTIONS and any(t.dtype not in BYTES for t in tensors):
        return False
    return bool(mine) and all(map(_is_bytes, mine))


def _is_bytes(tensor: Tensor) -> bool:
    quant = tensor.quant
    sound = quant is not None and len(quant.scale) == 1 and len(quant.zero_point) == 1
    return (
        tensor.dtype is DType.UINT8
        and not tensor.is_variable
        and sound
        and quant is not None
        and 0 <= quant.zero_point[0] <= 255
    )


def _operands(op: Op) -> Iterator[int]:
    """What `op` reads but for weights and tables, which stay as they are."""
    for at, tensor in enumerate(op.inputs):
        own = at and op.type in (*CONVOLUTIONS, "FULLY_CONNECTED", "TABLE")
        if tensor >= 0 and not own:
            yield tensor


class _Flipped:
    """A graph whose operators `taken` have flipped tensors."""

    def __init__(self, graph: Graph, taken: frozenset[int]) -> None:
        self.graph = graph
        self.taken = taken
        self.tensors = list(graph.tensors)
        self.kept = [Kept(t.id) for t in graph.tensors]
        self.ops: list[Op] = []
        self.readers = readers_of(graph)
        self.others: dict[int, int] = {}  # tensor -> the new one that is it, flipped the other way

    def result(self) -> Simplified:
        for op in self.graph.ops:
            for tensor in op.outputs:
                if self._is_made_flipped(op, tensor):
                    self.tensors[tensor] = flipped(self.tensors[tensor])
        for op in self.graph.ops:
            self._add(op)
        turned = {other for tensor, other in self.others.items() if tensor in self.graph.turned}
        whole = replace(self.graph, tensors=tuple(self.tensors), turned=self.graph.turned | turned)
        return Simplified(with_ops(whole, self.ops), tuple(self.kept))

    def _is_made_flipped(self, op: Op, tensor: int) -> bool:
        """Whether a tensor of the graph is flipped: not if the caller takes it."""
        return (
            op.id in self.taken
            and self.graph.tensors[tensor].dtype is DType.UINT8
            and tensor not in self.graph.outputs
            and (op.type not in EITHER or self._is_wanted_flipped(tensor))
        )

    def _is_wanted_flipped(self, tensor: int) -> bool:
        return any(
            r.id in self.taken and r.type not in EITHER for r in self.readers.get(tensor, ())
        )

    def _add(self, op: Op) -> None:
        if op.id not in self.taken:
            inputs = {t: self._as(t, flip=False) for t in op.inputs if t >= 0}
            self.ops.append(reading(op, inputs))
            return
        inputs = {}
        for tensor in _operands(op):
            either = op.type in EITHER and not self.graph.tensors[tensor].is_constant
            inputs[tensor] = self._there(tensor) if either else self._as(tensor, flip=True)
        made, after = [], []
        for tensor in op.outputs:
            is_bytes = self.graph.tensors[tensor].dtype is DType.UINT8
            if is_bytes and op.type not in EITHER and not self.tensors[tensor].flipped:
                made.append(self._other(tensor))
                after.append(Op(-1, FLIP, (made[-1],), (tensor,)))
            else:
                made.append(tensor)
        self.ops += [replace(reading(op, inputs), outputs=tuple(made)), *after]

    def _there(self, tensor: int) -> int:
        """`tensor`, flipped if it has been."""
        return tensor if self.tensors[tensor].flipped else self.others.get(tensor, tensor)

    def _as(self, tensor: int, *, flip: bool) -> int:
        """`tensor`, flipped or not."""
        of = self.tensors[tensor]
        if of.flipped == flip or self.graph.tensors[tensor].dtype is not DType.UINT8:
            return tensor
        if tensor not in self.others:
            other = self._other(tensor)
            if not of.is_constant:
                self.ops.append(Op(-1, FLIP, (tensor,), (other,)))
        return self.others[tensor]

    def _other(self, tensor: int) -> int:
        """A new tensor that is `tensor`, flipped the other way; a constant is at once."""
        of = self.tensors[tensor]
        other = replace(unflipped(of) if of.flipped else flipped(of), id=len(self.tensors))
        if of.is_constant:
            other = replace(other, buffer=next_buffer(self.tensors))
        self.tensors.append(other)
        self.kept.append(Kept(tensor))
        self.others[tensor] = other.id
        return other.id


def _conversions_as_flips(graph: Graph) -> Graph:
    """The graph with FLIPs in place of what only turns uint8 into int8, or back; else itself."""
    flips = (op for op in graph.ops if _only_flips(graph, op))
    made = {op.id: Op(op.id, FLIP, op.inputs[:1], op.outputs) for op in flips}
    return rewritten(graph, instead=made)


def _only_flips(graph: Graph, op: Op) -> bool:
    if op.type not in ("QUANTIZE", "TABLE") or not op.outputs:
        return False
    source, out = (graph.tensors[t] for t in (op.inputs[0], op.outputs[0]))
    if {source.dtype, out.dtype} != BYTES or source.elements != out.elements:
        return False
    of, stored = Operands(graph, op), np.arange(256)  # from the least value
    try:
        found = byte_table(of)
    except ModelError:
        return False
    flips = stored ^ 0x80 if source.dtype is DType.UINT8 else stored
    return found is not None and bool((found.astype(np.uint8) == flips).all())


def flips_by_readers(graph: Graph, has_kernel: HasKernel) -> Graph:
    """Without those FLIPs to int8 that all readers' kernels do; the graph itself if there are none.

    Between the two there may be other names for the same bytes, which then are uint8.
    """
    readers = readers_of(graph)
    instead: dict[int, int] = {}  # what a FLIP made -> what it read
    tensors = list(graph.tensors)
    for op in graph.ops:
        if op.type != FLIP or graph.tensors[op.inputs[0]].dtype is not DType.UINT8:
            continue
        (given,), (made,) = op.inputs, op.outputs
        names = _names(graph, readers, made, has_kernel)
        if names is not None and _are_alike(flipped(tensors[given]), tensors[made]):
            instead[made] = given
            tensors[given] = replace(tensors[given], flipped=True)
            for name in names:
                tensors[name] = flipped(graph.tensors[name])
    if not instead:
        return graph
    gone = {op.id for op in graph.ops if op.type == FLIP and op.outputs[0] in instead}
    return rewritten(graph, gone=gone, read=instead, tensors=tensors)


def _are_alike(one: Tensor, other: Tensor) -> bool:
    """Whether equal bytes are equal numbers: what converts between scales that are nearly equal only
    flips, too."""
    left, right = one.quant, other.quant
    assert left is not None
    assert right is not None
    return (left.scale, left.zero_point) == (right.scale, right.zero_point)


def _names(
    graph: Graph, readers: Mapping[int, list[Op]], tensor: int, has_kernel: HasKernel
) -> set[int] | None:
    """The other names of `tensor`, if whoever reads it, under whatever name, flips it; None if one does
    not."""
    if tensor in graph.outputs or graph.tensors[tensor].quant is None:
        return None
    found: set[int] = set()
    for op in readers.get(tensor, ()):
        if op.type in _VIEWS and tensor == op.inputs[0]:
            more = _names(graph, readers, op.outputs[0], has_kernel)
            if more is None:
                return None
            found |= {op.outputs[0], *more}
        elif op.type not in CONVOLUTIONS or not has_kernel(_with_flipped(graph, tensor), op):
            return None
    return found


def _with_flipped(graph: Graph, tensor: int) -> Graph:
    tensors = (flipped(t) if t.id == tensor else t for t in graph.tensors)
    return replace(graph, tensors=tuple(tensors))

"""Convolutions and dense layers: what their kernels hold, against what the model says of them.

Of each: every weight, where the sums start, that no sum can leave its bits, and that each sum that
there can be becomes what the reference makes of it. Which there can be follows from intervals
(passes/simplify).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op
from lowtide.ir.flipped import CONVOLUTIONS, flipped, unflipped
from lowtide.passes.simplify.bounding import Bounding
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.sums import KINDS, Sums, sums_of
from lowtide.prove.bundle_reader import Bundle, Params
from lowtide.prove.held import held
from lowtide.prove.held_params import Held, Integers, Sizes
from lowtide.prove.memory import NotProvedError
from lowtide.prove.scaling import Reference, UndefinedError, compared

_CORES = ("depthwise", "columns", "planes")
"""The params of a block's depthwise convolution, which has one of them."""
_BYTE = 128
_HALF = 1 << 23


@dataclass(frozen=True, slots=True)
class ProductsClaim:
    """What is proved of one operator as one kernel computes it.

    All sums of `channels` channels are between `least` and `greatest` at their end, and within `largest`
    on the way, in whatever order they are added, of `bits` bits; `channel` has the least head-room. Sums
    of halves of words are within `half`, which is less than 2^23 (0: there are none). At `thresholds`
    sums the kernel's output and the reference's were found to be the same, at both sides of each. Of
    `constant` channels, which have one output for all sums, the kernel has no weights: their sums are
    where it starts.
    """

    operator: int
    type: str
    kernel: str
    channels: int
    bits: int
    least: int
    greatest: int
    largest: int
    channel: int
    half: int
    thresholds: int
    constant: int

    @property
    def wraps(self) -> bool:
        """Whether sums may leave their bits on the way, and come back: arithmetic is modulo 2^bits."""
        return self.largest >= 1 << self.bits - 1


@dataclass(frozen=True, slots=True)
class Called:
    """An operator, and the kernel that computes it with its params."""

    operator: int
    kernel: str
    params: Params


def called(bundle: Bundle, kernel: str, params: Params, ops: tuple[int, ...]) -> Iterator[Called]:
    """The kernels that a node's kernel calls, by operator; itself, if it calls none."""

    def nested(name: str, of: Params = params) -> Params:
        return bundle.params(of.fields[name])

    if params.ctype == "lt_images":
        run = params.fields.get("run")
        if kernel != "lt_images_row":
            raise NotProvedError(f"it runs {kernel}, whose params are not lt_images")
        yield from called(bundle, run if isinstance(run, str) else kernel, nested("params"), ops)
    elif params.ctype == "lt_joined":
        yield Called(ops[0], "lt_concat_row", nested("join"))
        run = params.fields.get("run")
        for name in ("params", "last"):
            if params.fields.get(name) is not None and isinstance(run, str):
                yield Called(ops[-1], run, nested(name))
    elif params.ctype == "lt_joined_block":
        yield Called(ops[0], "lt_concat_row", nested("join"))
        inner = nested("params")
        does = f"{inner.ctype}_row".replace("block", "separable")
        yield from called(bundle, does, inner, ops[1:])
    elif params.ctype.startswith("lt_block"):
        names = ("expand", *_CORES, "project")
        does = "block" if params.fields.get("expand") is not None else "separable"
        if kernel != f"{params.ctype}_row".replace("block", does):
            raise NotProvedError(f"it runs {kernel}, whose params are not these of {params.ctype}")
        parts = [name for name in names if params.fields.get(name) is not None]
        if len(parts) != len(ops):
            raise NotProvedError(f"a block calls {len(parts)} kernels for {len(ops)} operators")
        for op, part in zip(ops, parts, strict=True):
            inner = nested(part)
            core = params.fields.get("core") if part in _CORES else None
            plain = isinstance(core, str) and core.endswith("_plain")
            yield Called(op, f"{inner.ctype}_{'plain' if plain else 'row'}", inner)
    elif len(ops) == 1:
        yield Called(ops[0], kernel, params)


def semantic(graph: Graph) -> Graph:
    """The graph with each tensor of the type that the file's operators compute with."""
    flips = any(tensor.flipped for tensor in graph.tensors)
    if not flips:
        return graph
    return replace(graph, tensors=tuple(unflipped(t) if t.flipped else t for t in graph.tensors))


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The operators of products of `stored`, a graph whose bytes may be flipped; `graph` is `semantic`
    of it, and `known` what its tensors can be."""

    stored: Graph
    graph: Graph
    known: Mapping[int, Interval]
    bundle: Bundle

    def claim(self, call: Called) -> ProductsClaim | None:
        """What is proved of one call; None of what is no known kernel of products.

        Raises NotProvedError where the params are not those of the operator.
        """
        op = self.graph.ops[call.operator]
        if op.type not in KINDS:
            return None
        at = 2 if op.type == "TRANSPOSE_CONV" else 0
        try:
            operands = Bounding(self._of_file(op, at), op, self.known)
            sums = sums_of(operands)
            source = None if sums is None else self._source(operands, at)
        except ModelError as error:
            raise NotProvedError(f"it has no sums: {error.cause}") from None
        if sums is None or source is None or len(sums.roundings) != 1:
            return None
        return self._held(call, op, *self._as_computed(operands, sums, source))

    def _of_file(self, op: Op, at: int) -> Graph:
        """The graph in which what `op` reads, at position `at`, and makes has the type of its weights: a
        tensor of bytes may be read as either type."""
        kind, tensors = self.graph.tensors[op.inputs[1]].dtype, list(self.graph.tensors)
        for t in (op.inputs[at], op.outputs[0]):
            if self.stored.tensors[t].flipped and tensors[t].dtype is not kind:
                tensors[t] = flipped(tensors[t])
        return replace(self.graph, tensors=tuple(tensors))

    def _source(self, operands: Bounding, at: int) -> Interval:
        """What an operator's source can be, of the type that it has there."""
        found = operands.source(at)
        tensor = operands.input(at)
        known = self.graph.tensors[tensor.id].dtype
        by = 0 if tensor.dtype is known else _BYTE if tensor.dtype is DType.UINT8 else -_BYTE
        return Interval(found.low + by, found.high + by)

    def _as_computed(
        self, operands: Bounding, sums: Sums, source: Interval
    ) -> tuple[Sums, Interval, DType]:
        """With bytes of uint8 as the kernels of convolutions have them: 128 less. And of which type."""
        op, kind = operands.op, operands.input(sums.source).dtype
        by = _BYTE if kind is DType.UINT8 and op.type in CONVOLUTIONS else 0
        if op.type == "FULLY_CONNECTED":
            source = source.viewed(sums.reads)
        low, high = sums.clamp
        shifted = replace(
            sums,
            zero=sums.zero - by,
            output_zero=sums.output_zero - by,
            clamp=(low - by, high - by),
        )
        computed = DType.INT8 if by else kind
        return shifted, Interval(source.low - by, source.high - by), computed

    def _check_flips(self, op: Op, sums: Sums, params: Params, computed: DType) -> None:
        ends = (op.inputs[sums.source], ("flip", "in_flip")), (op.outputs[0], ("out_flip",))
        for tensor, names in ends:
            stored = self.stored.tensors[tensor].dtype
            wanted = 0 if stored is computed else 0x80
            found = next((params.fields[n] for n in names if n in params.fields), 0)
            if found != wanted:
                raise NotProvedError(f"it flips bytes by {found}, and should by {wanted}")

    def _held(
        self, call: Called, op: Op, sums: Sums, source: Interval, computed: DType
    ) -> ProductsClaim | None:
        outputs, _, depth = sums.weights.shape
        window = op.window
        height, width = (1, 1)
        if window is not None and op.type != "FULLY_CONNECTED":
            height, width = window.rows.kernel, window.columns.kernel
        sizes = Sizes(outputs, height, width, depth, sums.groups)
        params, kernel, left = call.params, call.kernel, np.arange(outputs)
        parts = []
        if params.ctype == "lt_w9_s8":
            anew = held(self.bundle, params, kernel, sizes)
            assert anew is not None
            self._check_params(op, sums, params, computed)
            parts.append((anew, np.arange(len(anew.channels))))
            left = np.setdiff1d(left, anew.channels)
            kernel, params = str(params.fields["run"]), self.bundle.params(params.fields["params"])
        for found, of in self._apart(params, kernel, sizes):
            if found is None:
                return None
            self._check_params(op, sums, of, computed)
            parts.append((found, np.flatnonzero(np.isin(found.channels, left))))
        made = np.concatenate([part.channels[rows] for part, rows in parts])
        if not np.array_equal(np.unique(made), np.arange(outputs)):
            raise NotProvedError("it does not make every channel")
        claims = [_part(call, op, sums, source, part, rows) for part, rows in parts]
        return _joined([claim for claim in claims if claim is not None])

    def _apart(
        self, params: Params, kernel: str, sizes: Sizes
    ) -> Iterator[tuple[Held | None, Params]]:
        """What is held by a kernel, or by each of those that lt_depthwise_each calls, and its params."""
        if params.ctype != "lt_depthwise_each_s8":
            yield held(self.bundle, params, kernel, sizes), params
            return
        if kernel != f"{params.ctype}_row" or sizes.groups < 1 or sizes.channels % sizes.groups:
            raise NotProvedError(f"it runs {kernel}, whose params are not {params.ctype}")
        filters = sizes.channels // sizes.groups
        one = replace(sizes, channels=sizes.groups)
        for first in range(filters):
            wanted = {"channels": sizes.groups, "filters": filters}
            if any(params.fields.get(name) != value for name, value in wanted.items()):
                raise NotProvedError(f"it is not of {sizes.groups} times {filters} channels")
            run, inner = params.fields.get("run"), self.bundle.params(params.fields["params"])
            found = held(self.bundle, inner, str(run), one)
            if found is not None:
                found = replace(found, channels=found.channels * filters + first)
            yield found, inner
            after = params.fields.get("next")
            if (after is None) != (first == filters - 1):
                raise NotProvedError(f"it calls other than {filters} kernels")
            if after is not None:
                params = self.bundle.params(after)
                if params.ctype != "lt_depthwise_each_s8":
                    raise NotProvedError(f"what follows are params of {params.ctype}")

    def _check_params(self, op: Op, sums: Sums, params: Params, computed: DType) -> None:
        self._check_flips(op, sums, params, computed)
        zero = params.fields.get("input_zero", sums.zero if sums.whole_windows else 0)
        if zero != sums.zero:
            raise NotProvedError(f"its input_zero is {zero}, and should be {sums.zero}")
        if "groups" in params.fields and params.fields["groups"] != sums.groups:
            raise NotProvedError(f"its groups are {params.fields['groups']}, not {sums.groups}")


def _part(
    call: Called, op: Op, sums: Sums, source: Interval, part: Held, rows: Integers
) -> ProductsClaim | None:
    """The claim of some rows of what a kernel holds; None if there are none."""
    if not len(rows):
        return None
    channels, within = part.channels[rows], sums.accumulated(source)
    low, high = within.low[channels], within.high[channels]
    scaling = part.scaling.taken(rows)
    wanted = sums.weights.reshape(len(sums.weights), -1).astype(np.int64)[channels]
    weights, stored = part.weights[rows], part.start[rows]
    start = sums.bias[channels] - (0 if part.subtracts else sums.zero * wanted.sum(axis=1))
    bits = np.broadcast_to(part.bits, len(part.start))[rows]
    apart = (stored - start) & np.where(bits == 64, -1, (1 << bits % 64) - 1)
    differs = (weights != wanted).any(axis=1) | (apart != 0)
    constant = differs & ~weights.any(axis=1)
    if (differs & ~constant).any():
        at = int(channels[np.flatnonzero(differs & ~constant)[0]])
        raise NotProvedError(f"the weights or the bias of channel {at} are not the model's")

    def reference(those: Integers) -> Reference:
        ends = sums.output_zero, *sums.clamp
        return Reference(sums.roundings[0], channels[those], len(sums.weights), *ends)

    still, rest = np.flatnonzero(constant), np.flatnonzero(~constant)
    for end in (low, high):
        made, fine = scaling.taken(still)(stored[still][None])
        need, also = reference(still)(end[still][None])
        if not also.all():
            raise UndefinedError("scaling the sum of a channel without weights leaves 32 bits")
        if not fine.all() or (made != need).any():
            raise NotProvedError("a channel without weights does not make what it should")
    first = rest[np.unique(channels[rest], return_index=True)[1]]
    thresholds = compared(scaling.taken(first), reference(first), low[first], high[first])
    again = np.setdiff1d(rest, first)
    compared(scaling.taken(again), reference(again), low[again], high[again])
    products = _magnitudes(sums, source, part, wanted, channels)
    # The kernel has no weights of constant channels: their sums are where they start.
    largest = np.where(constant, np.abs(stored), products + np.abs(start))
    begins = np.abs(start) if part.starts_there else 0
    worst = int(largest.argmax())
    return ProductsClaim(
        operator=op.id,
        type=op.type,
        kernel=call.kernel,
        channels=len(np.unique(channels)),
        bits=64 if (bits == 64).all() else 32,
        least=int(np.where(constant, stored, low).min()),
        greatest=int(np.where(constant, stored, high).max()),
        largest=int(largest[worst]),
        channel=int(channels[worst]),
        half=_half(part, channels, np.where(constant, 0, products + begins)),
        thresholds=thresholds,
        constant=len(still),
    )


def _magnitudes(
    sums: Sums, source: Interval, part: Held, wanted: Integers, channels: Integers
) -> Integers:
    """By row, what the products that are added come to at most, on the way, in whatever order."""
    zero = sums.zero if part.subtracts else 0
    most = np.maximum(np.abs(source.low - zero), np.abs(source.high - zero))
    if not sums.whole_windows:  # a kernel that does not subtract the zero point reads it as padding
        most = np.maximum(most, abs(sums.zero - zero))
    most = most.reshape(sums.groups, 1, -1)[channels // (len(sums.weights) // sums.groups)]
    found: Integers = (np.abs(wanted).reshape(len(wanted), -1, most.shape[2]) * most).sum(
        axis=(1, 2)
    )
    return found


def _half(part: Held, channels: Integers, largest: Integers) -> int:
    """The largest sum of half a word. Raises NotProvedError if it may leave it."""
    there = np.zeros(0, np.bool_) if part.halves is None else np.isin(channels, part.halves)
    most = int(largest[there].max(initial=0)) if len(there) else 0
    if most >= _HALF:
        raise NotProvedError(f"a sum of half a word may be {most}")
    return most


def _joined(claims: list[ProductsClaim]) -> ProductsClaim:
    """The claim of all channels of an operator."""
    worst = max(claims, key=lambda claim: claim.largest)
    return replace(
        worst,
        channels=sum(claim.channels for claim in claims),
        least=min(claim.least for claim in claims),
        greatest=max(claim.greatest for claim in claims),
        half=max(claim.half for claim in claims),
        thresholds=sum(claim.thresholds for claim in claims),
        constant=sum(claim.constant for claim in claims),
    )

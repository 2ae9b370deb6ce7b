"""Functions of one byte, or of two: what their kernels hold, at all 256 or 65,536 inputs.

Why exhaustively: there are so few, and no argument is needed. The formulas are those of lt_lut.h,
lt_binary.h and lt_add_narrow.h; what they should give is `ir.elementwise`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowtide.errors import ModelError
from lowtide.ir import DType, Graph, Op, additions
from lowtide.ir.elementwise import byte_table, elementwise
from lowtide.ir.flipped import as_computed
from lowtide.ir.operands import Operands, type_range
from lowtide.prove.bundle_reader import Bundle, Params
from lowtide.prove.memory import NotProvedError
from lowtide.prove.products import Called
from lowtide.prove.scaling import Integers, Scaled, Scaling

_KERNELS = {
    ("lt_lut", DType.INT8): {"lt_lut_8_row"},
    ("lt_lut", DType.UINT8): {"lt_lut_8_row"},
    ("lt_addition", DType.INT8): {"lt_add_s8_row", "lt_add_s8_pair"},
    ("lt_addition", DType.UINT8): {"lt_add_u8_row", "lt_add_u8_pair"},
    ("lt_add_narrow_s8", DType.INT8): {"lt_add_narrow_s8_row"},
    ("lt_mul", DType.INT8): {"lt_mul_s8_pair"},
    ("lt_mul", DType.UINT8): {"lt_mul_u8_pair"},
}
"""By params and what is made: the kernels that are known here."""


@dataclass(frozen=True, slots=True)
class ElementsClaim:
    """An operator's results were compared for all `inputs` inputs that there are."""

    operator: int
    type: str
    kernel: str
    inputs: int


def elements_claim(graph: Graph, bundle: Bundle, call: Called) -> ElementsClaim | None:
    """What is proved of a call; None of what is no function of bytes, or no known kernel of one.

    Raises NotProvedError where an input gives another result.
    """
    op = graph.ops[call.operator]
    known = None
    for tensor in op.outputs[:1]:
        known = _KERNELS.get((call.params.ctype, graph.tensors[tensor].dtype))
    if known is None:
        return None
    if call.kernel not in known:
        raise NotProvedError(f"it runs {call.kernel}, whose params are not {call.params.ctype}")
    try:
        return (_table if call.params.ctype == "lt_lut" else _pairs)(graph, op, bundle, call)
    except ModelError as error:
        raise NotProvedError(f"nothing is known of what it computes: {error.cause}") from None


def _table(graph: Graph, op: Op, bundle: Bundle, call: Called) -> ElementsClaim | None:
    own = as_computed(graph, op)
    wanted = byte_table(Operands(own, op))
    if wanted is None:
        return None
    ends = op.inputs[0], op.outputs[0]
    read, made = (0x80 if own.tensors[t].dtype is not graph.tensors[t].dtype else 0 for t in ends)
    least, _ = type_range(own.tensors[ends[0]].dtype)
    stored = np.zeros(256, np.int64)
    stored[(np.arange(256) + least & 0xFF) ^ read] = (wanted & 0xFF) ^ made
    found = bundle.array(call.params.fields.get("table"))
    if not np.array_equal(found, stored):
        raise NotProvedError("its table is not that of its function")
    return ElementsClaim(op.id, op.type, call.kernel, 256)


def _pairs(graph: Graph, op: Op, _: Bundle, call: Called) -> ElementsClaim | None:
    operands = Operands(graph, op)
    kinds = [type_range(operands.input(i).dtype) for i in (0, 1)]
    x, y = np.meshgrid(*(np.arange(low, high + 1) for low, high in kinds), indexing="ij")
    wanted = elementwise(operands)
    results, fine = wanted.function(x.reshape(-1), y.reshape(-1))
    results = np.clip(results, *wanted.clamp)
    a, b = x.reshape(-1), y.reshape(-1)
    if op.type in ("ADD", "SUB") and additions.factors(operands).first == 1:
        a, b = b, a
    made, also = _added(call.params, a, b) if op.type != "MUL" else _multiplied(call.params, a, b)
    wrong = np.flatnonzero((made != results) | ~(fine & also))
    if len(wrong):
        at = int(wrong[0])
        raise NotProvedError(
            f"of {a[at]} and {b[at]} it makes {made[at]}, and should make {results[at]}"
        )
    return ElementsClaim(op.id, op.type, call.kernel, len(made))


def _number(params: Params, name: str) -> int:
    found = params.fields.get(name)
    if not isinstance(found, int):
        raise NotProvedError(f"its params have no number {name}")
    return found


def _added(params: Params, a: Integers, b: Integers) -> Scaled:
    """Sums as lt_binary.h and lt_add_narrow.h have them, of bytes, and where they fit 32 bits."""

    def of(name: str) -> int:
        return _number(params, name)

    narrow = params.ctype == "lt_add_narrow_s8"
    shifted = (b << 21) + of("b_start")
    right = of("b_shift")
    if not 1 <= right <= 31 or (narrow and of("b_half") != 1 << right - 1):
        raise NotProvedError("its b_shift is beyond what its kernel takes")
    high = (shifted * of("b_multiplier") + (1 << 31)) >> 32
    share = (np.abs(high) + (1 << right - 1) >> right) * np.sign(high)
    twice = of("start") + a * (1 << 20 if narrow else of("a_factor"))
    twice = twice + share * (2 if narrow else of("b_factor"))
    fine = (np.abs(twice) < 1 << 31) & (np.abs(shifted) < 1 << 31)
    shift, low, high_end = of("shift"), of("low"), of("high")
    if narrow:
        zero = (of("centre") >> shift) // 2
        if (2 * zero + 1) << shift != of("centre"):
            raise NotProvedError("its centre is not that of its shift")
        total = ((twice * of("multiplier") + (1 << 31)) >> 32) + of("centre") + (twice >> 63)
        return np.clip(total >> shift >> 1, low, high_end), fine & (np.abs(total) < 1 << 31)
    if not 1 <= shift <= 31:
        raise NotProvedError("its shift is beyond what its kernel takes")
    total = (twice * of("multiplier") + (1 << 31)) >> 32
    made = (np.abs(total) + (1 << shift - 1) >> shift) * np.sign(total) + of("output_zero")
    return np.clip(made, low, high_end), fine


def _multiplied(params: Params, a: Integers, b: Integers) -> Scaled:
    """Products as lt_binary.h has them."""
    scaling = Scaling(
        "scale",
        np.array([_number(params, "multiplier")]),
        np.array([_number(params, "shift")]),
        *(_number(params, name) for name in ("output_zero", "low", "high")),
    )
    scaling.check()
    product = (a - _number(params, "a_zero")) * (b - _number(params, "b_zero"))
    return scaling(product)

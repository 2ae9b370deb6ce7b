"""The families of operators that are drawn, by name: a new one is a line here."""

from __future__ import annotations

from collections.abc import Callable

from .decided import decided
from .drawing import Case, Draw
from .moves import cast, choose, join, move, part, scaled_join, total
from .pairs import addition, comparison, extreme, product
from .products import block, conv, dense, depthwise
from .reductions import place, pool, reduction
from .seldom import seldom
from .sequences import lstm, sigmoid_16, svdf
from .sums import batch_matmul, normalise, resize, transpose_conv
from .unary import dequantize, logistic, quantize, rectify, softmax

Family = Callable[[Draw], Case]
FAMILIES: dict[str, Family] = {
    "conv": conv,
    "depthwise": depthwise,
    "dense": dense,
    "block": block,
    "addition": addition,
    "product": product,
    "extreme": extreme,
    "comparison": comparison,
    "pool": pool,
    "reduction": reduction,
    "place": place,
    "quantize": quantize,
    "dequantize": dequantize,
    "rectify": rectify,
    "logistic": logistic,
    "softmax": softmax,
    "sigmoid_16": sigmoid_16,
    "lstm": lstm,
    "svdf": svdf,
    "transpose_conv": transpose_conv,
    "batch_matmul": batch_matmul,
    "normalise": normalise,
    "resize": resize,
    "join": join,
    "scaled_join": scaled_join,
    "part": part,
    "move": move,
    "choose": choose,
    "cast": cast,
    "total": total,
    "seldom": seldom,
    "decided": decided,
}

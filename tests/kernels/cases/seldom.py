"""What the other families draw once in many thousands, or never: a line of ROWS for each.

Why a table: some lines of the kernels run for one kind of layer in a thousand alone, as for factors that
are shifted left, or windows of hundreds of taps. A row is a family, or sizes of a convolution, with what
is not left to chance (`Draw.wishes`): all else is drawn as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arithmetic import TYPES
from .convolutions import BOTH, DILATED, ONE, SMALL, Convolutions
from .drawing import Array, Case, Draw
from .moves import blocks, gather, mirror, move, pad, transpose
from .pairs import addition, comparison, extreme, product
from .products import block
from .reductions import POOLS, pool, reduction
from .sequences import lstm, svdf
from .sums import batch_matmul, normalise, transpose_conv
from .unary import quantize

_BYTES = ("INT8", "UINT8")


def _divisors(shape: tuple[int, ...], dtype: str, zero: int) -> Array:
    """Constants that divide integers."""
    if dtype != "INT32":
        return np.full(shape, zero, TYPES[dtype])
    return np.resize(np.array([-1, 3, -7, 1], TYPES[dtype]), shape)


def _far(*rows: tuple[Any, Mapping[str, Any]]) -> tuple[tuple[Any, Mapping[str, Any]], ...]:
    """The rows, and the same with windows beside each other that lie in padding alone."""
    return *rows, *((make, {**wishes, "far": 9}) for make, wishes in rows)


_LARGE = ((5, 5), (4, 4), (7, 3), (3, 5), (7, 7), (5, 1), (1, 7), (6, 2))
_WIDE = ((5, 5), (7, 7), (6, 7), (4, 9), (9, 4), (4, 5))
_TALL = ((13, 5), (14, 5), (10, 7), (11, 7), (22, 3), (33, 2))
_SHAPES = (
    *(((3, 4, 5), (3, 4, 1)), ((3, 4, 1), (3, 4, 5)), ((2, 6), (2, 1)), ((2, 1), (2, 6))),
    *(((3, 5), (5,)), ((5,), (3, 5)), ((2, 3, 1), (2, 1, 4)), ((2, 3, 9), (1, 1, 1))),
    *(((1, 1, 1), (2, 3, 9)), ((4, 7), (4, 7))),
)
_PAIRS: tuple[tuple[Any, Mapping[str, Any]], ...] = tuple(
    (make, {"dtype": dtype, "shapes": shapes})
    for make in (addition, product)
    for dtype in ("INT8", "UINT8", "INT16")
    for shapes in _SHAPES
)
_COMPARED: tuple[tuple[Any, Mapping[str, Any]], ...] = tuple(
    (comparison, {"dtype": dtype, "shapes": shapes})
    for dtype in ("INT8", "UINT8", "INT32", "INT64", "BOOL")
    for shapes in (((1, 2, 3, 4), (1, 2, 3, 1)), ((1, 2, 3, 1), (1, 2, 1, 4)))
)
_SIXES = (addition, product)

_ACROSS: Mapping[str, Any] = {"shape": (1, 2, 150, 5), "size": (2, 150)}
"""Windows of more columns than are added up in halves at a time."""
ROWS: tuple[tuple[Callable[[Draw], Case], Mapping[str, Any]], ...] = (
    # Small depthwise windows, and large ones; few channels.
    *_far(
        (Convolutions(_BYTES, SMALL, range(1, 14), (1,), depthwise=True), {}),
        (Convolutions(_BYTES, SMALL, range(1, 14), (1,), depthwise=True), {"factor": "broad"}),
        (Convolutions(_BYTES, SMALL, range(1, 14), (1,), depthwise=True), {"six": True}),
        (Convolutions(_BYTES, _LARGE, range(1, 22), (1,), depthwise=True), {}),
        (
            Convolutions(
                *(("INT8",), _LARGE, range(1, 22), (1,)),
                dilations=DILATED,
                most=(4, 20),
                depthwise=True,
            ),
            {},
        ),
        (
            Convolutions(
                *(("INT8",), _LARGE, range(4, 22), (1,)), dilations=DILATED, depthwise=True
            ),
            {"factor": "broad"},
        ),
        (Convolutions(("INT8",), _LARGE, range(4, 22), (1,), depthwise=True), {"six": True}),
        (Convolutions(("UINT8",), SMALL, range(1, 5), (1, 2), depthwise=True), {}),
        # Windows of more taps than a vector has, of many pixels; of more than planes have.
        *(
            (Convolutions(("INT8",), _WIDE, range(1, 10), (1,), most=(3, 40), depthwise=True), of)
            for of in ({}, {"factor": "broad"}, {"six": True})
        ),
        *(
            (Convolutions(("INT8",), _TALL, range(4, 18), (1,), most=(12, 9), depthwise=True), of)
            for of in ({}, {"factor": "broad"})
        ),
        *(
            (Convolutions(_BYTES, _LARGE, (1, 2, 3), (1,), depthwise=True), of)
            for of in ({}, {"factor": "broad"}, {"six": True})
        ),
        *(
            (Convolutions(("INT8",), ((5, 1), (3, 1)), range(4, 14), (1,), depthwise=True), of)
            for of in ({}, {"factor": "broad"})
        ),
        # Windows that are made two at once, in rows of padding, and others like them.
        (
            Convolutions(
                *(("INT8",), ((5, 5), (7, 7), (3, 5), (3, 7)), (12, 15, 18, 20, 24), (1,)),
                *(((1, 1), (2, 2)), ((1, 1),), (4, 24)),
                depthwise=True,
            ),
            {"factor": "usual"},
        ),
        *(
            (
                Convolutions(
                    *(("INT8",), ((3, 3), (3, 5), (3, 7), (5, 5), (5, 7)), channels, (1,)),
                    *(((1, 1), (3, 3)), ((1, 1), (1, 2)), (13, 8)),
                    depthwise=True,
                ),
                {"factor": "usual"},
            )
            for channels in ((12, 24), (14, 17))
        ),
        (
            Convolutions(
                *(("INT8",), ((10, 7), (13, 5)), (12, 14, 17, 24), (1,)),
                *(((1, 1), (3, 3)), (BOTH,), (13, 8)),
                depthwise=True,
            ),
            {"factor": "usual"},
        ),
        # Narrow maps, beside which whole pieces of a row lie in padding.
        *(
            (Convolutions(("INT8",), kernels, range(4, 14), (1,), most=(4, 2), depthwise=True), of)
            for kernels in (SMALL, _LARGE, ((5, 1), (3, 1)))
            for of in ({}, {"factor": "broad"})
        ),
        (Convolutions(("UINT8",), SMALL, (1, 2, 4, 8), (1, 2, 4, 5), most=(4, 2)), {}),
        (
            Convolutions(
                *(("INT8",), ((7, 7), (5, 5), (5, 1), (6, 3)), range(4, 14), (1,), (BOTH,)),
                *(((1, 2), (1, 3)), (4, 30)),
                depthwise=True,
            ),
            {"factor": "broad"},
        ),
        (
            Convolutions(
                *(("INT8",), ((5, 1), (3, 1)), (4, 5, 8, 11), (1,), ((1, 4), (1, 7))),
                most=(4, 2),
                depthwise=True,
            ),
            {"factor": "usual"},
        ),
        # Filters for each channel, of any factors.
        (
            Convolutions(_BYTES, SMALL, (1, 1, 2, 3), (1, 2, 3), depthwise=True),
            {"factor": "least"},
        ),
        (Convolutions(_BYTES, SMALL, range(1, 6), (2, 3, 17, 20), depthwise=True), {}),
        # Weights of nine bits.
        (Convolutions(("UINT8",), SMALL, range(1, 10), range(1, 6)), {}),
        (Convolutions(("UINT8",), SMALL, (1, 2, 4, 8, 12), (1, 2, 4)), {"six": True}),
        *(
            (
                Convolutions(("UINT8",), (*ONE, *SMALL), range(1, 14), (1, 2), dilations=DILATED),
                of,
            )
            for of in ({}, {"six": True})
        ),
        (Convolutions(("UINT8",), ((3, 1), (2, 1)), range(1, 9), (1, 2), dilations=((1, 2),)), {}),
        (Convolutions(("UINT8",), ((3, 3),), range(1, 5), (1, 2), depthwise=True), {"six": True}),
        (Convolutions(("UINT8",), SMALL, (1, 3, 5), range(1, 6)), {"factor": "least"}),
        (Convolutions(("INT8",), ((3, 3),), (2, 3, 5), range(1, 5), most=(2, 3)), {}),
        # Convolutions in runs of pixels, with padding and without.
        *(
            (Convolutions(("INT8",), SMALL, range(1, 9), range(1, 9), dilations=DILATED), of)
            for of in ({}, {"factor": "broad"})
        ),
        (
            Convolutions(
                *(("INT8",), SMALL, (4, 8), range(1, 9)),
                dilations=((1, 2), (2, 3)),
            ),
            {"values": "least"},
        ),
        (
            Convolutions(("INT8",), SMALL, (4, 8), range(1, 5), dilations=((1, 2), (2, 3))),
            {"factor": "tiny"},
        ),
        (Convolutions(("INT16",), SMALL, range(1, 9), range(1, 9), dilations=DILATED), {}),
    ),
    # Columns that are far apart; planes that are.
    (
        Convolutions(
            ("INT8",), ((1, 2), (2, 2)), (7, 8), (1, 4), dilations=((1, 40),), most=(3, 60)
        ),
        {},
    ),
    (Convolutions(("INT8",), ((3, 3),), (90, 100), (1,), most=(3, 12), depthwise=True), {}),
    *(
        (Convolutions(("INT8",), (kernel,), range(1, 7), (1,), most=(3, 40), depthwise=True), of)
        for kernel in ((7, 7), (6, 7), (4, 5))
        for of in ({"factor": "broad"}, {})
    ),
    # Many products of many channels.
    *(
        (Convolutions(("INT8",), (*ONE, *SMALL), (17, 33, 40, 64), range(1, 20), most=(3, 6)), of)
        for of in ({}, {"factor": "broad"})
    ),
    # Single pixels of many channels; three pixels at once.
    *(
        (Convolutions(("INT8",), ONE, (16, 20, 32, 48), range(1, 13), (BOTH,), most=(2, 11)), of)
        for of in ({"factor": "usual"}, *({"factor": "usual", "six": True},) * 3)
    ),
    (Convolutions(("INT8",), SMALL, range(1, 9), range(1, 6)), {"factor": "broad", "six": True}),
    (Convolutions(("INT8",), ONE, range(16, 49, 4), range(1, 4), most=(2, 11)), {}),
    (Convolutions(("INT8",), ONE, range(16, 49, 4), range(1, 13), most=(2, 11)), {}),
    (Convolutions(("INT8",), ONE, range(16, 49, 4), range(1, 13), most=(2, 11)), {"six": True}),
    (Convolutions(_BYTES, ONE, range(1, 9), range(1, 13), most=(2, 11)), {"factor": "broad"}),
    (Convolutions(("INT8",), SMALL, range(1, 5), range(1, 13)), {"factor": "broad"}),
    (Convolutions(_BYTES, SMALL, range(1, 9), range(1, 6)), {"factor": "least"}),
    (Convolutions(("INT8",), SMALL, range(1, 9), range(1, 6)), {"six": True}),
    # int16 whose columns are apart, of few channels and of many.
    *(
        (
            Convolutions(
                *(("INT16",), ((3, 3), (1, 2), (2, 1)), channels, range(1, 6)),
                dilations=((1, 2), (2, 3)),
            ),
            {"narrow": narrow, "bias": "usual"},
        )
        for channels in (range(1, 4), (11, 12, 20, 30))
        for narrow in (True, False)
    ),
    (
        Convolutions(
            *(("INT16",), SMALL, (2, 4, 8), (2, 4, 6)), dilations=DILATED, groups=2, most=(3, 9)
        ),
        {},
    ),
    (
        Convolutions(
            *(("INT16",), SMALL, (3, 9), (3, 6)), dilations=DILATED, groups=3, most=(3, 9)
        ),
        {"factor": "least"},
    ),
    # int16: in groups, of more products than fit 32 bits, in windows of hundreds of taps.
    *(
        (Convolutions(("INT16",), kernels, depths, filters, groups=groups, most=(2, 3)), wishes)
        for kernels, depths, filters, groups in (
            (ONE, (600, 1040), (2, 4), 2),
            (ONE, (512, 600, 1030), range(1, 7), 1),
            (((1, 3), (3, 3)), (180, 250), range(1, 5), 1),
            (SMALL, (2, 4, 8), (2, 4, 6), 2),
        )
        for wishes in (
            {"narrow": True, "bias": "usual"},
            {"narrow": True, "bias": "usual", "factor": "broad"},
            {"narrow": False, "bias": "usual"},
            {"narrow": False, "factor": "greatest"},
            {"narrow": False, "factor": "least"},
        )
    ),
    *(
        (Convolutions(("INT16",), ((23, 23),), channels, filters, depthwise=True), wishes)
        for channels, filters in (((1, 2, 3, 4, 5), (1,)), ((1, 2), (2, 3)))
        for wishes in ({}, {"factor": "greatest"}, {"factor": "least"}, {"bias": "most"})
    ),
    *(
        (Convolutions(("INT16",), SMALL, range(1, 9), (1, 1, 2), depthwise=True), wishes)
        for wishes in (
            *({"factor": "greatest"}, {"factor": "greatest", "bias": "most"}),
            *({"factor": "least"}, {"factor": "broad"}),
        )
    ),
    *(
        (transpose_conv, {"dtype": dtype, **wishes})
        for dtype in ("INT8", "INT16")
        for wishes in (
            {"factor": "broad"},
            {"factor": "greatest"},
            {"factor": "least"},
            {"channels": 514},
            {"channels": 505},
            {"less": 2},
        )
    ),
    # Blocks of other windows, in padding alone, and with results where their operands are.
    *((block, {"kernel": kernel}) for kernel in ((5, 5), (7, 7), (2, 5), (3, 7), (1, 2), (4, 1))),
    *((block, {"parts": parts, "far": 9}) for parts in ((True, True), (True, False))),
    *(
        (block, {"parts": parts, "inner": inner, "outer": inner + 5, "factor": "usual"})
        for parts in ((True, True), (True, True), (False, True))
        for inner in (4, 8, 16)
    ),
    # Operands that are spread, each in every type; factors of 1 and more; the greatest value alone.
    *_PAIRS,
    *_COMPARED,
    *(
        (extreme, {"kind": kind, "dtype": "INT64", "shapes": ((1, 2, 3, 4), (1, 2, 3, 1))})
        for kind in ("MINIMUM", "MAXIMUM")
    ),
    *(
        (product, {"dtype": dtype, "scales": scales})
        for dtype in ("INT8", "UINT8", "INT16")
        for scales in ((1.0, 1.0, 1e-5), (0.9, 0.8, 0.01), (0.5, 0.5, 0.05))
    ),
    *(
        (make, {"dtype": dtype, "scales": (0.05, 0.04, 0.06), "activation": 3, "zero": "least"})
        for make in _SIXES
        for dtype in ("INT8", "UINT8")
    ),
    *(
        (extreme, {"kind": kind, "fixed": (False, True), "constant": _divisors, **of})
        for kind in ("DIV", "FLOOR_DIV", "FLOOR_MOD")
        for of in ({}, {"activation": 1}, {"activation": 3})
    ),
    # Pieces of a row that differ from step to step.
    *((move, {"move": how}) for how in (blocks, blocks, mirror, pad)),
    (move, {"move": gather, "shape": (1, 3, 4, 5)}),
    *((move, {"move": blocks, "shape": shape}) for shape in ((6, 4, 5, 8), (4, 2, 6, 4))),
    *(
        (move, {"move": transpose, "shape": shape})
        for shape in ((3, 4, 5), (2, 3, 4, 5), (5, 1, 3, 2), (1, 6, 4, 3))
    ),
    # Factors that are shifted left.
    *(
        (quantize, {"types": (source, target), "scales": scales, **of})
        for source, of in (
            ("UINT8", {}),
            ("INT8", {}),
            ("INT16", {}),
            ("INT32", {"values": "near"}),
        )
        for target in ("INT8", "UINT8", "INT16", "INT32")
        for scales in ((0.5, 0.01), (1.0, 1.0), (1.0, 0.001))
    ),
    *(
        (reduction, {"kind": kind, "dtype": dtype, "ratio": ratio})
        for kind in ("SUM", "MEAN")
        for dtype in ("INT8", "UINT8", "INT16")
        for ratio in (0.3, 0.05)
    ),
    *((svdf, {"more": more}) for more in (1000.0, 20000.0)),
    *((lstm, {"dtype": dtype, "hidden": 2.0**-32, "cell": -32}) for dtype in ("INT8", "INT16")),
    (batch_matmul, {}),
    # Rows of many values; windows of many pixels.
    (normalise, {"shape": (1, 9000), "values": "most", "zero": "least"}),
    *(
        (pool, {"shape": (1, 1, 4100, 3), "size": (1, 4096), "kind": POOLS[0], "dtype": dtype})
        for dtype in _BYTES
    ),
    *((pool, {"kind": kind, "dtype": dtype}) for kind in POOLS for dtype in ("UINT8", "INT16")),
    *(
        (
            pool,
            {
                "kind": kind,
                "dtype": dtype,
                "values": values,
                "activation": activation,
                **(_ACROSS if (kind, values) == (POOLS[0], "zero") else {}),
            },
        )
        for kind in POOLS
        for dtype in ("INT8", "UINT8", "INT16")
        for values, activation in (("all", 2), ("all", 3), ("zero", 0), ("least", 0))
    ),
)


def seldom(draw: Draw) -> Case:
    """One of the rows."""
    make, wishes = draw.one(*ROWS)
    draw.wishes = dict(wishes)
    return make(draw)

"""Small operators that make a kernel decide something one way or the other: a line of ROWS for each.

Why besides seldom.py: on boards, what is decided by single instructions is looked at an instruction at a
time, in few cases. So these are small, and what they are about comes up in most of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .convolutions import BOTH, DILATED, ONE, SMALL, Convolutions
from .drawing import Case, Draw
from .moves import gather, move
from .pairs import extreme
from .products import block
from .reductions import POOLS, place, pool, reduction
from .sequences import lstm
from .sums import normalise, transpose_conv
from .unary import dequantize, quantize

_INTEGERS = ("INT8", "UINT8", "INT16", "INT32")
_FACTORS: tuple[Mapping[str, Any], ...] = (
    *({"factor": factor} for factor in ("usual", "broad")),
    *({"factor": factor, "six": True} for factor in ("usual", "broad")),
)
_FAR: tuple[Mapping[str, Any], ...] = tuple(
    {"factor": factor, "far": 9} for factor in ("usual", "broad")
)
_CLAMPED: tuple[Mapping[str, Any], ...] = tuple(
    {"activation": activation} for activation in (0, 1, 2, 3)
)
ROWS: tuple[tuple[Any, Mapping[str, Any]], ...] = (
    # Single pixels, pairs and threes of few channels; windows that lie in padding alone.
    *(
        (Convolutions(("INT8",), ONE, (4, 8, 12, 16), filters, most=(2, 9)), of)
        for filters in ((1, 2, 3), (4, 5, 7))
        for of in _FACTORS
    ),
    *(
        (Convolutions(("INT8",), SMALL, range(1, 6), range(1, 6), most=(2, 4)), of)
        for of in (*_FAR, {"six": True})
    ),
    *(
        (
            Convolutions(
                *(("INT8",), ONE, (16, 20), range(1, 8), (BOTH,), (BOTH,), (1, 9)), least=(1, 3)
            ),
            {"factor": "usual", **of},
        )
        for of in _CLAMPED
    ),
    # Columns that are apart, in windows of one column, too; weights of four bits.
    *(
        (
            Convolutions(("INT8", "UINT8"), kernels, range(1, 8), range(1, 6), dilations=DILATED),
            {"factor": factor},
        )
        for kernels in (*(((3, 1), (2, 1)),) * 4, SMALL)
        for factor in ("usual", "broad")
    ),
    *(
        (
            Convolutions(
                *(("INT8",), (*SMALL, *ONE), range(1, 6), range(1, 6)),
                dilations=DILATED,
                most=(3, 6),
            ),
            {"nibbles": True, **of},
        )
        for of in ({}, {"far": 9})
    ),
    *(
        (
            Convolutions(
                *(("INT8",), ((1, 2), (2, 2), (1, 3)), range(1, 5), range(1, 6)),
                dilations=((1, 2), (1, 3), (2, 2)),
                least=(1, 7),
            ),
            {"factor": factor},
        )
        for factor in (*("usual",) * 2, *("broad",) * 3)
    ),
    # Depthwise convolutions by pieces, of which some read padding alone.
    *(
        (
            Convolutions(
                *(("INT8",), ((3, 3), (2, 3)), (4, 5, 8), (1,), (BOTH,)),
                most=(2, 6),
                depthwise=True,
            ),
            {"factor": factor, "far": 20, "framed": True},
        )
        for factor in (*("usual",) * 2, *("broad",) * 3)
    ),
    # Of one column beyond the right end, and of seven, two columns apart.
    *(
        (
            Convolutions(
                *(("INT8",), ((5, 1), (3, 1)), (4, 8, 12), (1,), (BOTH,)),
                most=(2, 6),
                depthwise=True,
            ),
            {"factor": "usual", "far": 20, "framed": True},
        ),
        (
            Convolutions(
                *(("INT8",), ((3, 7), (2, 7)), (4, 8), (1,), ((2, 2),), (BOTH,), (2, 16)),
                least=(1, 12),
                depthwise=True,
            ),
            {"factor": "usual"},
        ),
    )
    * 4,
    # Depthwise convolutions of each size that has parts of its own, and by pieces with a last one of
    # a single column.
    *(
        (
            Convolutions(
                *(("INT8",), ((3, 3), (2, 3)), (4, 5, 8), (1,), (stride,), (BOTH,), most),
                least=(1, most[1] - 1),
                depthwise=True,
            ),
            {"factor": factor},
        )
        for stride, most in ((BOTH, (2, 11)), ((2, 2), (2, 14)), (BOTH, (2, 21)), ((2, 2), (2, 40)))
        for factor in ("usual", "broad")
    ),
    *(
        (
            Convolutions(("INT8",), kernels, channels, (1,), most=(12, 2), depthwise=True),
            {"factor": "broad"},
        )
        for kernels in (((7, 1), (9, 1), (11, 1)), ((3, 3), (4, 4), (5, 5)))
        for channels in ((1, 2, 3), (4, 5, 8))
    ),
    *(
        (
            Convolutions(
                *(("INT8",), SMALL, (4, 5, 8), (1,), (BOTH,), ((1, 2), (2, 3)), (3, 14)),
                depthwise=True,
            ),
            {"factor": factor},
        )
        for factor in ("usual", "broad")
    ),
    *(
        (
            Convolutions(
                *(("INT8",), kernels, channels, (1,), (BOTH, (2, 2), (3, 3)), (BOTH,), (2, 16)),
                least=(1, 8),
                depthwise=True,
            ),
            {"factor": "usual"},
        )
        for kernels in (((3, 7), (2, 7)), ((3, 5), (2, 5)), ((8, 7), (10, 7)), ((8, 5), (13, 5)))
        for channels in ((4, 8), (5, 6))
    ),
    *(
        (
            Convolutions(("INT8",), kernels, channels, (1,), most=most, depthwise=True),
            {"factor": "mixed"},
        )
        for kernels in (((3, 3), (2, 2)), ((4, 4), (5, 5)), ((5, 1), (4, 1)))
        for channels in ((2, 3), (4, 6, 8))
        for most in ((2, 2), (2, 5))
    ),
    *(
        (
            Convolutions(
                *(("INT8",), kernels, channels, (1,), (stride,), (BOTH,), (2, 20)),
                least=(1, 9),
                depthwise=True,
            ),
            {"factor": "usual"},
        )
        for kernels in (
            ((3, 3), (3, 22)),
            ((9, 1), (1, 9)),
            ((3, 5), (5, 5), (2, 7), (3, 7)),
            ((8, 5), (8, 7), (9, 8)),
        )
        for channels in ((4, 8), (5, 6, 7))
        for stride in (BOTH, (2, 2), (3, 3))
    ),
    *(
        (
            Convolutions(("INT8",), ((5, 1), (3, 1)), (5, 6, 7), (1,), most=(4, 3), depthwise=True),
            {"factor": "usual", "far": 9},
        ),
    )
    * 2,
    *(
        (Convolutions(("INT8",), SMALL, channels, filters, most=(3, 9), depthwise=True), of)
        for channels, filters in ((range(1, 4), (1, 2)), ((4, 5, 8), (1,)))
        for of in (*_FACTORS, *_FAR)
    ),
    *(
        (
            Convolutions(
                *(("INT8",), ((5, 5), (7, 7), (3, 5), (3, 7), (2, 7), (8, 5)), (4, 5, 8, 12), (1,)),
                *((BOTH, (2, 2), (3, 3)), (BOTH, (1, 2)), (3, 11)),
                depthwise=True,
            ),
            of,
        )
        for of in (*_FACTORS, *_FAR)
    ),
    *(
        (
            Convolutions(("INT8",), ((5, 1), (3, 1)), (4, 5, 8), (1,), most=(4, 2), depthwise=True),
            of,
        )
        for of in (*_FACTORS, *_FAR)
    ),
    *(
        (Convolutions(("INT8",), kernels, (3, 4, 5, 8), (1,), most=(2, 24), depthwise=True), of)
        for kernels in (((3, 3), (2, 3)), ((5, 5),))
        for of in _FACTORS
    ),
    *(
        (Convolutions(("INT16",), SMALL, range(1, 6), (1, 2), most=(2, 5), depthwise=True), of)
        for of in ({"factor": "least"}, {"factor": "broad"}, {"factor": "greatest"})
    ),
    *(
        (Convolutions(("INT16",), SMALL, channels, filters, most=(2, 4), depthwise=True), of)
        for channels, filters in (((1, 2, 3), (1,)), ((4, 5, 8), (1,)), ((1, 2), (2, 3)))
        for of in ({"factor": "greatest"}, {"factor": "greatest", "bias": "none"})
    ),
    *(
        (
            Convolutions(("INT16",), (*SMALL, *ONE), (1, 2, 4, 8), filters, most=(2, 6)),
            {"narrow": narrow, "bias": "usual", "factor": "usual"},
        )
        for filters in ((1,), (2, 3, 5))
        for narrow in (True, False)
    ),
    # Sums of 64 bits by the greatest multipliers, four channels at once and each by itself.
    *(
        (
            Convolutions(("INT16",), kernels, channels, filters, most=(2, 4), depthwise=True),
            {"factor": "greatest", "bias": "most"},
        )
        for kernels, channels, filters in (
            *((SMALL, (4, 5, 8), (1,)),) * 2,
            *((SMALL, (2, 3), (1, 2)),) * 2,
            (((23, 23),), (1, 2), (1,)),
        )
    ),
    # Weights of nine bits.
    *(
        (Convolutions(("UINT8",), SMALL, range(1, 6), (1, 2), most=(2, 6), depthwise=deep), of)
        for deep in (True, False)
        for of in (*_FACTORS, *_FAR, *_CLAMPED)
    ),
    *(
        (Convolutions(("UINT8",), SMALL, (4, 8), (4, 5, 8), most=(2, 3)), {"far": 9, **of})
        for of in ({}, {"six": True})
    ),
    *(
        (
            Convolutions(
                ("UINT8",), ((3, 3), (2, 2)), (1, 2, 3), (1,), most=(2, 6), depthwise=True
            ),
            {"factor": factor, **of},
        )
        for factor in ("usual", "broad")
        for of in ({"six": True}, {"six": True, "values": "ends"}, {"activation": 2})
    ),
    *(
        (Convolutions(("UINT8",), ONE, range(1, 7), (1, 2, 3), most=(2, 6)), of)
        for of in (*_FACTORS, *_CLAMPED, *({"factor": "usual", "six": True},) * 4)
    ),
    *(
        (Convolutions(("UINT8",), ((3, 3),), (1, 2), (1,), most=(3, 6), depthwise=True), of)
        for of in (
            *({"factor": "usual", "six": True}, {"factor": "usual", "activation": 2}),
            *({"factor": "usual", "far": 9}, {"factor": "usual", "six": True, "far": 9}),
        )
        * 2
    ),
    *((Convolutions(("UINT8",), SMALL, range(1, 6), (1, 2, 4), most=(2, 3)), of) for of in _FAR),
    # Blocks with each of their parts or without, of pieces and of whole rows.
    *(
        (block, {"parts": parts, "far": 9, "factor": "usual"})
        for parts in ((True, True), (True, False))
    ),
    *((block, {"parts": (True, False), "kernel": (3, 3), "inner": 8, "factor": "usual"}),) * 2,
    *(
        (block, {"parts": parts, "kernel": kernel, "factor": "usual"})
        for parts in ((True, True), (True, False), (False, True))
        for kernel in ((3, 3), (5, 5))
    ),
    *(
        (block, {"parts": parts, "inner": inner, "outer": 13, "factor": "usual"})
        for parts, inner in (
            ((True, True), 4),
            ((True, True), 8),
            ((True, True), 12),
            ((False, True), 0),
        )
    ),
    # The same of an odd number of pixels at once, whose results lie where their operands are.
    *(
        (
            block,
            {
                "parts": (expands, True),
                "kernel": (3, 3),
                "shape": (1, 3, width, inner),
                "inner": inner,
                "outer": 13,
                "factor": "usual",
            },
        )
        for expands, inner in ((True, 4), (True, 8), (False, 8))
        for width in (3, 5, 5)
    ),
    # Two pixels of int16 at once, of more than one channel.
    *(
        (
            Convolutions(
                ("INT16",), SMALL, (2, 4, 8), (2, 3, 4), (BOTH,), most=(2, 9), least=(1, 6)
            ),
            {"narrow": False, "bias": "usual", "factor": "usual"},
        ),
    )
    * 3,
    # Each type of what compares and scales.
    *(
        (place, {"kind": kind, "dtype": dtype})
        for kind in ("ARG_MAX", "ARG_MIN")
        for dtype in _INTEGERS
    ),
    *(
        (reduction, {"kind": kind, "dtype": dtype})
        for kind in ("REDUCE_MAX", "REDUCE_MIN", "MEAN", "SUM")
        for dtype in ("INT8", "UINT8", "INT16")
    ),
    *(
        (extreme, {"kind": kind, "dtype": dtype, **of})
        for kind in ("MINIMUM", "MAXIMUM")
        for dtype in (*_INTEGERS, "INT64")
        for of in ({}, {"shapes": ((2, 3, 9), (1, 1, 1))})
    ),
    *(
        (pool, {"kind": kind, "dtype": dtype, **of})
        for kind in POOLS
        for dtype in ("INT8", "UINT8", "INT16")
        for of in (*_CLAMPED, *({"size": (4, 4), "step": (4, 2), **each} for each in _CLAMPED))
    ),
    *(
        (dequantize, {"dtype": dtype, **of})
        for dtype in ("INT8", "UINT8", "INT16")
        for of in ({}, {"odd": True}, {"odd": True, "small": True}, {"odd": False})
    ),
    *(
        (quantize, {"types": (source, target), "scales": scales, "values": values})
        for source in _INTEGERS
        for target in _INTEGERS
        for scales, values in (((0.01, 0.5), "all"), ((0.02, 0.01), "near"))
    ),
    *(
        (lstm, {"dtype": dtype, **of})
        for dtype in ("INT8", "INT16")
        for of in ({}, {"hidden": 2.0**-32, "cell": -32})
    ),
    *((lstm, {"dtype": "INT16", "factor": "greatest"}),) * 2,
    *((normalise, {"shape": (1, n), "values": "most", "zero": "least"}) for n in (4000, 9000)),
    *((transpose_conv, {"dtype": "INT16", "channels": channels}) for channels in (505, 514)),
    *((transpose_conv, {"dtype": "INT16", "less": less, "width": 1}) for less in (1, 2)),
    (move, {"move": gather, "shape": (1, 3, 4, 5)}),
)


def decided(draw: Draw) -> Case:
    """One of the rows."""
    make, wishes = draw.one(*ROWS)
    draw.wishes = dict(wishes)
    made: Case = make(draw)
    return made

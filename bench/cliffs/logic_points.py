"""Families of operators that compare, choose, look up and write by an index, sum or norm along a
dimension, or work on integers; and batches of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.cliffs.grid import CHANNELS, WIDTHS, Grid, Value
from bench.cliffs.rare_points import mapped

_TYPES = "s8", "s16", "u8"
_SECOND = "map", "channel", "one"
_PAIRS: Sequence[Mapping[str, Value]] = (
    {},
    {"second": "channel"},
    {"second": "one"},
    {"channels": 7, "width": 1},
)


def _lookups(kind: str) -> Grid:
    """Rows, or parts of rows, that indices name which are made at run time."""
    axes: dict[str, Sequence[Value]] = {
        "rows": (2, 4, 8) if kind == "parts" else (1, 2, 4, 8),  # of one row, parts are rows
        "indices": (1, 2, 3, 4, 6, 8, 12, 16),
        "channels": CHANNELS,
    }
    base: dict[str, Value] = {"rows": 4, "indices": 4, "channels": 16}
    return Grid(f"lookup of {kind} s8", axes, base, [{}, {"channels": 5}])


def _batches(kind: str) -> Grid:
    """Windows that reach beyond their image into the next one of a batch."""
    axes: dict[str, Sequence[Value]] = {
        "batch": (2, 3, 4, 8),
        "kh": (2, 3, 5),
        "width": WIDTHS[:8],
        "height": (2, 4, 8),
        "channels": (16,),
    }
    base: dict[str, Value] = {"batch": 2, "kh": 3, "width": 4, "height": 4, "channels": 16}
    return Grid(f"batch of {kind} s8", axes, base, [{}, {"kh": 5, "width": 1}])


def logic_grids() -> tuple[Grid, ...]:
    """These families."""
    compared = "s8", "u8", "s32", "s64", "b8"
    return (
        *(mapped(f"{kind} s8") for kind in ("logsoftmax", "widesoftmax", "norm")),
        *(mapped(f"running of {axis} s8") for axis in ("rows", "columns", "channels")),
        mapped("sum s8", parts=(2, 3, 4, 6, 8)),
        *(
            mapped(f"place of {axis} {dtype}")
            for axis in ("rows", "columns", "channels")
            for dtype in (*_TYPES, "s32")
        ),
        *(mapped(f"less {dtype}", _PAIRS, second=_SECOND) for dtype in compared if dtype != "b8"),
        mapped("equal b8", _PAIRS, second=_SECOND),
        *(mapped(f"select {dtype}", _PAIRS, second=_SECOND) for dtype in ("s8", "s16", "s32")),
        *(
            mapped(f"{kind} {dtype}", _PAIRS, second=_SECOND)
            for kind, dtypes in (
                ("greater", ("s64",)),
                ("lesser", ("s64",)),
                ("difference", ("s32",)),
                ("squared", ("s8", "s16", "s32")),
            )
            for dtype in dtypes
        ),
        *(mapped(f"{kind} s32", _PAIRS, second=_SECOND) for kind in ("quotient", "remainder")),
        *(_lookups(kind) for kind in ("rows", "parts", "places")),
        *(mapped(f"update of {box} s8") for box in ("rows", "columns", "channels")),
        mapped("flip u8"),
        *(_batches(kind) for kind in ("conv", "max")),
    )

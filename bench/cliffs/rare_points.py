"""Families of operators that few networks have, or that only move values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.cliffs.grid import CHANNELS, WIDTHS, Grid, Value

_MAP: dict[str, Sequence[Value]] = {"width": WIDTHS, "height": (1, 2, 4, 8), "channels": CHANNELS}
_MAPPED: dict[str, Value] = {"width": 8, "height": 4, "channels": 16}


def mapped(
    family: str,
    centres: Sequence[Mapping[str, Value]] = ({}, {"width": 1, "channels": 64}),
    planes: Sequence[tuple[str, str, Mapping[str, Value]]] = (),
    **more: Sequence[Value],
) -> Grid:
    """A family of operators that take a map, with axes of its own."""
    axes: dict[str, Sequence[Value]] = {**_MAP, **more}
    base = {**_MAPPED, **{name: values[0] for name, values in more.items()}}
    return Grid(family, axes, base, centres, planes)


def _transposes(dtype: str) -> tuple[Grid, ...]:
    odd: dict[str, Value] = {"channels": 7, "width": 5}
    centres: list[Mapping[str, Value]] = [{}, odd, {"channels": 24}]
    crossed = [("width", "channels", {"height": 2})] if dtype == "s8" else []
    grids = (
        *(
            mapped(f"transpose of {kind} {dtype}", centres, crossed)
            for kind in ("columns", "rows", "planes", "pixels")
        ),
        mapped(f"transpose of groups {dtype}", centres, groups=(2, 3, 4, 8)),
    )
    several = {name: [size for size in sizes if size != 1] for name, sizes in _MAP.items()}
    return tuple(replace(grid, axes={**grid.axes, **several}) for grid in grids)


def _products(dtype: str) -> Grid:
    """Products of two maps of activations, as attention has them."""
    axes: dict[str, Sequence[Value]] = {
        "heads": (1, 2, 4),
        "rows": (1, 2, 4, 8, 16),
        "depth": CHANNELS,
        "columns": CHANNELS[:-1],
        "turned": ("none", "left", "right", "both"),
    }
    base: dict[str, Value] = {"heads": 2, "rows": 4, "depth": 16, "columns": 16, "turned": "none"}
    centres: list[Mapping[str, Value]] = [{}, {"turned": "right", "depth": 32, "columns": 9}]
    return Grid(f"matmul {dtype}", axes, base, centres, [("depth", "columns", {"rows": 2})])


def _whole(dtype: str) -> Grid:
    """Greatest values of whole maps, tall and narrow ones too."""
    tall: dict[str, Value] = {"height": 20, "width": 1}
    centres: list[Mapping[str, Value]] = [{}, {"width": 1, "channels": 64, "height": 20}, tall]
    crossed = [("width", "channels", {"height": 20}), ("height", "width", {})]
    axes = {**_MAP, "height": (4, 8, 12, 20, 32)}
    base = {**_MAPPED, "height": 20}
    return Grid(f"whole {dtype}", axes, base, centres, crossed)


def _svdf(state: str) -> Grid:
    axes: dict[str, Sequence[Value]] = {
        "inputs": CHANNELS,
        "units": CHANNELS[:-1],
        "rank": (1, 2, 3, 4),
        "memory": (1, 2, 3, 4, 5, 6, 8, 9, 10, 16, 17, 32),
    }
    base: dict[str, Value] = {"inputs": 32, "units": 16, "rank": 1, "memory": 8}
    centres: list[Mapping[str, Value]] = [{}, {"rank": 2, "units": 5, "inputs": 15}]
    return Grid(f"svdf of {state}", axes, base, centres)


def _lstm(dtype: str) -> Grid:
    few = tuple(size for size in CHANNELS if size <= 64)
    axes: dict[str, Sequence[Value]] = {
        "times": (1, 2, 4),
        "inputs": few,
        "units": few,
        "factor": ("below", "two"),
    }
    base: dict[str, Value] = {"times": 2, "inputs": 16, "units": 16, "factor": "below"}
    return Grid(f"lstm {dtype}", axes, base, [{}, {"factor": "two"}, {"inputs": 7, "units": 24}])


_PAIRS: Sequence[Mapping[str, Value]] = ({}, {"second": "channel"}, {"channels": 7, "width": 1})
_REQUANTIZED = (
    *("s16 u8", "u8 s16", "s32 s8", "s32 s16", "s8 s32", "s16 s32"),
    *("s32 s32", "s32 u8", "u8 s32"),
)


def rare_grids() -> tuple[Grid, ...]:
    """These families."""
    types = "s8", "s16"
    return (
        *(grid for dtype in types for grid in _transposes(dtype)),
        *(
            mapped(f"split of {axis} {dtype}", parts=(2, 3, 4))
            for axis in ("channels", "columns")
            for dtype in types
        ),
        *(_products(dtype) for dtype in types),
        *(_whole(dtype) for dtype in (*types, "u8")),
        *(
            mapped(f"{kind} {dtype}", _PAIRS, second=("map", "channel", "one"))
            for kind in ("maximum", "minimum")
            for dtype in (*types, "u8")
        ),
        *(mapped(f"prelu {dtype}", second=("channel", "one")) for dtype in (*types, "u8")),
        *(
            mapped(f"{kind} of {over} {dtype}")
            for kind in ("greatest", "least")
            for over in ("map", "rows", "channels")
            for dtype in (*types, "u8")
        ),
        *(mapped(f"{kind} s16") for kind in ("tanh", "relu", "leaky", "relu6")),
        mapped("bilinear u8", scale=(2, 3, 4)),
        *(mapped(f"rescaled of {axis} u8", parts=(2, 3, 4)) for axis in ("channels", "columns")),
        *(mapped(f"quantize to {to}") for to in _REQUANTIZED),
        *(_svdf(state) for state in types),
        *(_lstm(dtype) for dtype in types),
        *(mapped(f"deep {dtype}", block=(2, 3, 4)) for dtype in types),
        *(mapped(f"wide {dtype}", block=(2, 3, 4)) for dtype in types),
    )

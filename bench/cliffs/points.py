"""The grid: families of operators, and the axes along which each varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.cliffs.grid import CHANNELS, WIDTHS, Grid, Value
from bench.cliffs.logic_points import logic_grids
from bench.cliffs.rare_points import rare_grids

_FEWER = (1, 2, 3, 4, 7, 8, 15, 16, 24, 32, 64, 128)
_SIZES = (1, 2, 3, 4, 5, 6, 7)
_FACTORS = ("below", "one", "some", "half", "above", "two")
"""The factors of sums: below 1/2; at 0.6 those of one channel, of a third; all 1/2; all 0.9; all 1.7."""
_ZEROS = ("least", "middle", "most")
_ACTS = ("none", "relu6")

_WINDOW: dict[str, Sequence[Value]] = {
    "kh": _SIZES,
    "kw": _SIZES,
    "width": WIDTHS,
    "height": (1, 2, 4, 8),
    "stride": (1, 2, 3),
    "dilation": (1, 2, 3),
    "padding": ("same", "valid"),
}
_SCALED: dict[str, Sequence[Value]] = {"factor": _FACTORS, "zero": _ZEROS, "act": _ACTS}
_PLAIN: dict[str, Value] = {"factor": "below", "zero": "middle", "act": "none"}
_WINDOWED: dict[str, Value] = {
    "kh": 3,
    "kw": 3,
    "width": 8,
    "height": 4,
    "stride": 1,
    "dilation": 1,
    "padding": "same",
}
_NINE: dict[str, Sequence[Value]] = {"nine": ("none", "one", "some", "all")}
"""How many channels have weights of nine bits, of uint8."""


def _conv(kind: str, dtype: str, form: bool, few: bool) -> Grid:
    axes: dict[str, Sequence[Value]] = {**_WINDOW, "in_c": CHANNELS[:-1], "out_c": CHANNELS}
    axes |= _SCALED
    base: dict[str, Value] = {**_WINDOWED, "in_c": 16, "out_c": 16, **_PLAIN}
    if dtype == "u8":
        axes, base = axes | _NINE, base | {"nine": "none"}
    if form:
        axes, base = axes | {"form": ("usual", "lean")}, base | {"form": "usual"}
    first: dict[str, Value] = {"in_c": 3, "out_c": 8, "stride": 2}
    centres: list[Mapping[str, Value]] = [{}, first]
    planes: list[tuple[str, str, Mapping[str, Value]]] = [("in_c", "out_c", {"height": 2})]
    if not few:
        centres += [
            {"kw": 1, "kh": 5},
            {"kh": 1, "kw": 5},
            {"width": 1},
            {"in_c": 7, "out_c": 5, "width": 5},
            {"in_c": 32, "out_c": 32, "width": 5, "act": "relu6"},
            {"in_c": 1, "out_c": 2, "kw": 5},
            {"in_c": 2, "out_c": 6, "kh": 5, "act": "relu6"},
        ]
        apart: dict[str, Value] = {"dilation": 2, "in_c": 5, "out_c": 8}
        centres += [apart]
        if form:
            centres += [{"form": "lean"}, {**apart, "form": "lean"}]
        planes += [("kh", "kw", {}), ("kh", "kw", first)]
        planes += [("kw", "width", {"in_c": 4, "out_c": 8}), ("kw", "width", {"in_c": 1})]
    return Grid(f"{kind} {dtype}", axes, base, centres, planes)


def _pointwise(dtype: str, few: bool) -> Grid:
    axes: dict[str, Sequence[Value]] = {
        "width": WIDTHS,
        "height": (1, 2, 4, 8),
        "stride": (1, 2),
        "in_c": CHANNELS,
        "out_c": CHANNELS,
        **_SCALED,
    }
    base: dict[str, Value] = {"width": 8, "height": 4, "stride": 1, "in_c": 32, "out_c": 32}
    base |= _PLAIN
    if dtype == "u8":
        axes, base = axes | _NINE, base | {"nine": "none"}
    centres: list[Mapping[str, Value]] = [{}, {"width": 1}]
    planes: list[tuple[str, str, Mapping[str, Value]]] = []
    if not few:
        axes, base = axes | {"form": ("usual", "lean")}, base | {"form": "usual"}
        centres += [{"in_c": 7}, {"out_c": 5, "width": 5}, {"in_c": 24, "act": "relu6"}]
        centres += [{"in_c": 64, "out_c": 16, "width": 7, "form": "lean"}]
        planes += [("in_c", "out_c", {}), ("in_c", "width", {"out_c": 8})]
    return Grid(f"pointwise {dtype}", axes, base, centres, planes)


def _depthwise(dtype: str, few: bool) -> Grid:
    axes: dict[str, Sequence[Value]] = {**_WINDOW, "channels": CHANNELS}
    axes |= {"filters": (1, 2, 3, 4, 8), **_SCALED}
    base: dict[str, Value] = {**_WINDOWED, "channels": 16, "filters": 1, **_PLAIN}
    if dtype == "u8":
        axes, base = axes | _NINE, base | {"nine": "none"}
    centres: list[Mapping[str, Value]] = [{}, {"stride": 2, "width": 5}]
    planes: list[tuple[str, str, Mapping[str, Value]]] = [("kh", "kw", {"height": 2})]
    if not few:
        axes, base = axes | {"form": ("usual", "lean")}, base | {"form": "usual"}
        centres += [
            {"kw": 1, "kh": 5, "width": 1, "channels": 64},
            {"channels": 3, "form": "lean"},
            {"channels": 3, "form": "lean", "factor": "half"},
            {"kw": 1, "kh": 5},
            {"kh": 1, "kw": 5},
            {"kh": 5, "kw": 5, "channels": 48, "act": "relu6"},
            {"channels": 7, "width": 5},
            {"width": 1},
            {"form": "lean"},
        ]
        planes += [("channels", "kw", {}), ("channels", "width", {}), ("kw", "width", {})]
        planes += [("kh", "kw", {"stride": 2}), ("kh", "kw", {"channels": 15, "height": 2})]
    return Grid(f"depthwise {dtype}", axes, base, centres, planes)


def _dense(dtype: str, few: bool) -> Grid:
    axes: dict[str, Sequence[Value]] = {
        "rows": (1, 2, 3, 4, 5, 8),
        "in_c": (*CHANNELS, 333, 640, 1000),
        "out_c": CHANNELS,
        **_SCALED,
    }
    base: dict[str, Value] = {"rows": 1, "in_c": 128, "out_c": 32, **_PLAIN}
    # An odd number of products is read otherwise: a few are copied, many are not.
    centres: list[Mapping[str, Value]] = [{}, {"rows": 4}, {"out_c": 1}, {"in_c": 31}]
    if not few:
        centres += [{"in_c": 333}, {"in_c": 333, "out_c": 5, "rows": 3}]
    planes: list[tuple[str, str, Mapping[str, Value]]] = []
    return Grid(f"dense {dtype}", axes, base, centres[: 2 if few else None], planes)


def _grouped(dtype: str) -> Grid:
    axes: dict[str, Sequence[Value]] = {
        **_WINDOW,
        "groups": (2, 3, 4, 8, 16),
        "depth": (1, 2, 3, 4, 5, 8, 16, 31, 44),
        "made": (1, 2, 3, 4, 5, 8, 16, 31),
        **_SCALED,
    }
    base: dict[str, Value] = {**_WINDOWED, "groups": 4, "depth": 4, "made": 4, **_PLAIN}
    centres: list[Mapping[str, Value]] = [{"height": 2}, {"kh": 1, "kw": 1}]
    return Grid(f"grouped {dtype}", axes, base, centres)


def _transposed(dtype: str) -> Grid:
    axes: dict[str, Sequence[Value]] = {
        "kh": _SIZES,
        "kw": _SIZES,
        "width": WIDTHS[:-1],
        "height": (1, 2, 4, 8),
        "stride": (1, 2, 3),
        "in_c": _FEWER,
        "out_c": _FEWER,
        **_SCALED,
    }
    base: dict[str, Value] = {
        "kh": 3,
        "kw": 3,
        "width": 5,
        "height": 3,
        "stride": 2,
        "in_c": 8,
        "out_c": 8,
        **_PLAIN,
    }
    centres: list[Mapping[str, Value]] = [{"height": 2}, {"kh": 2, "kw": 2, "height": 2}]
    if dtype == "s16":
        centres += [{"in_c": 128, "height": 2}]  # whose sums have more than 32 bits
    return Grid(f"transposed {dtype}", axes, base, centres)


_MAP: dict[str, Sequence[Value]] = {"width": WIDTHS, "height": (1, 2, 4, 8), "channels": CHANNELS}
_MAPPED: dict[str, Value] = {"width": 8, "height": 4, "channels": 16}


def _binary(kind: str, dtype: str) -> Grid:
    axes: dict[str, Sequence[Value]] = {**_MAP, "act": _ACTS, "zero": _ZEROS}
    axes |= {"second": ("map", "same", "channel", "pixel", "one", "const", "consts")}
    base: dict[str, Value] = {**_MAPPED, "act": "none", "zero": "middle", "second": "map"}
    centres: list[Mapping[str, Value]] = [
        {},
        {"second": "channel"},
        {"channels": 7, "width": 1},
        {"act": "relu6", "width": 5},
    ]
    return Grid(f"{kind} {dtype}", axes, base, centres)


def _pool(kind: str, dtype: str) -> Grid:
    axes = {name: values for name, values in _WINDOW.items() if name != "dilation"}
    axes |= {"channels": CHANNELS, "act": _ACTS}
    base = {name: value for name, value in _WINDOWED.items() if name != "dilation"}
    base |= {"channels": 16, "act": "none"}
    centres: list[Mapping[str, Value]] = [{}, {"kh": 2, "kw": 2, "stride": 2}, {"channels": 5}]
    return Grid(f"{kind} {dtype}", axes, base, centres, [("kh", "kw", {"height": 2})])


def _unary(kind: str, dtype: str, **more: Sequence[Value]) -> Grid:
    axes: dict[str, Sequence[Value]] = {**_MAP, **more}
    base = {**_MAPPED, **{name: values[0] for name, values in more.items()}}
    return Grid(f"{kind} {dtype}", axes, base, [{}, {"width": 1, "channels": 64}])


def _global(dtype: str) -> Grid:
    """Averages of whole maps, tall and narrow ones too."""
    axes = {**_MAP, "height": (1, 2, 4, 8, 20)}
    tall: dict[str, Value] = {"height": 20, "width": 1}
    centres: list[Mapping[str, Value]] = [{}, {"width": 1, "channels": 64}, tall]
    return Grid(
        f"global {dtype}", axes, dict(_MAPPED), centres, [("width", "channels", {"height": 20})]
    )


def _block() -> Grid:
    """Blocks: a depthwise convolution, and pointwise ones before and after it."""
    axes: dict[str, Sequence[Value]] = {
        "kh": (3, 5),
        "width": (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 20, 24, 36),
        "height": (4, 8),
        "stride": (1, 2),
        "in_c": (4, 8, 12, 16, 24),
        "inner": (3, 4, 8, 16, 24, 30, 48, 96),
        "out_c": (4, 8, 11, 16, 24),
        "parts": ("all", "expand", "project"),
        "kept": ("kept", "again"),
        "act": _ACTS,
        "form": ("usual", "lean"),
    }
    base: dict[str, Value] = {
        "kh": 3,
        "width": 9,
        "height": 4,
        "stride": 1,
        "in_c": 8,
        "inner": 24,
        "out_c": 8,
        "parts": "all",
        "kept": "kept",
        "act": "none",
        "form": "usual",
    }
    centres: list[Mapping[str, Value]] = [
        {},
        {"stride": 2},
        {"form": "lean", "inner": 48},
        {"kept": "again", "width": 7},
        {"kh": 5, "inner": 48},
        {"parts": "project"},
        {"parts": "expand", "act": "relu6"},
    ]
    few = {"inner": 3}  # what no vectors are for
    crossed = [("width", "inner", {}), ("width", "form", {}), ("width", "form", few)]
    return Grid("block s8", axes, base, centres, crossed)


SHARED = "shared "
"""What families begin with whose operators are lowered as in programs for any core."""


def shared_grids() -> tuple[Grid, ...]:
    """Families that programs for any core have other kernels for: fitted, and not compared."""
    of = (
        _conv("conv", "s8", form=False, few=True),
        _pointwise("s8", few=True),
        _depthwise("s8", few=True),
        _dense("s8", few=False),
        _block(),
    )
    return tuple(replace(grid, family=SHARED + grid.family) for grid in of)


def grids() -> tuple[Grid, ...]:
    """All families but those of `shared_grids`."""
    types = "s8", "u8", "s16"
    return (
        *(_conv("conv", dtype, dtype == "s8", dtype != "s8") for dtype in types),
        _conv("conv", "w4", form=False, few=True),
        *(_pointwise(dtype, dtype != "s8") for dtype in types),
        *(_depthwise(dtype, dtype != "s8") for dtype in types),
        *(_dense(dtype, dtype != "s8") for dtype in types),
        _block(),
        *(_grouped(dtype) for dtype in ("s8", "s16")),
        *(_transposed(dtype) for dtype in ("s8", "s16")),
        *(_binary(kind, dtype) for kind in ("add", "mul", "sub") for dtype in types),
        *(_pool(kind, dtype) for kind in ("max", "average") for dtype in types),
        *(_global(dtype) for dtype in types),
        *(
            _unary(f"mean of {over}", dtype)
            for over in ("map", "rows", "columns", "channels")
            for dtype in types
        ),
        *(_unary("softmax", dtype) for dtype in types),
        *(_unary("logistic", dtype) for dtype in types),
        *(_unary(kind, "s8") for kind in ("tanh", "hardswish", "relu", "leaky")),
        *(
            _unary(f"pad of {where}", dtype, by=(1, 2, 3))
            for where in ("map", "channels")
            for dtype in types[:2]
        ),
        *(
            _unary(f"concat of {axis}", dtype, parts=(2, 3, 4))
            for axis in ("channels", "columns", "rows")
            for dtype in types
        ),
        *(_unary(kind, "s8", scale=(2, 3, 4)) for kind in ("bilinear", "nearest")),
        *(_unary(f"quantize to {to}", "s8") for to in types),
        *(_unary(f"quantize to {to}", "u8") for to in types[:2]),
        *(_unary(f"quantize to {to}", "s16") for to in ("s8", "s16")),
        *(_unary(f"quantize to {to}", "f32") for to in types),
        *(_unary("quantize to f32", dtype) for dtype in types),
        *rare_grids(),
        *logic_grids(),
    )

"""The front as a picture: each network a dot, those that none surpasses joined by a line."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

Dots = Sequence[tuple[int, int]]
"""RAM in bytes, MACs."""


def draw(points: Dots, front: Dots, max_ram: int, path: str) -> None:
    """Write the picture: .svg or .png. The same dots give the same bytes."""
    mpl.rcParams["svg.hashsalt"] = "front"
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(*_in_units(points), "o", color="#b0b0b0", markersize=4, label="networks that fit")
    steps = [(b[0], a[1]) for a, b in zip(front, [*front[1:], (max_ram, 0)], strict=True)]
    corners = [corner for pair in zip(front, steps, strict=True) for corner in pair]
    axes.plot(*_in_units(corners), "-", color="#1f5fa8", linewidth=1)
    axes.plot(*_in_units(front), "o", color="#1f5fa8", markersize=6, label="the front")
    axes.axvline(max_ram / 1024, color="#a83232", linestyle="--", linewidth=1)
    axes.annotate(
        "--max-ram",
        (max_ram / 1024, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        color="#a83232",
    )
    axes.set_xlabel("RAM, KiB: arena and state, estimated")
    axes.set_ylabel("MACs, millions (in place of accuracy)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    metadata = {"Date": None} if path.endswith(".svg") else {"Software": None}
    figure.savefig(path, dpi=120, metadata=metadata)


def _in_units(dots: Dots) -> tuple[list[float], list[float]]:
    """KiB, and millions of MACs."""
    return [ram / 1024 for ram, _ in dots], [macs / 1e6 for _, macs in dots]

"""The front as a picture: arena, and state if any, against cost, with the RAM of common parts as lines.

Why: which plan is worth its cost is seen at a glance, as is the part that it lets the network fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lowtide.commands.compiling import Compiled
from lowtide.files import OURS, Replacing, write_atomically
from lowtide.ir.macs import graph_macs
from lowtide.plans.placer import Point
from lowtide.report import picture
from lowtide.report.part_lines import part_lines, spaced
from lowtide.report.predicted import predicted_note

_ROOM = 1.15
"""The height of the axes over the largest arena."""
_GAP = 0.04
"""Lines of parts are at least so much of the height apart."""


def write_front_picture(
    compiled: Compiled, points: Sequence[Point], path: Path, replacing: Replacing = OURS
) -> None:
    """Draw `points`, the plan of `compiled` marked, to `path`. Raises UsageError for its ending."""
    picture_format = picture.format_of(path.name)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    predicted = compiled.instructions_predicted
    costs = [p.overhead if predicted is None else p.cost / 1e6 for p in points]
    sizes = [p.arena_bytes + compiled.state_bytes for p in points]
    axes.step(costs, sizes, where="post", color="tab:blue", linewidth=1)
    axes.plot(costs, sizes, "o", color="tab:blue", label="plans")
    plan = compiled.assembly.plan
    if plan is not None:
        overhead = plan.macs / (graph_macs(compiled.graph) or 1)
        cost = overhead if predicted is None else predicted / 1e6
        axes.plot(cost, compiled.ram_bytes, "D", color="tab:red", label="this plan")
    low, high = min(sizes), max(*sizes, compiled.ram_bytes)
    top = high * _ROOM
    for line in spaced(part_lines(), low / 2, top * (1 - _GAP), top * _GAP):
        axes.axhline(line.ram_bytes, color="tab:gray", linestyle=":", linewidth=1)
        axes.annotate(
            line.label,
            (0.01, line.ram_bytes),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="bottom",
            fontsize="small",
            color="dimgray",
        )
    axes.set_ylim(0, top)
    label = "MACs, times the network's own"
    if predicted is not None:
        label = f"million instructions, predicted {predicted_note(compiled)}"
    axes.set_xlabel(label)
    state = compiled.state_bytes
    axes.set_ylabel(f"arena, and {state:,} B of state, bytes" if state else "arena, bytes")
    axes.yaxis.set_major_formatter(picture.with_commas)
    axes.set_title(f"{compiled.name}: least RAM for the work (input {compiled.options.input_mode})")
    axes.legend()
    write_atomically(path, picture.file_contents(figure, picture_format, dpi=100), replacing)

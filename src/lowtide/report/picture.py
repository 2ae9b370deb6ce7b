"""The working set over time as a picture, file order beside best order; and what all pictures share.

Why a picture: the figures of an analysis say how large the peak is, a picture what lies in it.

Why matplotlib is imported only inside the functions that draw, here, in `plan_picture` and in
`front_picture`: it takes long, and most commands draw nothing.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lowtide.commands.analysis import Analysis, Timeline
from lowtide.errors import MissingToolError, UsageError
from lowtide.report.text import best_title, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")

NAMED_STEPS = 40
"""Up to so many steps are labelled with their operators."""


def format_of(file_name: str) -> str:
    """ "png" or "svg", from a file name's ending; call it before long work.

    Raises UsageError for any other, MissingToolError if nothing here can draw.
    """
    ending = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    if ending not in FORMATS:
        raise UsageError(
            f"cannot tell the picture format of {file_name!r}", "end the file name in .png or .svg"
        )
    try:
        import matplotlib  # noqa: F401  # here to see that it can be
    except ImportError as error:
        raise MissingToolError(
            f"matplotlib is not installed ({error})", 'install it: pip install "lowtide[plot]"'
        ) from None
    return ending


def file_contents(figure: Figure, picture_format: str, dpi: int = 120) -> bytes:
    """`figure` as a file's contents: the same picture gives the same bytes."""
    import matplotlib as mpl

    out = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if picture_format == "svg" else {}
    with mpl.rc_context({"svg.hashsalt": "lowtide"}):
        figure.savefig(out, format=picture_format, dpi=dpi, metadata=metadata)
    return out.getvalue()


def listed_colours() -> Sequence[tuple[float, float, float]]:
    """Twenty colours for tensors: ten strong ones, each followed by its light twin."""
    from matplotlib import colormaps

    colours = colormaps["tab20"].colors  # type: ignore[attr-defined]  # it is a listed colour map
    return tuple(colours)


def file_name(path: str) -> str:
    """The last part of a model's path, for a title."""
    return plain(Path(path).name)


def with_commas(value: float, _: object) -> str:
    """How an axis shows a number: "351,232"."""
    return f"{value:,.0f}"


def side_of(step: int, steps: int) -> Literal["left", "center", "right"]:
    """How a label at `step` of `steps` is aligned, so that it does not leave the axes."""
    if step < steps / 3:
        return "left"
    return "right" if step > steps * 2 / 3 else "center"


def name_steps(axis: Axes, labels: Sequence[str]) -> None:
    """Write below each step the operator that it runs."""
    axis.set_xticks(
        range(len(labels)), labels, rotation=60, ha="right", fontsize=7, parse_math=False
    )
    axis.set_xlabel("operator, in the order it runs")


def analysis_picture(analysis: Analysis, picture_format: str) -> bytes:
    """A png or svg: per step, the live tensors stacked, one colour per tensor, the peak marked.

    State, which lives on from one invocation to the next, is a band below them.
    """
    from matplotlib.figure import Figure

    lines = [("file order", analysis.file)]
    if analysis.best.order != analysis.file.order:
        proof = ", proved optimal" if analysis.best_order.proved_optimal else ""
        lines.append((f"{best_title(analysis)}{proof}", analysis.best))
    figure = Figure(figsize=(7.5 * len(lines), 4.8), layout="constrained")
    figure.suptitle(f"Working set per operator: {file_name(analysis.path)}", parse_math=False)
    axes = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
    for axis, (title, line) in zip(axes, lines, strict=True):
        _draw(axis, analysis, title, line)
    state = ", on state" if analysis.variables_bytes else ""
    axes[0].set_ylabel(f"live tensors{state} (KB = 1000 B)")
    most = analysis.peak_bytes + analysis.variables_bytes
    axes[0].set_ylim(0, 1.15 * max(1, most) / 1000)
    return file_contents(figure, picture_format)


def _draw(axis: Axes, analysis: Analysis, title: str, line: Timeline) -> None:
    colours = listed_colours()
    sizes = [t.bytes / 1000 for t in analysis.graph.tensors]
    state = analysis.variables_bytes
    base = [state / 1000] * len(line.steps)
    # Oldest at the bottom, so that a tensor held for long is a band and not a staircase.
    born: dict[int, int] = {}
    for number, step in enumerate(line.steps):
        for tensor in step.working_set:
            born.setdefault(tensor, number)
    for tensor in sorted(born, key=lambda t: (born[t], t)):
        steps = [n for n, step in enumerate(line.steps) if tensor in step.working_set]
        axis.bar(
            steps,
            [sizes[tensor]] * len(steps),
            bottom=[base[n] for n in steps],
            width=1.0,
            color=colours[tensor % len(colours)],
            edgecolor="white",
            linewidth=0.3 if len(line.steps) < 60 else 0.0,
        )
        for n in steps:
            base[n] += sizes[tensor]
    if state:
        axis.axhspan(0, state / 1000, facecolor="0.9", edgecolor="0.5", hatch="//////", linewidth=0)
    peak = (state + line.peak_bytes) / 1000
    axis.axhline(peak, color="black", linestyle="--", linewidth=0.8)
    at = max(0, line.peak_step)
    axis.annotate(
        f"peak {line.peak_bytes:,} B" + (f" + state {state:,} B" if state else ""),
        xy=(at, peak),
        xytext=(0, 6),
        textcoords="offset points",
        ha=side_of(at, len(line.steps)),
        fontweight="bold",
    )
    axis.plot([at], [peak], marker="v", color="black", markersize=6)
    axis.set_title(title)
    axis.set_xlim(-0.6, len(line.steps) - 0.4)
    axis.spines[["top", "right"]].set_visible(False)
    if len(line.steps) <= NAMED_STEPS:
        name_steps(axis, [plain(f"{step.operator} {step.type}") for step in line.steps])
    else:
        axis.set_xlabel("step")

"""What all pictures share: formats, colours, and how axes name things.

Why matplotlib is imported only inside the functions that draw, here and wherever pictures are made: it
takes long, and most commands draw nothing.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lowtide.errors import MissingToolError, UsageError
from lowtide.report.text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")

NAMED_STEPS = 100
"""So many steps at most have their operators' names below them."""


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
    """Write below each step the operator that it runs; of very many, below every second or third."""
    every = -(-len(labels) // NAMED_STEPS)
    axis.set_xticks(
        range(0, len(labels), every),
        labels[::every],
        rotation=60,
        ha="right",
        fontsize=7 if len(labels) <= NAMED_STEPS // 2 else 5.5,
        parse_math=False,
    )
    which = "" if every == 1 else f"; one in {every} is named"
    axis.set_xlabel(f"operator, in the order it runs{which}")

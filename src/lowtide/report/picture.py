"""Pictures as values: boxes, lines and words at places in pixels, written as SVG or drawn as PNG.

Why values: each view is described once, whatever becomes of it, and tests see what it shows. SVG is
written here, the same bytes each time, and text stays text; for PNG, matplotlib draws the same elements.
It is imported only then: it takes long, and most commands draw nothing.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, Literal

from lowtide.errors import MissingToolError, UsageError, how_to_install
from lowtide.files import OURS, Replacing, check_writable, write_atomically

FORMATS: Final = ("png", "svg")
COLOURS: Final = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#9a8c00"),
    *("#9db4e0", "#f8d488", "#8fd3bd", "#efcfe1", "#c2e6f8", "#f4b08c", "#dad48c"),
)
"""Strong colours that are told apart without colour vision, too (Okabe and Ito's, the yellow darker),
then their light twins. Grey is left to scratch memory."""
STRONG: Final = 7
INK, PALE, GREY, RED = "#222222", "#8a8a8a", "#c4c4c4", "#c8102e"
FONT: Final = 13
"""The usual letters' size, in pixels."""
_LETTER: Final = 0.62
"""A letter is about so wide, times the size."""
_INCH: Final = 100
"""Pixels of a picture, as matplotlib has it; a PNG has `_DPI` of its own."""
_DPI: Final = 120
_MARK: Final = "<!-- Drawn by lowtide. -->"
"""By this, as by the software that a PNG names, `kinds` knows what may be drawn anew."""

_HALO: Final = {"paint_order": "stroke", "stroke": "#ffffff", "stroke_width": "2"}

Place = tuple[float, float]
Side = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes that look alike: left, top, width and height of each. `title` is shown below a pointer."""

    places: tuple[tuple[float, float, float, float], ...]
    fill: str
    edge: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through `points`; `dash` are lengths drawn and left out, `fill` is the area below it."""

    points: tuple[Place, ...]
    colour: str = INK
    thick: float = 1.6
    dash: tuple[float, ...] = ()
    fill: str = "none"


@dataclass(frozen=True, slots=True)
class Words:
    """Words whose base line begins, has its middle or ends at (x, y), turned left by `turn` degrees.

    With a `halo` they can be read on any colour.
    """

    x: float
    y: float
    text: str
    at: Side = "start"
    colour: str = INK
    size: float = FONT
    bold: bool = False
    turn: int = 0
    halo: bool = False


Element = Boxes | Line | Words


@dataclass(frozen=True, slots=True)
class Picture:
    """`elements` lie upon each other in their order, on a ground of their own unless `ground` is ""."""

    wide: float
    high: float
    title: str
    elements: tuple[Element, ...]
    ground: str = "#ffffff"


def letters(text: str, size: float = FONT) -> float:
    """About how many pixels `text` is wide."""
    return len(text) * size * _LETTER


def format_of(file_name: str) -> str:
    """ "png" or "svg", from a file name's ending; call it before long work.

    Raises UsageError for any other, MissingToolError if nothing here can draw it.
    """
    ending = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    if ending not in FORMATS:
        raise UsageError(
            f"cannot tell the picture format of {file_name!r}", "end the file name in .png or .svg"
        )
    if ending == "png":
        try:
            import matplotlib  # noqa: F401  # here to see that it can be
        except ImportError as error:
            raise MissingToolError(
                f"matplotlib is not installed ({error})",
                f"{how_to_install('plot')}; to write an .svg, you need nothing",
            ) from None
    return ending


def write_picture(picture: Picture, path: Path, replacing: Replacing = OURS) -> None:
    """Write `picture` to `path`: PNG or SVG, as its ending says.

    Raises UsageError for another ending, or if the file cannot be written or has to stay.
    """
    picture_format = format_of(path.name)
    check_writable(path)
    png = picture_format == "png"
    contents = png_bytes(picture) if png else f"{_MARK}\n{svg_text(picture)}".encode()
    write_atomically(path, contents, replacing)


def svg_text(picture: Picture) -> str:
    """The picture as a file of SVG, which a page can hold as well."""
    wide, high = _n(picture.wide), _n(picture.high)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        f'font-family="sans-serif" font-size="{FONT}" role="img">',
        f"<title>{escape(picture.title)}</title>",
    ]
    if picture.ground:
        lines.append(f'<rect width="{wide}" height="{high}" rx="8" fill="{picture.ground}"/>')
    return "\n".join([*lines, *map(_svg, picture.elements), "</svg>", ""])


def _svg(element: Element) -> str:
    match element:
        case Boxes(places, fill, edge, title):
            path = "".join(
                f"M{_n(x)} {_n(y)}h{_n(wide)}v{_n(high)}h{_n(-wide)}z"
                for x, y, wide, high in places
            )
            inside = f"<title>{escape(title)}</title>" if title else ""
            return _tag("path", inside, d=path, fill=fill, stroke=edge, stroke_width=edge and "0.6")
        case Line(points, colour, thick, dash, fill):
            path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
            line = {"stroke": colour, "stroke_width": _n(thick)}
            dashes = " ".join(map(_n, dash))
            return _tag("polyline", "", points=path, fill=fill, **line, stroke_dasharray=dashes)
        case Words(x, y, text, at, colour):
            return _tag(
                *("text", escape(text)),
                x=_n(x),
                y=_n(y),
                fill=colour,
                text_anchor="" if at == "start" else at,
                font_weight="bold" if element.bold else "",
                font_size="" if element.size == FONT else _n(element.size),
                transform=f"rotate({-element.turn} {_n(x)} {_n(y)})" if element.turn else "",
                **(_HALO if element.halo else {}),
            )


def _tag(name: str, inside: str, **attributes: str) -> str:
    """An element with those attributes that are not ""."""
    given = "".join(f' {k.replace("_", "-")}="{v}"' for k, v in attributes.items() if v)
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def png_bytes(picture: Picture) -> bytes:
    """The picture as a PNG's contents, drawn by matplotlib."""
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke

    figure = Figure(figsize=(picture.wide / _INCH, picture.high / _INCH))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, picture.wide), ylim=(picture.high, 0))
    axes.set_axis_off()
    point = 72 / _INCH  # of a pixel
    sides = {"start": "left", "middle": "center", "end": "right"}
    for above, element in enumerate(picture.elements):
        match element:
            case Boxes(places, fill, edge):
                corners = [
                    ((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in places
                ]
                made = PolyCollection(corners, facecolors=fill, zorder=above)
                made.set(edgecolor=edge or "none", linewidth=0.6 * point)
                axes.add_collection(made, autolim=False)
            case Line(points, colour, thick, dash, fill):
                line = Polygon(points, closed=False, facecolor=fill, edgecolor=colour, zorder=above)
                line.set(linewidth=thick * point)
                line.set(linestyle=(0, [length / thick for length in dash]) if dash else "-")
                axes.add_patch(line)
            case Words():
                text = axes.text(element.x, element.y, element.text, zorder=above, parse_math=False)
                text.set(color=element.colour, fontsize=element.size * point, ha=sides[element.at])
                text.set(weight="bold" if element.bold else "normal", clip_on=False)
                text.set(rotation=element.turn, rotation_mode="anchor")
                if element.halo:
                    text.set_path_effects([withStroke(linewidth=2 * point, foreground="white")])
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": "lowtide"})
    return out.getvalue()

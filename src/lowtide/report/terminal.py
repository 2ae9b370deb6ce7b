"""How text fits a terminal: as wide as it is, in whole words, and what narrow tables leave out.

Why here and in no report: each says what it has to say once, in columns with the most important first.
A file or a pipe has room for `USUAL` columns, unless the environment's COLUMNS says otherwise.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

USUAL: Final = 100
_LEAST, _MOST = 60, 160
_GAP = 2
_WORD = 28
"""A column of text has room for words of so many letters, as operators' types have; longer ones are
broken where it is narrow, best after a sign."""
_KEPT = 2
"""So many columns are never left out."""

GLUE: Final = "\N{BRAILLE PATTERN BLANK}"
"""In a cell of a table: a space at which no line is broken."""


def width() -> int:
    """Columns of standard output's terminal, or those that the environment asks for."""
    return max(_LEAST, min(_MOST, _asked() or USUAL))


def _asked() -> int:
    """The same, 0 where nobody asks."""
    return shutil.get_terminal_size((0, 0)).columns


def plain(text: str) -> str:
    """`text` with what a terminal might take for a command replaced: names are other people's."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def counted(count: int, thing: str, things: str = "") -> str:
    """ "1 operator", "1,234 operators"; `things` is a plural of another form."""
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"


def columns_of(text: str) -> int:
    """How many columns of a terminal `text` takes: Chinese letters, and the like, are two wide."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def short_name(name: str, room: int | None = None) -> str:
    """A tensor's name in at most `room` letters (None: what a table here has room for).

    Converters join the names of what they fused with ";", and lead each with its scopes: the first
    one's end tells the most.
    """
    most = room or (20 if width() < 80 else 30 if width() < USUAL else 40)
    whole = plain(name)
    if len(whole) <= most:
        return whole
    first, _, more = whole.partition(";")
    tail = ";\N{HORIZONTAL ELLIPSIS}" if more and most >= 30 else ""
    if len(first) + len(tail) <= most:
        return first + tail
    parts = first.split("/")
    while len(parts) > 1 and len("/".join(parts)) + len(tail) + 2 > most:
        parts = parts[1:]
    kept = "/".join(parts)
    left = most - len(tail)
    if len(kept) + 2 <= left and len(kept) < len(first):
        return f"\N{HORIZONTAL ELLIPSIS}/{kept}{tail}"
    return f"\N{HORIZONTAL ELLIPSIS}{kept[-(left - 1) :]}{tail}"


def table(title: str, columns: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; a column whose name ends in "." holds text, others are right-aligned.

    Text is broken between words where it is narrow, numbers never. Where there is no room for all
    columns, those to the right are left out, and named. Without any names there is no line of them.
    """
    names = tuple(columns)
    cells = [tuple(plain(str(cell)) for cell in row) for row in rows]
    across = width()
    shown = len(names)
    least = [_least(name, [row[i] for row in cells]) for i, name in enumerate(names)]
    while shown > _KEPT and sum(least[:shown]) + _GAP * (shown - 1) > across:
        shown -= 1
    titles = tuple(name.rstrip(".") for name in names)
    natural = [max(map(columns_of, column)) for column in zip(titles, *cells, strict=True)]
    widths = _widths(least[:shown], natural[:shown], across - _GAP * (shown - 1))
    texts = [name.endswith(".") for name in names]
    lines = [title] if title else []
    if any(titles):
        lines += _row_lines(titles[:shown], widths, texts, bottom=True)
    for row in cells:
        lines += _row_lines(row[:shown], widths, texts)
    if shown < len(names):
        left_out = ", ".join(name or "mark" for name in titles[shown:])
        narrow = "the terminal is too narrow" if _asked() else f"{across} columns are too few"
        lines.append(f"({narrow} for: {left_out})")
    return "\n".join(lines)


def _least(name: str, cells: Sequence[str]) -> int:
    """The least width of a column: a number is not broken, text is between words."""
    title = max(map(len, name.rstrip(".").split()), default=0)
    if not name.endswith("."):
        return max([title, *map(columns_of, cells)])
    return max([title, *(min(_WORD, columns_of(word)) for cell in cells for word in cell.split())])


def _widths(least: Sequence[int], natural: Sequence[int], across: int) -> list[int]:
    """The columns' widths: what each would have, but of the widest what is too much is taken."""
    cap = max(natural, default=0)
    while sum(max(a, min(b, cap)) for a, b in zip(least, natural, strict=True)) > across and cap:
        cap -= 1
    widths = [max(a, min(b, cap)) for a, b in zip(least, natural, strict=True)]
    spare = max(0, across - sum(widths))
    for number, wanted in enumerate(natural):
        more = min(spare, wanted - widths[number])
        if more > 0:
            widths[number] += more
            spare -= more
    return widths


def _row_lines(
    row: Sequence[str], widths: Sequence[int], texts: Sequence[bool], *, bottom: bool = False
) -> list[str]:
    """The lines of a row; with `bottom`, what takes fewer lines than others stands in the last ones."""
    cells = [_wrapped(cell, across) for cell, across in zip(row, widths, strict=True)]
    height = max(map(len, cells), default=0)
    lines = []
    for number in range(height):
        line = []
        for cell, across, text in zip(cells, widths, texts, strict=False):
            at = number - (height - len(cell)) if bottom else number
            piece = cell[at] if 0 <= at < len(cell) else ""
            margin = " " * (across - columns_of(piece))
            line.append(piece + margin if text else margin + piece)
        lines.append((" " * _GAP).join(line).replace(GLUE, " ").rstrip())
    return lines


def _wrapped(text: str, across: int) -> list[str]:
    """`text` in lines of at most `across` letters."""
    if columns_of(text) <= across:
        return [text]
    lines = [""]
    for word in _pieces(text, across):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns_of(joined) <= across:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines if lines[0] else lines[1:]


def _pieces(text: str, across: int) -> list[str]:
    """The words of `text`; those longer than `across` in parts, broken after a sign if there is one."""
    found = []
    for word in text.split():
        rest = word
        while columns_of(rest) > across:
            most = max(
                1, next(n for n in range(len(rest), -1, -1) if columns_of(rest[:n]) <= across)
            )
            signs = [m.end() for m in re.finditer(r"[/;:,_.-]", rest[:most])]
            cut = signs[-1] if signs else most
            found.append(rest[:cut])
            rest = rest[cut:]
        found.append(rest)
    return found


def fitted(text: str) -> str:
    """`text` with lines that are too long broken between words, the rest of each set in."""
    if not _asked():
        return text
    across = width()
    return "\n".join(
        line if len(line) <= across else _broken(line, across) for line in text.split("\n")
    )


def _broken(line: str, across: int) -> str:
    margin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.strip(),
        width=across,
        initial_indent=margin,
        subsequent_indent=f"{margin}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )

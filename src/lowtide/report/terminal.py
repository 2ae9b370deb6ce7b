"""How text fits a terminal: as wide as it is, in whole words, and what narrow tables leave out.

Why here and in no report: each says what it has to say once, in columns with the most important first.
A file or a pipe has room for `USUAL` columns, unless the environment's COLUMNS says otherwise.
"""

from __future__ import annotations

import io
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

USUAL = 100
_LEAST, _MOST = 60, 160
_GAP = 2
_WORD = 16
"""A column of text has room for words of so many letters; longer ones are cut where it is narrow."""
_KEPT = 2
"""So many columns are never left out."""


def width() -> int:
    """Columns of standard output's terminal, or those that the environment asks for."""
    return max(_LEAST, min(_MOST, _asked() or USUAL))


def _asked() -> int:
    """The same, 0 where nobody asks."""
    return shutil.get_terminal_size((0, 0)).columns


def plain(text: str) -> str:
    """`text` with what a terminal might take for a command replaced: names are other people's."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def table(title: str, columns: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; a column whose name ends in "." holds text, others are right-aligned.

    Where there is no room for all columns, those to the right are left out, and named.
    """
    names = tuple(columns)
    cells = [tuple(plain(str(cell)) for cell in row) for row in rows]
    across = width()
    shown = len(names)
    least = [_least(name, [row[i] for row in cells]) for i, name in enumerate(names)]
    while shown > _KEPT and sum(least[:shown]) + _GAP * (shown - 1) > across:
        shown -= 1
    from rich.table import Table  # with rich, which is not quick, and lists of names need none
    from rich.text import Text

    made = Table(box=None, pad_edge=False)
    for name in names[:shown]:
        text = name.endswith(".")
        made.add_column(
            name.rstrip("."),
            justify="left" if text else "right",
            overflow="fold" if across >= USUAL else "ellipsis",
            no_wrap=not text,
        )
    for row in cells:
        made.add_row(*map(Text, row[:shown]))
    lines = [*([title] if title else []), _rendered(made, across)]
    if shown < len(names):
        left_out = ", ".join(name.rstrip(".") or "mark" for name in names[shown:])
        lines.append(f"(left out, as the terminal is narrow: {left_out})")
    return "\n".join(lines)


def _least(name: str, cells: Sequence[str]) -> int:
    """The least width of a column: a number is not broken, text is between words."""
    title = max(map(len, name.rstrip(".").split()), default=0)
    if not name.endswith("."):
        return max([title, *map(len, cells)])
    return max([title, *(min(_WORD, len(word)) for cell in cells for word in cell.split())])


def _rendered(made: Any, across: int) -> str:
    """A table as plain text, the same on every terminal of that width."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=across, color_system=None, highlight=False)
    console.print(made)
    text = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


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

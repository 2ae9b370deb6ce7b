"""The tables that the benches print: a row says what was asked and what is measured now.

Why in one place: figures of several benches should be shown alike, so that they can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

Status = Literal["OK", "MISSED", "not measured"]

Record = Mapping[str, Any]
"""Figures of one line of a document's table, by name; units are in the names."""

_STATUS_WIDTH = 12  # "not measured"


@dataclass(frozen=True, slots=True)
class Detail:
    """A small table shown below the main one: figures that a row sums up."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `values` are the measured figures for programs to read.

    `record` has those that the documents show, None if there are none or they must not be shown.
    """

    on: str
    asked: str
    measured: str
    status: Status
    peer: str = ""
    values: dict[str, object] = field(default_factory=dict)
    details: tuple[Detail, ...] = ()
    record: Record | None = None


def verdict(good: bool) -> Status:
    """The status of a row that was measured."""
    return "OK" if good else "MISSED"


def amount(count: int) -> str:
    """ "351,232 B"."""
    return f"{count:,} B"


def cells(lines: Sequence[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    """Lines of a `Detail`; numbers get their thousands apart."""
    return tuple(tuple(f"{c:,}" if isinstance(c, int) else str(c) for c in line) for line in lines)


def with_detail(rows: Sequence[Row], detail: Detail) -> list[Row]:
    """The rows (at least one), with `detail`, unless it is empty, as the details of the last."""
    if not detail.lines:
        return list(rows)
    return [*rows[:-1], replace(rows[-1], details=(detail,))]


def plain_console(width: int) -> Console:
    """Standard output, `width` characters wide, that takes text as it is."""
    return Console(width=width, highlight=False, markup=False, emoji=False)


def plain_table() -> Table:
    """A table without lines, of no columns yet."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")


def print_report(
    title: str,
    width: int,
    columns: Sequence[tuple[str, int]],
    rows: Sequence[Row],
    *,
    figures_right: bool = False,
) -> None:
    """A bench's whole text: the title, the rows, their details, how many there are.

    `width` in characters; `columns` as for `print_rows`, `figures_right` as for `print_details`.
    """
    console = plain_console(width)
    console.print(f"{title}\n")
    print_rows(console, columns, rows)
    print_details(console, rows, figures_right=figures_right)
    console.print(f"\n{counted(rows)}.")


def print_rows(console: Console, columns: Sequence[tuple[str, int]], rows: Iterable[Row]) -> None:
    """The table of the rows, without their details.

    `columns` has title and width in characters of the first four; the fifth is the status.
    """
    table = plain_table()
    for column, width in columns:
        table.add_column(column, width=width, overflow="fold")
    table.add_column("", width=_STATUS_WIDTH)
    for row in rows:
        table.add_row(row.on, row.asked, row.measured, row.peer, row.status)
    console.print(table)


def print_details(
    console: Console, rows: Iterable[Row], *, figures_right: bool = False, fold: bool = False
) -> None:
    """The tables of the rows' details.

    `figures_right` aligns columns of figures, but the first, to the right. Cells that are too wide
    continue on the next line, with `fold` also within a word; else what is left of the word is cut.
    """
    for detail in (detail for row in rows for detail in row.details):
        table = plain_table()
        for number, column in enumerate(detail.columns):
            right = figures_right and number > 0
            right = right and all(_is_figure(line[number]) for line in detail.lines)
            table.add_column(
                column,
                justify="right" if right else "left",
                overflow="fold" if fold else "ellipsis",
            )
        for line in detail.lines:
            table.add_row(*line)
        console.print(f"\n{detail.title}\n")
        console.print(table)


def _is_figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell == "-"


def counted(rows: Sequence[Row]) -> str:
    """How many rows there are, and of each status, without a full stop."""
    counts = Counter(row.status for row in rows)
    return (
        f"{len(rows)} rows: {counts['OK']} OK, {counts['MISSED']} missed, "
        f"{counts['not measured']} not measured"
    )


def print_missed(console: Console, rows: Iterable[Row]) -> None:
    """A line for every row that is missed."""
    for row in rows:
        if row.status == "MISSED":
            line = f"Missed: {row.on}: {row.measured}; asked {row.asked}"
            console.print(line, soft_wrap=True)

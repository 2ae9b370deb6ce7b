"""What every bench of rows does with them: measure group by group, store, print, and say how it ends.

Why one: a bench is what it measures. How its groups are named, what prevents a row, and what the exit
code means are the same in all of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from bench.shared.command import machine
from bench.shared.outside import NeedsError
from bench.shared.programs import failed_row
from bench.shared.stored import store_rows
from bench.shared.tables import Row, print_report
from lowtide.errors import LowtideError

Groups = Mapping[str, Sequence[Row]]
"""The rows of a bench, by the name of their group."""

_PREVENTS: Final = (
    NeedsError,
    LowtideError,
    RuntimeError,
    ValueError,
    OSError,
    subprocess.SubprocessError,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """How rows are printed: `width` in characters, `columns` as for `print_rows`; `title` says what they
    are, and `figures_right` is as for `print_details`."""

    width: int
    columns: Sequence[tuple[str, int]]
    title: str = "lowtide, measured now on this machine"
    figures_right: bool = True


def rows_of(what: str, measure: Callable[[], list[Row]]) -> list[Row]:
    """What `measure` returns, or, where something prevents it, a row that says so of `what`."""
    try:
        return measure()
    except _PREVENTS as error:
        return [failed_row(what, error)]


def answered(
    bench: str,
    given: argparse.Namespace,
    found: Groups,
    table: Table,
    by: Callable[[], str],
    *,
    where: Callable[[], str] = machine,
) -> int:
    """Store what a bench has `found`, if that is asked for, with the tools that it was measured `by`;
    print it as a table, with `where` that was, or as a document. The exit code: 1 if a row is missed."""
    rows = flat(found)
    if given.store:
        store_rows(bench, found, by())
    if given.json:
        print_document(bench, map(dataclasses.asdict, rows))
    else:
        title = f"{table.title} ({where()})"
        print_report(title, table.width, table.columns, rows, figures_right=table.figures_right)
    return exit_code(rows)


def flat(found: Groups) -> list[Row]:
    """The rows of all groups."""
    return [row for of_group in found.values() for row in of_group]


def print_document(bench: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Rows as JSON."""
    print(json.dumps({"schema": f"lowtide.bench.{bench}/1", "rows": [*rows]}, indent=2))


def exit_code(rows: Iterable[Row]) -> int:
    """1 if a row is missed."""
    return 1 if any(row.status == "MISSED" for row in rows) else 0

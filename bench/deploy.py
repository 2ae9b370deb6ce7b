"""Prints what was asked of the generated programs beside what is measured now, and beside TFLM.

Operators run one after the other in them (--schedule operators).

    bench/deploy                       the table, then the figures behind its rows
    bench/deploy --only instructions   some groups of rows; --help lists them
    bench/deploy --json                {"schema": "lowtide.bench.deploy/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need the shared models, or a tool
that is absent, are "not measured". Takes some minutes: every network is compiled, run on this computer
under sanitizers, and on emulated boards. Instructions are repeatable; they are not cycles.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from deploy_exact import (
    board_jobs,
    board_rows,
    compiler_rows,
    core_jobs,
    core_rows,
    host_jobs,
    host_rows,
    refusal_rows,
)
from deploy_figures import (
    code_jobs,
    code_rows,
    compacting_jobs,
    compacting_rows,
    instruction_jobs,
    instruction_rows,
    ram_jobs,
    ram_rows,
)
from deploy_jobs import Job, Outcomes, do_all
from reorder_rows import Detail, NeedsError, Row

_WIDTH = 150

# Groups of rows that are made of the outcomes of jobs, and groups that measure by themselves.
_OF_JOBS: dict[str, tuple[Callable[[], list[Job]], Callable[[Outcomes], list[Row]]]] = {
    "host": (host_jobs, host_rows),
    "boards": (board_jobs, board_rows),
    "cores": (core_jobs, core_rows),
    "ram": (ram_jobs, ram_rows),
    "instructions": (instruction_jobs, instruction_rows),
    "code": (code_jobs, code_rows),
    "compacting": (compacting_jobs, compacting_rows),
}
_ALONE: dict[str, Callable[[], list[Row]]] = {
    "refusal": refusal_rows,
    "compilers": compiler_rows,
}


def _measure(groups: Sequence[str]) -> list[Row]:
    jobs = [job for group in groups if group in _OF_JOBS for job in _OF_JOBS[group][0]()]
    outcomes = do_all(jobs) if jobs else {}
    rows = []
    for group in groups:
        try:
            rows += _OF_JOBS[group][1](outcomes) if group in _OF_JOBS else _ALONE[group]()
        except NeedsError as error:
            rows.append(Row(group, "", str(error), "not measured"))
    return rows


def _print(rows: Sequence[Row], seconds: float) -> None:
    console = Console(width=_WIDTH, highlight=False, markup=False, emoji=False)
    where = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    console.print(f"lowtide, measured now on this machine ({where}; {seconds:.0f} s)\n")
    main = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    widths = (("on", 40), ("asked", 26), ("measured", 38), ("peer, measured alike", 24))
    for column, width in widths:
        main.add_column(column, width=width, overflow="fold")
    main.add_column("", width=12)
    for row in rows:
        main.add_row(row.on, row.asked, row.measured, row.peer, row.status)
    console.print(main)
    for row in rows:
        for detail in row.details:
            _print_detail(console, detail)
    counts = Counter(row.status for row in rows)
    console.print(
        f"\n{len(rows)} rows: {counts['OK']} OK, {counts['MISSED']} missed, "
        f"{counts['not measured']} not measured."
    )


def _print_detail(console: Console, detail: Detail) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for number, column in enumerate(detail.columns):
        figures = number > 0 and all(_is_figure(line[number]) for line in detail.lines)
        table.add_column(column, justify="right" if figures else "left")
    for line in detail.lines:
        table.add_row(*line)
    console.print(f"\n{detail.title}\n")
    console.print(table)


def _is_figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell == "-"


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/deploy", description="What was asked, what is measured, and TFLM's figures."
    )
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON document")
    known = [*_OF_JOBS, *_ALONE]
    parser.add_argument(
        "--only",
        metavar="GROUP",
        nargs="+",
        choices=known,
        default=known,
        help=f"groups of rows: {', '.join(known)}",
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    rows = _measure([group for group in known if group in given.only])
    if given.json:
        document = {
            "schema": "lowtide.bench.deploy/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        _print(rows, time.perf_counter() - begin)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

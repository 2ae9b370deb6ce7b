"""Prints what was asked of the first slice of lowtide beside what is measured now, on this machine.

    bench/reorder          the table, then the figures behind its rows
    bench/reorder --json   {"schema": "lowtide.bench.reorder/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need the shared models are "not
measured" where those are absent.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from lowtide.errors import LowtideError, MissingToolError
from reorder_models import analyze_speed, figure1, swiftnet, vww_head
from reorder_rows import Detail, NeedsError, Row
from reorder_search import long_chain, nine_branches, random_dags, wired
from reorder_tflm import arena_heads

_WIDTH = 136

# What to name a group of rows if it cannot be measured, and its function.
_GROUPS: tuple[tuple[str, Callable[[], list[Row]]], ...] = (
    ("zoo:figure1", figure1),
    ("swiftnet_cell_uint8", swiftnet),
    ("mlperf_vww_96_int8 --offline-plan", vww_head),
    ("tflm_greedy_arena_bytes", arena_heads),
    ("random DAGs", random_dags),
    ("chain", long_chain),
    ("parallel branches", nine_branches),
    ("randomly wired", wired),
    ("analyze(), te_vww loaded", analyze_speed),
)


def _measure(name: str, group: Callable[[], list[Row]]) -> list[Row]:
    try:
        return group()
    except NeedsError as error:
        return [Row(name, "", str(error), "not measured")]
    except MissingToolError as error:
        return [Row(name, "", f"needs a tool: {error.cause}", "not measured")]
    except (LowtideError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        return [Row(name, "", f"failed: {error}", "MISSED")]


def _print(rows: Sequence[Row]) -> None:
    console = Console(width=_WIDTH, highlight=False, markup=False, emoji=False)
    where = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    console.print(f"lowtide, measured now on this machine ({where})\n")
    main = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for column, width in (("on", 36), ("asked", 26), ("measured", 34), ("peer, published", 19)):
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
    for column in detail.columns:
        table.add_column(column)
    for line in detail.lines:
        table.add_row(*line)
    console.print(f"\n{detail.title}\n")
    console.print(table)


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/reorder", description="What was asked, what is measured, and rivals' figures."
    )
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON document")
    as_json: bool = parser.parse_args().json
    rows = [row for name, group in _GROUPS for row in _measure(name, group)]
    if as_json:
        document = {
            "schema": "lowtide.bench.reorder/1",
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        print(json.dumps(document, indent=2))
    else:
        _print(rows)
    return 1 if any(row.status == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

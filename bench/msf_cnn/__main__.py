"""Prints the msf-CNN paper's Table 1, worked out anew, then what lowtide's plans need beside it.

    bench/run msf_cnn                     every section; the first has a table for each network, then
                                      other counts, times, and what to know
    bench/run msf_cnn --only table1 own   some sections; --help lists them
    bench/run msf_cnn --store             also write the documents' figures, docs/figures/msf_cnn.json
    bench/run msf_cnn --json              {"schema": "lowtide.bench.msf_cnn/1", "rows": [...], ...}

In Table 1, their cost model and their searches run on the zoo's chains, beside the released code's
figures and the paper's. In the other sections lowtide's plans are found, compiled, run and compared
with the reference kernels, in two processes; then the planner is timed, alone. Exit code 1 if a cell
differs from the released code, or a row is missed. Progress goes to stderr. Without the shared data
nothing of Table 1 is compared, and it says so.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from bench.msf_cnn.compared import Cell, Optimum, Report, SearchTime
from bench.msf_cnn.ours import NAMES, as_documents, good, measure_ours, print_ours
from bench.msf_cnn.paper_chains import ZOO
from bench.msf_cnn.table1 import measure
from bench.shared.command import bench_parser, machine
from bench.shared.stored import board_tools, store_rows
from bench.shared.tables import plain_console, plain_table
from bench.shared.work import note

_WIDTH = 160
_TABLE1 = "table1"
_NOTES = """
B, F        bytes and MACs / MACs without fusion, as the released code counts them: a block's input,
            output and cache (equations 5 to 7 and 11 to 15); the network's input and output are free.
eq. 11 B    with the cache as published: none for a block's first layer. The code has one for that, too,
            and takes the tile sizes at the end of the map, padding included.
+ ends B    the same with the network's input and output.
clipped F   the MACs the scheme really needs; equation 12 forgets tiles at the border of small maps.
eq. 14 F    equation 14 to the letter has c_out twice and c_in nowhere; the code has c_out and c_in.
equal       bytes, MACs, F (six digits), the setting and all recounts are those in the shared data.
Also: equations 2 and 4 say "less than" the limit, the code allows F = F_max; the code fuses no block
whose tile is larger than its map; of P2's paths with equally few MACs it takes that of least RAM."""


def _table(*columns: str, left: int = 1) -> Table:
    table = plain_table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left or not column else "right")
    return table


def _column(cells: Sequence[Cell]) -> Table:
    table = _table(
        *("setting", "B", "code's B", "paper's kB", "F", "code's F", "paper's F"),
        *("eq. 11 B", "+ ends B", "clipped F", "eq. 14 F", "blocks", "ms", ""),
    )
    for cell in cells:
        table.add_row(cell.constraint, *_figures(cell), f"{cell.seconds * 1e3:.1f}", _verdict(cell))
    return table


def _figures(cell: Cell) -> list[str]:
    compared = cell.status != "not compared"
    none = "no solution" if compared else ""
    code = none if cell.code is None else f"{cell.code['bytes']:,}"
    code_factor = "" if cell.code is None else f"{cell.code['F']:.6f}"
    paper, paper_factor = (none, "") if cell.published is None else map(str, cell.published)
    if cell.ours is None:
        return ["no solution", code, paper, "", code_factor, paper_factor, *[""] * 5]
    ours = cell.ours
    return [
        *(f"{ours.bytes:,}", code, paper, f"{ours.factor:.6f}", code_factor, paper_factor),
        *(f"{ours.eq11_bytes:,}", f"{ours.bytes_with_ends:,}", f"{ours.clipped_factor:.6f}"),
        *(f"{ours.letter_factor:.6f}", str(len(ours.blocks))),
    ]


def _verdict(cell: Cell) -> str:
    said = [cell.status, *cell.differs]
    return "; ".join([", ".join(said), cell.note] if cell.note else [", ".join(said)])


def _optima(optima: Sequence[Optimum]) -> Table:
    # A line for each setting, a column for each network and accounting.
    columns = list(dict.fromkeys((o.accounting, o.network) for o in optima))
    cells = {(o.accounting, o.network, o.constraint): o for o in optima}
    short = {accounting: accounting.split(",")[0] for accounting, _ in columns}
    table = _table("setting", *(f"{network}, {short[a]}" for a, network in columns))
    for constraint in dict.fromkeys(o.constraint for o in optima):
        line = [cells[(*column, constraint)] for column in columns]
        table.add_row(constraint, *(_optimum(optimum) for optimum in line))
    return table


def _optimum(optimum: Optimum) -> str:
    if optimum.ours is None:
        text = "no solution"
    else:
        ram, factor = optimum.ours
        text = f"{ram:,} B {factor:.4f}"
    return f"{text} DIFFERS" if optimum.status == "DIFFERS" else text


def _timings(timings: Sequence[SearchTime]) -> Table:
    table = _table("network", "problem", "searches, s", "graph, s", "released code, s", left=2)
    for timing in timings:
        code = "" if timing.code is None else f"{timing.code:.2f}"
        ours = (f"{timing.searches:.4f}", f"{timing.graph:.4f}")
        table.add_row(timing.network, timing.problem, *ours, code)
    return table


def _print(report: Report) -> None:
    console = plain_console(_WIDTH)
    console.print(f"msf-CNN's Table 1, worked out now on this machine ({machine()})")
    for network, zoo_name in ZOO.items():
        console.print(f"\n{network} (zoo:{zoo_name})\n")
        console.print(_column([cell for cell in report.cells if cell.network == network]))
    console.print(_NOTES)
    console.print("\nBest settings by eq. 11 and clipped MACs: RAM and F, without or with ends\n")
    console.print(_optima(report.optima))
    console.print(
        '\nTime; "a few seconds" in the paper. The released code: whole runs, measured for the data\n'
    )
    console.print(_timings(report.timings))
    console.print(f"\nTable 1: {_count(report.cells)}. Best settings: {_count(report.optima)}.")
    noted = [f"{cell.network} {cell.constraint}" for cell in report.cells if cell.note]
    if noted:
        console.print(f"The paper is not its own code in {len(noted)}: {', '.join(noted)}.")
    if report.missing:
        console.print(f"Nothing to compare with: needs the shared data ({_missing(report)}).")


def _count(rows: Sequence[Cell] | Sequence[Optimum]) -> str:
    counts = Counter(row.status for row in rows)
    return f"{len(rows)} cells, " + ", ".join(f"{n} {status}" for status, n in counts.items())


def _missing(report: Report) -> str:
    return ", ".join(report.missing)


def main() -> int:
    """Work out every cell and measure every row, and print them; the exit code."""
    parser = bench_parser(
        "bench/run msf_cnn",
        "The msf-CNN paper's Table 1, ours beside theirs.",
        (_TABLE1, *NAMES),
        metavar="SECTION",
        noun="sections",
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    report = Report((), (), (), ())
    if _TABLE1 in given.only:
        try:
            report = measure()
        except ValueError as error:
            note(str(error))
            return 1
        if not given.json:
            _print(report)
    ours = measure_ours([name for name in NAMES if name in given.only])
    if given.store:
        store_rows("msf_cnn", ours, f"emulated boards, {board_tools()}")
    if given.json:
        document = {
            "schema": "lowtide.bench.msf_cnn/1",
            "missing": report.missing,
            "rows": [dataclasses.asdict(row) for row in report.cells],
            "optima": [dataclasses.asdict(row) for row in report.optima],
            "timings": [dataclasses.asdict(row) for row in report.timings],
            "ours": as_documents(ours),
        }
        print(json.dumps(document, indent=2))
        if report.missing:
            note(f"nothing to compare with: needs the shared data ({_missing(report)})")
    elif ours:
        print_ours(ours, time.perf_counter() - begin)
    return 0 if report.good and good(ours) else 1


if __name__ == "__main__":
    sys.exit(main())

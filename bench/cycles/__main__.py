"""Prints real cycles of lowtide's programs, on the RTL of VexRiscv, beside those by the core's manual.

    bench/run cycles                       the table, but for what takes hours
    bench/run cycles --only min-kws-0      some groups of rows; --help lists them
    bench/run cycles --store               also write the documents' figures, docs/figures/cycles.json
    bench/run cycles --json                {"schema": "lowtide.bench.cycles/1", "rows": [...]}

Exit code 1 if a row is missed: if outputs differ, or cycles or lines missed are off by more than 5 %; 4
without Verilator or the package with the RTL, which nothing else here needs. `cached` and `min` take
some ten minutes, `min-kws-0` and the like half an hour or more each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cycles.measured import measure_all, row_of
from bench.cycles.rtl import build_rtl, find_rtl, rtl_tools
from bench.cycles.variants import CACHED, GROUPS, MIN, QUICK
from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered
from bench.shared.tables import Row
from bench.shared.work import note
from lowtide.errors import LowtideError

_TABLE = Table(
    190,
    (("on", 36), ("asked", 41), ("measured", 90), ("two inputs", 10)),
    "Cycles on the RTL of VexRiscv, measured now on this machine",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every row and print the table; the exit code."""
    parser = bench_parser("bench/run cycles", "Cycles on the RTL of VexRiscv.", [*GROUPS])
    parser.add_argument(
        "--rtl",
        type=Path,
        metavar="FOLDER",
        help="the folder `verilog` of that package, if this Python does not have it",
    )
    parser.set_defaults(only=QUICK)
    given = parser.parse_args(arguments)
    try:
        rows = _measured(given.only, given.rtl)
    except LowtideError as error:
        print(f"bench/run cycles: {error}", file=sys.stderr)
        return error.exit_code
    return answered("cycles", given, rows, _TABLE, rtl_tools)


def _measured(groups: Sequence[str], folder: Path | None) -> dict[str, list[Row]]:
    """The rows of each group, of the RTL in `folder`, else that of the installed package."""
    rtl = find_rtl(folder)
    cases = {name: GROUPS[name] for name in groups}
    wanted = [case for of_group in cases.values() for case in of_group]
    with TemporaryDirectory() as built:
        note("building the simulations")
        used = {case.variant.name for case in wanted}
        simulations = {
            variant.name: build_rtl(variant, rtl, Path(built))
            for variant in (CACHED, MIN)
            if variant.name in used
        }
        found = measure_all(wanted, simulations)
    return {name: [row_of(found[case]) for case in of_group] for name, of_group in cases.items()}


if __name__ == "__main__":
    sys.exit(main())

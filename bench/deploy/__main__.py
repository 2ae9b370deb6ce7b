"""Prints what was asked of the generated programs beside what is measured now, and beside TFLM.

Operators run one after the other in them (--schedule operators).

    bench/run deploy                       the table, then the figures behind its rows
    bench/run deploy --only instructions   some groups of rows; --help lists them
    bench/run deploy --store               also write the documents' figures, docs/figures/deploy.json
    bench/run deploy --json                {"schema": "lowtide.bench.deploy/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need the shared models, or a tool
that is absent, are "not measured". Takes some minutes: every network is compiled, run on this computer
under sanitizers, and on emulated boards. Instructions are repeatable; they are not cycles.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from bench.deploy.exactness import (
    board_jobs,
    board_rows,
    compiler_rows,
    core_jobs,
    core_rows,
    host_jobs,
    host_rows,
    refusal_rows,
)
from bench.deploy.layer_by_layer import LayerJob, LayerOutcomes, do_all
from bench.deploy.size_and_speed import (
    code_jobs,
    code_rows,
    compacting_jobs,
    compacting_rows,
    instruction_jobs,
    instruction_rows,
    ram_jobs,
    ram_rows,
)
from bench.shared.command import bench_parser, machine
from bench.shared.driver import Table, answered, rows_of
from bench.shared.stored import board_tools
from bench.shared.tables import Row

_TABLE = Table(150, (("on", 40), ("asked", 26), ("measured", 38), ("peer, measured alike", 24)))

# Groups of rows that are made of the outcomes of jobs, and groups that measure by themselves.
_OF_JOBS: dict[str, tuple[Callable[[], list[LayerJob]], Callable[[LayerOutcomes], list[Row]]]] = {
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


def _measure(groups: Sequence[str]) -> dict[str, list[Row]]:
    jobs = [job for group in groups if group in _OF_JOBS for job in _OF_JOBS[group][0]()]
    outcomes = do_all(jobs) if jobs else {}
    return {group: _rows_of(group, outcomes) for group in groups}


def _rows_of(group: str, outcomes: LayerOutcomes) -> list[Row]:
    if group in _ALONE:
        return rows_of(group, _ALONE[group])
    return rows_of(group, lambda: _OF_JOBS[group][1](outcomes))


def main() -> int:
    """Measure every row and print the table; the exit code."""
    known = [*_OF_JOBS, *_ALONE]
    parser = bench_parser(
        "bench/run deploy", "What was asked, what is measured, and TFLM's figures.", known
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    found = _measure([group for group in known if group in given.only])
    return answered(
        "deploy",
        given,
        found,
        _TABLE,
        lambda: f"emulated boards, {board_tools()}",
        where=lambda: f"{machine()}; {time.perf_counter() - begin:.0f} s",
    )


if __name__ == "__main__":
    sys.exit(main())

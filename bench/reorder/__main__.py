"""Prints what was asked of the first slice of lowtide beside what is measured now, on this machine.

    bench/run reorder                      the table, then the figures behind its rows
    bench/run reorder --only wired speed   some groups of rows; --help lists them
    bench/run reorder --store              also write the documents' figures, docs/figures/reorder.json
    bench/run reorder --json               {"schema": "lowtide.bench.reorder/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need the shared models are "not
measured" where those are absent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from bench.reorder.arena_heads import arena_heads
from bench.reorder.known_networks import analyze_speed, figure1, offline_heads, swiftnet
from bench.reorder.order_search import long_chain, nine_branches, random_dags, wired
from bench.shared.command import bench_parser, machine
from bench.shared.driver import Table, answered, rows_of
from bench.shared.tables import Row

_TABLE = Table(
    136,
    (("on", 36), ("asked", 26), ("measured", 34), ("peer, published", 19)),
    figures_right=False,
)

# Groups by name: what to name a group if it cannot be measured, and its function.
_GROUPS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "figure1": ("zoo:figure1", figure1),
    "swiftnet": ("swiftnet_cell_uint8", swiftnet),
    "heads": ("reorder --offline-plan", offline_heads),
    "arenas": ("tflm_greedy_arena_bytes", arena_heads),
    "dags": ("random DAGs", random_dags),
    "chain": ("chain", long_chain),
    "branches": ("parallel branches", nine_branches),
    "wired": ("randomly wired", wired),
    "speed": ("analyze(), models loaded", analyze_speed),
}


def main() -> int:
    """Measure every row and print the table; the exit code."""
    parser = bench_parser(
        "bench/run reorder", "What was asked, what is measured, and rivals' figures.", list(_GROUPS)
    )
    given = parser.parse_args()
    found = {name: rows_of(*group) for name, group in _GROUPS.items() if name in given.only}
    return answered(
        "reorder", given, found, _TABLE, lambda: f"{machine()}, load {os.getloadavg()[1]:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())

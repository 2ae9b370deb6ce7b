"""Prints what was asked of estimates and sweeps of thousands of networks beside what is measured now.

    bench/run sweep                            the table, then the figures behind its rows
    bench/run sweep --only orders start        some groups of rows; --help lists them
    bench/run sweep --only orders --limit 5    the peer gives up earlier
    bench/run sweep --store                    also write the documents' figures, docs/figures/sweep.json
    bench/run sweep --json                     {"schema": "lowtide.bench.sweep/1", "rows": [...]}

Exit code 1 if a row is missed. Progress goes to stderr. Rows that need an engine are "not measured"
where it is not installed. Seconds are of CPU time, but where two cores are compared with one: that needs
two idle cores, and the load is shown.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial

from bench.shared.command import bench_parser, machine
from bench.shared.driver import Table, answered, rows_of
from bench.shared.tables import Row
from bench.sweep.estimates import accuracy
from bench.sweep.orders import orders
from bench.sweep.start import start
from bench.sweep.sweeps import cores, engines, killed, memory

_TABLE = Table(
    150, (("on", 34), ("asked", 30), ("measured", 42), ("peer", 26)), figures_right=False
)
# Groups by name: what to name a group if it cannot be measured, and its function.
_GROUPS: dict[str, tuple[str, Callable[[argparse.Namespace], list[Row]]]] = {
    "orders": ("peak by order", lambda given: orders(given.candidates, given.limit)),
    "estimates": ("estimates", lambda given: accuracy(given.networks)),
    "start": ("lowtide --help", lambda _: start()),
    "cores": ("two cores against one", lambda given: cores(given.files)),
    "killed": ("kill -9 and resume", lambda _: killed()),
    "engines": ("local, ray, dask", lambda _: engines()),
    "memory": ("RAM of the sweep", lambda given: memory(given.rows)),
}


def _given() -> argparse.Namespace:
    parser = bench_parser(
        "bench/run sweep",
        "What was asked of thousands of networks, and what is measured.",
        [*_GROUPS],
    )
    parser.add_argument(
        "--candidates", type=int, default=200, metavar="N", help="networks to order (default: 200)"
    )
    parser.add_argument(
        "--networks",
        type=int,
        default=500,
        metavar="N",
        help="random networks to estimate and to compile (default: 500)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60,
        metavar="SECONDS",
        help="of CPU time, after which the peer gives up on one (default: 60)",
    )
    parser.add_argument(
        "--files",
        type=int,
        default=2000,
        metavar="N",
        help="to sweep on one core and on two (default: 2000)",
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=20_000,
        metavar="N",
        help="of a sweep whose memory is measured (default: 20000)",
    )
    return parser.parse_args()


def main() -> int:
    """Measure every row and print the table; the exit code."""
    given = _given()
    found = {
        name: rows_of(what, partial(group, given))
        for name, (what, group) in _GROUPS.items()
        if name in given.only
    }
    return answered("sweep", given, found, _TABLE, _where, where=_where)


def _where() -> str:
    return f"{machine()}, load {os.getloadavg()[1]:.1f}"


if __name__ == "__main__":
    sys.exit(main())

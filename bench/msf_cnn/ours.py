"""What lowtide makes of paper 2's question, beside paper 2: the sections of the bench after Table 1.

A row says what was asked, what is measured now, and what paper 2 has. KB = 1000 B.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence

from bench.msf_cnn.front_time import TIME_NOTE, time_rows
from bench.msf_cnn.ours_on_chains import (
    HONEST_NOTE,
    OWN_NOTE,
    RAM_NOTE,
    honest_jobs,
    honest_rows,
    own_jobs,
    own_rows,
    ram_jobs,
    ram_rows,
)
from bench.msf_cnn.ours_on_networks import (
    MACS_NOTE,
    REAL_NOTE,
    board_jobs,
    board_rows,
    mac_jobs,
    mac_rows,
    real_jobs,
    real_rows,
)
from bench.msf_cnn.planned_programs import PlanJob, PlanOutcomes, do_all
from bench.shared.tables import (
    Row,
    counted,
    plain_console,
    plain_table,
    print_details,
    print_missed,
)

_WIDTH = 172
_COLUMNS = ("", "asked", "measured", "peer", "")


@dataclasses.dataclass(frozen=True, slots=True)
class _Section:
    """Rows made of the outcomes of jobs; without jobs, rows that measure by themselves."""

    title: str
    note: str
    rows: Callable[[PlanOutcomes], list[Row]]
    jobs: Callable[[], list[PlanJob]] = list


_SECTIONS = {
    "own": _Section(
        "Paper 2 beaten in its own accounting: const input, streamed output, bit-exact",
        OWN_NOTE,
        own_rows,
        own_jobs,
    ),
    "honest": _Section(
        "The same in honest accounting: resident output, RAM in all, instructions",
        HONEST_NOTE,
        honest_rows,
        honest_jobs,
    ),
    "ram": _Section(
        "The fewest MACs within a limit of RAM, resident output", RAM_NOTE, ram_rows, ram_jobs
    ),
    "board": _Section("A board with 16 KiB of RAM", "", board_rows, board_jobs),
    "real": _Section("Real networks, with strips and without", REAL_NOTE, real_rows, real_jobs),
    "macs": _Section("MACs executed, and as planned", MACS_NOTE, mac_rows, mac_jobs),
    "time": _Section("Planning time", TIME_NOTE, lambda _: time_rows()),
}
NAMES = tuple(_SECTIONS)
"""The sections, in the order in which they are measured and printed."""


def measure_ours(names: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of the sections `names`."""
    jobs = [job for name in names for job in _SECTIONS[name].jobs()]
    outcomes = do_all(jobs) if jobs else {}
    return {name: _SECTIONS[name].rows(outcomes) for name in names}


def print_ours(found: Mapping[str, Sequence[Row]], seconds: float) -> None:
    """All sections, then what was missed."""
    console = plain_console(_WIDTH)
    for name, rows in found.items():
        section = _SECTIONS[name]
        console.print(f"\n{section.title}\n")
        table = plain_table()
        for column in _COLUMNS:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(row.on, row.asked, row.measured, row.peer, row.status)
        console.print(table)
        print_details(console, rows, fold=True)
        if section.note:
            console.print(section.note)
    rows = [row for section_rows in found.values() for row in section_rows]
    load = os.getloadavg()[1]
    console.print(f"\n{counted(rows)} ({seconds:.0f} s, load {load:.1f}).")
    print_missed(console, rows)


def as_documents(found: Mapping[str, Sequence[Row]]) -> list[dict[str, object]]:
    """Every row with its section, for programs to read."""
    return [{"section": n, **dataclasses.asdict(row)} for n, rows in found.items() for row in rows]


def good(found: Mapping[str, Sequence[Row]]) -> bool:
    """Nothing was missed."""
    return all(row.status != "MISSED" for rows in found.values() for row in rows)

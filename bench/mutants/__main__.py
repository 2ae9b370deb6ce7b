"""Mutants, small planted faults, and how many of them the tests find.

    bench/run mutants                   150 in the kernels' C, 150 in Python; which survived, and a table
    bench/run mutants --kernels 40 --python 0 --seed 7
    bench/run mutants --only lt_pool.c:39:44:/      this one, as the list of survivors names it
    bench/run mutants --after FILE      without those that were killed in an earlier run, by its document
    bench/run mutants --json            {"schema": "lowtide.bench.mutants/1", ...}
    bench/run mutants --store           also write the documents' figures, docs/figures/mutants.json

A mutant has one operator or constant swapped, one condition negated or always met, or one statement left
out. They are drawn by the seed and the texts of lines, so they stay the same when other lines change.
Each is tried with the tests that reach its line: drawn cases of kernels as `make test` has them, then
as many as `make soak` has; tests of whole networks for the rest of the runtime; and tests of Python,
found by following each of them once, then whole files of these.
One that does not compile, or is the same object code, is drawn anew. One that does the same as the file
has its argument in bench/mutants/equivalent.toml, and does not count. Exit code 1 if less than 95 % of
the others are found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.mutants.in_kernels import kernel_trials
from bench.mutants.in_python import python_trials
from bench.mutants.trial import Trial, earlier
from bench.shared.stored import store_figures
from bench.shared.tables import Record
from bench.shared.work import note

_WANTED = 0.95


def main() -> int:
    """Draw the mutants and try each; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kernels", type=int, default=150, help="how many in the kernels' C")
    parser.add_argument("--python", type=int, default=150, help="how many in Python")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="MUTANT", nargs="+", help="these alone, by name")
    parser.add_argument(
        "--after",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="JSON documents of earlier runs: what they killed is not tried again",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--store", action="store_true", help="write docs/figures/mutants.json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lowtide-mutants-") as name:
        trials = list(_told(_trials(args, Path(name))))
    parts = list(dict.fromkeys(t.part for t in trials))
    records = [_record(part, [t for t in trials if t.part == part]) for part in parts]
    if args.store and not args.only:
        for record in records:
            of = f"drawn by the seed {args.seed}"
            store_figures("mutants", {str(record["part"]): [record]}, of)
    if args.json:
        document = {"schema": "lowtide.bench.mutants/1", "parts": records}
        document["mutants"] = [t.document for t in trials]
        print(json.dumps(document, indent=2))
    else:
        for trial in trials:
            if trial.status == "survived":
                print(f"survived: {trial.mutant}")
        for record in records:
            print(_line(record))
    return 1 if any(_share(r) < _WANTED for r in records) else 0


def _trials(args: argparse.Namespace, folder: Path) -> Iterator[Trial]:
    before = earlier(args.after)
    if args.only or args.kernels:
        yield from kernel_trials(args.kernels, args.seed, args.only, before, folder)
    if args.only or args.python:
        yield from python_trials(args.python, args.seed, args.only, before, folder)


def _told(trials: Iterator[Trial]) -> Iterator[Trial]:
    for number, trial in enumerate(trials, 1):
        note(f"{number:4} {trial.status:10} {trial.mutant.name}: {trial.why}")
        yield trial


def _record(part: str, trials: Sequence[Trial]) -> Record:
    counts = {
        status: sum(t.status == status for t in trials)
        for status in ("killed", "equivalent", "survived")
    }
    quick = sum(t.status == "killed" and not t.is_soak for t in trials)
    return {"part": part, "drawn": len(trials), **counts, "killed_by_quick_tests": quick}


def _share(record: Record) -> float:
    counted = record["drawn"] - record["equivalent"]
    return float(record["killed"] / counted) if counted else 1.0


def _line(record: Record) -> str:
    return (
        f"{record['part']:8} {record['drawn']:4} drawn, {record['equivalent']:3} equivalent,"
        f" {record['killed']:4} killed ({record['killed_by_quick_tests']} without soak tests),"
        f" {record['survived']:3} survived: {100 * _share(record):.1f} %"
    )


if __name__ == "__main__":
    sys.exit(main())

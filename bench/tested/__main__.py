"""How many tests there are, by folder of tests/: those of `make test`, and those of `make soak`.

    bench/run tested                    a table
    bench/run tested --json             {"schema": "lowtide.bench.tested/1", ...}
    bench/run tested --store            also write the documents' figures, docs/figures/tested.json

A test is what pytest collects: a function with one set of its parameters. None is run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter

from bench.shared.outside import ROOT
from bench.shared.stored import store_figures

_COUNT = re.compile(r"^tests/(?:(\w+)/)?.*\.py: (\d+)$", re.MULTILINE)
_ASKED = {"tests": "not soak", "soak": "soak"}


def main() -> int:
    """Count the tests, and print how many there are; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run tested",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--store", action="store_true", help="write docs/figures/tested.json")
    args = parser.parse_args()
    found = {name: _collected(marked) for name, marked in _ASKED.items()}
    folders = sorted(set().union(*found.values()))
    records = [
        {"folder": folder, **{name: found[name][folder] for name in _ASKED}} for folder in folders
    ]
    if args.store:
        store_figures("tested", {"tests": records}, "collected by pytest")
    if args.json:
        print(json.dumps({"schema": "lowtide.bench.tested/1", "folders": records}, indent=2))
    else:
        for record in records:
            print(f"{record['folder']:14} {record['tests']:6,} {record['soak']:6,}")
    return 0


def _collected(marked: str) -> Counter[str]:
    """Tests with these marks, by folder of tests/ ("" for those beside the folders)."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", marked, "tests"]
    done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    counts: Counter[str] = Counter()
    for folder, count in _COUNT.findall(done.stdout):
        counts[folder] += int(count)
    return counts


if __name__ == "__main__":
    sys.exit(main())

"""Lines and branches of the kernels' C that compared cases reach, as gcov counts them on the host.

    bench/run coverage                      draw cases of all families of operators; a table by file
    bench/run coverage --family conv        of these families alone
    bench/run coverage --json               {"schema": "lowtide.bench.coverage/1", ...}
    bench/run coverage --store              also write the documents' figures, docs/figures/coverage.json

Every result of a case is compared with the reference's, worked out apart. What may stay unreached has
its reason in bench/coverage/exceptions.toml; files that no case calls have theirs there too, and count
as not reached. Exit code 1 if anything else is not reached, or a result is wrong. What stands in
assembly, for cores with Arm's DSP extension or Helium, is not counted: its C is, and tests hold one
against the other. Needs gcov.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from bench.shared.stored import store_figures

_EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
_FILES = "files"


def main() -> int:
    """Draw the cases, and print what they reach; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", type=int, default=4_000_000, help="calls of kernels, in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", default=[], help="these alone")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--store", action="store_true", help="write docs/figures/coverage.json")
    args = parser.parse_args()
    command = [sys.executable, "-m", "tests.kernels.cases.coverage"]
    command += ["--cases", str(args.cases), "--seed", str(args.seed)]
    command += [word for family in args.family for word in ("--family", family)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    reasons = tomllib.loads(_EXCEPTIONS.read_text("utf-8"))
    left = {
        name: [] if name in reasons[_FILES] else _unknown(of["missing"], reasons.get(name, {}))
        for name, of in found.items()
    }
    records = [_record(name, of, len(left[name])) for name, of in found.items()]
    if args.store:
        store_figures("coverage", {"kernels": records}, f"gcov, {args.cases:,} calls of kernels")
    if args.json:
        print(json.dumps({"schema": "lowtide.bench.coverage/1", "files": records}, indent=2))
    else:
        for record in records:
            print(_line(record))
        for name, lines in left.items():
            for line, text in lines:
                print(f"{name}:{line}: {text}")
    return 1 if any(left.values()) and not args.family else 0


def _unknown(missing: list[tuple[int, str]], reasons: dict[str, str]) -> list[tuple[int, str]]:
    return [(line, text) for line, text in missing if text not in reasons]


def _record(name: str, of: dict[str, Any], left: int) -> dict[str, Any]:
    lines, outcomes = of["lines"], of["outcomes"]
    return {
        "file": name,
        "lines": lines[1],
        "lines_reached": lines[0],
        "outcomes": outcomes[1],
        "outcomes_reached": outcomes[0],
        "lines_without_reason": left,
    }


def _line(of: dict[str, Any]) -> str:
    lines = f"{of['lines_reached']:4} of {of['lines']:4} lines"
    outcomes = f"{of['outcomes_reached']:4} of {of['outcomes']:4} outcomes of branches"
    return f"{of['file']:28} {lines}, {outcomes}, {of['lines_without_reason']:3} without a reason"


if __name__ == "__main__":
    sys.exit(main())

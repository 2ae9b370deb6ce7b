"""What of the runtime compared cases reach: lines and branches of its C, and instructions on boards.

    bench/run coverage                      on this computer and on both boards; a table by file
    bench/run coverage --on host            on this computer alone, or on a board (may be repeated)
    bench/run coverage --family conv        of these families of operators alone, and of no networks
    bench/run coverage --json               {"schema": "lowtide.bench.coverage/2", ...}
    bench/run coverage --kept FOLDER        keep there what each place found, or judge what is there
    bench/run coverage --store              also write the documents' figures, docs/figures/coverage.json

Every result is compared with the reference's, worked out apart. On this computer, gcov counts lines and
outcomes of branches: in cases drawn of all families, and in networks, those of bench/pairs/draws.txt and
those of draws.txt here, which reach what the others do not. On boards, a plugin of the emulator counts
instructions, and both outcomes of conditional branches, of what IT blocks ask, of loops with low
overhead and of their predicated tails (tests/kernels/cases/traced.py).

What may stay unreached has its reason in bench/coverage/exceptions.toml and boards.toml. Exit code 1 if
anything else is not reached, if something is that has a reason not to be, or if a result is wrong.
Needs gcov, and for boards QEMU with the cross-compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.shared.outside import ROOT
from bench.shared.stored import board_tools, store_figures

BOARDS = ("mps2-an386", "mps3-an547")
_HERE = Path(__file__).parent
_FILES = "files"
_DRAWS = (ROOT / "bench" / "pairs" / "draws.txt", _HERE / "draws.txt")

Reasons = Mapping[str, Mapping[str, str]]
"""File -> the text of a line -> why it may stay unreached; "files" -> file -> why all of it may."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A file's figures; its lines without a reason, as text; reasons for what was reached after all."""

    record: dict[str, Any]
    left: tuple[str, ...]
    stale: tuple[str, ...]


def main() -> int:
    """Run everything, and print what is reached; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--on", action="append", choices=("host", *BOARDS), help="there alone")
    parser.add_argument("--cases", type=int, default=4_000_000, help="calls of kernels here")
    parser.add_argument("--board-cases", type=int, default=600_000, help="calls on each board")
    parser.add_argument("--every", type=int, default=1, help="each so many-th network alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", default=[], help="these alone")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument(
        "--kept", type=Path, help="a folder for counts: what is there is not run again"
    )
    parser.add_argument("--store", action="store_true", help="write docs/figures/coverage.json")
    args = parser.parse_args()
    groups: dict[str, list[dict[str, Any]]] = {}
    wrong: list[str] = []
    for place in args.on or ("host", *BOARDS):
        document = _found(place, args)
        found = document["files"]
        reasons = reasons_for(place)
        every = {name: judge(name, of, reasons) for name, of in found.items()}
        groups[place] = [one.record for one in every.values()]
        for name, one in every.items():
            wrong += [f"{place}: {name}: {text}" for text in one.left]
            wrong += [f"{place}: {name}: reached, though it has a reason: {t}" for t in one.stale]
        if args.store:
            group = "kernels" if place == "host" else place
            store_figures("coverage", {group: groups[place]}, document["by"])
    if args.json:
        document = {"schema": "lowtide.bench.coverage/2", "files": groups, "wrong": wrong}
        print(json.dumps(document, indent=2))
    else:
        for place, records in groups.items():
            print(place)
            for record in records:
                print(_line(record))
        print("\n".join(wrong))
    return 1 if wrong and not args.family else 0


def reasons_for(place: str) -> Reasons:
    """What may stay unreached on this computer ("host") or on a board."""
    name = "exceptions.toml" if place == "host" else "boards.toml"
    read = tomllib.loads((_HERE / name).read_text("utf-8"))
    kinds = read.pop("kinds")

    def told(lines: Mapping[str, str]) -> dict[str, str]:
        return {text: kinds.get(reason, reason) for text, reason in lines.items()}

    found: dict[str, dict[str, str]] = {}
    for part in (read,) if place == "host" else (read["both"], read[place]):
        for name, lines in part.items():
            found[name] = found.get(name, {}) | told(lines)
    return found


def judge(name: str, of: Mapping[str, Any], reasons: Reasons) -> Judged:
    """What is reached of a file, and what has no reason, or one too many."""
    file_reasons, own = reasons.get(_FILES, {}), reasons.get(name, {})
    kind = "lines" if "lines" in of else "instructions"
    (ran, every), (seen, outcomes) = of[kind], of["outcomes"]
    missing = [(str(each[0]), str(each[1]), each[2:]) for each in map(_told, of["missing"])]
    texts = {text for _, text, _ in missing}
    if name in file_reasons:
        left: list[str] = []
        stale = [file_reasons[name]] if ran else []
    else:
        left = sorted(
            {" ".join((place, text, *more)) for place, text, more in missing if text not in own}
        )
        stale = [text for text in own if text not in texts]
    record = {
        "file": name,
        kind: every,
        f"{kind}_reached": ran,
        "outcomes": outcomes,
        "outcomes_reached": seen,
        "guards": of.get("guards", 0),
        "behind": of.get("behind", 0),
        "lines_with_reason": len(texts & own.keys()),
        "lines_without_reason": len(
            {(place, text) for place, text, _ in missing if text not in own}
        )
        if name not in file_reasons
        else 0,
        "excepted": name in file_reasons,
    }
    return Judged(record, tuple(left), tuple(stale))


def _told(missing: Sequence[Any]) -> tuple[str, ...]:
    """(where, the line's text, what of it)."""
    if len(missing) == 2:
        return f"{missing[0]}:", missing[1]
    file, line, text, what = missing
    return f"{file}:{line}:", text, what


def _found(place: str, args: argparse.Namespace) -> dict[str, Any]:
    """{"by": on what it was counted, "files": file -> what is reached}; or what was when this folder
    was made."""
    kept = None if args.kept is None else args.kept / f"{place}.json"
    if kept is not None and kept.exists():
        read: dict[str, Any] = json.loads(kept.read_text("utf-8"))
        return read
    found = _on_host(args) if place == "host" else _on_board(place, args)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found), "utf-8")
    return found


def _on_host(args: argparse.Namespace) -> dict[str, Any]:
    by = f"gcov, {args.cases:,} calls of kernels"
    with TemporaryDirectory() as folder:
        command = ["tests.kernels.cases.coverage", "--cases", str(args.cases)]
        command += ["--seed", str(args.seed), *_families(args)]
        if not args.family:
            every = "".join(path.read_text("utf-8") for path in _DRAWS)
            draws = len(every.splitlines()[:: args.every])
            by += f", and {draws:,} networks"
            _run(["pairs.covered", folder, *map(str, _DRAWS), "--every", str(args.every)])
            command += ["--networks", folder]
        return {"by": by, "files": json.loads(_run(command))}


def _on_board(board: str, args: argparse.Namespace) -> dict[str, Any]:
    command = ["tests.kernels.cases.board_coverage", "--board", board, "--seed", str(args.seed)]
    command += ["--cases", str(args.board_cases), *_families(args)]
    by = f"{board_tools()}, {args.board_cases:,} calls of kernels"
    return {"by": by, "files": json.loads(_run(command))}


def _families(args: argparse.Namespace) -> list[str]:
    return [word for family in args.family for word in ("--family", family)]


def _run(module: Sequence[str]) -> str:
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", *module],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _line(of: Mapping[str, Any]) -> str:
    kind = "lines" if "lines" in of else "instructions"
    ran = f"{of[f'{kind}_reached']:5} of {of[kind]:5} {kind}"
    outcomes = f"{of['outcomes_reached']:4} of {of['outcomes']:4} outcomes of branches"
    return f"{of['file']:28} {ran}, {outcomes}, {of['lines_without_reason']:3} without a reason"


if __name__ == "__main__":
    sys.exit(main())

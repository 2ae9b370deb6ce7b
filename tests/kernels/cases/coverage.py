"""`python -m tests.kernels.cases.coverage` prints which of the kernels' lines and branches cases reach.

As gcov counts them on the host. See bench/coverage, which says what may stay unreached.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lowtide.machines.finding import find_compiler

from .built import Library, kernel_sources, loaded
from .families import FAMILIES
from .playing import Player
from .running import run

COUNTED = ("-std=gnu99", "-O1", "--coverage", "-fPIC", "-fno-builtin-malloc", "-I.")
"""How the runtime is compiled wherever it counts: else a line's branches would be others."""
_OFTEN = (*FAMILIES, *("seldom",) * 30, *("decided",) * 10)
"""Families as often as they are drawn: those of hundreds of rows take half of all cases."""
_DUMP = (
    "void __gcov_dump(void);\nvoid cases_dump(void);\nvoid cases_dump(void) { __gcov_dump(); }\n"
)


@dataclass(slots=True)
class Reached:
    """Of one file: how often each line ran, and each outcome of each conditional branch, (line, number
    of the outcome)."""

    lines: dict[int, int] = field(default_factory=dict)
    outcomes: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def lines_reached(self) -> int:
        """Lines that ran."""
        return sum(count > 0 for count in self.lines.values())

    @property
    def outcomes_reached(self) -> int:
        """Outcomes of branches that came up."""
        return sum(count > 0 for count in self.outcomes.values())

    @property
    def missing(self) -> list[int]:
        """Lines that never ran, or of which a branch never went one of its ways."""
        lines = {line for line, count in self.lines.items() if not count}
        return sorted(lines | {line for (line, _), count in self.outcomes.items() if not count})


def reached(
    folder: Path, families: Sequence[str], cases: int, seed: int, tell: Callable[[str], None]
) -> dict[str, Reached]:
    """File of the kernels -> what so many cases of the families reach of it, a family as often as it is
    named; `folder` is for what gcov writes. Raises AssertionError if a result is wrong."""
    library = counting(folder)
    for family, share in Counter(families).items():
        tell(family)
        tally = run(family, cases * share // len(families), seed, player=Player(library))
        assert not tally.finds, tally.finds[0]
    library.calls.cases_dump()
    return counted(folder)


def counted(folder: Path) -> dict[str, Reached]:
    """File of the kernels -> what was reached of it when this folder's library last wrote its counts."""
    found: dict[str, Reached] = {}
    for document in _read(folder):
        for file in document["files"]:
            name = Path(file["file"]).name
            if name.startswith(("lt_", "lowtide")):
                _add(found.setdefault(name, Reached()), file)
    return dict(sorted(found.items()))


def together(one: Mapping[str, Reached], other: Mapping[str, Reached]) -> dict[str, Reached]:
    """What either reaches of the same sources."""
    found = {name: Reached() for name in sorted({*one, *other})}
    for name, to in found.items():
        for of in (of[name] for of in (one, other) if name in of):
            for line, count in of.lines.items():
                to.lines[line] = to.lines.get(line, 0) + count
            for outcome, count in of.outcomes.items():
                to.outcomes[outcome] = to.outcomes.get(outcome, 0) + count
    return found


def counting(folder: Path) -> Library:
    """The kernels, built in this folder to count; `cases_dump` of it writes the counts there."""
    for name, text in {**kernel_sources(), "dump.c": _DUMP}.items():
        (folder / name).write_text(text)
    sources = sorted(path.name for path in folder.glob("*.c"))
    command = [*find_compiler("host"), *COUNTED, "-shared", *sources, "-lm", "-o", "kernels.so"]
    subprocess.run(command, cwd=folder, check=True)
    path = folder / "kernels.so"
    return Library(path, loaded(path))


def _read(folder: Path) -> Iterator[Mapping[str, Any]]:
    """What gcov says of each file that was compiled."""
    for notes in sorted(folder.glob("*.gcno")):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", notes.name]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        yield json.loads(said.stdout)


def _add(to: Reached, file: Mapping[str, Any]) -> None:
    """A header's functions are compiled in many files: it counts what any of them reaches."""
    for line in file["lines"]:
        number = line["line_number"]
        to.lines[number] = to.lines.get(number, 0) + line["count"]
        for at, branch in enumerate(line["branches"]):
            to.outcomes[number, at] = to.outcomes.get((number, at), 0) + branch["count"]


def main() -> int:
    """Draws the cases, and prints what they reach of each file: {file: {"lines": [reached, all],
    "outcomes": [reached, all], "missing": [[line, text], ...]}}."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.cases.coverage")
    parser.add_argument("--cases", type=int, default=4_000_000, help="calls of kernels, in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=FAMILIES, action="append", help="these alone")
    parser.add_argument("--networks", type=Path, help="where pairs.covered has left its counts")
    args = parser.parse_args()
    families = args.family or _OFTEN
    with TemporaryDirectory() as place:
        folder = Path(place)
        found = reached(
            folder, families, args.cases, args.seed, lambda text: print(text, file=sys.stderr)
        )
        if args.networks is not None:
            found = together(found, counted(args.networks))
        texts = {name: (folder / name).read_text().splitlines() for name in found}
    document = {
        name: {
            "lines": [of.lines_reached, len(of.lines)],
            "outcomes": [of.outcomes_reached, len(of.outcomes)],
            "missing": [[line, texts[name][line - 1].strip()] for line in of.missing],
        }
        for name, of in found.items()
    }
    print(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())

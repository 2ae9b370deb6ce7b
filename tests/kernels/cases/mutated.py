"""Plays cases on other builds of the kernels; see bench/mutants.

    python -m tests.kernels.cases.mutated           answers requests, a JSON document a line
    python -m tests.kernels.cases.mutated --reach N   family -> file -> line -> how often it runs

A request is {"library": path, "families": [...], "cases": of each, "seed": s}; the answer is what the
first find says, or null. Each is played in a process of its own, as it may end, or never end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from .built import Library, loaded
from .coverage import counted, counting
from .families import FAMILIES
from .playing import Player
from .running import Tally, play_one, run

_CPU_SECONDS = 10  # for one operator, which takes a small part of a second


def found(library: Path, families: Sequence[str], cases: int, seed: int) -> str | None:
    """The first find of so many cases of each family; None if there is none."""
    return _apart(lambda: _played(Library(library, loaded(library)), families, cases, seed))


def _played(library: Library, families: Sequence[str], cases: int, seed: int) -> str | None:
    player = Player(library)
    library.calls.cases_watch(1)
    for family in families:
        tally, number = Tally(family), 0
        while tally.cases.total() < cases:
            used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            resource.setrlimit(resource.RLIMIT_CPU, (int(used) + _CPU_SECONDS, -1))
            play_one(player, tally, seed, number)
            number += 1
            if tally.finds:
                return str(tally.finds[0])
    return None


def _apart(work: Callable[[], str | None]) -> str | None:
    """What `work` returns in a fork of this process, or how the fork ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            os.write(writing, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"ends by signal {os.WTERMSIG(status)}"
    if not text:
        return "ends with an error"
    said: str | None = json.loads(text)
    return said


def reach(cases: int) -> dict[str, dict[str, dict[int, int]]]:
    """Family -> file -> line -> how often so many of its cases run it."""
    lines: dict[str, dict[str, dict[int, int]]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        library = counting(folder)
        for family in FAMILIES:
            print(family, file=sys.stderr)
            end = _apart(lambda family=family: _counted(library, family, cases))  # type: ignore[misc]
            assert end is None, end
            lines[family] = {file: of.lines for file, of in counted(folder).items()}
            for counts in folder.glob("*.gcda"):
                counts.unlink()
    return lines


def _counted(library: Library, family: str, cases: int) -> str | None:
    """Plays cases, and writes what they reach; the first find."""
    tally = run(family, cases, 1, player=Player(library))
    library.calls.cases_dump()
    return str(tally.finds[0]) if tally.finds else None


def main() -> int:
    """Answers what is asked on stdin, line by line."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.cases.mutated")
    parser.add_argument("--reach", metavar="N", type=int)
    args = parser.parse_args()
    if args.reach:
        print(json.dumps(reach(args.reach)))
        return 0
    for line in sys.stdin:
        asked = json.loads(line)
        find = found(Path(asked["library"]), asked["families"], asked["cases"], asked["seed"])
        print(json.dumps(find), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.kernels.cases.board_coverage` prints what cases reach of a board's kernels.

See bench/coverage, which says what may stay unreached.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lowtide.emit.runtime import kernel_files
from lowtide.machines.disassembly import Instruction

from .boards import PLACES, program
from .families import FAMILIES
from .running import on_board
from .traced import Code, Counting, Deciding, code_of

_FIRST, _MOST = 2000, 150_000
"""Cases in which most of the flags' outcomes are seen, so that others are cheaper to look for; and in
how many these are: it is slow."""
_LOOPS = ("for (", "while (")
_NEVER = "never runs"
_OFTEN = (*("conv", "depthwise", "dense", "block") * 2, *("seldom",) * 60, *("decided",) * 30)
"""Families that are drawn more often than others: they have the kernels in assembly, or many rows."""
_DECIDING = (*tuple(FAMILIES) * 3, *("seldom",) * 20, *("decided",) * 60)
"""The same where outcomes of flags are looked for."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What no case did: `what` of the instruction at an address, for a line of a file."""

    address: int
    mnemonic: str
    what: str


def reached(
    board: str,
    families: Sequence[str],
    deciding_families: Sequence[str],
    cases: int,
    seed: int,
    tell: Callable[[str], None],
) -> tuple[Code, Counting, Deciding]:
    """What so many cases of the families do on a board, and fewer of those that are looked at an
    instruction at a time. Raises AssertionError if a result is wrong."""
    code = code_of(program(board))
    counting = Counting(board, code)
    tell(f"{board}: instructions and branches")
    _right(board, families, cases, seed, counting)
    run = [site for site in code.sites if counting.executed[site.address]]
    deciding = Deciding(run)
    for part in (min(cases, _FIRST), min(cases, _MOST)):
        tell(f"{board}: {len(deciding.open)} of {len(code.sites)} other conditions")
        _right(board, deciding_families, part, seed, deciding)
    return code, counting, deciding


def _right(
    board: str, families: Sequence[str], cases: int, seed: int, watch: Counting | Deciding
) -> None:
    finds = on_board(board, families, cases, seed, watch).finds
    assert not finds, finds[0]


def guards(code: Code, counting: Counting, lines: Mapping[int, tuple[str, int]]) -> set[int]:
    """Branches that a compiler puts in front of a loop, where its condition is asked once more than in
    the loop: of one outcome, while another branch of the same line of C had both."""
    texts = {name: text.splitlines() for name, text in kernel_files().items()}

    def place(branch: Instruction) -> tuple[str, str, int]:
        return code.owners[branch.address], *lines[branch.address]

    both = {place(b) for b in code.branches if all(counting.outcomes(b))}
    found = set()
    for branch in code.branches:
        _, file, line = at = place(branch)
        loops = file in texts and line and texts[file][line - 1].strip().startswith(_LOOPS)
        if loops and at in both and sum(counting.outcomes(branch)) == 1:
            found.add(branch.address)
    return found


def missing(code: Code, counting: Counting, deciding: Deciding) -> Iterator[Missing]:
    """Instructions that never ran; of those that did, outcomes that never came up."""
    by_address = {i.address: i for i in code.listing.instructions}
    for one in code.counted:
        if not counting.executed[one.address]:
            yield Missing(one.address, one.mnemonic, _NEVER)
    for branch in code.branches:
        on, away = counting.outcomes(branch)
        if on != away:
            what = "never goes elsewhere" if on else "never goes on"
            yield Missing(branch.address, branch.mnemonic, what)
    for site in deciding.open:
        for outcome in {True, False} - deciding.seen.get(site, set()):
            word = "all lanes" if site.lanes else site.condition
            what = f"never {word}" if outcome else f"always {word}"
            yield Missing(site.address, by_address[site.address].mnemonic, what)


def document(code: Code, counting: Counting, deciding: Deciding) -> dict[str, object]:
    """File -> {"instructions": [reached, all], "outcomes": [reached, all], "guards": how many of the
    others are those of a loop's guard, "behind": instructions that only these lead to, "missing":
    [[file, line, text, what], ...]}; outcomes are two for each condition."""
    lines = code.lines([i.address for i in code.listing.instructions])
    again = guards(code, counting, lines)
    by_address = {i.address: i for i in code.listing.instructions}
    behind = {at for guard in again for at in counting.beyond(by_address[guard])}
    left = [m for m in missing(code, counting, deciding) if m.address not in again | behind]
    texts = {name: text.splitlines() for name, text in kernel_files().items()}
    found: dict[str, object] = {}
    for name in sorted(set(code.owners.values())):
        own = [i for i in code.counted if code.owners[i.address] == name]
        ran = sum(counting.executed[i.address] > 0 for i in own)
        branches = [b for b in code.branches if code.owners[b.address] == name]
        seen = sum(sum(counting.outcomes(branch)) for branch in branches)
        sites = [s for s in code.sites if code.owners[s.address] == name]
        seen += sum(len(deciding.seen.get(site, ())) for site in sites)
        told = set()
        for one in left:
            if code.owners[one.address] == name:
                file, line = lines[one.address]
                text = texts[file][line - 1].strip() if line and file in texts else ""
                what = one.what if one.what == _NEVER else f"{one.mnemonic} {one.what}"
                told.add((file, line, text, what))
        found[name] = {
            "guards": sum(code.owners[at] == name for at in again),
            "behind": sum(code.owners[at] == name for at in behind),
            "instructions": [ran, len(own)],
            "outcomes": [seen, 2 * (len(branches) + len(sites))],
            "missing": [list(of) for of in sorted(told)],
        }
    return found


def main() -> int:
    """Draws the cases, and prints what they reach of each file."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.cases.board_coverage")
    parser.add_argument("--board", choices=PLACES, required=True)
    parser.add_argument("--cases", type=int, default=200_000, help="calls of kernels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=FAMILIES, action="append", help="these alone")
    args = parser.parse_args()
    every = args.family or [*FAMILIES, *_OFTEN]
    deciding = args.family or _DECIDING

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    print(json.dumps(document(*reached(args.board, every, deciding, args.cases, args.seed, tell))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

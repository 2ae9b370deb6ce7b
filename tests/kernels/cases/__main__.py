"""`python -m tests.kernels.cases` plays cases of all families and prints a table; 1 if it finds any."""

from __future__ import annotations

import argparse
import sys

from .boards import PLACES
from .built import kernels
from .families import FAMILIES
from .running import on_board, run


def main() -> int:
    """Plays what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.cases", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000, help="in all")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="these operators alone")
    parser.add_argument("--finds", type=int, default=20, help="stop a family at so many")
    parser.add_argument("--board", choices=PLACES, help="on this emulated board")
    args = parser.parse_args()
    families = args.family or list(FAMILIES)
    if args.board:
        tally = on_board(args.board, families, args.cases, args.seed)
        print(f"{args.board}: {tally.cases.total()} cases of {tally.operators.total()} operators,")
        print(f"{len(tally.finds)} finds, {tally.seconds:.0f} s besides the emulator's")
        for found in tally.finds[: args.finds]:
            print(f"    {found}")
        return 1 if tally.finds else 0
    reached: set[str] = set()
    total, seconds, finds = 0, 0.0, 0
    print(f"{'family':14} {'variant':9} {'operators':>9} {'cases':>9} {'finds':>5}")
    for family in families:
        tally = run(
            family, args.cases // len(families), args.seed, most_finds=args.finds, only=args.only
        )
        for variant in sorted(tally.operators):
            finds_of = sum(found.variant == variant for found in tally.finds)
            print(
                f"{family:14} {variant:9} {tally.operators[variant]:9} {tally.cases[variant]:9}"
                f" {finds_of:5}"
            )
        print(
            f"{family:14} {'all':9} {tally.operators.total():9} {tally.cases.total():9}"
            f" {len(tally.finds):5}   {tally.seconds:.1f} s, {tally.refused.total()} refused"
        )
        for found in tally.finds:
            print(f"    {found}")
        for why, count in tally.refused.most_common(4):
            print(f"    refused {count} times: {why}")
        reached |= tally.kernels.keys()
        total += tally.cases.total()
        seconds += tally.seconds
        finds += len(tally.finds)
        sys.stdout.flush()
    print(f"{total} cases, {finds} finds, {seconds:.0f} CPU seconds")
    missing = sorted(kernels() - reached)
    print(
        f"{len(reached & kernels())} of {len(kernels())} kernels reached; not: {' '.join(missing)}"
    )
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())

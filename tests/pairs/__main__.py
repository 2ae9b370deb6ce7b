"""Draws towards pairs that have not met; prints a JSON document of what has. See bench/pairs."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from random import Random

from pairs.aiming import Aim
from pairs.drawing import draw_of
from pairs.features import NAMES, Pair
from pairs.impossible import RULES, impossible, possible
from pairs.meeting import Met, meet
from pairs.universe import values


def main() -> int:
    """Try the known draws, then others; 1 for a find, or if a pair met that a rule excludes."""
    parser = argparse.ArgumentParser(description="Draw towards pairs that have not met.")
    parser.add_argument("--seconds", type=float, default=600, help="how long to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--known", type=Path, help="draws that come first, a line each")
    parser.add_argument("--missing", type=Path, help="pairs that are missing, a line each: or all")
    args = parser.parse_args()
    lines = [] if args.known is None else args.known.read_text("utf-8").splitlines()
    missing = possible()
    if args.missing is not None:
        told = frozenset(map(pair_of, args.missing.read_text("utf-8").splitlines()))
        missing = missing & told
    known, aim = [draw_of(line) for line in lines], Aim(Random(args.seed))
    met = meet(known, aim, args.seconds, args.jobs, missing)
    print(json.dumps(_document(met)))
    return int(bool(met.finds or met.wrong_rules))


def _document(met: Met) -> dict[str, object]:
    excluded = Counter(id(rule) for rule in impossible().values())
    names: Counter[str] = Counter(name for pair in possible() for name, _ in pair)
    missing: Counter[str] = Counter(name for pair in met.missing for name, _ in pair)
    return {
        "possible": len(possible()),
        "met": len(possible()) - len(met.missing),
        "tried": dict(met.counts),
        "features": [
            {
                "feature": name,
                "values": len(values()[name]),
                "possible": names[name],
                "met": names[name] - missing[name],
            }
            for name in NAMES
        ],
        "missing": sorted(map(text_of, met.missing)),
        "impossible": [
            {"reason": rule.reason, "where": rule.where, "pairs": excluded[id(rule)]}
            for rule in RULES
        ],
        "wrong_rules": sorted(map(text_of, met.wrong_rules)),
        "finds": [{"kind": f.kind, "said": f.said, "draw": f.draw.line} for f in met.finds],
        "draws": [draw.line for draw in met.needed()],
    }


def text_of(pair: Pair) -> str:
    """ "kernel lt_move + hop yes"."""
    return " + ".join(f"{name} {value}" for name, value in pair)


def pair_of(text: str) -> Pair:
    """The pair of that text."""
    one, other = (feature.partition(" ")[::2] for feature in text.split(" + "))
    return one, other


if __name__ == "__main__":
    sys.exit(main())

"""Which pairs of features have met in networks whose bytes are right; draws towards the others.

    bench/run pairs                     the known draws, then new ones for 10 minutes; a table
    bench/run pairs --seconds 0         the known draws alone
    bench/run pairs --pool              go on where the stored run stopped, if nothing has changed since
    bench/run pairs --pool --draws FILE the same with these draws first
    bench/run pairs --json              {"schema": "lowtide.bench.pairs/1", ...}
    bench/run pairs --store             also write docs/figures/pairs.json, and the draws that the pairs
                                        need to bench/pairs/draws.txt

A feature is a family of operators, a type, a kernel in a variant, a core, a mode, and so on
(tests/pairs/features.py); a pair is two values of different ones. How a draw is compared is in
tests/pairs/drawing.py; what cannot meet, and why, in tests/pairs/impossible.py. For a find, the draw is
printed, a line. Exit code 1 for one, or if a pair met that should be impossible.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from bench.shared.outside import ROOT
from bench.shared.stored import WITHOUT_FIGURES, board_tools, measured, store_figures

_DRAWS = Path(__file__).with_name("draws.txt")
_NETWORKS = ("tests/pairs/features.py", "tests/pairs/front.py", ":(glob)tests/*_nets.py")
_TREE = ("src", *WITHOUT_FIGURES, *_NETWORKS)
"""What a draw's network, program and features are made by."""


def main() -> int:
    """Draw, and print what has met; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--pool", action="store_true", help="go on from the stored figures")
    parser.add_argument("--draws", type=Path, default=_DRAWS, help="draws that come first")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--store", action="store_true", help="write docs/figures/pairs.json")
    args = parser.parse_args()
    command = [sys.executable, "-m", "pairs"]
    if not args.pool or args.draws != _DRAWS:
        command += ["--known", str(args.draws)]
    if args.pool:
        command += ["--missing", "/dev/stdin"]
    for name in ("seconds", "seed", "jobs"):
        command += [f"--{name}", str(getattr(args, name))]
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT)))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        input=_missing() if args.pool else None,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    tried = sum(found["tried"].values())
    if args.pool:
        found["draws"] = [*_DRAWS.read_text("utf-8").splitlines(), *found["draws"]]
        tried += measured("pairs", "all").record()["tried"]
    total = {name: found[name] for name in ("possible", "met")}
    total |= {"impossible": sum(rule["pairs"] for rule in found["impossible"])}
    total |= {"draws": len(found["draws"]), "tried": tried}
    if args.store:
        groups = {name: found[name] for name in ("features", "impossible")}
        groups |= {"all": [total], "missing": [{"pair": pair} for pair in found["missing"]]}
        store_figures("pairs", groups, f"this computer and emulated boards, {board_tools()}")
        _DRAWS.write_text("".join(f"{line}\n" for line in found["draws"]), "utf-8")
    if args.json:
        print(json.dumps({"schema": "lowtide.bench.pairs/1", **total, **found}, indent=2))
    else:
        for of in found["features"]:
            print(f"{of['feature']:12} {of['met']:6,} of {of['possible']:6,} pairs")
        print(f"{'all':12} {total['met']:6,} of {total['possible']:6,} pairs")
        for pair in found["missing"]:
            print(f"missing: {pair}")
        for pair in found["wrong_rules"]:
            print(f"met, but should be impossible: {pair}")
    return done.returncode


def _missing() -> str:
    """The pairs that the stored run missed, a line each. Raises SystemExit if that run was of another
    tree: what has met in it need not meet in this one."""
    group = measured("pairs", "missing")
    command = ["git", "diff", "--quiet", group.commit, "--", *_TREE]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise SystemExit(f"what {group.commit} compared has changed: run without --pool")
    return "".join(f"{record['pair']}\n" for record in group.records)


if __name__ == "__main__":
    sys.exit(main())

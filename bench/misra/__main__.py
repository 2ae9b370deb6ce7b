"""Deviations from MISRA C:2012, as cppcheck finds them in the runtime and in bundles.

    bench/run misra                     check src/lowtide/emit/misra_lines.json, and the bundles' lists
    bench/run misra --runtime           the runtime alone
    bench/run misra --before DIR        also count findings in other bundles of the same networks,
                                        DIR/NETWORK-CORE, such as an older version made; what was
                                        stored of those that are not there stays
    bench/run misra --store             write misra_lines.json and docs/figures/misra.json

The reasons are in src/lowtide/emit/misra.toml. Exit code 1 if the runtime has a finding without a
reason, if an idiom is on no line, if the stored lines are others (without --store), or if a bundle has a
finding that its list does not name. Results of files are kept in build/misra. Needs cppcheck 2.10.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.misra.bundles import BUNDLES, in_bundle, network_of, options_of, rules
from bench.misra.runtime import in_runtime, is_stored, line_of, stored, unused, without_reason
from bench.shared.stored import load_figures, store_figures
from lowtide.commands.compiling import compile_model
from lowtide.emit.misra import DEVIATIONS, LINES, digests, idioms, runtime_lines
from lowtide.tflite.read import parse
from lowtide.zoo import build


def main() -> int:
    """Check the runtime and bundles; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run misra",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runtime", action="store_true", help="look at no bundles")
    parser.add_argument("--before", type=Path, help="a folder of other bundles")
    parser.add_argument("--store", action="store_true", help="write what was found")
    args = parser.parse_args()
    wrong = _runtime(args.store)
    if not args.runtime:
        for cached in (idioms, runtime_lines, digests):
            cached.cache_clear()
        with ThreadPoolExecutor(4) as pool:
            records = list(pool.map(lambda of: _bundle(of[0], of[1], args.before), BUNDLES))
        for record in records:
            print("  ".join(f"{key} {value}" for key, value in record.items()))
        wrong |= any(record["left"] for record in records)
        if args.store:
            store_figures("misra", {"bundles": records}, "cppcheck 2.10")
    return int(wrong)


def _runtime(store: bool) -> bool:
    """Whether something is wrong with the runtime's findings."""
    found = in_runtime()
    for rule, count in Counter(finding.id for finding in found).most_common():
        print(f"{rule:32} {count:5}")
    missing, idle = without_reason(found), unused(found)
    for finding in missing:
        print(f"no reason: {finding.id}: {finding.file}:{finding.line}: {line_of(finding).strip()}")
    for idiom in idle:
        print(f"on no line: {idiom}")
    if store:
        LINES.write_text(stored(found), "utf-8")
    elif not is_stored(found):
        print(f"{LINES.name} says something else: --store writes it")
    return bool(missing or idle or not is_stored(found))


def _bundle(network: str, core: str, before: Path | None) -> dict[str, str | int]:
    """How many findings of MISRA's rules a bundle has, and what its list leaves of all findings."""
    program = compile_model(parse(build(network_of(network))), options_of(network, core))
    with TemporaryDirectory() as place:
        folder = Path(place)
        program.write(folder)
        kept = folder / "kept"
        kept.mkdir()
        found = in_bundle(folder, core, listed=False, kept=kept)
        left = in_bundle(folder, core, listed=True, kept=kept)
        for finding in sorted(left):
            print(f"not listed: {finding.id}: {finding.file}:{finding.line}")
        lines = (folder / DEVIATIONS).read_text("utf-8").splitlines()
    earlier = _earlier(network, core, before)
    listed = sum(not line.startswith("#") and bool(line) for line in lines)
    now = {"found": rules(found), "listed": listed, "left": len(left)}
    return {"network": network, "core": core, **earlier, **now}


def _earlier(network: str, core: str, before: Path | None) -> dict[str, int]:
    """How many findings its other bundle has, in the folder `before` or as they were stored."""
    folder = None if before is None else before / f"{network}-{core}"
    if folder is not None and folder.is_dir():
        return {"before": rules(in_bundle(folder, core, listed=False))}
    group = load_figures("misra").get("bundles")
    for record in () if group is None else group.records:
        if record["network"] == network and record["core"] == core and "before" in record:
            return {"before": int(record["before"])}
    return {}


if __name__ == "__main__":
    sys.exit(main())

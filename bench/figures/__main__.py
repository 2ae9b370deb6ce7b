"""Writes the stored figures into the documents.

    bench/run figures            README.md and docs/*.md, between their markers
    bench/run figures --check    only says which documents are not as the figures are; exit code 1

Nothing is measured here: see `--store` of the benches.
"""

from __future__ import annotations

import argparse
import sys

from bench.figures.markers import documents, rendered
from bench.shared.outside import ROOT


def main() -> int:
    """Write or check every document; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run figures", description="Stored figures into README.md and docs/*.md."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    check: bool = parser.parse_args().check
    stale = False
    for path in documents():
        text = path.read_text("utf-8")
        try:
            new = rendered(text)
        except ValueError as error:
            print(f"{path.relative_to(ROOT)}: {error}", file=sys.stderr)
            return 1
        if new == text:
            continue
        stale = True
        print(f"{'differs' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(new, "utf-8")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())

"""What all benches take on the command line, and what they say of the machine that they run on."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence


def bench_parser(
    prog: str,
    description: str,
    groups: Sequence[str] = (),
    *,
    metavar: str = "GROUP",
    noun: str = "groups of rows",
) -> argparse.ArgumentParser:
    """A parser of --json, --store and, if there are `groups`, --only: some of them, by default all.

    The help calls one `metavar` and several `noun`.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON document")
    parser.add_argument(
        "--store",
        action="store_true",
        help="also write what was measured to docs/figures/, for `make figures`",
    )
    if groups:
        parser.add_argument(
            "--only",
            metavar=metavar,
            nargs="+",
            choices=groups,
            default=groups,
            help=f"{noun}: {', '.join(groups)}",
        )
    return parser


def machine() -> str:
    """Where this runs: Python's version, the kind of processor, how many."""
    return f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"

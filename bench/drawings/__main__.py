"""Draws what docs/theory.md shows, from what the compiler makes of networks of the zoo.

    bench/run drawings                     draws all, and says which differ from docs/drawings/
    bench/run drawings --only cone halo    some of them; --help lists them
    bench/run drawings --store             also writes them there

Exit code 1 if one differs and is not written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache

from bench.drawings import memory, rows
from bench.shared.outside import ROOT
from lowtide.commands.analysis import Analysis, analyze
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.planned import Planned, planned_model
from lowtide.commands.preparing import prepared
from lowtide.modes import InputMode
from lowtide.rows.prepare import Prepared
from lowtide.zoo.loading import load

FOLDER = ROOT / "docs" / "drawings"
_CAMERA, _CELL, _WORDS = "zoo:mobilenet-v1-0.25-96", "zoo:branchy-cell", "zoo:ds-cnn-kws"


@cache
def _compiled(network: str, mode: InputMode = "resident") -> Compiled:
    return compile_model(load(network), Options(input_mode=mode))


@cache
def _analysis(network: str) -> Analysis:
    return analyze(load(network))


@cache
def _ready(network: str) -> Prepared:
    return prepared(load(network), Options(input_mode="streamed"))[2]


def _planned() -> Planned:
    return planned_model(load(_CAMERA), Options(input_mode="streamed"))


DRAWINGS: dict[str, Callable[[], str]] = {
    "layers": lambda: memory.layers(
        _analysis(_CAMERA), _compiled(_CAMERA), _compiled(_CAMERA, "streamed")
    ),
    "lifetimes": lambda: rows.lifetimes(rows.together(_ready(_CAMERA), 5), 5, 90),
    "addresses": lambda: memory.addresses(_compiled(_WORDS), 120),
    "orders": lambda: memory.orders(_analysis(_CELL), _compiled(_CELL)),
    "cone": lambda: rows.cone(rows.together(_ready(_CAMERA), 5), 5, 9),
    "halo": lambda: rows.halo(_ready(_CAMERA), 9, 4),
    "bound": lambda: memory.bound(_planned()),
    "placing": lambda: memory.placing(_compiled(_CAMERA, "streamed")),
    "plans": memory.plans,
}
"""Name of a drawing -> its SVG."""


def main() -> int:
    """Draw; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run drawings", description="The theory's drawings."
    )
    parser.add_argument(
        "--only", metavar="NAME", nargs="+", choices=[*DRAWINGS], default=[*DRAWINGS]
    )
    parser.add_argument("--store", action="store_true", help="write them to docs/drawings/")
    given = parser.parse_args()
    stale = False
    for name in given.only:
        text, path = DRAWINGS[name](), FOLDER / f"{name}.svg"
        same = path.exists() and path.read_text("utf-8") == text
        print(f"{name}: {len(text):,} bytes, {'as stored' if same else 'new'}")
        if given.store:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        stale |= not same
    return int(stale and not given.store)


if __name__ == "__main__":
    sys.exit(main())

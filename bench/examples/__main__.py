"""Runs the commands that the documents show, and prints what they print.

    bench/run examples                     all of them, one after the other
    bench/run examples --only plan front   some of them; --help lists them
    bench/run examples --store             also write docs/figures/examples.json and docs/*.png

Exit code 1 if a command fails. They run in a folder that is deleted at the end, as a new user would run
them, but for the width of the text: 100 characters.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.shared.outside import ROOT
from bench.shared.stored import board_tools, store_figures
from bench.shared.work import note

_WIDTH = 100
_CHAIN = "zoo:mbv2-w0.35-144-chain"
_SMALL = "zoo:ds-cnn-kws"
_CELL = "zoo:branchy-cell"
_BOARD = "--board mps2-an386"

_COMMANDS = {
    "readme-analyze": f"analyze {_SMALL}",
    "readme-compile": f"compile {_SMALL} -o kws",
    "readme-run": f"run {_SMALL} {_BOARD}",
    "analyze": f"analyze {_CELL} --plot branchy-cell.png",
    "reorder": f"reorder {_CELL} -o smaller.tflite --offline-plan",
    "plan": f"plan {_CELL}",
    "picture": f"plan {_SMALL} --plot ds-cnn-kws-plan.png",
    "front": f"plan {_CHAIN} --input const --output streamed --front",
    "compile": f"compile {_CELL} -o cell",
    "verify": f"verify {_CELL}",
    "run": f"run {_CELL} {_BOARD}",
}
"""Example -> the command, after `lowtide`."""


def main() -> int:
    """Run the examples; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run examples", description="The documents' commands, and what they print."
    )
    parser.add_argument(
        "--only", metavar="EXAMPLE", nargs="+", choices=list(_COMMANDS), default=list(_COMMANDS)
    )
    parser.add_argument(
        "--store", action="store_true", help="also write docs/figures/examples.json and docs/*.png"
    )
    given = parser.parse_args()
    failed = False
    for name in given.only:
        with tempfile.TemporaryDirectory(prefix="lowtide-") as folder:
            done = _run(_COMMANDS[name], folder)
            print(f"$ lowtide {_COMMANDS[name]}\n{done.stdout}")
            if done.returncode:
                note(f"{name}: exit {done.returncode}: {done.stderr}")
                failed = True
            elif given.store:
                _store(name, done.stdout, Path(folder))
    return int(failed)


def _run(command: str, folder: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {**os.environ, "COLUMNS": str(_WIDTH)}
    called = [sys.executable, "-m", "lowtide", *command.split()]
    return subprocess.run(
        called, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _store(name: str, printed: str, folder: Path) -> None:
    lines = [line.rstrip() for line in printed.splitlines()]
    record = {"command": f"lowtide {_COMMANDS[name]}", "lines": lines}
    store_figures("examples", {name: [record]}, board_tools())
    for picture in folder.glob("*.png"):
        shutil.copy(picture, ROOT / "docs" / picture.name)


if __name__ == "__main__":
    sys.exit(main())

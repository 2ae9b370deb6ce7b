"""Runs the commands that the documents show, and prints what they print.

    bench/run examples                     all of them, one after the other
    bench/run examples --only plan front   some of them; --help lists them
    bench/run examples --store             also write docs/figures/examples.json and docs/*.png

Exit code 1 if a command does not end as it should. They run in a folder that is deleted at the end, as a
new user would run them, but for the width of the text: 100 characters.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.shared.outside import ROOT
from bench.shared.stored import board_tools, store_figures
from bench.shared.tables import Record
from bench.shared.work import note

_WIDTH = 100
_CHAIN = "zoo:mbv2-w0.35-144-chain"
_SMALL = "zoo:ds-cnn-kws"
_CELL = "zoo:branchy-cell"
_CAMERA = "zoo:mobilenet-v1-0.25-96"
_BOARD = "--board mps2-an386"

_COMMANDS = {
    "readme-analyze": f"analyze {_SMALL}",
    "readme-compile": f"compile {_SMALL} -o kws",
    "readme-run": f"run {_SMALL} {_BOARD}",
    "analyze": f"analyze {_CELL} --plot branchy-cell.png",
    "reorder": f"reorder {_CELL} -o smaller.tflite --offline-plan",
    "plan": f"plan {_CELL}",
    "tflm-simplify": f"simplify {_CELL} -o smaller.tflite --reorder --offline-plan --always-write",
    "own-board": f"run {_SMALL} --board stm32vldiscovery --board-file myboards.toml",
    "picture": f"plan {_SMALL} --plot ds-cnn-kws-plan.png",
    "front": f"plan {_CHAIN} --input const --output streamed --front",
    "compile": f"compile {_CELL} -o cell",
    "verify": f"verify {_CELL}",
    "check": f"check {_CELL} --board nucleo-f412zg --max-total-ram 16K --max-instructions 10M"
    " --junit lowtide.xml",
    "run": f"run {_CELL} {_BOARD}",
    "profile": f"run {_SMALL} {_BOARD} --profile",
    "tutorial-analyze": f"analyze {_CAMERA}",
    "tutorial-plan": f"plan {_CAMERA}",
    "tutorial-streamed": f"plan {_CAMERA} --input streamed",
    "tutorial-front": f"plan {_CAMERA} --input streamed --front",
    "tutorial-compile": f"compile {_CAMERA} --input streamed --core cortex-m4 --name vww -o vww",
    "tutorial-verify": f"verify {_CAMERA} --input streamed",
    "tutorial-run": f"run {_CAMERA} --input streamed {_BOARD}",
    "quantize": "quantize resnet8.tflite -o resnet8_int8.tflite --data samples.npz",
    "quantize-run": f"run resnet8_int8.tflite {_BOARD}",
}
"""Example -> the command, after `lowtide`."""

_ENDS_WITH = {"check": 1}
"""Example -> its exit code, if that is not 0."""

_FLOATS = (
    ("-m", "lowtide", *["zoo", "resnet8", "--float", "-o", "resnet8.tflite"]),
    (
        "-c",
        "import numpy; numpy.savez('samples.npz', "
        "numpy.random.default_rng(1).uniform(-1, 1, (64, 32, 32, 3)))",
    ),
)
_BOARD_FILE = (
    (
        "-c",
        f"import re, pathlib; page = pathlib.Path('{ROOT}/docs/own-board.md').read_text('utf-8'); "
        "toml = re.search('```toml\\n(.*?)```', page, re.S)[1]; "
        "pathlib.Path('myboards.toml').write_text(toml)",
    ),
)
_BEFORE = {
    "own-board": _BOARD_FILE,
    "quantize": _FLOATS,
    "quantize-run": (*_FLOATS, ("-m", "lowtide", *_COMMANDS["quantize"].split())),
}
"""Example -> what runs before it in the same folder, and is not shown: arguments of Python."""

_SCRIPTS = {
    "python-analyze": (
        "import lowtide",
        "",
        f'model = lowtide.load("{_CELL}")',
        "analysis = lowtide.analyze(model)",
        "analysis.peak_bytes",
        "analysis.tflm_greedy_arena_bytes",
        "analysis.best_order.peak_bytes",
        "analysis.best_order.proved_optimal",
        "print(lowtide.best_order(model))",
        "",
        "result = lowtide.reorder(model, offline_plan=True)",
        "result.check",
        'result.write("smaller.tflite")',
    ),
    "python-compile": (
        "import lowtide",
        "",
        f'model = lowtide.load("{_CELL}")',
        "program = lowtide.compile(model, lowtide.Options())",
        "program.arena_bytes",
        'program.write("cell")',
        "lowtide.verify(program).bit_exact",
        'ran = lowtide.run(program, "mps2-an386")',
        "ran.measured.ram.total_bytes",
    ),
}
"""Example -> lines of Python, each a statement of its own."""

_EVALUATE = """
import ast, contextlib, io, json, sys
names, found = {}, []
for code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        lines = ast.parse(code).body
        if lines and isinstance(lines[0], ast.Expr):
            value = eval(code, names)
        else:
            value = exec(code, names)
    value = printed.getvalue() if value is None else repr(value)
    found.append({"code": code, "value": value.strip()})
print(json.dumps(found))
"""
"""Says what each line is, or prints."""


def main() -> int:
    """Run the examples; the exit code."""
    parser = argparse.ArgumentParser(
        prog="bench/run examples", description="The documents' commands, and what they print."
    )
    known = [*_COMMANDS, *_SCRIPTS]
    parser.add_argument(
        "--only",
        metavar="EXAMPLE",
        nargs="+",
        choices=known,
        default=known,
        help=f"some examples: {', '.join(known)}",
    )
    parser.add_argument(
        "--store", action="store_true", help="also write docs/figures/examples.json and docs/*.png"
    )
    given = parser.parse_args()
    failed = False
    for name in given.only:
        with tempfile.TemporaryDirectory(prefix="lowtide-") as folder:
            done = _ran(name, folder)
            print(f"$ {_command(name)}\n{done.stdout}")
            if done.returncode != _ENDS_WITH.get(name, 0):
                note(f"{name}: exit {done.returncode}: {done.stderr}")
                failed = True
            elif given.store:
                store_figures("examples", {name: _records(name, done.stdout)}, board_tools())
                for picture in Path(folder).glob("*.png"):
                    shutil.copy(picture, ROOT / "docs" / picture.name)
    return int(failed)


def _command(name: str) -> str:
    return f"lowtide {_COMMANDS[name]}" if name in _COMMANDS else f"python {name}"


def _ran(name: str, folder: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {**os.environ, "COLUMNS": str(_WIDTH)}
    for before in _BEFORE.get(name, ()):
        subprocess.run([sys.executable, *before], cwd=folder, check=True, capture_output=True)
    if name in _COMMANDS:
        what, given = ["-m", "lowtide", *_COMMANDS[name].split()], ""
    else:
        what, given = ["-c", _EVALUATE], json.dumps(_SCRIPTS[name])
    return subprocess.run(
        [sys.executable, *what],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def _records(name: str, printed: str) -> list[Record]:
    if name in _SCRIPTS:
        found: list[Record] = json.loads(printed)
        return found
    return [{"command": _command(name), "lines": [s.rstrip() for s in printed.splitlines()]}]


if __name__ == "__main__":
    sys.exit(main())

"""What the page in the browser asks of lowtide needs nothing that Pyodide lacks.

Why without a browser: it says which module or call it is, in a second, and of every network. In this
process all that Pyodide cannot do raises, and of other packages there is numpy alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import lowtide
from lowtide.browser import answer
from lowtide.zoo import build

_WITHOUT = """
import sys

import numpy

class Refused:
    "Packages that Pyodide does not load for the page, and modules that it has not."
    names = {"click", "rich", "pygments", "matplotlib", "flatbuffers", "tflite_micro", "ai_edge_litert",
             "joblib", "pyarrow", "mmap", "_multiprocessing", "multiprocessing", "fcntl", "resource",
             "termios", "ssl", "_ssl", "sqlite3", "lzma"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ImportError(f"Pyodide has no {name}")

for name in Refused.names & sys.modules.keys():  # numpy's own, which Pyodide's numpy does without
    del sys.modules[name]
sys.meta_path.insert(0, Refused())

def refuse(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.system")):
        raise RuntimeError(f"Pyodide cannot do {event}")

sys.addaudithook(refuse)
import threading

def start(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
"""

_ASK = """
from lowtide.browser import answer

for kind, asked in eval(sys.argv[1]):
    print(answer(kind, asked))
"""


def without(folder: Path, *questions: tuple[str, str]) -> list[str]:
    """The answers to `questions`, by a Python that can do what Pyodide can."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT + _ASK, repr(questions)],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_answers_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.tflite").write_bytes(build("audio-front-end"))
    monkeypatch.chdir(tmp_path)
    plain = json.dumps({"model": "zoo:figure1"})
    chosen = {"core": "cortex-m4", "input_mode": "streamed", "max_ram": "64K"}
    both = json.dumps({"model": "zoo:figure1", "compare": "other.tflite", **chosen})
    asked = [("look", plain), ("fit", plain), ("report", plain), ("look", both), ("report", both)]
    found = without(tmp_path, *asked)
    assert found == [answer(kind, question) for kind, question in asked]  # type: ignore[arg-type]  # literals
    assert [list(json.loads(text)) for text in found[2:]] == [
        ["verdicts", "page", "report", "plan", "analysis"],
        ["core", "operators", "macs", "tflm_bytes", "budget", "needs"],
        ["verdicts", "page", "report", "plan", "analysis"],
    ]


def test_what_is_refused_is_refused(tmp_path: Path) -> None:
    """The guard itself: a thread, a process, and a package that is not there."""
    for code in (
        "import click",
        "threading.Thread(target=print).start()",
        "import os; os.system('true')",
        "import socket; socket.socket()",
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{_WITHOUT}\n{code}"],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert "Pyodide" in done.stderr or "can't start new thread" in done.stderr, code


@pytest.mark.parametrize(
    ("asked", "cause", "remedy"),
    [
        (
            {"model": "no.tflite"},
            "cannot read no.tflite: No such file or directory",
            "check the path, or name a built-in network as zoo:NAME (see `lowtide zoo`)",
        ),
        (
            {"model": "zoo:figure1", "max_ram": "12 KB"},
            "'12 KB' is not a number of bytes",
            "write it as 16384, 16K or 16KiB",
        ),
        (
            {"model": "zoo:figure1", "core": "z80"},
            "there is no core 'z80'",
            "use one of: any, cortex-m0, cortex-m3, cortex-m4, cortex-m7, cortex-m33, cortex-m55, "
            "rv32imc, rv32imac",
        ),
    ],
)
def test_what_goes_wrong_is_an_answer(asked: dict[str, str], cause: str, remedy: str) -> None:
    for kind in ("look", "report"):
        found = json.loads(answer(kind, json.dumps(asked)))
        assert found == {"error": {"cause": cause, "remedy": remedy}}


@pytest.mark.parametrize(
    ("raised", "cause", "remedy"),
    [
        (
            MemoryError(),
            "the network needs more memory than the browser has",
            "install lowtide on your computer, and run it there",
        ),
        (
            KeyError("x"),
            "internal error: KeyError: 'x'",
            "report it, with the model",
        ),
    ],
)
def test_a_fault_is_an_answer_too(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, cause: str, remedy: str
) -> None:
    def fail(_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(lowtide.browser, "load", fail)
    found = json.loads(answer("look", '{"model": "zoo:figure1"}'))
    assert found == {"error": {"cause": cause, "remedy": remedy}}


def test_integers_in_and_out_are_followed() -> None:
    asked = {"model": "zoo:resnet8"}
    plain = answer("look", json.dumps(asked))
    assert answer("look", json.dumps({**asked, "quantized_io": True})) == plain  # it has no floats

"""Oracles without their start: a process that has loaded both engines, and forks for each request.

Why: loading Python, numpy and an engine takes ten times as long as running a small model, and tests do
so a thousand times. Every request still has a process of its own, which the engine may take down. What
was asked before, as of a network that is run in several ways, is answered as it was then. Where a test
changes the environment or sets a time limit of its own, the worker is started as usual, as it is in the
tests of the oracle itself.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from select import select
from threading import Lock

from lowtide.cache import Cache

_LEAST_LIMIT = 60.0
"""Seconds: a request that may take less than this is one of a test that wants it to take too long."""
_ONE_AT_A_TIME = Lock()

_SERVER = """
import os, sys
from pathlib import Path
from lowtide.oracle import worker
for engine in ("tflite_micro.runtime", "ai_edge_litert.interpreter"):
    try:
        __import__(engine)
    except ImportError:
        pass
for line in sys.stdin:
    folder = Path(line[:-1])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            file = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(file, 1)
            os.dup2(file, 2)
            code = worker.main(folder)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

Start = Callable[[Path, float], tuple[str, int]]


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}


@cache
def _server() -> tuple[subprocess.Popen[str], dict[str, str]]:
    """The process, and the environment that it was started in."""
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_stop, server)
    return server, _environment()


def _stop(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()


@cache
def _answers() -> Cache:
    """Outputs of this run's requests that ended well, by `_key`."""
    folder = tempfile.TemporaryDirectory(prefix="lowtide-answers-")
    atexit.register(folder.cleanup)
    return Cache(Path(folder.name))


def _key(folder: Path) -> str:
    """What is asked, as one number: inputs.npz says when it was written, which is no part of it."""
    digest = hashlib.sha256()
    for name in ("model.tflite", "request.json"):
        if (file := folder / name).exists():
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    if (inputs := folder / "inputs.npz").exists():
        with zipfile.ZipFile(inputs) as arrays:
            for name in sorted(arrays.namelist()):
                digest.update(name.encode() + hashlib.sha256(arrays.read(name)).digest())
    return digest.hexdigest()


def served(start: Start) -> Start:
    """What starts a worker and returns what it printed and its exit code, in place of `start`."""

    def ask(folder: Path, timeout: float) -> tuple[str, int]:
        server, environment = _server()
        if timeout < _LEAST_LIMIT or environment != _environment():
            return start(folder, timeout)
        key, outputs = _key(folder), folder / "outputs.npz"
        if (known := _answers().get(key)) is not None:
            outputs.write_bytes(known)
            return "", 0
        assert server.stdin is not None
        assert server.stdout is not None
        with _ONE_AT_A_TIME:
            print(folder, file=server.stdin, flush=True)
            if not select([server.stdout], [], [], timeout)[0]:
                server.kill()
                _server.cache_clear()
                raise subprocess.TimeoutExpired("the worker", timeout)
            code = int(server.stdout.readline())
        printed = (folder / "printed").read_text("utf-8", "replace")
        if code == 0 and outputs.exists():
            _answers().put(key, outputs.read_bytes())
        return printed, code

    return ask

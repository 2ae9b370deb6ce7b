"""Checks whether HEAD can be released, and builds and checks the files to upload: `make release`.

It uploads nothing. docs/releasing.md has the steps before and after it. It lists all problems before
it exits with 1, so that one run shows everything that is left to do.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MEASURED = (
    "src",
    ":!src/lowtide/emit/stack.json",
    ":!src/lowtide/emit/misra_lines.json",
    ":!src/lowtide/plans/errors.json",
)
"""What figures are measured of: the sources, without files that are figures themselves: the stack of
kernels, the lines of the runtime that the checker for MISRA reports, and what predictions keep to."""
TOOLS = ("build", "twine", "check-wheel-contents")


def unready(root: Path, version: str) -> Iterator[str]:
    """What keeps the checkout at `root` from being released as `version`, with what to do."""
    if _git(root, "status", "--porcelain"):
        yield "the work tree has changes: commit them"
    tags = _git(root, "tag", "--points-at", "HEAD").split()
    if f"v{version}" not in tags:
        yield f"HEAD has no tag v{version}: git tag -a v{version}, or change pyproject.toml"
    newest = re.search(r"^## \[(.+?)\] - (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.M)
    if newest is None or newest[1] != version or not re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2]):
        yield f"CHANGELOG.md does not begin with '## [{version}] - YYYY-MM-DD'"
    measured = figures_of(root)
    if len(measured) > 1:
        told = ", ".join(f"{commit} ({groups} groups)" for commit, groups in measured.items())
        yield f"stored figures are of several commits: {told}: run `make bench` at one commit"
    for commit in measured:
        known = subprocess.run(
            ["git", "-C", str(root), "cat-file", "-e", commit], capture_output=True
        )
        if known.returncode:
            yield f"figures were measured at {commit}, which isn't in the history: run `make bench`"
            continue
        changed = _git(root, "diff", "--name-only", commit, "HEAD", "--", *MEASURED).split()
        if changed:
            named = f"{', '.join(changed[:3])}{' and others' * (len(changed) > 3)}"
            yield f"{named} changed since figures were measured at {commit}: run `make bench`"


def figures_of(root: Path) -> dict[str, int]:
    """The commits that the figures in docs/figures/ were measured at -> how many groups."""
    found: dict[str, int] = {}
    for path in sorted((root / "docs" / "figures").glob("*.json")):
        for group in json.loads(path.read_text("utf-8"))["groups"].values():
            found[group["commit"]] = found.get(group["commit"], 0) + 1
    return found


def build() -> list[Path]:
    """The sdist and the wheel of HEAD, in build/release/dist, checked. Raises CalledProcessError."""
    shutil.rmtree(BUILD, ignore_errors=True)
    source, dist = BUILD / "source", BUILD / "dist"
    source.mkdir(parents=True)
    _run("git", "-C", str(ROOT), "archive", "-o", str(BUILD / "source.tar"), "HEAD")
    with tarfile.open(BUILD / "source.tar") as archive:
        archive.extractall(source, filter="data")
    python = _venv(sys.executable, "tools")
    _run(python, "-m", "pip", "install", "--quiet", *TOOLS)
    when = {"SOURCE_DATE_EPOCH": _git(ROOT, "log", "-1", "--format=%ct")}
    _run(python, "-m", "build", "--outdir", str(dist), str(source), **when)
    files = sorted(dist.iterdir())
    _run(python, "-m", "twine", "check", "--strict", *map(str, files))
    wheel = str(next(dist.glob("*.whl")))
    _run(python, "-m", "check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), wheel)
    return files


def try_out(file: Path) -> Iterator[str]:
    """Install the file into a bare environment of each Python, and compile there; what is wrong."""
    for version in PYTHONS:
        python = shutil.which(f"python{version}")
        if python is None:
            yield f"Python {version} is not on PATH: {file.name} is not tried with it"
            continue
        try:
            bare = _venv(python, f"{version}-{file.suffix}")
            _run(bare, "-m", "pip", "install", "--quiet", str(file))
            _run(bare, "-m", "lowtide", "--version")
            _run(bare, "-m", "lowtide", "compile", "zoo:figure1", "-o", f"{BUILD}/c", "--no-advice")
        except subprocess.CalledProcessError as error:
            yield f"Python {version}, {file.name}: {' '.join(error.cmd)}: exit code {error.returncode}"


def _venv(python: str, name: str) -> str:
    """The Python of a new virtual environment."""
    folder = BUILD / "venv" / name
    _run(python, "-m", "venv", str(folder))
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def _run(*command: str, **environment: str) -> None:
    """Run in the build folder, so that the checkout's own package is not the one that is imported."""
    print("$", *command, flush=True)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, cwd=BUILD, env={**inherited, **environment})


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    files = build()
    wrong = [*unready(ROOT, version), *(what for file in files for what in try_out(file))]
    print(*(f"not ready: {what}" for what in wrong), sep="\n")
    if wrong:
        raise SystemExit(1)
    print("ready: upload", *files)


if __name__ == "__main__":
    main()

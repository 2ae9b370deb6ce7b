"""What keeps a checkout from being released: each point of the check, in a project of a few files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools.release import figures_of, unready


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=T", "-c", "user.email=t@t.example")
    done = subprocess.run(
        ["git", "-C", str(root), *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(root: Path, **files: str) -> str:
    """The commit of these files, by name with "/" as "__"."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a change")
    return git(root, "rev-parse", "--short", "HEAD")


def figures(*commits: str) -> str:
    return json.dumps({"groups": {str(n): {"commit": each} for n, each in enumerate(commits)}})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project that is ready but for its tag."""
    git(tmp_path, "init", "-q")
    first = commit(tmp_path, src__a_py="1", CHANGELOG_md="# Changes\n\n## [1.0.0] - 2026-01-31\n")
    commit(tmp_path, docs__figures__rows_json=figures(first, first))
    return tmp_path


def test_a_checkout_that_is_ready(root: Path) -> None:
    git(root, "tag", "-a", "v1.0.0", "-m", "v1.0.0")
    assert list(unready(root, "1.0.0")) == []
    assert list(figures_of(root).values()) == [2]


def test_each_thing_that_is_missing_is_named(root: Path) -> None:
    first = next(iter(figures_of(root)))
    second = commit(root, src__a_py="2")
    commit(
        root, docs__figures__speed_json=figures(second), CHANGELOG_md="## [1.1.0] - unreleased\n"
    )
    (root / "new").write_text("")
    wrong = list(unready(root, "1.1.0"))
    assert [what.split(":")[0] for what in wrong] == [
        "the work tree has changes",
        "HEAD has no tag v1.1.0",
        "CHANGELOG.md does not begin with '## [1.1.0] - YYYY-MM-DD'",
        "stored figures are of several commits",
        f"src/a.py changed since figures were measured at {first}",
    ]

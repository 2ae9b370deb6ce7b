"""The documentation's site is built without a warning, has all pages, and loads nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lowtide
from lowtide.cli import app

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    made = {page.parent.name for page in site.rglob("index.html")}
    assert pages <= made
    assert {"ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "shared_arena", "wake_word"} <= made
    menu = (site / "index.html").read_text("utf-8")
    assert all(f'href="{page}/"' in menu for page in pages)


def test_references_are_complete(site: Path) -> None:
    commands = (site / "command-line" / "index.html").read_text("utf-8")
    assert all(
        f"lowtide-{name}" in commands.replace("_", "-") or name in commands for name in app.commands
    )
    for name, command in app.commands.items():
        options = [o for p in command.params for o in p.opts if o.startswith("--")]
        assert [o for o in options if o not in commands] == [], name
    assert "Sentinel" not in commands
    documents = (site / "json" / "index.html").read_text("utf-8")
    schemas = {path.name for path in (site / "schemas").iterdir()}
    assert schemas == {path.name for path in (ROOT / "src/lowtide/report/schemas").iterdir()}
    assert all(f'href="../schemas/{name}"' in documents for name in schemas)
    names = (site / "python-reference" / "index.html").read_text("utf-8")
    assert all(f"lowtide.{name}" in names for name in lowtide.HOMES)
    shown = re.sub(r"<[^>]+>", "", names)
    assert "lowtide.analyze(\n    model: " in shown


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*src="(https?:[^"]*)"', text)
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', text)
        assert loaded == [], page

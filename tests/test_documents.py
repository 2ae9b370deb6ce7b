"""The documents name files, sections and options that exist.

Why: files are moved and renamed often, and nothing else notices that a document still has the old name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]

_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)*(?:/|\.(?:py|c|h|md|toml|txt|sh|ld\.in))")
_IN_DRAWING = re.compile(r"(?<![\w/.-])\w+/[\w/]+\.py\b")
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")

# Where a path may begin.
_BASES = (ROOT, ROOT / "src" / "lowtide", ROOT / "src" / "lowtide" / "kernels")
# Names of files that a user or a bundle has, or that one is told to write.
_EXAMPLES = re.compile(
    r"lt_x\w*\.[ch]|test_kernel_x\.py|NAME\.[ch]|smaller\.tflite|idf\.py|components/|audio_preprocessor\.py"
)


def paths_in(text: str) -> Iterator[str]:
    """What stands in backticks and looks like a path of this project: with a folder, or a .py file.

    Elsewhere, as in the drawings of ARCHITECTURE.md, .py files with their folder.
    """
    words = [word.strip(",;:()") for quoted in _QUOTED.findall(text) for word in quoted.split()]
    for name in (*words, *_IN_DRAWING.findall(text)):
        looks = _PATH.fullmatch(name) and ("/" in name or name.endswith(".py"))
        if looks and not name.startswith((".", "/")) and not _EXAMPLES.search(name):
            yield name


def missing(text: str, folder: Path = ROOT) -> list[str]:
    """Paths in backticks that are not there, in no folder that a document may mean."""
    bases = (*_BASES, folder)
    return [p for p in paths_in(text) if not any((base / p).exists() for base in bases)]


def anchors(path: Path) -> set[str]:
    """The names that links to a document's headings have."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_paths_exist(document: Path) -> None:
    assert missing(document.read_text("utf-8"), document.parent) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    for file, section in _LINK.findall(document.read_text("utf-8")):
        if file.startswith("http"):
            continue
        target = document.parent / file if file else document
        assert target.exists(), file
        if section:
            assert section in anchors(target), f"{file}#{section}"


def test_a_path_that_is_not_there_is_found() -> None:
    text = "`ir/graph.py`, `ir/no.py`, `lower/`, `nolower/`, `tests/no_test.py -k x`, `x`, `a/b`"
    assert missing(text) == [
        "ir/no.py",
        "nolower/",
        "tests/no_test.py",
        "ir/no.py",
        "tests/no_test.py",
    ]
    assert missing("    rows/table.py --> rows/chair.py, `n/a`") == ["rows/chair.py"]


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130

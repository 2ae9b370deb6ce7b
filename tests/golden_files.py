"""Whole expected outputs, kept as files in tests/golden.

Why whole files: a report is read as a whole, and so is the difference when one changes. After an
intended change, `pytest --update-golden` writes them anew; the difference is reviewed in git.
"""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent / "golden"
OPTION = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option; tests/conftest.py hands this hook to pytest."""
    parser.addoption(OPTION, action="store_true", help="write tests/golden anew from the results")


def assert_golden(name: str, text: str, config: pytest.Config) -> None:
    """Assert that `text` is the contents of the golden file `name`, or make it so if asked to."""
    path = FOLDER / name
    if config.getoption(OPTION, default=False):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")

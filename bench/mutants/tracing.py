"""A plugin of pytest: which lines of some of lowtide's rooms each test runs.

    LOWTIDE_LINES=FILE python -m pytest -p bench.mutants.tracing tests/place

writes to FILE a line for each test that passes: {"test": name, "seconds": s, "lines": {file of the
package: [line, ...]}}. The seconds are of the processor, processes that it starts included. What a test
finds in a cache, as another made it before, counts for that other one alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import lowtide

ROOMS = ("lower", "rows", "place", "plans", "program", "passes")
_PACKAGE = Path(lowtide.__file__).parent
_FOLDERS = tuple(f"{_PACKAGE / room}{os.sep}" for room in ROOMS)


_PATIENCE = 3000
"""A function that runs so many lines with no new one is not followed further: that takes too long."""


class _Lines:
    """Of the test under way: the lines of each function that it has not run yet."""

    def __init__(self) -> None:
        self.left: dict[CodeType, set[int]] = {}
        self._patience: dict[CodeType, int] = {}

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """As sys.settrace calls it, for each function that is entered."""
        code = frame.f_code
        patience = self._patience.get(code)
        if patience is None:
            ours = code.co_filename.startswith(_FOLDERS) and event == "call"
            patience = self._patience[code] = _PATIENCE if ours else 0
            if ours:
                self.left[code] = _all_lines(code)
        return self._line if patience else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        left = self.left[code]
        if event == "line":
            if frame.f_lineno in left:
                left.discard(frame.f_lineno)
                self._patience[code] = _PATIENCE if left else 0
            elif self._patience[code]:
                self._patience[code] -= 1
        return self._line if self._patience[code] else None

    def reached(self) -> dict[str, list[int]]:
        """File of the package -> the lines that ran."""
        found: dict[str, set[int]] = {}
        for code, left in self.left.items():
            name = Path(code.co_filename).relative_to(_PACKAGE).as_posix()
            found.setdefault(name, set()).update(_all_lines(code) - left)
        return {name: sorted(lines) for name, lines in sorted(found.items())}


def _all_lines(code: CodeType) -> set[int]:
    """All but that of the `def`, which a call does not report."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return lines - {code.co_firstlineno} if len(lines) > 1 else lines


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Follows the test itself, and no fixture of it."""
    lines, begin = _Lines(), _seconds()
    sys.settrace(lines.trace)
    try:
        outcome = yield
    finally:
        sys.settrace(None)
    found, seconds = lines.reached(), round(_seconds() - begin, 2)
    if outcome.excinfo is None and found:
        with Path(os.environ["LOWTIDE_LINES"]).open("a", encoding="utf-8") as file:
            print(json.dumps({"test": item.nodeid, "seconds": seconds, "lines": found}), file=file)


def _seconds() -> float:
    return sum(os.times()[:4])

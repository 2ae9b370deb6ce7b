"""Results depend on model, options and version alone: no clock decides anything.

Why two ways: a clock that stands still or races shows that what is compiled does not depend on it, for
the networks that are tried; that no module reads one shows it for all others.
"""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lowtide
from lowtide.commands import preparing
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.order import best_order
from lowtide.report.planned import plan_document
from lowtide.zoo import build
from networks import loaded

SOURCE = Path(lowtide.__file__).parent
PROGRESS = {"cli/options.py", "cli/many.py"}
"""Say on stderr how long something has taken, or may take still."""

CLOCKS = {"time", "datetime", "timeit", "sched"}


def imported(path: Path) -> set[str]:
    """The modules that a file imports, by their first names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_no_module_reads_a_clock() -> None:
    readers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if imported(path) & CLOCKS
    }
    assert readers == PROGRESS


def _frozen() -> Iterator[float]:
    return itertools.repeat(0.0)


def _slow() -> Iterator[float]:
    return itertools.count(0.0, 1e-9)


def _racing() -> Iterator[float]:
    return itertools.count(0.0, 1e6)


@pytest.mark.parametrize("clock", [_frozen, _slow, _racing])
def test_the_same_program_by_any_clock(
    clock: Callable[[], Iterator[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loaded("figure1")
    limited = Options(max_overhead=1.2, input_mode="const")
    usual = compile_model(model), planned_model(model, limited, front=True)
    ticks = clock()
    for name in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, name, lambda: next(ticks))
    again = compile_model(model), planned_model(model, limited, front=True)
    monkeypatch.undo()
    assert again[0].files == usual[0].files
    assert again[1].compiled.files == usual[1].compiled.files
    assert plan_document(again[1]) == plan_document(usual[1])
    assert usual[0].complete
    assert usual[1].compiled.complete


def test_little_effort_gives_a_program_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_LEAST_EFFORT", 1 / 4096)  # so that a small network is enough
    model = loaded("mobilenet-v1-0.25-96")
    little = Options(max_overhead=1.2, effort=0.001)
    first, second = (compile_model(model, little) for _ in range(2))
    assert first.files == second.files
    assert not first.complete
    assert first.arena_bytes >= compile_model(model, Options(max_overhead=1.2)).arena_bytes


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "attention-block"])
def test_the_order_by_any_clock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = best_order(loaded(name))
    ticks = itertools.count(0.0, 1e6)
    for clock in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert best_order(loaded(name)) == usual
    assert build(name)

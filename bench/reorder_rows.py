"""What a row of the table is, and where its outside data come from.

Why: every figure is measured in the run that prints it; what is asked stands beside it in the code,
and what rivals published is read from the shared data. The bench also runs where those are absent.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")
Status = Literal["OK", "MISSED", "not measured"]

ROOT = Path(__file__).resolve().parents[1]
_SHARED = ROOT.parent / "shared"


class NeedsError(Exception):
    """A row cannot be measured here; the text says what it needs."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A small table shown below the main one: figures that a row sums up."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `values` are the measured figures for programs to read."""

    on: str
    asked: str
    measured: str
    status: Status
    peer: str = ""
    values: dict[str, object] = field(default_factory=dict)
    details: tuple[Detail, ...] = ()


def verdict(good: bool) -> Status:
    """The status of a row that was measured."""
    return "OK" if good else "MISSED"


def shared_model(name: str) -> Path:
    """The file of a shared model. Raises NeedsError where it is missing."""
    path = _SHARED / "models" / f"{name}.tflite"
    if not path.is_file():
        raise NeedsError(f"needs the shared models ({path.name})")
    return path


def shared_models() -> list[Path]:
    """All shared models, by name. Raises NeedsError where there are none."""
    found = sorted((_SHARED / "models").glob("*.tflite"))
    if not found:
        raise NeedsError("needs the shared models (all of them)")
    return found


def peer(*keys: str, show: Callable[[Any], str] = str) -> str:
    """A rival's published figure as text; says so where the published data are missing."""
    try:
        value: Any = json.loads((_SHARED / "data" / "peers.json").read_text())
    except FileNotFoundError:
        return "needs the shared data (peers.json)"
    for key in keys:
        value = value[key]
    return show(value)


def amount(count: int) -> str:
    """ "351,232 B"."""
    return f"{count:,} B"


def timed(call: Callable[[], _T]) -> tuple[_T, float]:
    """A call's result and how many seconds it took."""
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def note(text: str) -> None:
    """Say on stderr what is going on."""
    print(f"bench/reorder: {text}", file=sys.stderr, flush=True)


def cells(lines: Sequence[Sequence[object]]) -> tuple[tuple[str, ...], ...]:
    """Lines of a `Detail`; numbers get their thousands apart."""
    return tuple(tuple(f"{c:,}" if isinstance(c, int) else str(c) for c in line) for line in lines)

"""What lies outside the project and is read where it is there: shared models, and others' figures.

Why: every figure of ours is measured in the run that prints it, and rivals' figures are read from an
optional folder beside the checkout. The benches also run where that is absent, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

_SHARED = ROOT.parent / "shared"


class NeedsError(Exception):
    """A row cannot be measured here; the text says what it needs."""


def shared_model(name: str) -> Path:
    """The file of a shared model, one of the world's included. Raises NeedsError where it is missing."""
    for folder in ("models", "world"):
        path = _SHARED / folder / f"{name}.tflite"
        if path.is_file():
            return path
    raise NeedsError(f"needs the shared models ({name}.tflite)")


def shared_models() -> list[Path]:
    """All shared models, by name. Raises NeedsError where there are none."""
    found = sorted((_SHARED / "models").glob("*.tflite"))
    if not found:
        raise NeedsError("needs the shared models (all of them)")
    return found


def peer(*keys: str, show: Callable[[Any], str] = str) -> str:
    """A rival's published figure as text; says so where the published data are missing."""
    value = peer_value(*keys)
    return "needs the shared data (peers.json)" if value is None else show(value)


def peer_value(*keys: str) -> Any:
    """A rival's published figure; None where the published data are missing."""
    value = shared("peers.json")
    for key in keys if value is not None else ():
        value = value[key]
    return value


def shared(name: str) -> Any:
    """The contents of a file of the shared data; None where it is missing."""
    try:
        return json.loads((_SHARED / "data" / name).read_text())
    except FileNotFoundError:
        return None

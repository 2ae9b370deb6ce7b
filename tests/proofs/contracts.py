"""What helpers of the runtime ask of their callers (contracts.toml), for the harnesses here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lowtide

FOLDER = Path(__file__).parent
INCLUDE = Path(lowtide.__file__).parent / "kernels" / "include"
CONTRACTS: Mapping[str, Any] = tomllib.loads((FOLDER / "contracts.toml").read_text("utf-8"))
HELPERS: Mapping[str, Mapping[str, Any]] = CONTRACTS["helpers"]
SHORT = "-D__thumb__"
"""Chooses what cores without a long multiplication have."""


def ranges_of(value: Any) -> Sequence[Sequence[int]]:
    """Ranges, or those of that name; none for all that the type holds."""
    found: Sequence[Sequence[int]] = CONTRACTS["ranges"][value] if isinstance(value, str) else value
    return found


def header() -> str:
    """contracts.h: CONTRACT_helper is what its arguments, by these names, must be."""
    lines = ['#include "harness.h"', '#include "lt_elem.h"']
    for helper, contract in HELPERS.items():
        conditions = [each for name in contract for each in _conditions(name, contract[name])]
        lines.append(f"#define CONTRACT_{helper} ({' && '.join(conditions) or '1'})")
    return "\n".join(lines) + "\n"


def _conditions(name: str, value: Any) -> Iterator[str]:
    if name == "also":
        yield from (f"({condition})" for condition in value)
    elif value == "real":
        yield f"({name} == {name})"
    elif value != "any32":
        each = [" && ".join(_ends(name, low, high)) for low, high in ranges_of(value)]
        yield f"({' || '.join(f'({of})' for of in each)})"


def _ends(name: str, low: int, high: int) -> Iterator[str]:
    """The comparisons that an int32 does not fulfil anyway."""
    if low != -(2**31):
        yield f"{name} >= {low}LL"
    if high != 2**31 - 1:
        yield f"{name} <= {high}LL"


def prepared(folder: Path) -> list[str]:
    """The flags that a compiler needs, after contracts.h is written into the folder."""
    (folder / "contracts.h").write_text(header())
    return [f"-I{folder}", f"-I{FOLDER}", f"-I{INCLUDE}"]

"""Arguments of the Python interface, checked: what is no number where one is needed is a UsageError.

Why here: functions of several rooms take numbers, and each message names the argument and a value that
it takes. Numbers of NumPy become Python's, which JSON and C texts are made of.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from numbers import Integral, Real
from typing import Any

from lowtide.errors import UsageError


def is_number(value: object, kind: type) -> bool:
    """Whether a value is a number of that kind, which True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool)


def whole(name: str, value: Any, least: float = -inf, most: float = inf) -> int:
    """A whole number from `least` to `most`, given as the argument `name`. Raises UsageError."""
    if is_number(value, Integral) and least <= value <= most:
        return int(value)
    raise _wrong(name, value, f"a whole number{_range(least, most)}")


def number(name: str, value: Any, least: float = -inf, most: float = inf) -> float:
    """Any number from `least` to `most`, given as the argument `name`. Raises UsageError."""
    if is_number(value, Real) and least <= value <= most:
        return int(value) if isinstance(value, Integral) else float(value)
    raise _wrong(name, value, f"a number{_range(least, most)}")


def several(name: str, values: object) -> Iterable[object]:
    """Several values, given as the argument `name`. Raises UsageError for one alone."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return values
    raise UsageError(f"{name} cannot be {values!r}: it takes a list", f"give {name}=[{values!r}]")


def _wrong(name: str, value: object, instead: str) -> UsageError:
    return UsageError(f"{name} cannot be {value!r}", f"use {instead}")


def _range(least: float, most: float) -> str:
    if most < inf:
        return f" from {least:g} to {most:g}"
    return f" of at least {least:g}" if least > -inf else ""

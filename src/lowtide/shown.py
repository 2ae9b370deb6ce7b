"""Results that a notebook shows as HTML.

Why a base class here, and the drawing elsewhere: a notebook asks each object for `_repr_html_`, and
what makes HTML of results comes after them in the house. So the package registers it here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_renderers: list[Callable[[Any], str]] = []


def register(renderer: Callable[[Any], str]) -> None:
    """Let `renderer` make the HTML of all results, in place of an earlier one."""
    _renderers[:] = [renderer]


class Shown:
    """A result of a command."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Without a renderer None: a notebook then shows the result as text."""
        return _renderers[0](self) if _renderers else None

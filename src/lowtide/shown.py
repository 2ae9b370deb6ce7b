"""Results that a notebook shows as HTML.

Why only a base class here: a notebook asks each object for `_repr_html_`, but this module cannot import
the code that makes HTML of results, which imports the results. So the package registers that code here.
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

"""Results that a notebook shows as HTML.

Why a base class here, and the drawing in `report`: a notebook asks each object for `_repr_html_`, and
what makes HTML of results comes after them in the house. It is loaded when it is first asked for, by its
name, as `import lowtide` loads all that it has.
"""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A result of a command."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module("lowtide.report.notebook").notebook_html(self)
        return html

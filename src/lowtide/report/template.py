"""Pages as files of the package, with places where text is put in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources


def template(name: str) -> str:
    """A file of report/page/."""
    return (resources.files("lowtide.report") / "page" / name).read_text("utf-8")


def filled(name: str, parts: Mapping[str, str]) -> str:
    """A file of report/page/ with each `{{key}}` replaced by its part, of which nothing is replaced."""
    first, *pieces = template(name).split("{{")
    made = [first]
    for piece in pieces:
        key, _, rest = piece.partition("}}")
        made += [parts[key], rest]
    return "".join(made)

"""What a report is about: a network, or the part of one that `--from` and `--until` took."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from lowtide.commands.cutting import ends_of
from lowtide.ir import Model
from lowtide.report.text import plain


def file_name(model: Model) -> str:
    """The file's name without its folder; a network of the zoo's own."""
    return plain(PurePath(model.path).name)


def network_name(model: Model) -> str:
    """The file's name, and which part of it, if it is one."""
    begin, until = ends_of(model)
    words = [f"from {_tensors(begin)}"] if begin else []
    words += [f"up to {_tensors(until)}"] if until else []
    return plain(model.path) + (f" {' '.join(words)}" if words else "")


MODES: Final = {
    "resident": "in the arena (resident)",
    "const": "in the caller's memory (const)",
    "streamed": "row by row (streamed)",
}
"""Where inputs or outputs are, in words."""


def part_fields(model: Model) -> dict[str, Any]:
    """Key of a document; none for a whole network. `null` stands for the network's own ends."""
    if model.whole is None:
        return {}
    begin, until = ends_of(model)
    return {"part": {"from": list(begin) or None, "until": list(until) or None}}


def _tensors(ids: Sequence[int]) -> str:
    return f"tensor{'s' * (len(ids) > 1)} {', '.join(map(str, ids))}"

"""Whether the searches behind a program came to their end, for the reports of plans and programs."""

from __future__ import annotations

from lowtide.commands.compiling import Compiled


def incomplete_note(compiled: Compiled) -> list[str]:
    """A line that says so if a search stopped before its end."""
    if compiled.complete:
        return []
    return [
        f"not searched completely: the search budget (--effort {compiled.options.effort:g}) was used "
        "up; a larger one may find a smaller arena"
    ]

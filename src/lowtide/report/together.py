"""Programs that share one arena, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowtide.commands.together import Together
from lowtide.report.fields import fields_of
from lowtide.report.text import amount, counted, plain, table


def together_text(made: Together, output: str, removed: Sequence[str]) -> str:
    """What each program needs, what all do, and what was written."""
    rows = [
        (p.name, f"{p.arena_bytes:,}", f"{p.state_bytes:,}", str(p.proof)) for p in made.programs
    ]
    together = ("together", f"{made.arena_bytes:,}", f"{made.state_bytes:,}", "")
    apart = sum(program.arena_bytes for program in made.programs)
    lines = [
        table("", ("network.", "arena B", "state B", "."), [*rows, together]),
        f"one arena of {amount(made.arena_bytes)} in place of {amount(apart)}; with states "
        f"{amount(made.ram_bytes)}",
        f"Wrote {counted(len(made.files), 'file')} to {plain(output)}; {made.name}.h has the arena and "
        "all networks, README.md says how to build and call them.",
    ]
    if removed:
        lines.append(
            f"Removed from an earlier bundle, because nothing uses them now: {', '.join(removed)}."
        )
    return "\n".join(lines)


def together_document(made: Together, output: str, removed: Sequence[str]) -> dict[str, Any]:
    """Schema lowtide.shared-arena/1; sizes in bytes."""
    return {
        "schema": "lowtide.shared-arena/1",
        "lowtide": made.programs[0].origin.version,
        "command": made.command,
        "output": output,
        "name": made.name,
        "files": sorted(made.files),
        "removed": list(removed),
        **fields_of(made, "arena_bytes", "state_bytes", "ram_bytes"),
        "networks": [
            {
                "name": program.name,
                "model": program.model.path,
                "sha256": program.origin.digest,
                **fields_of(program, "arena_bytes", "state_bytes"),
            }
            for program in made.programs
        ],
    }

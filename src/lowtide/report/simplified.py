"""Simplified files, as text and as a JSON document."""

from __future__ import annotations

from typing import Any

from lowtide.commands.simplifying import SimplifiedFile
from lowtide.oracle.interpreters import TflmArena
from lowtide.report.saved import savings_document
from lowtide.report.text import ENGINES, NOTHING_BETTER, compared, counted, plain, table


def simplified_text(result: SimplifiedFile) -> str:
    """What was left out, file and arena before and after, and how it was checked."""
    name = plain(result.before.path)
    if not result.changed and not result.better:
        tried = "" if result.reordered is None else f"\n{NOTHING_BETTER}"
        return f"{name}: there is nothing to remove: every channel and every operator is needed.{tried}"
    saved, check = result.savings, result.check
    whole, new = result.before.source, result.model.source
    rows = [
        *(
            compared(what, figures.before, figures.after, unit="")
            for what, figures in (
                ("operators", saved.operators),
                ("channels of layers with weights", saved.channels),
                ("MACs", saved.macs),
            )
        ),
        compared("weights", saved.weights.before, saved.weights.after),
        compared("file", len(whole), len(new)),
    ]
    if check is not None and check.arena_before is not None and check.arena_after is not None:
        before, after = check.arena_before, check.arena_after
        rows.append(compared("arena of TFLM, head", before.head, after.head))
        rows.append(compared("arena of TFLM, total", before.total, after.total))
    elif result.reordered is not None and not result.changed:
        ways = result.reordered.ways
        by = "measured" if result.reordered.measured else "predicted"
        heads = ways[0].head, result.reordered.chosen.head
        rows.append(compared(f"arena of TFLM, head, {by}", *heads))
    lines = [table(name, ("figure.", "before", "after", "change"), rows), ""]
    if check is None:
        lines.append("The outputs were not compared.")
    else:
        engines = " and ".join(ENGINES[engine] for engine in check.engines)
        lines.append(
            f"All outputs are the same, byte for byte, on {counted(check.samples, 'input')} in "
            f"{engines}."
        )
    return "\n".join(lines)


def simplified_document(result: SimplifiedFile, output: str | None) -> dict[str, Any]:
    """Schema lowtide.simplify/1; sizes in bytes; `output` is null where nothing was written."""
    check = result.check
    return {
        "schema": "lowtide.simplify/1",
        "model": result.before.path,
        "output": output,
        "changed": result.changed,
        "file_bytes": {"before": len(result.before.source), "after": len(result.model.source)},
        "saved": savings_document(result.savings),
        "reordered": result.reordered is not None and result.reordered.changed,
        "check": None
        if check is None
        else {
            "engines": list(check.engines),
            "samples": check.samples,
            "bit_exact": True,
            "tflm_arena": {
                "before": _arena(check.arena_before),
                "after": _arena(check.arena_after),
            },
        },
    }


def _arena(arena: TflmArena | None) -> dict[str, int] | None:
    if arena is None:
        return None
    return {"total_bytes": arena.total, "head_bytes": arena.head, "tail_bytes": arena.tail}

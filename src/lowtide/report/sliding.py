"""What stays while a window slides, tensor by tensor: as rows of a table, and as a document."""

from __future__ import annotations

from typing import Any

from lowtide.commands.compiling import Compiled
from lowtide.report.text import plain, table


def slid_fields(compiled: Compiled) -> dict[str, Any]:
    """`slid` of the documents: each tensor with rows, the window first; nothing without a window that
    slides."""
    hop = compiled.graph.hop
    if hop is None:
        return {}
    sizes = {v.tensor: v.size for v in compiled.assembly.variables}
    tensors = compiled.graph.tensors
    return {
        "slid": [
            {
                "tensor": of.tensor,
                "name": plain(tensors[of.tensor].name),
                "rows": of.rows,
                "rows_kept": of.kept,
                "rows_made": of.made,
                "state_bytes": 0 if of.variable is None else sizes.get(of.variable, 0),
            }
            for of in hop.slid
        ]
    }


def slid_text(compiled: Compiled) -> list[str]:
    """A table of the same."""
    rows = [
        (
            of["tensor"],
            *(f"{of[key]:,}" for key in ("rows", "rows_kept", "rows_made", "state_bytes")),
            of["name"],
        )
        for of in slid_fields(compiled).get("slid", ())
    ]
    columns = ("tensor", "rows", "kept", "new or recomputed", "bytes kept", "name.")
    return ["", table("Rows of the sliding window, in each run", columns, rows)] if rows else []

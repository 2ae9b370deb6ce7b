"""The operators that are compiled beside TFLM's, as text, JSON and a page of the documentation."""

from __future__ import annotations

from typing import Any

from lowtide.commands.operators import WEIGHTS, Beside, Comparison
from lowtide.report import text
from lowtide.report.fields import fields_of

COMMAND = "lowtide ops --against tflm --markdown > docs/operators.md"


def compared_text(compared: Comparison) -> str:
    """The table, and a line that sums it up."""
    columns = ("operator.", "TFLM.", "lowtide.", "missing.", "why.")
    rows = [
        (row.name, _listed(row.tflm), _listed(row.ours), _listed(row.missing), row.reason)
        for row in compared.rows
    ]
    return f"{text.table('', columns, rows)}\n\n{_summary(compared)}"


def compared_document(compared: Comparison) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "schema": "lowtide.ops-against-tflm/1",
        "tflm_sources": compared.sources,
        "operators": [
            {
                "type": row.name,
                "lowtide": row.ours,
                **fields_of(row, "custom", "tflm", "missing", "reason"),
            }
            for row in compared.rows
        ],
        "float_operators_of_tflm": compared.floats,
    }


def compared_markdown(compared: Comparison) -> str:
    """docs/operators.md."""
    lines = [
        "# Operators",
        "",
        "This table shows which operators lowtide compiles, and in which activation types, beside the",
        "integer kernels of TensorFlow Lite Micro (TFLM), by its sources of "
        f"{compared.sources}. This command makes the page:",
        "",
        f"    {COMMAND}",
        "",
        _summary(compared),
        "lowtide compares the variants that TFLM lacks with LiteRT's reference kernels instead.",
        "",
        "| operator | TFLM | lowtide | missing |",
        "| --- | --- | --- | --- |",
    ]
    lines += [_line(row) for row in compared.rows]
    lines += [
        "",
        "TFLM has these operators for floats only, so lowtide doesn't compile them: "
        + ", ".join(compared.floats)
        + ".",
        "",
    ]
    return "\n".join(lines)


def _line(row: Beside) -> str:
    missing = f"{_listed(row.missing)}: {row.reason}" if row.missing else ""
    name = f"{row.name} (custom)" if row.custom else row.name
    cells = (name, _listed(row.tflm), _listed(row.ours), missing)
    return "| " + " | ".join(cells) + " |"


def _summary(compared: Comparison) -> str:
    have, every = compared.variants
    return f"{have} of TFLM's {every} integer variants (operator and type) compile."


def _listed(types: tuple[str, ...]) -> str:
    return ", ".join(types).replace(WEIGHTS, "int4 weights")

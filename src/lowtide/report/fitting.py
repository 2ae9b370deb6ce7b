"""What `lowtide fit` found, as text, JSON, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from typing import Any

from lowtide.commands.fitting import Fit
from lowtide.machines.board import size_text
from lowtide.report.text import table

_SHORT = {
    "as is": "fits",
    "streamed": "streamed",
    "other kernels": "portable",
    "more work": "work",
    "not": "no",
}
_COLUMNS = (
    *("network", "mcu", "core", "ram", "flash", "way", "overhead", "ram_bytes", "flash_bytes"),
    *("spare_ram_bytes", "spare_flash_bytes", "source"),
)


def fit_document(found: Sequence[Fit]) -> dict[str, Any]:
    """Schema lowtide.fit/1; sizes in bytes."""
    return {"schema": "lowtide.fit/1", "fits": [_row(fit) for fit in found]}


def fit_csv(found: Sequence[Fit]) -> str:
    """A line per network and part."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_row(fit) for fit in found)
    return out.getvalue()


def fit_text(found: Sequence[Fit]) -> str:
    """A table per network, and what its words mean."""
    tables = []
    for network in dict.fromkeys(fit.network for fit in found):
        rows = [
            (
                fit.mcu.name,
                fit.mcu.core,
                size_text(fit.mcu.ram_bytes),
                "external" if fit.mcu.external else size_text(fit.mcu.flash_bytes),
                _said(fit),
                f"{fit.spare_ram_bytes:,}",
                f"{fit.spare_flash_bytes:,}",
            )
            for fit in found
            if fit.network == network
        ]
        columns = ("part.", "core.", "RAM", "flash", "fits.", "RAM left", "flash left")
        tables.append(table(network, columns, rows))
    words = (
        "fits: as it is; streamed: with its input streamed; portable: with the kernels of any core;\n"
        "lean: streamed, kernels with less scratch memory; +x % work: streamed, rows computed twice;\n"
        "no: by what is left below 0. Predicted, in bytes."
    )
    return "\n".join([*tables, words])


def fit_html(found: Sequence[Fit]) -> str:
    """A page with a table of networks by parts; the sentence of each pair is its cell's title."""
    networks = list(dict.fromkeys(fit.network for fit in found))
    parts = list(dict.fromkeys(fit.mcu.name for fit in found))
    of = {(fit.network, fit.mcu.name): fit for fit in found}
    head = "".join(f"<th>{html.escape(network)}</th>" for network in networks)
    body = []
    for part in parts:
        mcu = next(fit.mcu for fit in found if fit.mcu.name == part)
        cells = "".join(_cell(of[network, part]) for network in networks)
        about = f"{mcu.core}, {size_text(mcu.ram_bytes)}"
        body.append(f"<tr><th>{html.escape(part)}</th><td>{html.escape(about)}</td>{cells}</tr>")
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>lowtide fit</title>\n'
        "<style>body{font:14px sans-serif}table{border-collapse:collapse}"
        "th,td{border:1px solid #ccc;padding:3px 8px;text-align:left}"
        ".fits{background:#cfc}.streamed,.portable{background:#efc}.work{background:#ffc}"
        ".no{background:#fcc}</style>\n"
        f"<table><tr><th>part</th><th></th>{head}</tr>\n" + "\n".join(body) + "\n</table></html>\n"
    )


def _cell(fit: Fit) -> str:
    kind, title = _SHORT[fit.way], html.escape(fit.sentence)
    return f'<td class="{kind}" title="{title}">{html.escape(_said(fit))}</td>'


def _said(fit: Fit) -> str:
    if fit.way == "more work":
        if fit.overhead <= 1:
            return "lean"
        return f"+{(fit.overhead - 1) * 100:.0f} % work"
    return _SHORT[fit.way]


def _row(fit: Fit) -> dict[str, Any]:
    values = (
        *(fit.network, fit.mcu.name, fit.mcu.core, fit.mcu.ram_bytes, fit.mcu.flash_bytes),
        *(fit.way, round(fit.overhead, 4), fit.ram_bytes, fit.flash_bytes),
        *(fit.spare_ram_bytes, fit.spare_flash_bytes, fit.mcu.source),
    )
    return dict(zip(_COLUMNS, values, strict=True))

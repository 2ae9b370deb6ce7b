"""What `lowtide fit` found, as text, JSON, CSV and HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from lowtide.advice.fitting import WAYS, Fit, Way
from lowtide.errors import LowtideError
from lowtide.machines.board import size_text
from lowtide.report.fields import csv_text, fields_of
from lowtide.report.template import filled
from lowtide.report.text import table

_SHORT: Final[dict[Way, str]] = {
    "as is": "fits",
    "streamed": "streamed",
    "other kernels": "portable",
    "more work": "work",
    "not": "no",
}
_COUNTED: Final[dict[Way, str]] = {
    "as is": "as is",
    "streamed": "with the input streamed",
    "other kernels": "with portable kernels",
    "more work": "with lean kernels or with more work",
}
_WORDS: Final = """fits: without changes
streamed: with its input given row by row
portable: with portable kernels, which take less flash (--core any)
lean: streamed, with kernels that need less scratch memory
+x % work: streamed, with rows computed twice
no: a negative value is the number of missing bytes; even streamed: those with its input given row by row
All figures are predicted."""
COLUMNS: Final = (
    *("network", "mcu", "core", "ram", "flash", "way", "streamed", "overhead"),
    *("ram_bytes", "flash_bytes"),
    *("spare_ram_bytes", "spare_flash_bytes", "source", "confirmed"),
)


def fit_document(
    found: Sequence[Fit], failed: Sequence[tuple[str, LowtideError]] = ()
) -> dict[str, Any]:
    """Schema lowtide.fit/1; sizes in bytes. `failed` are networks that cannot be compiled, and why."""
    return {
        "schema": "lowtide.fit/1",
        "fits": [_row(fit) for fit in found],
        "failed": [
            {"network": name, **fields_of(error, "cause", "remedy")} for name, error in failed
        ],
    }


def fit_csv(found: Sequence[Fit]) -> str:
    """A line per network and part."""
    return csv_text(COLUMNS, ([*_row(fit).values()] for fit in found))


def fit_text(found: Sequence[Fit]) -> str:
    """A table per network, how many parts fit, and what the words mean."""
    tables = []
    for network in dict.fromkeys(fit.network for fit in found):
        fits = [fit for fit in found if fit.network == network]
        rows = [
            (
                fit.mcu.name,
                _said(fit),
                f"{fit.spare_ram_bytes:,}",
                f"{fit.spare_flash_bytes:,}",
                size_text(fit.mcu.ram_bytes),
                "external" if fit.mcu.external else size_text(fit.mcu.flash_bytes),
                fit.mcu.core,
            )
            for fit in fits
        ]
        columns = ("part.", "fits.", "RAM left", "flash left", "RAM", "flash", "core.")
        tables += [table(network, columns, rows), f"{_counted(fits)}\n"]
    return "\n".join([*tables, _WORDS])


def _counted(fits: Sequence[Fit]) -> str:
    """As "61 of 87 parts: 58 as is, 3 streamed"."""
    ways = [(way, sum(fit.way == way for fit in fits)) for way in WAYS if way != "not"]
    most = f"fits {sum(count for _, count in ways)} of {len(fits)} parts"
    some = ", ".join(f"{count} {_COUNTED[way]}" for way, count in ways if count)
    return f"{most}: {some}" if some else most


def fit_html(found: Sequence[Fit]) -> str:
    """A page with a table of networks by parts; the sentence of each pair is its cell's title."""
    networks = list(dict.fromkeys(fit.network for fit in found))
    parts = list(dict.fromkeys(fit.mcu.name for fit in found))
    of = {(fit.network, fit.mcu.name): fit for fit in found}
    names = {network: PurePath(network).name for network in networks}
    if len(set(names.values())) < len(names):
        names = {network: network for network in networks}
    head = "".join(
        f'<th scope="col" title="{html.escape(network)}">{html.escape(names[network])}</th>'
        for network in networks
    )
    body = []
    for part in parts:
        mcu = next(fit.mcu for fit in found if fit.mcu.name == part)
        cells = "".join(_cell(of[network, part]) for network in networks)
        flash = "external" if mcu.external else size_text(mcu.flash_bytes)
        about = "".join(
            f"<td>{html.escape(text)}</td>" for text in (mcu.core, size_text(mcu.ram_bytes), flash)
        )
        body.append(f'<tr><th scope="row">{html.escape(part)}</th>{about}{cells}</tr>')
    words = html.escape(_WORDS)
    return filled("fit.html", {"words": words, "networks": head, "parts": "\n".join(body)})


def _cell(fit: Fit) -> str:
    kind, title = _SHORT[fit.way], html.escape(fit.sentence)
    left = [
        f"{_kib(spare)} of {what} {'left' if spare >= 0 else 'missing'}"
        for spare, what in ((fit.spare_ram_bytes, "RAM"), (fit.spare_flash_bytes, "flash"))
        if spare < 0 or (fit.way != "not" and what == "RAM")
    ]
    return (
        f'<td class="{kind}" title="{title}"><b>{html.escape(_said(fit))}</b> '
        f"<small>{html.escape(', '.join(left))}</small></td>"
    )


def _kib(count: int) -> str:
    return f"{abs(count) / 1024:,.1f} KiB"


def _said(fit: Fit) -> str:
    match fit.way:
        case "more work" if fit.overhead > 1:
            return f"+{(fit.overhead - 1) * 100:.0f} % work"
        case "more work":
            return "lean"
        case "other kernels" if fit.streamed:
            return "portable, streamed"
        case "not" if fit.streamed:
            return "no, even streamed"
        case way:
            return _SHORT[way]


def _row(fit: Fit) -> dict[str, Any]:
    values = (
        *(fit.network, fit.mcu.name, fit.mcu.core, fit.mcu.ram_bytes, fit.mcu.flash_bytes),
        *(fit.way, fit.streamed, round(fit.overhead, 4), fit.ram_bytes, fit.flash_bytes),
        *(fit.spare_ram_bytes, fit.spare_flash_bytes, fit.mcu.source, fit.mcu.confirmed),
    )
    return dict(zip(COLUMNS, values, strict=True))

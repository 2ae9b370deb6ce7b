"""Certificates as text: what is proved of a bundle, and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lowtide.report.text import counted, plain, table

_DIGITS = 12
"""Of digests that are shown; the document has them whole."""


_PRODUCTS: Final = (
    "operator",
    "type.",
    "kernel.",
    "largest sum",
    "head-room, bits",
    "channel",
    "thresholds",
)
_FUNCTIONS: Final = ("operator", "type.", "kernel.", "inputs, all compared")
_TESTED: Final = "Operators whose arithmetic is tested but not proved:"
_NOT_PROVED: Final = "Not proved:"


def certificate_text(document: Mapping[str, Any], *, again: bool) -> str:
    """A certificate, schema lowtide.certificate/1, as a reader needs it; `again` if it was checked."""
    proved, files = document["proved"], document["files"]
    name = plain(document["program"])
    head = f"{name}: {'the certificate holds' if again else 'proved for all inputs'}"
    own = {file: digest for file, digest in files.items() if file in (f"{name}.c", f"{name}.h")}
    digests = {"the model": document["model"]["sha256"], **own}
    products, functions = _products(proved["products"]), _functions(proved["functions"])
    parts = [
        f"{head}; the lists at the end say what is not proved",
        table(
            "",
            ("file.", "its SHA-256 begins with."),
            [(what, digest[:_DIGITS]) for what, digest in digests.items()],
        ),
        _runtime(document),
        _data_flow(proved),
        products and f"{table('', _PRODUCTS, products)}\n\n{_sums(proved['products'])}",
        functions and table("", _FUNCTIONS, functions),
        _passes(proved["passes"]),
        _listed(_TESTED, document["tested_alone"]),
        _listed(_NOT_PROVED, document["not_proved"]),
    ]
    return "\n\n".join(part for part in parts if part)


def proved_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same as `proved` of a report: sentences, tables and lists."""
    proved = document["proved"]
    products = proved["products"]
    said = [_data_flow(proved), _sums(products) if products else "", _passes(proved["passes"])]
    tables = (
        ("Sums of products", _PRODUCTS, _products(products)),
        ("Functions of bytes", _FUNCTIONS, _functions(proved["functions"])),
    )
    lists = ((_TESTED, document["tested_alone"]), (_NOT_PROVED, document["not_proved"]))
    return {
        "said": [sentence for sentence in [*said, _runtime(document)] if sentence],
        "tables": [
            {
                "caption": caption,
                "columns": [
                    {"name": name.rstrip("."), "text": name.endswith(".")} for name in columns
                ],
                "rows": [[str(cell) for cell in row] for row in rows],
            }
            for caption, columns, rows in tables
            if rows
        ],
        "lists": [
            {"title": title, "lines": [plain(line) for line in lines]}
            for title, lines in lists
            if lines
        ],
    }


def _runtime(document: Mapping[str, Any]) -> str:
    files, by = document["proved"]["runtime"], document["lowtide"]
    are = "is that" if files == 1 else "are those"
    return f"{counted(files, 'file')} of the runtime {are} of lowtide {by}."


def _data_flow(proved: Mapping[str, Any]) -> str:
    left = proved["left_out"]
    if not proved["steps"]:
        return f"Data flow and bounds are not proved: {'; '.join(left)}."
    count = proved["steps"]
    steps = "the only step" if count == 1 else f"each of {count:,} steps"
    told = (
        f"Data flow: {steps} finds in memory what its operator's definition "
        "asks for, and the program reads and writes nothing outside its own memory."
    )
    return told if not left else f"{told[:-1]}; not proved of {', '.join(left)}."


def _products(claims: Iterable[Mapping[str, Any]]) -> list[Sequence[object]]:
    return [
        (
            claim["operator"],
            claim["type"],
            plain(claim["kernel"]),
            f"{claim['largest']:,}",
            "wraps" if claim["wraps"] else f"{claim['head_room_bits']} of {claim['bits']}",
            claim["channel"],
            f"{claim['thresholds']:,}",
        )
        for claim in claims
    ]


def _sums(claims: Sequence[Mapping[str, Any]]) -> str:
    constant = sum(claim["constant"] for claim in claims)
    but = f", but none of {counted(constant, 'channel')} whose output is the same for all inputs"
    told = (
        f"Kernels have the model's weights and biases{but if constant else ''}. No input makes a sum or "
        "a partial sum exceed the largest sum, in any order of addition. `channel` has the least "
        "head-room. Outputs match the reference's on both sides of each threshold, which proves them "
        "for every sum between."
    )
    if any(claim["wraps"] for claim in claims):
        told += " A partial sum that wraps does no harm: the final sum is right, modulo 2^bits."
    return told


def _functions(claims: Iterable[Mapping[str, Any]]) -> list[Sequence[object]]:
    return [(c["operator"], c["type"], plain(c["kernel"]), f"{c['inputs']:,}") for c in claims]


def _passes(passes: Mapping[str, Any]) -> str:
    if not passes["left_out"]:
        return ""
    saved = ", ".join(f"{what}: {n:,}" for what, n in passes["left_out"].items()) or "nothing"
    constant, confirmed = passes["constant_channels"], passes["confirmed_by_intervals"]
    return (
        f"Removed: {saved}. Of {counted(constant, 'channel')} that are the same for all inputs, "
        f"interval analysis of the file's network confirms {confirmed:,}."
    )


def _listed(title: str, lines: Iterable[str]) -> str:
    found = [f"  - {plain(line)}" for line in lines]
    return "\n".join([title, *found]) if found else ""

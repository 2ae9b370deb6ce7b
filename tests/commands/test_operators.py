"""The comparison with TFLM's operators: its page is up to date, and it names what the package has."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import lowtide
from lowtide.commands.operators import against_tflm
from lowtide.lower import CUSTOM, LOWERINGS
from lowtide.report.operators import COMMAND, compared_document, compared_markdown, compared_text

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"
HELPERS = r"BASIC_CLASSIFIER|L2NORM_REF|(IRFFT|RFFT|OVERLAP_ADD)_(FLOAT|INT16|INT32)"
"""Registered by others of the package's functions, and no operators of their own."""


def test_page_is_up_to_date() -> None:
    wanted = compared_markdown(against_tflm())
    assert PAGE.read_text("utf-8") == wanted, f"it is made by `{COMMAND}`"


def test_every_operator_of_the_package_is_named() -> None:
    """Names are those of functions in its library, each with the `E` of its namespace's end."""
    root = Path(pytest.importorskip("tflite_micro").__file__).parent
    library = b"".join(path.read_bytes() for path in root.rglob("_runtime.so"))
    named = {name.decode() for name in re.findall(rb"Register_([A-Z0-9_a-z]+)Ev", library)}
    if not named:
        pytest.skip("this package's library does not name its functions")
    file = Path(lowtide.__file__).parent / "oracle" / "tflm.toml"
    known = tomllib.loads(file.read_text("utf-8"))
    ours = {*known["operators"], *known["floats"]["operators"], *known["custom"].values()}
    assert {name for name in named if not re.fullmatch(HELPERS, name)} == ours


def test_what_is_missing() -> None:
    compared = against_tflm()
    rows = {row.name: row for row in compared.rows}
    assert rows["ADD"].missing == ()
    assert rows["DIV"].missing == ("int8",)
    assert rows["DIV"].reason.startswith("for most scales, the reference shifts")
    assert rows["SignalPCAN"].custom
    assert (rows["WHILE"].ours, rows["WHILE"].missing) == (("as part of the network",), ())
    assert rows["SignalRfft"].ours == ("int16", "int32")
    assert {name for name, row in rows.items() if row.custom and not row.missing} == {*CUSTOM}
    assert {*LOWERINGS} <= rows.keys()
    assert all(row.reason for row in compared.rows if row.missing)
    have, every = compared.variants
    assert f"{have} of TFLM's {every} integer variants" in compared_text(compared)
    document = json.loads(json.dumps(compared_document(compared)))
    assert document["schema"] == "lowtide.ops-against-tflm/1"
    assert len(document["operators"]) == len(rows)

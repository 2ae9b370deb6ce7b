"""The drawings of docs/theory.md are what the compiler computes now, small, and all shown.

`bench/run drawings --store` mends a failure here; look at what it drew.
"""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.drawings.__main__ import DRAWINGS, FOLDER
from bench.shared.outside import ROOT

MOST_BYTES = 50_000


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_what_is_computed(name: str) -> None:
    text = DRAWINGS[name]()
    assert (FOLDER / f"{name}.svg").read_text("utf-8") == text, "run `bench/run drawings --store`"
    assert len(text) <= MOST_BYTES
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_all_are_shown() -> None:
    page = (ROOT / "docs" / "theory.md").read_text("utf-8")
    assert {path.stem for path in FOLDER.iterdir()} == set(DRAWINGS)
    assert all(f"(drawings/{name}.svg)" in page for name in DRAWINGS)

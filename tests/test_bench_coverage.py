"""What bench/run coverage makes of counts: what is left without a reason, and reasons that are stale."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.coverage.__main__ import BOARDS, judge, reasons_for
from hunting import GENERATORS
from lowtide.commands.options import Options
from lowtide.emit.runtime import kernel_files
from pairs.drawing import draw_of

_HOST: dict[str, Any] = {
    "lines": [8, 10],
    "outcomes": [3, 6],
    "missing": [[4, "if (a) {"], [9, "break;"]],
}
_BOARD: dict[str, Any] = {
    "instructions": [90, 100],
    "outcomes": [5, 8],
    "guards": 1,
    "behind": 2,
    "missing": [
        ["lt_fixed.h", 99, "return x;", "it never gt"],
        ["lt_x.c", 5, "if (a) {", "b never runs"],
    ],
}


def test_what_has_no_reason_is_left() -> None:
    judged = judge("lt_x.c", _HOST, {"lt_x.c": {"break;": "never"}})
    assert judged.left == ("4: if (a) {",)
    assert judged.stale == ()
    assert judged.record["lines_without_reason"] == 1
    judged = judge("lt_x.c", _BOARD, {"lt_x.c": {"if (a) {": "never"}, "lt_y.c": {}})
    assert judged.left == ("lt_fixed.h:99: return x; it never gt",)
    assert judged.record["instructions_reached"] == 90


def test_a_reason_for_what_is_reached_is_stale() -> None:
    reasons = {"lt_x.c": {"if (a) {": "never", "break;": "never", "y = 1;": "never"}}
    assert judge("lt_x.c", _HOST, reasons).stale == ("y = 1;",)
    whole = {"files": {"lt_x.c": "no case calls it"}}
    assert judge("lt_x.c", _HOST, whole).stale == ("no case calls it",)
    unreached = {**_HOST, "lines": [0, 10]}
    judged = judge("lt_x.c", unreached, whole)
    assert (judged.left, judged.stale) == ((), ())


@pytest.mark.parametrize("place", ["host", *BOARDS])
def test_reasons_are_of_lines_that_there_are(place: str) -> None:
    """In the file itself, or, on boards, in a header that is compiled into it."""
    files = kernel_files()
    headers = "".join(text for name, text in files.items() if name.endswith(".h"))
    for name, lines in reasons_for(place).items():
        if name == "files":
            assert lines.keys() <= files.keys()
            continue
        known = {line.strip() for line in (files[name] + headers).splitlines()}
        assert set(lines) <= known, name
        assert all(lines.values())


def test_kinds_of_reasons_are_used() -> None:
    path = Path(__file__).parents[1] / "bench" / "coverage" / "boards.toml"
    read = tomllib.loads(path.read_text("utf-8"))
    used = {
        why for part in ("both", *BOARDS) for lines in read[part].values() for why in lines.values()
    }
    assert set(read["kinds"]) <= used


def test_its_own_networks_are_draws() -> None:
    """Each line once, of a generator that there is and of options that go together."""
    path = Path(__file__).parents[1] / "bench" / "coverage" / "draws.txt"
    lines = path.read_text("utf-8").splitlines()
    draws = [draw_of(line) for line in lines]
    assert len(lines) == len(set(lines)) > 10
    assert {draw.generator for draw in draws} <= GENERATORS.keys()
    for draw in draws:
        assert Options(**draw.options).effort == 0.1

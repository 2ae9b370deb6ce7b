"""What all benches of rows do with them: what prevents a group, what is printed, and the exit code."""

from __future__ import annotations

import json

import pytest

from bench.shared.command import bench_parser
from bench.shared.driver import Table, answered, rows_of
from bench.shared.outside import NeedsError
from bench.shared.tables import Row
from lowtide.errors import UsageError

TABLE = Table(80, (("on", 20), ("asked", 20), ("measured", 20)), "some rows")
GOOD = Row("a network", "at most 3 B", "2 B", "OK")


def _absent() -> list[Row]:
    raise NeedsError("../shared/models is not there")


def _refused() -> list[Row]:
    raise UsageError("that cannot be", "try another")


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ({"one": lambda: [GOOD], "absent": _absent}, 0),
        ({"one": lambda: [GOOD], "refused": _refused}, 1),
    ],
    ids=["absent", "refused"],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_what_cannot_be_measured_is_a_row(
    groups: dict[str, object], code: int, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    given = bench_parser("bench/run x", "x", [*groups]).parse_args(["--json"] if as_json else [])
    found = {name: rows_of(name, measure) for name, measure in groups.items()}  # type: ignore[arg-type]
    assert answered("x", given, found, TABLE, lambda: "no tool", where=lambda: "here") == code
    text = capsys.readouterr().out
    if as_json:
        document = json.loads(text)
        assert document["schema"] == "lowtide.bench.x/1"
        rows = document["rows"]
        assert [row["on"] for row in rows] == [GOOD.on, [*groups][1]]
        assert [row["status"] for row in rows] == ["OK", "MISSED" if code else "not measured"]
    else:
        assert text.startswith("some rows (here)")
        assert "a network" in text

"""The picture of a front: a file comes out, the same one each time, and names what it shows."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import pytest

from lowtide.commands.options import Options
from lowtide.commands.planned import Planned, planned_model
from lowtide.errors import UsageError
from lowtide.report.front_picture import write_front_picture
from networks import loaded


@cache
def planned() -> Planned:
    return planned_model(loaded("figure1"), Options(), front=True)


def drawn(path: Path) -> bytes:
    """The file, which must come without a warning."""
    points = planned().points
    assert points is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_front_picture(planned().compiled, points, path)
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_front_gives_the_same_file(tmp_path: Path, ending: str) -> None:
    first = drawn(tmp_path / f"a.{ending}")
    assert first.startswith(b"\x89PNG\r\n\x1a\n" if ending == "png" else b"<?xml")
    assert drawn(tmp_path / f"b.{ending}") == first
    assert b"dc:date" not in first


def test_axes_and_marks_are_named(tmp_path: Path) -> None:
    texts = re.findall(r"<!-- (.*?) -->", drawn(tmp_path / "front.svg").decode())
    assert {"plans", "this plan", "arena, bytes", "MACs, times the network's own"} <= set(texts)


def test_an_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot tell the picture format"):
        drawn(tmp_path / "front.gif")
    assert not list(tmp_path.iterdir())

"""Words that are ours are defined where a reader can find them, and every option says what it does."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from command import call, fine

from lowtide.cli import app

ROOT = Path(__file__).resolve().parents[2]
OURS = (
    *(
        "row",
        "step",
        "stage",
        "strip",
        "block",
        "kept rows",
        "lean",
        "resident",
        "const",
        "streamed",
    ),
    *("arena", "state", "scratch", "front", "turn", "oracle", "overhead", "carry", "peak memory"),
)
"""Words with another meaning here than elsewhere."""

_DEFINED = re.findall(r"\*\*([^*]+)\*\*", (ROOT / "docs/glossary.md").read_text("utf-8"))


@pytest.mark.parametrize("word", OURS)
def test_the_glossary_has_it(word: str) -> None:
    assert word in _DEFINED


@pytest.mark.parametrize("name", list(app.commands))
def test_every_option_says_what_it_does(name: str) -> None:
    for parameter in app.commands[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert len((parameter.help or "").split()) >= 3, parameter.opts


@pytest.mark.parametrize("word", ["resident", "const", "streamed"])
def test_where_an_input_is_is_said_in_plain_words(word: str) -> None:
    """In the help, and at the head of a plan."""
    text = " ".join(fine(call("compile", "--help")).split())
    assert f"({word})" in text
    lines = fine(call("plan", "zoo:figure1", "--input", word)).splitlines()
    assert any(re.search(rf"input [a-z' ]+ \({word}\), output in the arena", li) for li in lines)


def test_a_plan_says_what_its_strips_are() -> None:
    """And has no column for them where there are none."""
    flags = ("--max-overhead", "inf", "--input", "const")
    text = fine(call("plan", "zoo:figure1", *flags))
    assert "strip: the stage runs in strips of the output of so many columns" in text
    assert "strip" not in fine(call("plan", "zoo:figure1", "--no-advice"))


@pytest.mark.parametrize("page", ["README.md", "docs/planning.md", "docs/reorder.md"])
def test_pages_lead_to_the_glossary(page: str) -> None:
    assert "glossary.md" in (ROOT / page).read_text("utf-8")

"""Words that are ours are defined where a reader can find them, and every option says what it does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click
import pytest
from command import call, fine

from lowtide.cli import app
from lowtide.commands.options import OPTIONS, Options
from lowtide.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
OURS = (
    *(
        "row",
        "step",
        "stage",
        "strip",
        "block",
        "kept rows",
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


def test_the_page_of_words_is_what_the_commands_have() -> None:
    """After a change: `.venv/bin/python tools/words.py > docs/words.md`."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools/words.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout == (ROOT / "docs/words.md").read_text("utf-8")


def test_options_of_one_word_take_the_same_values() -> None:
    """But for --input-type, where a file of floats has more types to choose from, --against, the lists
    of `fit`, and the certificate that `prove` checks. What differs else is what becomes of it."""
    kinds = defaultdict(set)
    for command in app.commands.values():
        for option in command.params:
            if isinstance(option, click.Option) and option.opts[0] != "-o":
                kinds[option.opts[0]].add((option.type.name, option.metavar, option.is_flag))
    several = {flag for flag, found in kinds.items() if len(found) > 1}
    assert several == {"--mcu", "--against", "--check"}


def test_the_table_of_options_is_whole() -> None:
    """Each field is told of, each default is one of its values, and the command line has them all."""
    usual = Options()
    assert {option.name for option in OPTIONS} | {"stages", "stages_of"} == set(Options.__slots__)
    flags = {flag for param in app.commands["compile"].params for flag in param.opts}
    for option in OPTIONS:
        assert option.read(option.default) == getattr(usual, option.name) == option.default
        assert not option.flag or option.flag.partition("/")[0] in flags
        assert (option.plan or "") == "" or option.kind in ("choice", "switch", "count")


def test_from_python_words_are_read_as_on_the_command_line() -> None:
    options = Options(target="cortex-m4", max_ram="16K", align="8")
    assert (options.target.core, options.max_ram, options.align) == ("cortex-m4", 16_384, 8)
    assert options == Options(target=options.target, max_ram=16_384, align=8)
    for flag, field, value in (
        ("--core", "target", "cortex-m5"),
        ("--max-ram", "max_ram", "16KB"),
        ("--align", "align", "3"),
    ):
        with pytest.raises(UsageError) as caught:
            Options(**{field: value})  # type: ignore[arg-type]  # one of each
        assert caught.value.cause in call("plan", "zoo:figure1", flag, value).err


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
    assert "strip: the stage makes its output in strips of this many columns" in text
    assert "strip" not in fine(call("plan", "zoo:figure1", "--no-advice"))


@pytest.mark.parametrize("page", ["README.md", "docs/planning.md", "docs/reorder.md"])
def test_pages_lead_to_the_glossary(page: str) -> None:
    assert "glossary.md" in (ROOT / page).read_text("utf-8")

"""Help that helps: examples that are right, options in groups, completion, what was meant."""

from __future__ import annotations

import shlex

import click
import pytest
from command import call, fine, run

from lowtide.cli import app


@pytest.mark.parametrize("name", list(app.commands))
def test_examples_are_of_options_there_are(name: str) -> None:
    text = fine(call(name, "--help"))
    if name == "completion":
        return
    lines = [line.strip() for line in text[text.index("Examples:") :].splitlines()[1:] if line]
    assert len(lines) == 3
    for line in lines:
        program, command, *arguments = shlex.split(line)
        assert (program, command) == ("lowtide", name)
        made = app.commands[name].make_context(name, arguments, resilient_parsing=False)
        assert isinstance(made, click.Context)


def test_each_option_stands_in_one_group() -> None:
    text = fine(call("compile", "--help"))
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        *("Options:", "What is compiled:", "Inputs and outputs:", "RAM and computation:"),
        *("Target and generated C:", "Examples:"),
    ]
    for parameter in app.commands["compile"].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            starts = [
                line for line in text.splitlines() if line.startswith(f"  {parameter.opts[0]}")
            ]
            assert (
                len([line for line in starts if line.split()[0].rstrip(",") == parameter.opts[0]])
                == 1
            )


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("lowtide rep", "report"),
        ("lowtide compile zoo:bran", "zoo:branchy-cell"),
        ("lowtide run x --board mps2-an3", "mps2-an386"),
        ("lowtide compile x --core cortex-m5", "cortex-m55"),
        ("lowtide plan x --input s", "streamed"),
    ],
)
def test_bash_completes(words: str, wanted: str) -> None:
    done = run(
        _LOWTIDE_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert f"plain,{wanted}" in done.out.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell: str) -> None:
    assert "_LOWTIDE_COMPLETE" in fine(call("completion", shell))


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "zoo:figure1", "--board", "mps2-an387"), "mps2-an386"),
        (("compile", "zoo:figure1", "-o", "x", "--core", "cortexm4"), "cortex-m4"),
        (("plan", "zoo:figure1", "--maxram", "3"), "--max-ram"),
    ],
)
def test_what_was_meant_is_said(arguments: tuple[str, ...], meant: str) -> None:
    result = call(*arguments)
    assert result.code == 2
    assert meant in result.messages.lower() and "did you mean" in result.messages.lower()

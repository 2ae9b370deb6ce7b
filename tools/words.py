"""Prints docs/words.md: every option of the command line, with the commands that have it.

    .venv/bin/python tools/words.py > docs/words.md

Why a page of its own: `lowtide COMMAND --help` shows the options of one command, and only side by side
can be seen that a word means the same in all of them (tests/cli/test_cli_words.py).
"""

from __future__ import annotations

import re

import click

from lowtide.cli import app

_HEAD = """\
# Command-line options by name

This table lists every option, the commands that have it, and what it does. An option means the same
in all commands. If its effect differs in a command, it has a separate row for that command. `lowtide
COMMAND --help` shows the options of one command in groups, with examples. In amounts of memory, K is
1,024: 16384, 16K and 16KiB are the same, and lowtide refuses 16KB. In Python, [`Options`](python.md)
has the options of all commands that compile.

| option | in | what it does |
| --- | --- | --- |
"""


def meanings() -> dict[str, dict[str, list[str]]]:
    """Option, as one types it -> what its help says -> the commands in which it says so."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, command in app.commands.items():
        for option in command.params:
            if isinstance(option, click.Option):
                words = ", ".join([*option.opts, *option.secondary_opts])
                said = found.setdefault(words, {})
                said.setdefault(_said(option), []).append(name)
    return found


def _said(option: click.Option) -> str:
    """The help, with what there is to choose from, and the default."""
    text = option.help or ""
    if isinstance(option.type, click.Choice):
        text += f" One of: {', '.join(option.type.choices)}."
    shown = option.show_default and option.default is not None
    if shown and not isinstance(option.show_default, str):
        text += f" Default: {option.default}."
    return re.sub(r"\|", "\\|", text)


def page() -> str:
    """The document."""
    compiling = [name for name, c in app.commands.items() if _has(c, "--schedule")]
    rows = []
    for words, said in sorted(meanings().items(), key=lambda item: item[0].lstrip("-")):
        for text, commands in said.items():
            where = "all that compile" if commands == compiling else ", ".join(commands)
            rows.append(f"| `{words}` | {where} | {text} |")
    tail = f"\nCommands that compile: {', '.join(compiling)}.\n"
    return _HEAD + "\n".join(rows) + "\n" + tail


def _has(command: click.Command, flag: str) -> bool:
    return any(flag in option.opts for option in command.params)


if __name__ == "__main__":
    print(page(), end="")

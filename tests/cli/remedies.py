"""Types what a remedy says, as far as it names options of the command that was refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from lowtide.cli import app

_FLAG = r"(?<![\w-])-(?:-[a-z][a-z0-9-]*|o)(?![\w-])"
_LEAVE = re.compile(rf"\bleave out (?P<flags>{_FLAG}(?:(?:, or |, | and | or ){_FLAG})*)")
_VALUE = r"(?!-)[^\s`()]+"
_GIVE = re.compile(
    rf"\b(?:give|add|use|take|or)(?: its \w+ instead:)? `?(?P<words>{_FLAG}(?: {_VALUE})?"
    rf"(?: {_FLAG}(?: {_VALUE})?)*)"
)
_REPLACED = re.compile(rf"\bin place of ({_FLAG})")
_PLACE = re.compile(r"[A-Z.]+")
"""What stands for a value of yours."""


def typed(arguments: Sequence[str], cause: str, remedy: str) -> Iterator[list[str]]:
    """Each command line that the remedy of a refusal of `arguments` asks for: without an option that it
    says to leave out, or with those that it says to give, instead of those that `cause` names or in
    place of another, where it says so. Where it has FILE or N, there is nothing to type."""
    command = app.commands.get(arguments[0]) if arguments else None
    if command is None:
        return
    options = {flag: p for p in command.params for flag in p.opts if isinstance(p, click.Option)}
    if (left := _LEAVE.search(remedy)) is not None:
        flags = re.findall(_FLAG, left["flags"])
        for each in [flags] if " and " in left["flags"] else [[flag] for flag in flags]:
            line = list(arguments)
            for flag in each:
                line = _without(line, flag, options)
            if line != list(arguments):
                yield line
        remedy = remedy.replace(left[0], "")
    for clause in remedy.split(";"):
        base = list(arguments)
        for flag in re.findall(_FLAG, cause) if "instead" in clause else _REPLACED.findall(clause):
            base = _without(base, flag, options)
        for found in _GIVE.finditer(clause):
            given = dict(_given(found["words"].split(), options))
            line = list(base)
            for flag in given:
                line = _without(line, flag, options)
            words = [word for pair in given.items() for word in pair if word is not None]
            if words and not any(value and _PLACE.fullmatch(value) for value in given.values()):
                yield [*line, *words]


def into(folder: Path, arguments: Sequence[str]) -> list[str]:
    """The command line with what it writes in `folder`."""
    line = list(arguments)
    for at, word in enumerate(line[:-1]):
        if word == "-o":
            folder.mkdir(exist_ok=True)
            line[at + 1] = str(folder / Path(line[at + 1]).name)
    return line


def _given(
    words: Sequence[str], options: Mapping[str, click.Option]
) -> Iterator[tuple[str, str | None]]:
    """(flag, its value or None), up to a word that is neither."""
    left = list(words)
    while left and left[0] in options:
        flag = left.pop(0)
        value = None if options[flag].is_flag or not left else left.pop(0).rstrip(",.;:")
        if value is None and not options[flag].is_flag:
            return
        yield flag, value


def _without(line: Sequence[str], flag: str, options: Mapping[str, click.Option]) -> list[str]:
    kept, skip = [], False
    for word in line:
        if skip:
            skip = False
        elif word == flag:
            skip = flag in options and not options[flag].is_flag
        elif not word.startswith(f"{flag}="):
            kept.append(word)
    return kept

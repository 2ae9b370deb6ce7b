"""Where a program is from, as its files say it: the model, the version of lowtide, and the command.

Why: who finds a bundle in a repository, years later, is to know which model it is, and make it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from lowtide.emit.literals import comment

_COMMAND: Final = re.compile(r"^    (lowtide compile .+)$", re.MULTILINE)
_MADE: Final = re.compile(
    r"^Made (?:from|of) `(.+)`, SHA-256 `(\w+)`, by lowtide (\S+):$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The name of the model's file, without its folders, and its SHA-256; the `words` to type, and where
    to it may be written."""

    file: str
    digest: str
    words: tuple[str, ...]
    folder: str

    @property
    def version(self) -> str:
        """Lowtide's."""
        return version("lowtide")

    def command(self, *more: str) -> str:
        """What to type to make it again, with `more` options."""
        return self.typed("compile", self.folder, *more)

    def typed(self, command: str, output: str, *more: str) -> str:
        """What to type for another command of the same options that writes `output`."""
        return shlex.join(["lowtide", command, *self.words, *more, "-o", output])

    def sentence(self, command: str, output: str) -> str:
        """The same for another command."""
        made = f"Made from {self.file}, SHA-256 {self.digest}, by lowtide {self.version}"
        return f"{made}: {self.typed(command, output)}"

    def in_c(self) -> str:
        """A comment."""
        return (
            f"/* Made from {comment(self.file)}, SHA-256 {self.digest},\n"
            f" * by lowtide {self.version}:\n *     {comment(self.command())} */"
        )

    def section(self, *more: str) -> str:
        """The section of a README."""
        return f"""## Where it is from

Made from `{self.file}`, SHA-256 `{self.digest}`, by lowtide {self.version}:

    {self.command(*more)}

`lowtide check {shlex.quote(self.file)} --bundle FOLDER` checks whether the files are up to date.
"""


def made_of(readme: str) -> tuple[str, str, str] | None:
    """File, digest and version in the README of a bundle or package."""
    found = _MADE.search(readme)
    return None if found is None else (found[1], found[2], found[3])


def command_in(readme: str) -> Sequence[str] | None:
    """The words after `lowtide compile` in the README of a bundle or package; None if it has none."""
    found = _COMMAND.search(readme)
    return None if found is None else shlex.split(found[1])[2:]

"""What the documents show to be typed: blocks of commands, of Python and of C, page by page.

Why all blocks have a kind: a command that is taken for output is one that nobody runs. So an indented
block is commands, every line of it, and whatever else stands in a block of its own has its language
behind the three backticks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
)

_FENCE = re.compile(r"\s*```\s*(\w*)")
_NEEDS = re.compile(r"<!-- needs: (.+?) -->")
_FROM = re.compile(r"<!-- from: (\S+) -->")
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a page. `language` is "sh" for an indented block, else what its fence says.

    `needs` is what the machine must have that runs it, of a comment `<!-- needs: ... -->` right before
    the block; "" if nothing is said. `source` is the project's file that it is from, if a comment
    `<!-- from: ... -->` says so. `figures`: the lines were put there by `bench/run figures`.
    """

    line: int
    language: str
    lines: tuple[str, ...]
    needs: str
    source: str
    figures: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as it is typed, and the lines that a console block shows below it."""

    line: int
    text: str
    output: tuple[str, ...]
    needs: str

    @property
    def words(self) -> list[str]:
        """As a shell takes them; without what follows a `#`."""
        return shlex.split(self.text, comments=True)


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page, in its order."""
    lines = text.splitlines()
    at, before = 0, ""
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        indented = line.startswith("    ") and (at == 0 or not lines[at - 1].strip())
        if fence:
            end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == "```")
            yield _block(at + 2, fence[1], lines[at + 1 : end], before)
            at, before = end + 1, ""
        elif indented:
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found = [part.strip() for part in lines[at:end]]
            yield _block(at + 1, "sh", [*found], before)
            at, before = end, ""
        else:
            before = line if line.strip() else before
            at += 1


def _block(line: int, language: str, lines: list[str], before: str) -> Block:
    needs = _NEEDS.search(before)
    figures = before.startswith("<!-- figures: ") and before.endswith(" begin -->")
    source = _FROM.search(before)
    return Block(
        line=line,
        language=language,
        lines=tuple(lines),
        needs=needs[1] if needs else "",
        source=source[1] if source else "",
        figures=figures,
    )


def commands_of(text: str) -> Iterator[Shown]:
    """The commands of a page's `sh` and `console` blocks, in its order."""
    for block in blocks_of(text):
        match block.language:
            case "sh":
                yield from _typed(block)
            case "console":
                yield from _console(block)


def _typed(block: Block) -> Iterator[Shown]:
    joined, start = "", 0
    for number, line in enumerate(block.lines):
        start = start if joined else number
        joined += line.removesuffix("\\")
        if line.endswith("\\"):
            continue
        if joined.strip() and not joined.strip().startswith("#"):
            yield Shown(block.line + start, joined, (), block.needs)
        joined = ""


def _console(block: Block) -> Iterator[Shown]:
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        output = block.lines[start + 1 : end]
        yield Shown(block.line + start, block.lines[start][2:], output, block.needs)


def inline_of(text: str) -> Iterator[str]:
    """What stands in backticks within sentences."""
    outside = re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.MULTILINE | re.DOTALL)
    for found in _INLINE.finditer(outside):
        yield found[1]


def differences(shown: tuple[str, ...], printed: list[str]) -> list[str]:
    """Lines that are shown and were not printed there; "..." stands for any number of lines."""
    missing, at, jump = [], 0, False
    for line in shown:
        if line == "...":
            jump = True
            continue
        places = [n for n in range(at, len(printed)) if printed[n].rstrip() == line]
        if not places or (not jump and places[0] != at):
            missing.append(line)
            continue
        at, jump = places[0] + 1, False
    return missing

"""A mutant: one small change of one file, as text. And which of all possible ones are drawn."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """Characters [start, end) of a file become `new`, which has as many newlines as they have.

    `before` and `after` are the line where it begins, counted from 1, with and without the change.
    """

    file: str
    line: int
    kind: str
    start: int
    end: int
    new: str
    before: str
    after: str
    column: int

    @property
    def name(self) -> str:
        """What it is asked for by."""
        return f"{self.file}:{self.line}:{self.column}:{self.kind}"

    def applied(self, text: str) -> str:
        """The file's text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        return f"{self.name}\n    {self.before}\n    {self.after}"


def mutant(file: str, text: str, kind: str, start: int, end: int, new: str) -> Mutant:
    """A change of a file's text; newlines that it would take away stay."""
    new += "\n" * (text.count("\n", start, end) - new.count("\n"))
    begin = text.rfind("\n", 0, start) + 1
    number = text.count("\n", 0, start)
    changed = text[:start] + new + text[end:]
    return Mutant(
        file,
        number + 1,
        kind,
        start,
        end,
        new,
        text[begin:].split("\n", 1)[0].strip(),
        changed[begin:].split("\n", 1)[0].strip(),
        start - begin + 1,
    )


def drawn(
    possible: Mapping[str, Sequence[Mutant]],
    count: int,
    seed: int,
    counts: Callable[[Mutant], bool],
) -> Iterator[Mutant]:
    """So many mutants that `counts` does not turn down, each of another line.

    Lines, and the mutants of each, come in the order of digests of the seed and their texts. So a line
    that is new, changed or gone moves no other one: what was drawn before stays drawn.
    """
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for name in sorted(possible):
        for one in possible[name]:
            lines.setdefault((name, one.line), []).append(one)
    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for place in sorted(lines):
        text = (place[0], lines[place][0].before)
        seen[text] += 1  # lines of a file that are alike are told apart by their order
        ranked.append((_rank(seed, *text, str(seen[text])), place))
    left = count
    for _, place in sorted(ranked):
        if not left:
            return
        ordered = sorted(lines[place], key=lambda m: _rank(seed, m.kind, str(m.column), m.after))
        found = next((one for one in ordered if counts(one)), None)
        if found is not None:
            left -= 1
            yield found


def _rank(seed: int, *texts: str) -> bytes:
    return hashlib.sha256("\0".join((str(seed), *texts)).encode()).digest()

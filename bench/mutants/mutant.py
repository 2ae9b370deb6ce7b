"""A mutant: one small change of one file, as text. And which of all possible ones are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random


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
    """So many mutants that `counts` does not turn down, spread over all lines that have any.

    The lines of all files, one after the other, are parted into `count` equal pieces; of each comes the
    first, in an order drawn by the seed, that counts.
    """
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for name in sorted(possible):
        for one in possible[name]:
            lines.setdefault((name, one.line), []).append(one)
    places = sorted(lines)
    for piece in range(count):
        rng = Random(f"{seed}:{piece}")
        own = places[piece * len(places) // count : (piece + 1) * len(places) // count]
        yield from _first(own, lines, rng, counts)


def _first(
    places: Sequence[tuple[str, int]],
    lines: Mapping[tuple[str, int], Sequence[Mutant]],
    rng: Random,
    counts: Callable[[Mutant], bool],
) -> Iterator[Mutant]:
    """At most one: of each line a mutant, then a second one of each, and so on."""
    left = {place: rng.sample(lines[place], len(lines[place])) for place in places}
    while left:
        for place in rng.sample(sorted(left), len(left)):
            one = left[place].pop()
            if not left[place]:
                del left[place]
            if counts(one):
                yield one
                return

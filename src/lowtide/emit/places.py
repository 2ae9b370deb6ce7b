"""Tables of the places of rows: a byte for each row, which says which of a list of places it has.

Why: rows that lie apart still share their places with each other, one after the other and across
tensors, so that programs have few places for many rows. See lt_rows in lowtide.h.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_CODES = 256
_SIGN = 0x8000  # makes a character of every number of 16 bits

Run = tuple[int, ...]


class Runs:
    """Runs of numbers, of 16 bits, in one array: where each starts. What a longer one has is there once,
    and one may begin with how the one before it ends."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self.start: dict[Run, int] = {}
        text = ""
        for run in sorted(dict.fromkeys(runs), key=len, reverse=True):
            own = "".join(chr(value + _SIGN) for value in run)
            shared = next(n for n in range(len(own), -1, -1) if text.endswith(own[:n]))
            at = text.find(own)
            if at < 0:
                at = len(text) - shared
                text += own[shared:]
            self.start[run] = at
        self.values = [ord(character) - _SIGN for character in text]


@dataclass(frozen=True, slots=True)
class Coded:
    """Where the codes of a run begin, and the list of its places; `far` if each 256 rows have the next
    256 of the list."""

    codes: int
    places: int
    far: bool

    @property
    def pitch(self) -> int:
        """As lt_rows has it."""
        return self.codes + (self.places << 16)


@dataclass(slots=True)
class _List:
    """Places that codes can mean together."""

    code: dict[int, int] = field(default_factory=dict)

    def takes(self, run: Run) -> bool:
        """Add the places of `run`, if there is room for them."""
        new = [place for place in dict.fromkeys(run) if place not in self.code]
        if len(self.code) + len(new) > _CODES:
            return False
        for place in new:
            self.code[place] = len(self.code)
        return True


class Places:
    """`codes` and `places` of lt_program, and what each run of places became."""

    def __init__(self, runs: Iterable[Run]) -> None:
        lists: list[_List] = []
        which: dict[Run, int] = {}
        far: list[Run] = []
        for run in sorted(dict.fromkeys(runs), key=len, reverse=True):
            if len(set(run)) > _CODES:
                far.append(run)
                continue
            found = next((n for n, of in enumerate(lists) if of.takes(run)), None)
            if found is None:
                found = len(lists)
                lists.append(_List())
                lists[-1].takes(run)
            which[run] = found
        self.places: list[int] = []
        firsts = []
        for of in lists:
            firsts.append(len(self.places))
            self.places += of.code
        coded = {run: tuple(lists[n].code[place] for place in run) for run, n in which.items()}
        coded |= {run: tuple(row % _CODES for row in range(len(run))) for run in far}
        codes = Runs(coded.values())
        self.codes = codes.values
        self.of = {
            run: Coded(codes.start[coded[run]], firsts[n], False) for run, n in which.items()
        }
        for run in far:
            self.of[run] = Coded(codes.start[coded[run]], len(self.places), True)
            self.places += run

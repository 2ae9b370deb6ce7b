"""Seeded faults: one number of a program's C is another one.

Which: those that say what a kernel is given, and what it reads of that: the tables of lowtide.h, where
inputs and outputs are, what a reset writes, and the fields and arrays of params that are about places.
Those of arithmetic (weights, factors, zero points) are not among them: no proof of data flow can see
them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TABLES = ("rows", "ports", "nodes", "turns", "places", "codes", "tables")
_SHIFTS = r"shifts_\d+"
_FIELDS = (
    *("in_w", "out_w", "in_c", "out_c", "channels", "kernel_h", "kernel_w", "stride_w", "stride_h"),
    *("dilation_w", "pad_left", "pad_top", "kept", "ahead", "in_h", "pieces"),
    *("from", "pitch", "bytes", "runs", "count", "before", "between", "after", "size"),
    *(
        "outer",
        "inner",
        "reduced",
        "a_next",
        "b_next",
        "a_step",
        "b_step",
        "rows",
        "steps",
        "dilation",
    ),
    *("inputs", "units", "depth", "columns", "left_pitch", "left_columns", "right_down", "hop"),
    *("right_across", "rows1", "rows2", "count0", "pitch0", "count1", "pitch1", "width", "groups"),
)
_UNUSED = {
    # Fields that say nothing of places where they stand.
    "lt_pool": {"kernel_h"},
    "lt_lstm_s8": set[str](),
}
_ARRAYS = ("pieces", "rows", "lists", "index", "bytes", "pitches", "first", "left")
_NUMBER = re.compile(r"-?\b\d+\b")


@dataclass(frozen=True, slots=True)
class Fault:
    """A number of the text at `start` to `stop` that becomes another one; `where` says what it is."""

    where: str
    start: int
    stop: int

    def in_(self, text: str, rng: random.Random) -> str:
        """The text with another number."""
        old = int(text[self.start : self.stop])
        near = [
            old + 1,
            old - 1,
            old + rng.choice((2, 3, 4, 8, 16, 32, 64, 128)),
            old // 2,
            2 * old,
        ]
        new = rng.choice([n for n in (*near, 0, 1, rng.randrange(1 << 8)) if n != old])
        return f"{text[: self.start]}{new}{text[self.stop :]}"


def faults(code: str, name: str) -> list[Fault]:
    """Every number that can be another one."""
    return [
        fault
        for found in (_tables(code, name), _params(code), _functions(code, name))
        for fault in found
    ]


def _numbers(text: str, where: str, start: int, stop: int) -> Iterator[Fault]:
    for found in _NUMBER.finditer(text, start, stop):
        before = text.rfind("\n", 0, found.start())
        if "/*" not in text[before : found.start()]:
            yield Fault(where, found.start(), found.end())


def _tables(code: str, name: str) -> Iterator[Fault]:
    for what in (*_TABLES, _SHIFTS):
        pattern = rf"^static const \w+ {name}_{what}\[\] = \{{.*?^\}};"
        for table in re.finditer(pattern, code, re.MULTILINE | re.DOTALL):
            first = code.index("\n", table.start())
            yield from _numbers(code, what, first, table.end())
    for strip in re.finditer(
        rf"^static const lt_strip {name}_strip_\d+ = \{{\w+, ", code, re.MULTILINE
    ):
        yield from _numbers(code, "strip", strip.end(), code.index("\n", strip.end()))


def _params(code: str) -> Iterator[Fault]:
    structs = re.finditer(
        r"^static const (\w+) \w+ = \{\n(    \.[^;]*?)^\};", code, re.MULTILINE | re.DOTALL
    )
    for struct in structs:
        if struct[1] == "lt_program":
            continue
        for field in re.finditer(r"^    \.(?:\w+\.)?(\w+) = (&?[\w-]+),$", struct[0], re.MULTILINE):
            at = struct.start() + field.start(2)
            where = f"{struct[1]}.{field[1]}"
            if field[1] in _FIELDS and re.fullmatch(r"-?\d+", field[2]):
                yield Fault(where, at, at + len(field[2]))
            elif field[1] in _ARRAYS and field[2].isidentifier() and field[2] != "NULL":
                start = code.find(f" {field[2]}[")
                start = code.find("{", start)
                yield from _numbers(code, where, start, code.index("};", start))


def _functions(code: str, name: str) -> Iterator[Fault]:
    begin = code.index(f"int {name}_reset(")
    for found in re.finditer(r"m->bases\[\d+\] \+ (\d+)(?:, \w+, (\d+)\))?", code[begin:]):
        for group in (1, 2):
            if found[group]:
                yield Fault("functions", begin + found.start(group), begin + found.end(group))

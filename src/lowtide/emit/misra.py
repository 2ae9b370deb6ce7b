"""The list of a bundle's deviations from MISRA C:2012, as cppcheck reads it: rule, file, line, reason.

Why lines and no rules: a list that leaves out a rule would hide what is new. The runtime's lines are
those that cppcheck found (`misra_lines.json`, which `bench/run misra --store` writes); the program's own
are known by their text, since the compiler writes the same few idioms for every network. Each line has
the reason of the first idiom of its rule in `misra.toml` that it matches.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from lowtide.emit.runtime import kernel_files
from lowtide.target import PORTABLE, Target

DEVIATIONS: Final = "misra-deviations.txt"
"""The list's file in a bundle."""
LINES: Final = Path(__file__).with_name("misra_lines.json")
_REASONS: Final = Path(__file__).with_name("misra.toml")
_GCC: Final = ("-DINT_MAX=0x7FFFFFFF", "-D__GNUC__=12", "-D__ELF__")
_ARM: Final = (*_GCC, "-D__arm__", "-D__thumb__")
_DSP: Final = (*_ARM, "-D__thumb2__", "-D__ARM_FEATURE_UNALIGNED", "-D__ARM_FEATURE_DSP")
CONFIGURATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "portable": _GCC,
    "cortex-m0": _ARM,
    "cortex-m3": (*_ARM, "-D__thumb2__"),
    "rv32": (*_GCC, "-D__riscv"),
    "dsp": _DSP,
    "helium": (*_DSP, "-D__ARM_FEATURE_MVE=3"),
}
"""What GCC defines for the cores whose code differs, as cppcheck is to be told: for kinds of kernels,
and for those cores without the DSP extension whose names begin so."""
CHECK: Final = "cppcheck --addon=misra --enable=style --std=c99 --platform=arm32-wchar_t2"


@dataclass(frozen=True, slots=True)
class Idiom:
    """Lines that deviate from one rule, cppcheck's `id`, for one `reason`: those that `line` matches. Of
    the runtime, those that cppcheck also finds; of a program's own file, all that begin a match, if what
    the pattern's group `name` matches is used as `used` says: `NOT_AGAIN`, `IN_ONE_FUNCTION`, or None,
    which says nothing. A match without a name counts."""

    id: str
    line: re.Pattern[str]
    reason: str
    used: str | None = None


NOT_AGAIN: Final = "not again"
"""Nowhere below, nor in the C of a header."""
IN_ONE_FUNCTION: Final = "in one function"
"""By one function of the file, however often; tables that point to it don't count."""


@cache
def _reasons() -> Mapping[str, Any]:
    return tomllib.loads(_REASONS.read_text("utf-8"))


@cache
def _lines() -> Mapping[str, Any]:
    """What cppcheck looked at, and what it found; nothing before it did."""
    return json.loads(LINES.read_text("utf-8")) if LINES.exists() else {"digests": {}, "lines": {}}


@cache
def idioms(of: str) -> tuple[Idiom, ...]:
    """Those of the "runtime" or of the "program", in the order in which they are asked."""
    return tuple(
        Idiom(
            entry["id"],
            re.compile(entry["line"], re.MULTILINE),
            entry["reason"],
            entry.get("used"),
        )
        for entry in _reasons()[of]
    )


@cache
def digests() -> Mapping[str, str]:
    """File of the runtime -> the digest of the text that cppcheck looked at."""
    return dict(_lines()["digests"])


def digest(text: str) -> str:
    """What tells whether a file has changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def runtime_lines() -> Mapping[str, Mapping[str, tuple[int, ...]]]:
    """Rule -> file of the runtime -> the numbers of its lines that deviate from it, from 1."""
    return {
        rule: {file: tuple(lines) for file, lines in files.items()}
        for rule, files in _lines()["lines"].items()
    }


def idiom_of(rule: str, line: str) -> Idiom | None:
    """The idiom that a line of the runtime is, which deviates from `rule`; None if there is none."""
    found = (i for i in idioms("runtime") if i.id == rule and i.line.search(line))
    return next(found, None)


def deviations(texts: Mapping[str, str], target: Target) -> str:
    """The list for a bundle with these files, for `target`; other files than C are not looked at."""
    found: dict[Idiom, list[tuple[str, int]]] = {}
    for idiom, file, line in [*_of_runtime(texts), *_of_program(texts)]:
        found.setdefault(idiom, []).append((file, line))
    sections = [
        "\n".join(
            [
                f"\n# {idiom.id.removeprefix('misra-c2012-')}: {idiom.reason}",
                *(f"{idiom.id}:{file}:{line}" for file, line in sorted(places)),
            ]
        )
        for idiom, places in sorted(found.items(), key=lambda item: _order(item[0]))
    ]
    return "\n".join([_head(target), *sections]) + "\n"


def checked_as(target: Target) -> tuple[str, ...]:
    """What cppcheck is told to look at the code for `target`; for any core, and for one whose macros are
    not known, its portable C."""
    if PORTABLE not in target.variants:
        return CONFIGURATIONS[target.variants[-1]]
    known = (name for name in CONFIGURATIONS if target.core.startswith(name))
    return CONFIGURATIONS[next(known, "portable")]


def _head(target: Target) -> str:
    version = _reasons()["cppcheck"]
    return f"""\
# SPDX-License-Identifier: Apache-2.0
# {DEVIATIONS}: generated by lowtide; each line of this folder's C that deviates from
# MISRA C:2012, with the reason, as the free checker cppcheck {version} finds them. Of the runtime, the
# lines for all cores are listed. This command reports what isn't listed, if anything:
#     {CHECK} \\
#         {" ".join(checked_as(target))} \\
#         --suppressions-list={DEVIATIONS} *.c"""


def _order(idiom: Idiom) -> tuple[bool, list[int], str, str]:
    """By the rule's number; what is no rule of MISRA's comes last."""
    numbers = re.fullmatch(r"misra-c2012-(\d+)\.(\d+)", idiom.id)
    parts = [] if numbers is None else [int(number) for number in numbers.groups()]
    return not parts, parts, idiom.id, idiom.reason


def _of_runtime(texts: Mapping[str, str]) -> Iterator[tuple[Idiom, str, int]]:
    for rule, files in runtime_lines().items():
        for file, lines in files.items():
            if file in texts:
                split = texts[file].splitlines()
                for line in lines:
                    if line <= len(split) and (of := idiom_of(rule, split[line - 1])) is not None:
                        yield of, file, line


def _of_program(texts: Mapping[str, str]) -> Iterator[tuple[Idiom, str, int]]:
    """Lines of files that aren't the runtime's. Idioms of a header look ahead into the program's C."""
    own = {
        file: _Written.of(text)
        for file, text in texts.items()
        if file not in kernel_files() and file.endswith((".c", ".h"))
    }
    for file, written in own.items():
        ahead = own.get(f"{file.removesuffix('.h')}.c") if file.endswith(".h") else None
        text = written.text + ("" if ahead is None else ahead.text)
        uses = _Uses.of(text)
        for idiom in idioms("program"):
            for match in idiom.line.finditer(text):
                if match.start() >= len(written.text):
                    break
                if uses.are_as(idiom, match):
                    yield idiom, file, written.line_at(match.start())


_NUMBERS: Final = re.compile(r" {4}-?[0-9][-+.0-9ef, ]*")
_NAME: Final = re.compile(r"(?<!#define )\b[A-Za-z_]\w*")
_BODY: Final = re.compile(r"^\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Written:
    """A file without its lines of numbers: a program's weights are megabytes, and none deviates."""

    text: str
    starts: list[int]
    """Where each line starts."""
    numbers: list[int]
    """Each line's number in the file, from 1."""

    @classmethod
    def of(cls, text: str) -> _Written:
        kept, starts, numbers, at = [], [], [], 0
        for number, line in enumerate(text.split("\n"), 1):
            if not _NUMBERS.fullmatch(line):
                kept.append(f"{line}\n")
                starts.append(at)
                numbers.append(number)
                at += len(line) + 1
        return cls("".join(kept), starts, numbers)

    def line_at(self, place: int) -> int:
        """The number, in the file, of the line with this place of the text."""
        return self.numbers[bisect_right(self.starts, place) - 1]


@dataclass(frozen=True, slots=True)
class _Uses:
    """Of each name in a text, where it is used last, and how many functions have it."""

    last: Mapping[str, int]
    functions: Mapping[str, int]

    @classmethod
    def of(cls, text: str) -> _Uses:
        last = {match[0]: match.start() for match in _NAME.finditer(text)}
        bodies = (set(_NAME.findall(body)) for body in _BODY.findall(text))
        return cls(last, Counter(name for names in bodies for name in names))

    def are_as(self, idiom: Idiom, match: re.Match[str]) -> bool:
        """Whether the name in a match of the idiom is used as the idiom says."""
        if idiom.used is None or match["name"] is None:
            return True
        if idiom.used == NOT_AGAIN:
            return self.last.get(match["name"], 0) <= match.start()
        return self.functions.get(match["name"]) == 1

"""Whether a network still fits: its figures against limits and a baseline, behind `lowtide check`.

Figures are measured on an emulated board where its tools are there, and predicted where they are not;
a figure says which it is, and measured ones are not compared with predicted ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any, Final, Literal

from lowtide.commands.bundles import Stored
from lowtide.commands.checking import Ran, run
from lowtide.commands.compiling import Compiled
from lowtide.commands.cutting import ends_of
from lowtide.commands.options import flags_of
from lowtide.emit.footprint import STACK, flash_bytes, instance_bytes
from lowtide.errors import LowtideError, MissingToolError, UsageError
from lowtide.machines.parts import Board
from lowtide.plans.cost import load_model

Name = Literal["ram_bytes", "flash_bytes", "instructions"]
NAMES: Final[tuple[Name, ...]] = ("ram_bytes", "flash_bytes", "instructions")
SCHEMA: Final = "lowtide.check/1"
_AGAIN: Final = "make a new baseline in the same way: `lowtide check MODEL -o FILE`"


class ExceedsError(LowtideError):
    """A figure is over its limit, or over its baseline by more than the tolerance."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that each figure may be; None: any."""

    ram_bytes: int | None = None
    flash_bytes: int | None = None
    instructions: int | None = None

    def of(self, name: Name) -> int | None:
        """The limit of a figure."""
        found: int | None = getattr(self, name)
        return found


@dataclass(frozen=True, slots=True)
class Figures:
    """RAM in all (stack included) and flash in bytes, instructions of one inference.

    Not `measured` but predicted, they are so because of `why`. `instructions` is None if no model
    predicts them. `where` is a board, or else a core.
    """

    ram_bytes: int
    flash_bytes: int
    instructions: int | None
    where: str
    measured: bool
    why: str = ""
    bit_exact: bool = True

    def of(self, name: Name) -> int | None:
        """A figure."""
        found: int | None = getattr(self, name)
        return found


@dataclass(frozen=True, slots=True)
class Baseline:
    """Figures of an earlier check, from `file`; what is more than `tolerance` above them fails."""

    file: str
    values: Mapping[Name, int]
    tolerance: Fraction

    def most(self, name: Name) -> int | None:
        """The most that a figure may be."""
        if name not in self.values:
            return None
        return int(self.values[name] * (1 + self.tolerance))


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure against the most that it may be, by a limit or by the baseline."""

    name: Name
    value: int
    most: int
    by: Literal["limit", "baseline"]

    @property
    def over(self) -> int:
        """By how much it is too much; 0 or less: it is not."""
        return self.value - self.most


@dataclass(frozen=True, slots=True)
class Verdict:
    """The figures of a program, and what they were compared with."""

    compiled: Compiled = field(repr=False)
    figures: Figures
    limits: Limits
    baseline: Baseline | None
    findings: tuple[Finding, ...]
    stored: Stored | None = None

    @property
    def passed(self) -> bool:
        """Whether no figure is too much, the outputs are right where they were looked at, and the bundle
        that is `stored`, if there is one, is that of the program."""
        same = self.stored is None or self.stored.same
        return same and self.figures.bit_exact and all(f.over <= 0 for f in self.findings)


def check(
    compiled: Compiled,
    board: Board | None,
    limits: Limits,
    baseline: tuple[Path, Fraction] | None = None,
    *,
    cached: bool = True,
) -> Verdict:
    """Compare the figures of `compiled` with `limits` and with those in the file of `baseline`.

    On `board` they are measured, or predicted if a tool for that is not installed, and its RAM and
    flash are limits as well; without a board they are predicted. Raises UsageError for a baseline that
    cannot be read or compared, or for a limit of instructions on a core without a cost model; else as
    `run`.
    """
    stored = None if baseline is None else _stored(baseline[0])
    figures = predicted(compiled)
    if board is not None:
        figures = _measured(compiled, board, figures, cached)
        limits = Limits(
            min(limits.ram_bytes or board.ram_bytes, board.ram_bytes),
            min(limits.flash_bytes or board.flash_bytes, board.flash_bytes),
            limits.instructions,
        )
    if limits.instructions is not None and figures.instructions is None:
        load_model(compiled.options.target.priced_as)  # raises
    known = None
    if baseline is not None and stored is not None:
        _check_same(baseline[0], stored, compiled, figures)
        values = {name: stored[name] for name in NAMES if stored.get(name) is not None}
        known = Baseline(str(baseline[0]), values, baseline[1])
    findings = tuple(
        finding
        for name in NAMES
        for finding in _compared(name, figures.of(name), limits.of(name), known)
    )
    return Verdict(compiled, figures, limits, known, findings)


def _compared(
    name: Name, value: int | None, limit: int | None, baseline: Baseline | None
) -> Iterator[Finding]:
    if value is None:
        return
    if limit is not None:
        yield Finding(name, value, limit, "limit")
    most = None if baseline is None else baseline.most(name)
    if most is not None:
        yield Finding(name, value, most, "baseline")


def predicted(compiled: Compiled) -> Figures:
    """Figures without any tool: the arena, the state and constants are exact, code and stack assumed."""
    target = compiled.options.target
    return Figures(
        compiled.ram_bytes + instance_bytes(compiled.assembly) + STACK,
        flash_bytes(compiled.assembly, compiled.files),
        compiled.instructions_predicted,
        target.priced_as,
        measured=False,
        why="no board is given",
    )


def _measured(compiled: Compiled, board: Board, guess: Figures, cached: bool) -> Figures:
    """Figures of `board`, measured where there is plenty of memory; `guess` without its tools."""
    try:
        ran = run(compiled, board.with_plenty, cached=cached)
    except MissingToolError as missing:
        return Figures(
            *(guess.ram_bytes, guess.flash_bytes, guess.instructions, board.name),
            measured=False,
            why=missing.cause,
        )
    return measured(ran)


def measured(ran: Ran) -> Figures:
    """Figures of a program that was run on a board."""
    found = ran.measured
    return Figures(
        *(found.ram.total_bytes, found.flash.total_bytes, found.max_instructions, ran.board.name),
        measured=True,
        bit_exact=ran.bit_exact,
    )


def _stored(file: Path) -> dict[str, Any]:
    remedy = "make one: `lowtide check MODEL -o FILE`"
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(
            f"cannot read the baseline {file}: {error.strerror or error}", remedy
        ) from None
    except (ValueError, RecursionError):  # brackets in brackets in brackets
        raise UsageError(f"the baseline {file} is not a JSON document", remedy) from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UsageError(f"`lowtide check` did not write the baseline {file}", remedy)
    numbers = [found.get(name) for name in NAMES]
    if not all(type(n) is int and n >= 0 for n in numbers[:2]) or type(numbers[2]) not in (
        int,
        type(None),
    ):
        raise UsageError(f"the baseline {file} lacks figures", remedy)
    return found


def options_of(compiled: Compiled) -> list[str]:
    """What to type for the options that a program was made with, of those that its figures depend on;
    `--plan FILE` for any plan. A baseline says so too."""
    options = compiled.options
    settled = options.limited and options.hop is not None  # by the limits, as the model changes
    compared = replace(
        options,
        name=None,
        keep=None if settled else options.keep,
        stages=None,
        stages_of=None,
    )
    return [*flags_of(compared), *(["--plan", "FILE"] if options.stages is not None else [])]


def _check_same(
    file: Path, stored: Mapping[str, Any], compiled: Compiled, figures: Figures
) -> None:
    """Raise UsageError if the baseline is of another network, or was made in another way. A file of the
    same name with other contents is the same network: a baseline is for networks that change."""
    model, told = compiled.model, str(stored.get("model"))
    if _file_name(told) != _file_name(model.path):
        raise UsageError(
            f"the baseline {file} is of {told}, but this check is of {model.path}",
            "make a baseline of this network: `lowtide check MODEL -o FILE`",
        )
    begin, until = (list(ends) or None for ends in ends_of(model))
    part = None if model.whole is None else {"from": begin, "until": until}
    if stored.get("part") != part:
        raise UsageError(f"the baseline {file} is of another part of the network", _AGAIN)
    how = bool(stored.get("measured")), str(stored.get("where"))
    now = figures.measured, figures.where
    if how != now:
        raise UsageError(
            f"the baseline {file} was {_how(*how)}, but this check is {_how(*now)}"
            + (f" ({figures.why})" if figures.why else ""),
            _AGAIN,
        )
    then, options = stored.get("options"), options_of(compiled)
    if not isinstance(then, list):
        raise UsageError(f"the baseline {file} does not say with which options it was made", _AGAIN)
    if then != options:
        raise UsageError(
            f"the baseline {file} was made with {_typed(then)}, but this check with "
            f"{_typed(options)}",
            "check with the same options, or make a new baseline: `lowtide check MODEL -o FILE`",
        )


def _file_name(path: str) -> str:
    """Of a network, wherever its file lies; Windows' rules know both kinds of slashes."""
    return PureWindowsPath(path).name


def _typed(options: Iterable[object]) -> str:
    return " ".join(map(str, options)) or "no options"


def _how(measured: bool, where: str) -> str:
    return f"measured on {where}" if measured else f"predicted for {where}"

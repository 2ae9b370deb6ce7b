"""Programs that the benches compile and try, and what became of them.

Why in one place: programs of several benches should be compiled and judged alike, so that their
figures can be compared. What one bench asks stands in its own modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.shared.outside import NeedsError, shared_model
from bench.shared.tables import Row, Status, verdict
from lowtide.commands.checking import Ran
from lowtide.commands.options import Options
from lowtide.errors import MissingToolError
from lowtide.modes import InputMode, OutputMode, Schedule
from lowtide.report.deployment import ran_text

M4 = "mps2-an386"
"""The board with a Cortex-M4."""

FLOAT_BOUNDARY = "te_vww"
"""The model whose float input and output are dropped (--quantized-io)."""


@dataclass(frozen=True, slots=True)
class Program:
    """A network (zoo:NAME or the name of a shared model) compiled one way."""

    network: str
    input_mode: InputMode = "resident"
    output_mode: OutputMode = "resident"
    schedule: Schedule = "rows"

    @property
    def options(self) -> Options:
        """How to compile it; a float boundary is dropped. Raises UsageError for what cannot be."""
        return Options(
            schedule=self.schedule,
            input_mode=self.input_mode,
            output_mode=self.output_mode,
            quantized_io=self.network == FLOAT_BOUNDARY,
        )

    @property
    def label(self) -> str:
        """The network and its input mode."""
        return f"{self.network}, {self.input_mode}"

    @property
    def by_operators(self) -> Program:
        """The same network, layer by layer; that needs its whole input and output."""
        return Program(self.network, schedule="operators")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program; `problem` is "" if all went well and all that was compared was
    bit-exact.

    `shortage` is why no plan keeps to a limit of RAM, "" if one does or none was set. `figures` are
    bytes and MACs by name, those that the job finds; `document` is that of `lowtide run`, empty if it
    did not run on a board.
    """

    state: Literal["done", "absent", "failed"]
    problem: str = ""
    shortage: str = ""
    figures: Mapping[str, int] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """There is a program, it was tried, and nothing differed."""
        return self.state == "done" and not self.problem and not self.shortage

    @property
    def total_ram(self) -> int:
        """Bytes of RAM in all, measured on a board; 0 if it did not run on one."""
        return int(self.document["ram"]["total_bytes"]) if self.document else 0

    @property
    def instructions(self) -> int:
        """Instructions of the inference that took most; 0 if it did not run on a board."""
        return int(self.document["instructions"]) if self.document else 0

    def flash(self, *parts: str) -> int:
        """Bytes of these parts of the flash: code, constant, weights. Raises KeyError if it did not
        run on a board."""
        return sum(int(self.document["flash"][f"{part}_bytes"]) for part in parts)


def path_of(network: str) -> str:
    """What `lowtide` takes for the network. Raises NeedsError for a shared model that is absent."""
    return network if network.startswith("zoo:") else str(shared_model(network))


def problem_of(ran: Ran) -> str:
    """What is wrong with a run on a board, in a line: outputs, else the compiler's warnings; or ""."""
    if not ran.bit_exact:
        return ran_text(ran).partition("\n")[0]
    return "the compiler warns" if ran.measured.warnings else ""


def end_of(error: Exception) -> tuple[Literal["absent", "failed"], str]:
    """The state and the problem, in a line, of a job that ended with `error`.

    It is absent, not failed, where the error says that a shared model or a tool is not there.
    """
    match error:
        case NeedsError():
            return "absent", str(error)
        case MissingToolError():
            return "absent", f"needs a tool: {error.cause}"
        case _:
            return "failed", str(error).partition("\n")[0]


def status(good: bool, *outcomes: Outcome) -> Status:
    """The status of a row; not measured if one of its jobs could not be done here."""
    if any(outcome.state == "absent" for outcome in outcomes):
        return "not measured"
    return verdict(good)


def failed_row(on: str, error: Exception) -> Row:
    """The row instead of those that `error` prevented: missed, unless data or a tool are not there."""
    if isinstance(error, NeedsError | MissingToolError):
        return Row(on, "", end_of(error)[1], "not measured")
    return Row(on, "", f"failed: {error}", "MISSED")

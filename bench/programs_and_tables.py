"""What the benches share: programs and what became of them, work in two processes, rows as tables.

Why in one place: programs of several benches should be compiled, tried and shown alike, so that their
figures can be compared. What a row is stands in reorder_rows; what one bench asks, in its own modules.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from rich.console import Console
from rich.table import Table

from lowtide.commands.checking import Ran
from lowtide.commands.compiling import Options
from lowtide.errors import MissingToolError
from lowtide.program.assemble import Schedule
from lowtide.report.deployment import ran_text
from lowtide.rows.prepare import InputMode, OutputMode
from reorder_rows import Detail, NeedsError, Row, Status, shared_model, verdict

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

M4 = "mps2-an386"
"""The board with a Cortex-M4."""

FLOAT_BOUNDARY = "te_vww"
"""The model whose float input and output are dropped (--quantized-io)."""

_WORKERS = 2
_STATUS_WIDTH = 12  # "not measured"


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


def in_two_processes(
    work: Callable[[_Task], _Result], tasks: Iterable[_Task]
) -> Iterator[tuple[str, _Result]]:
    """What `work` makes of every task, as it gets done, with "1 of 9" and so on.

    They are begun in their order. `work`, tasks and results must be picklable. Raises what `work` does.
    """
    # Threads of this process must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_WORKERS, mp_context=context) as pool:
        pending = [pool.submit(work, task) for task in tasks]
        for number, done in enumerate(as_completed(pending), start=1):
            yield f"{number} of {len(pending)}", done.result()


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


def with_detail(rows: Sequence[Row], detail: Detail) -> list[Row]:
    """The rows (at least one), with `detail`, unless it is empty, as the details of the last."""
    if not detail.lines:
        return list(rows)
    return [*rows[:-1], replace(rows[-1], details=(detail,))]


def bench_parser(
    prog: str,
    description: str,
    groups: Sequence[str] = (),
    *,
    metavar: str = "GROUP",
    noun: str = "groups of rows",
) -> argparse.ArgumentParser:
    """A parser of --json and, if there are `groups`, of --only: some of them, by default all.

    The help calls one `metavar` and several `noun`.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--json", action="store_true", help="print the rows as a JSON document")
    if groups:
        parser.add_argument(
            "--only",
            metavar=metavar,
            nargs="+",
            choices=groups,
            default=groups,
            help=f"{noun}: {', '.join(groups)}",
        )
    return parser


def machine() -> str:
    """Where this runs: Python's version, the kind of processor, how many."""
    return f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"


def plain_console(width: int) -> Console:
    """Standard output, `width` characters wide, that takes text as it is."""
    return Console(width=width, highlight=False, markup=False, emoji=False)


def plain_table() -> Table:
    """A table without lines, of no columns yet."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")


def print_report(
    title: str,
    width: int,
    columns: Sequence[tuple[str, int]],
    rows: Sequence[Row],
    *,
    figures_right: bool = False,
) -> None:
    """A bench's whole text: the title, the rows, their details, how many there are.

    `width` in characters; `columns` as for `print_rows`, `figures_right` as for `print_details`.
    """
    console = plain_console(width)
    console.print(f"{title}\n")
    print_rows(console, columns, rows)
    print_details(console, rows, figures_right=figures_right)
    console.print(f"\n{counted(rows)}.")


def print_rows(console: Console, columns: Sequence[tuple[str, int]], rows: Iterable[Row]) -> None:
    """The table of the rows, without their details.

    `columns` has title and width in characters of the first four; the fifth is the status.
    """
    table = plain_table()
    for column, width in columns:
        table.add_column(column, width=width, overflow="fold")
    table.add_column("", width=_STATUS_WIDTH)
    for row in rows:
        table.add_row(row.on, row.asked, row.measured, row.peer, row.status)
    console.print(table)


def print_details(
    console: Console, rows: Iterable[Row], *, figures_right: bool = False, fold: bool = False
) -> None:
    """The tables of the rows' details.

    `figures_right` aligns columns of figures, but the first, to the right. Cells that are too wide
    continue on the next line, with `fold` also within a word; else what is left of the word is cut.
    """
    for detail in (detail for row in rows for detail in row.details):
        table = plain_table()
        for number, column in enumerate(detail.columns):
            right = figures_right and number > 0
            right = right and all(_is_figure(line[number]) for line in detail.lines)
            table.add_column(
                column,
                justify="right" if right else "left",
                overflow="fold" if fold else "ellipsis",
            )
        for line in detail.lines:
            table.add_row(*line)
        console.print(f"\n{detail.title}\n")
        console.print(table)


def _is_figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell == "-"


def counted(rows: Sequence[Row]) -> str:
    """How many rows there are, and of each status, without a full stop."""
    counts = Counter(row.status for row in rows)
    return (
        f"{len(rows)} rows: {counts['OK']} OK, {counts['MISSED']} missed, "
        f"{counts['not measured']} not measured"
    )


def print_missed(console: Console, rows: Iterable[Row]) -> None:
    """A line for every row that is missed."""
    for row in rows:
        if row.status == "MISSED":
            line = f"Missed: {row.on}: {row.measured}; asked {row.asked}"
            console.print(line, soft_wrap=True)

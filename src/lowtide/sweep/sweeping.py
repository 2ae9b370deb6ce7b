"""Thousands of networks: a row for each, kept as it is made, behind `lowtide sweep`.

files --digest--> what is not known yet --engines--> journal --sorted--> .jsonl, .csv or .parquet

The journal lies beside the result and has a line per row, written as soon as the row is there. So a
sweep that is killed loses nothing but what was under way; one that is interrupted leaves a whole result.
The next one takes rows from both, by the contents of the file, the version and what was asked. A row
says nothing of when, where or by whom it was made: all engines make the same.
"""

from __future__ import annotations

import glob
import hashlib
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from lowtide.commands.estimating import estimate
from lowtide.errors import LowtideError, MissingToolError, UsageError
from lowtide.files import OURS, Replacing, check_writable, uninterrupted
from lowtide.ir import Model
from lowtide.sweep.engines import Engine, Row, run_tasks
from lowtide.sweep.journal import Journal
from lowtide.sweep.tables import COLUMNS, check_format, read_rows, write_rows

Asked = Literal["estimate", "plan", "run"]

_VERSION: Final = version("lowtide")
_ZOO: Final = "zoo:"
ENDED: Final = "the worker process for this network crashed twice"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of all networks of a sweep; a run is on the board, or the microcontroller, named.
    With a `hop`, their windows move on by so many rows."""

    asked: Asked = "estimate"
    board: str = ""
    mcu: str = ""
    simplify: bool = False
    hop: int | None = None

    def __str__(self) -> str:
        words = (
            *(self.asked, self.board, self.mcu, "simplified" if self.simplify else ""),
            "" if self.hop is None else f"hop {self.hop}",
        )
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class Task:
    """One network, by the first of its paths, and what is asked of it."""

    path: str
    sha256: str
    question: Question = Question()


@dataclass(frozen=True, slots=True)
class Swept:
    """What became of a sweep: rows in all, those with an error, those that were known before. It is
    `complete` if it was not interrupted."""

    rows: int
    errors: int
    known: int
    complete: bool


def sweep(
    inputs: Sequence[str],
    output: Path,
    *,
    jobs: int = 1,
    engine: Engine = "local",
    question: Question = Question(),
    replacing: Replacing = OURS,
    tell: Callable[[int, int, int], None] = lambda _done, _all, _errors: None,
) -> Swept:
    """Estimate the networks of `inputs` (files, folders, patterns, or @FILE with one of them a line).

    What is known of an earlier sweep is not made again. `tell` is told how many of how many are done,
    and how many of those with an error. Raises UsageError for inputs or an output that cannot be, also
    one that another sweep is writing or that has to stay, and MissingToolError if a package is missing.
    KeyboardInterrupt ends it: the result has what was done.
    """
    check_format(output)
    target = check_writable(output)
    paths = files_of(inputs)
    read = (*replacing.inputs, *map(Path, paths))
    replace(replacing, inputs=read).check_inputs(target, ours=True)
    journal = Journal(target, _VERSION, str(question), again=ENDED)
    written = False
    try:
        if target.exists():
            try:
                journal.take(read_rows(target))
            except UsageError:
                if not replacing.force:
                    raise
        digests = [_digest(path) for path in paths]
        known = sum(digest in journal for digest in digests)
        new = array("Q", (i for i, d in enumerate(digests) if d and journal.expects(d)))
        tasks = (Task(paths[i], digests[i].hex(), question) for i in new)
        done, errors, complete = 0, 0, True
        try:
            for task, row in run_tasks(engine, row_of, tasks, jobs):
                made = row if row is not None else _failed(task, ENDED)
                with uninterrupted():  # a row that the journal has is in the table
                    journal.add(made)
                done, errors = done + 1, errors + bool(made["error"])
                tell(done, len(new), errors)
        except KeyboardInterrupt:
            complete = False
        table = _Table(journal, paths, digests, question)
        with uninterrupted():
            write_rows(target, table.rows())
            written = True
    finally:
        journal.close(remove=written)
    return Swept(table.count, table.errors, known, complete)


class _Table:
    """The rows there are, in the order of their paths; how many it gave, and how many with an error."""

    def __init__(
        self, journal: Journal, paths: Sequence[str], digests: Sequence[bytes], question: Question
    ) -> None:
        self._journal, self._paths, self._digests = journal, paths, digests
        self._question = question
        self.count = self.errors = 0

    def rows(self) -> Iterator[Row]:
        """Each with its own path."""
        for path, digest in zip(self._paths, self._digests, strict=True):
            row = self._journal.row(digest) if digest else None
            if not digest:
                row = _failed(Task(path, "", self._question), "the file cannot be read")
            if row is not None:
                self.count += 1
                self.errors += bool(row["error"])
                yield {**row, "path": path}


def files_of(inputs: Sequence[str]) -> list[str]:
    """The files that inputs name, sorted, each once. Raises UsageError where there is none.

    What a list names is taken as it is: if it is not there, its row says so.
    """
    found: set[str] = set()
    lists: set[Path] = set()
    for name in inputs:
        _add_files(name, found, lists)
    return sorted(found)


def _add_files(name: str, found: set[str], lists: set[Path], *, listed: bool = False) -> None:
    if name.startswith("@"):
        if (path := Path(name[1:])) not in lists:  # one may name itself
            lists.add(path)
            for line in _lines(path):
                _add_files(line, found, lists, listed=True)
    elif name.startswith(_ZOO):
        found.add(name)
    elif (path := Path(name)).is_dir():
        inside = _all_inside(path)
        if not inside:
            raise UsageError(
                f"there is no .tflite file in {name}",
                "name another folder, or the files themselves",
            )
        found.update(inside)
    elif path.exists() or (listed and not glob.has_magic(name)):
        found.add(str(path))
    else:
        matches = glob.glob(name, recursive=True)  # noqa: PTH207  # any pattern, absolute too
        if not matches:
            raise UsageError(
                f"there is no file {name}", "name files, folders, patterns, or a list as @FILE"
            )
        for match in map(Path, matches):
            found.update(_all_inside(match) if match.is_dir() else [str(match)])


def _all_inside(folder: Path) -> set[str]:
    """The .tflite files in a folder and in those in it. Raises UsageError if one cannot be read."""
    try:
        return set(_inside(str(folder)))
    except OSError as error:
        raise UsageError(
            f"cannot read the folder {error.filename or folder}: {error.strerror or error}",
            "name another folder, or the files themselves",
        ) from None


def _inside(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _inside(entry.path)
            elif entry.name.endswith(".tflite") and entry.is_file():
                yield entry.path


def _lines(path: Path) -> list[str]:
    """The entries of a list."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot read the list {path}: {why}", "name a text file with one path per line"
        ) from None
    return [entry for line in lines if (entry := line.strip())]


def row_of(task: Task) -> Row:
    """The row of a network; one that is no good has its error. It names no path, but in `path`."""
    row = _failed(task, "")
    try:
        row |= _figures(task)
    except MissingToolError:
        raise
    except LowtideError as error:
        begins = error.cause.startswith(task.path) and not task.path.startswith(_ZOO)
        row["error"] = f"the file{error.cause.removeprefix(task.path)}" if begins else error.cause
    except Exception as error:  # one bad network is one row
        row["error"] = f"internal error: {type(error).__name__}: {error}"
    return row


def _figures(task: Task) -> Row:
    from lowtide.zoo.loading import load

    if _digest(task.path).hex() != task.sha256:
        raise UsageError("the file has changed since the sweep began", "sweep it again")
    model = load(task.path)
    hop = task.question.hop
    found = estimate(model, simplify=task.question.simplify, hop=hop)
    whole = found.needs["resident" if hop is None else "streamed"]
    row: Row = {
        "operators": found.operators,
        "macs": found.macs,
        "weights_bytes": found.weights_bytes,
        "order_peak_bytes": found.order_peak_bytes,
        "order_bound_bytes": found.order_bound_bytes,
        "tflm_bytes": found.tflm_bytes,
        "state_bytes": found.state_bytes,
        "bound_bytes": whole.bound_bytes,
        **{f"ram_{mode}_bytes": needs.ram_bytes for mode, needs in found.needs.items()},
        "flash_bytes": whole.flash_bytes,
        "instructions": whole.instructions,
    }
    if task.question.asked != "estimate":
        row |= _program(task.question, model)
    return row


def _program(question: Question, model: Model) -> Row:
    """What is known of a program once it is planned, or run on a board."""
    from lowtide.commands.checking import run
    from lowtide.commands.compiling import compile_model
    from lowtide.commands.options import Options
    from lowtide.machines.board import find_board
    from lowtide.machines.mcus import board_of, find_mcu

    options = Options(simplify=question.simplify, name="network", hop=question.hop)
    if question.asked == "plan":
        return {"arena_bytes": compile_model(model, options).arena_bytes}
    board = board_of(find_mcu(question.mcu)) if question.mcu else find_board(question.board)
    compiled = compile_model(model, replace(options, target=board.target))
    measured = run(compiled, board.with_plenty).measured
    return {
        "arena_bytes": compiled.arena_bytes,
        "measured_ram_bytes": measured.ram.total_bytes,
        "measured_flash_bytes": measured.flash.total_bytes,
        "measured_instructions": measured.max_instructions,
    }


def _failed(task: Task, why: str) -> Row:
    """A row without figures."""
    row: Row = dict.fromkeys(COLUMNS)
    return row | {
        "path": task.path,
        "sha256": task.sha256,
        "version": _VERSION,
        "asked": str(task.question),
        "error": why,
    }


def _digest(path: str) -> bytes:
    """SHA-256 of the contents of a file; b"" if it cannot be read."""
    if path.startswith(_ZOO):
        return hashlib.sha256(os.fsencode(path)).digest()
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return b""

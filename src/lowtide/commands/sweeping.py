"""Thousands of networks: a row for each, kept as it is made, behind `lowtide sweep`.

files --digest--> what is not known yet --engines--> journal --sorted--> .jsonl, .csv or .parquet

The journal lies beside the result and has a line per row, written as soon as the row is there. So a
sweep that is killed loses nothing but what was under way; one that is interrupted leaves a whole result.
The next one takes rows from both, by the contents of the file, the version and what was asked. A row
says nothing of when, where or by whom it was made: all engines make the same.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

from lowtide.commands.engines import EngineName, Row, run_tasks
from lowtide.commands.estimating import estimate
from lowtide.errors import LowtideError, MissingToolError, UsageError
from lowtide.files import check_writable

Asked = Literal["estimate", "plan", "run"]

COLUMNS: Final = (
    *("path", "sha256", "version", "asked", "error", "operators", "macs", "weights_bytes"),
    *("order_peak_bytes", "order_bound_bytes", "tflm_bytes", "state_bytes"),
    *("bound_bytes", "ram_resident_bytes", "ram_const_bytes", "ram_streamed_bytes"),
    *("flash_bytes", "instructions", "arena_bytes"),
    *("measured_ram_bytes", "measured_flash_bytes", "measured_instructions"),
)
"""Of a row, in their order. `error` is "" or why there are no figures; `arena_bytes` is there with
--plan, what was measured with --run; bound, flash and instructions are those with the input resident."""

_TEXTS: Final = frozenset({"path", "sha256", "version", "asked", "error"})
_VERSION: Final = version("lowtide")
ENDED: Final = "the worker that had this network ended twice"
_SUFFIXES: Final = (".jsonl", ".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Task:
    """One network, by its first path, and what is asked of it; `board` is that of a run."""

    path: str
    sha256: str
    asked: Asked = "estimate"
    board: str = ""
    simplify: bool = False


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
    engine: EngineName = "local",
    asked: Asked = "estimate",
    board: str = "",
    simplify: bool = False,
    tell: Callable[[int, int, int], None] = lambda _done, _all, _errors: None,
) -> Swept:
    """Estimate the networks of `inputs` (files, folders, patterns, or @FILE with one of them a line).

    What is known of an earlier sweep is not made again. `tell` is told how many of how many are done,
    and how many of those with an error. Raises UsageError for inputs or an output that cannot be, and
    MissingToolError if a package is missing. KeyboardInterrupt ends it: the result has what was done.
    """
    if output.suffix not in _SUFFIXES:
        raise UsageError(
            f"the format of {output} is unknown", f"use one of: {', '.join(_SUFFIXES)}"
        )
    check_writable(output)
    if output.suffix == ".parquet":
        _pyarrow()
    paths = files_of(inputs)
    what = asked + (f" {board}" if board else "") + (" simplified" if simplify else "")
    journal = _Journal(output.with_name(f".{output.name}.journal"), what)
    journal.take(output)
    digests = {path: _digest(path) for path in paths}
    first: dict[str, str] = {}
    for path, digest in digests.items():
        if digest and digest not in journal:
            first.setdefault(digest, path)
    known = sum(digest in journal for digest in digests.values())
    tasks = (Task(path, digest, asked, board, simplify) for digest, path in first.items())
    done, errors, complete = 0, 0, True
    try:
        for task, row in run_tasks(engine, row_of, tasks, jobs):
            made = row if row is not None else _failed(task, ENDED)
            journal.add({**made, "asked": what})
            done, errors = done + 1, errors + bool(made["error"])
            tell(done, len(first), errors)
    except KeyboardInterrupt:
        complete = False
    rows, wrong = _write(output, journal, digests, what)
    journal.remove()
    return Swept(rows, wrong, known, complete)


def files_of(inputs: Sequence[str]) -> list[str]:
    """The files that inputs name, sorted, each once. Raises UsageError where there is none."""
    found: set[str] = set()
    for name in inputs:
        if name.startswith("@"):
            try:
                lines = Path(name[1:]).read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or error
                raise UsageError(
                    f"cannot read the list {name[1:]}: {why}", "name a text file with a path a line"
                ) from None
            found.update(files_of([line.strip() for line in lines if line.strip()]))
        elif name.startswith("zoo:"):
            found.add(name)
        elif Path(name).is_dir():
            found.update(map(str, Path(name).rglob("*.tflite")))
        elif Path(name).exists():
            found.add(name)
        else:
            matches = glob.glob(name, recursive=True)  # noqa: PTH207  # any pattern, absolute too
            if not matches:
                raise UsageError(
                    f"there is no file {name}", "name files, folders, patterns, or @FILE, a list"
                )
            found.update(matches)
    return sorted(found)


def row_of(task: Task) -> Row:
    """The row of a network; one that is no good has its error."""
    row: Row = dict.fromkeys(COLUMNS)
    row |= {"path": task.path, "sha256": task.sha256, "version": _VERSION, "error": ""}
    try:
        row |= _figures(task)
    except MissingToolError:
        raise
    except LowtideError as error:
        row["error"] = error.cause
    except Exception as error:  # one bad network is one row
        row["error"] = f"a fault of lowtide: {type(error).__name__}: {error}"
    return row


def _figures(task: Task) -> Row:
    from lowtide.commands.reordering import load

    model = load(task.path)
    found = estimate(model, simplify=task.simplify)
    whole = found.needs["resident"]
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
    if task.asked != "estimate":
        row |= _program(task, model)
    return row


def _program(task: Task, model: Any) -> Row:
    """What is known of a program once it is planned, or run on a board."""
    from lowtide.commands.checking import run
    from lowtide.commands.compiling import Options, compile_model
    from lowtide.machines.board import find_board

    if task.asked == "plan":
        compiled = compile_model(model, Options(simplify=task.simplify))
        return {"arena_bytes": compiled.arena_bytes}
    board = find_board(task.board)
    compiled = compile_model(model, Options(simplify=task.simplify, target=board.core.target))
    measured = run(compiled, board.with_plenty).measured
    return {
        "arena_bytes": compiled.arena_bytes,
        "measured_ram_bytes": measured.ram.total_bytes,
        "measured_flash_bytes": measured.flash.total_bytes,
        "measured_instructions": measured.max_instructions,
    }


def _failed(task: Task, why: str) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    return row | {
        "path": task.path,
        "sha256": task.sha256,
        "version": _VERSION,
        "error": why,
    }


def _digest(path: str) -> str:
    """Of the contents of a file; "" if it cannot be read."""
    if path.startswith("zoo:"):
        return hashlib.sha256(path.encode()).hexdigest()
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


class _Journal:
    """Rows as they are made, a line each, in a file beside the result; by digest, where each begins."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what
        self._at: dict[str, int] = {}
        self._file = path.open("a+b")
        self._read()

    def _read(self) -> None:
        """Find the rows of a sweep that was killed; a line that was cut off is left out."""
        self._file.seek(0)
        good = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            with contextlib.suppress(ValueError, TypeError, KeyError):
                self._know(json.loads(line), good)
            good += len(line)
        self._file.truncate(good)

    def _know(self, row: Row, at: int) -> bool:
        mine = (row["version"], row["asked"]) == (_VERSION, self._what)
        if mine and row["error"] != ENDED and row["sha256"]:
            self._at[row["sha256"]] = at
            return True
        return False

    def __contains__(self, digest: str) -> bool:
        return digest in self._at

    def take(self, output: Path) -> None:
        """Also know what an earlier result has."""
        if not output.exists():
            return
        for row in read_rows(output):
            if (
                str(row.get("sha256")) not in self
                and row.get("version")
                and row.get("error") != ENDED
            ):
                self.add(row)

    def add(self, row: Row) -> None:
        """Keep a row."""
        self._file.seek(0, os.SEEK_END)
        at = self._file.tell()
        if self._know(row, at) or row["error"] == ENDED:
            self._at[row["sha256"]] = at
            self._file.write(json.dumps(row).encode() + b"\n")
            self._file.flush()

    def row(self, digest: str) -> Row | None:
        """The row of a file's contents; None if there is none."""
        if digest not in self._at:
            return None
        self._file.seek(self._at[digest])
        row: Row = json.loads(self._file.readline())
        return row

    def remove(self) -> None:
        """Once the result is written."""
        self._file.close()
        self._path.unlink(missing_ok=True)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a result. Raises UsageError for a file that is none."""
    try:
        match path.suffix:
            case ".jsonl":
                with path.open("rb") as file:
                    for line in file:
                        yield json.loads(line)
            case ".csv":
                with path.open(encoding="utf-8", newline="") as text:
                    for row in csv.DictReader(text):
                        yield {key: _value(key, value) for key, value in row.items()}
            case _:
                file = _pyarrow().ParquetFile(path)
                for batch in file.iter_batches(1000):
                    yield from batch.to_pylist()
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is there and is no result of a sweep: {error}", "name another file with -o"
        ) from None


def _value(key: str, text: str) -> Any:
    return text if key in _TEXTS else int(text) if text else None


def _write(output: Path, journal: _Journal, digests: dict[str, str], what: str) -> tuple[int, int]:
    """All rows there are, sorted by path; returns how many, and how many have an error."""
    count, wrong = 0, 0

    def rows() -> Iterator[Row]:
        nonlocal count, wrong
        for path, digest in digests.items():
            if digest:
                row = journal.row(digest)
            else:
                row = {**_failed(Task(path, ""), "the file cannot be read"), "asked": what}
            if row is not None:
                count, wrong = count + 1, wrong + bool(row["error"])
                yield {**row, "path": path}

    beside = output.with_name(f".{output.name}.new")
    try:
        match output.suffix:
            case ".jsonl":
                with beside.open("w", encoding="utf-8") as text:
                    text.writelines(json.dumps(row) + "\n" for row in rows())
            case ".csv":
                with beside.open("w", encoding="utf-8", newline="") as text:
                    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows())
            case _:
                _write_parquet(beside, rows())
        beside.replace(output)
    finally:
        beside.unlink(missing_ok=True)
    return count, wrong


def _write_parquet(path: Path, rows: Iterator[Row]) -> None:
    import pyarrow

    kinds = [(name, pyarrow.string() if name in _TEXTS else pyarrow.int64()) for name in COLUMNS]
    schema = pyarrow.schema(kinds)
    with _pyarrow().ParquetWriter(path, schema) as writer:
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            if len(batch) == 1000:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
                batch.clear()
        writer.write_table(pyarrow.Table.from_pylist(batch, schema))


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingToolError(
            "a .parquet file needs the package pyarrow, which is not installed",
            "pip install 'lowtide[sweep]', or write .jsonl or .csv",
        ) from None
    return pyarrow.parquet

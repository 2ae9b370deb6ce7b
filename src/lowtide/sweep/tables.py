"""The table that a sweep makes, as a file: .jsonl, .csv or .parquet, read and written row by row."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from lowtide.errors import MissingToolError, UsageError, how_to_install
from lowtide.files import refused
from lowtide.sweep.engines import Row

COLUMNS: Final = (
    *("path", "sha256", "version", "asked", "error", "operators", "macs", "weights_bytes"),
    *("order_peak_bytes", "order_bound_bytes", "tflm_bytes", "state_bytes"),
    *("bound_bytes", "ram_resident_bytes", "ram_const_bytes", "ram_streamed_bytes"),
    *("flash_bytes", "instructions", "arena_bytes"),
    *("measured_ram_bytes", "measured_flash_bytes", "measured_instructions"),
)
"""Of a row, in their order. `error` is "" or why there are no figures; `arena_bytes` is there with
--planned, what was measured with --board or --mcu; bound, flash and instructions are those with the
input resident, or, with --hop, streamed, as it is then."""

SUFFIXES: Final = (".jsonl", ".csv", ".parquet")

_TEXTS: Final = ("path", "sha256", "version", "asked", "error")
_BATCH: Final = 1000
"""Rows that are put into a .parquet file together."""


def check_format(path: Path) -> None:
    """Raises UsageError for an unknown format, MissingToolError where its package is not installed."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"the format of {path} is unknown", f"use one of: {', '.join(SUFFIXES)}")
    if path.suffix == ".parquet":
        _pyarrow()


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a table; none of an empty file. Raises UsageError for a file that is no such table."""
    try:
        if path.stat().st_size:
            for row in _read(path):
                if any(not isinstance(row[name], str) for name in _TEXTS):
                    raise ValueError("it has other columns")
                bytes.fromhex(row["sha256"])  # raises ValueError
                yield {name: row.get(name) for name in COLUMNS}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, csv.Error) as error:
        why = f"it has no column {error}" if isinstance(error, KeyError) else error
        raise UsageError(
            f"{path} exists, but is not the result of a sweep: {why}", "name another file with -o"
        ) from None


def _read(path: Path) -> Iterator[Row]:
    match path.suffix:
        case ".jsonl":
            with path.open("rb") as file:
                for row in map(json.loads, file):
                    _check_columns(row)
                    yield row
        case ".csv":
            with path.open(encoding="utf-8", newline="") as text:
                table = csv.DictReader(text)
                _check_columns(table.fieldnames or ())
                for row in table:
                    yield {key: _value(key, value) for key, value in row.items()}
        case _:
            with _pyarrow().ParquetFile(path) as file:
                _check_columns(file.schema_arrow.names)
                for batch in file.iter_batches(_BATCH):
                    yield from batch.to_pylist()


def _check_columns(names: Iterable[str]) -> None:
    """Raises ValueError for a column that no sweep makes: the table has more in it than lowtide's."""
    for name in names:
        if name not in COLUMNS:
            raise ValueError(f"it has a column {name!r}")


def _value(key: str, text: str) -> Any:
    return text if key not in COLUMNS or key in _TEXTS else int(text) if text else None


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a table whole, or leave the one that is there. Raises UsageError if that is refused."""
    beside = path.with_name(
        f".{path.name}.{os.urandom(4).hex()}"
    )  # a link nobody can have put there
    try:
        match path.suffix:
            case ".jsonl":
                with beside.open("x", encoding="utf-8", errors="backslashreplace") as text:
                    text.writelines(json.dumps(row) + "\n" for row in rows)
            case ".csv":
                with beside.open(
                    "x", encoding="utf-8", errors="backslashreplace", newline=""
                ) as text:
                    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
            case _:
                _write_parquet(beside, rows)
        beside.replace(path)
    except OSError as error:
        raise refused(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


def _write_parquet(path: Path, rows: Iterable[Row]) -> None:
    import pyarrow

    kinds = [(name, pyarrow.string() if name in _TEXTS else pyarrow.int64()) for name in COLUMNS]
    schema = pyarrow.schema(kinds)
    with _pyarrow().ParquetWriter(path, schema) as writer:
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            if len(batch) == _BATCH:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
                batch.clear()
        writer.write_table(pyarrow.Table.from_pylist(batch, schema))


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingToolError(
            "a .parquet file needs the package pyarrow, which is not installed",
            f"{how_to_install('sweep')}, or write .jsonl or .csv",
        ) from None
    return pyarrow.parquet

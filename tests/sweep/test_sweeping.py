"""Sweeps: rows, journals, what is resumed, what a bad network or an ended worker makes of them."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lowtide import zoo
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import MissingToolError, UsageError
from lowtide.sweep import sweeping
from lowtide.sweep.engines import Engine, Row, run_tasks
from lowtide.sweep.journal import Journal
from lowtide.sweep.sweeping import ENDED, Question, Task, row_of, sweep
from lowtide.sweep.tables import COLUMNS, read_rows
from networks import model_of

ENGINES: tuple[Engine, ...] = ("local", "dask", "ray") if find_spec("ray") else ("local", "dask")
"""Ray is large, and not in the extra `test`: docs/sweep.md says with which version it was tried."""


def ending(task: Any) -> dict[str, Any]:
    """Ends its worker for the tasks 3, 6 and 8, each in its way, and for 5 the first time; 9 runs out of
    memory; others are doubled."""
    number, folder = task
    mark = Path(folder) / str(number)
    if number in (3, 6, 8) or (number == 5 and not mark.exists()):
        mark.touch()
        if number == 6:
            os._exit(0)
        if number == 8:
            os.abort()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"twice": _short_of_memory() if number == 9 else 2 * number}


def _short_of_memory() -> int:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (64 << 20), limits[1]))
    try:
        return len(bytearray(1 << 30))
    except MemoryError:
        return 18
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def lacking(task: Any) -> dict[str, Any]:
    """What a network needs is not installed."""
    raise MissingToolError(f"no tool for {task}", "install it")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two networks, one of them twice, and a file that is none."""
    made = tmp_path / "nets"
    made.mkdir()
    (made / "a.tflite").write_bytes(zoo.build("figure1"))
    (made / "b.tflite").write_bytes(zoo.build("lstm-gestures"))
    (made / "c.tflite").write_bytes(zoo.build("figure1"))
    (made / "d.tflite").write_bytes(b"no model")
    return made


def _here(
    engine: Engine, work: Callable[[Any], Any], tasks: Iterator[Any], jobs: int
) -> Iterator[tuple[Any, Any]]:
    """An engine without processes."""
    del engine, jobs
    for task in tasks:
        yield task, work(task)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sweeps run in this process; the paths that were worked on."""
    worked: list[str] = []

    def noted(task: Task) -> dict[str, Any]:
        worked.append(Path(task.path).name)
        return row_of(task)

    monkeypatch.setattr(sweeping, "run_tasks", _here)
    monkeypatch.setattr(sweeping, "row_of", noted)
    return worked


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_rows_are_sorted_whole_and_resumed(
    folder: Path, here: list[str], tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    first = sweep([str(folder)], out)
    assert (first.rows, first.errors, first.known, first.complete) == (4, 1, 0, True)
    assert here == ["a.tflite", "b.tflite", "d.tflite"]  # c is a
    rows = list(read_rows(out))
    assert [Path(row["path"]).name for row in rows] == [f"{n}.tflite" for n in "abcd"]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {**rows[0], "path": ""} == {**rows[2], "path": ""}
    assert rows[0]["ram_const_bytes"] == 1696
    assert rows[3]["error"] == "the file is not a .tflite file (no TFL3 identifier)"
    before = out.read_bytes()
    here.clear()
    again = sweep([str(folder)], out)
    assert (again.rows, again.known) == (4, 4)
    assert here == []
    assert out.read_bytes() == before
    assert list(read_rows(out)) == rows
    (folder / "e.tflite").write_bytes(zoo.build("ds-cnn-kws"))
    sweep([str(folder / "*.tflite")], out)
    assert here == ["e.tflite"]
    assert not list(tmp_path.glob(".out*"))


def test_an_interrupted_sweep_leaves_what_was_done(
    folder: Path, here: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"

    def stop(done: int, total: int, errors: int) -> None:
        assert (done, total, errors) == (1, 3, 0)
        raise KeyboardInterrupt

    found = sweep([str(folder)], out, tell=stop)
    assert not found.complete
    assert [Path(row["path"]).name for row in read_rows(out)] == ["a.tflite", "c.tflite"]
    here.clear()
    assert sweep([str(folder)], out).rows == 4
    assert here == ["b.tflite", "d.tflite"]


def test_a_killed_sweep_goes_on_from_its_journal(
    folder: Path, here: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    whole = tmp_path / "whole.jsonl"
    sweep([str(folder)], whole)
    lines = whole.read_text().splitlines(keepends=True)
    (tmp_path / ".out.csv.journal").write_text(lines[1] + lines[0][:100])  # the last is cut off
    here.clear()
    assert sweep([str(folder)], out).known == 1
    assert here == ["a.tflite", "d.tflite"]
    assert list(read_rows(out)) == list(read_rows(whole))


def test_other_questions_and_versions_are_asked_anew(
    folder: Path, here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    sweep([str(folder / "a.tflite")], out)
    sweep([str(folder / "a.tflite")], out, question=Question("plan"))
    assert here == ["a.tflite", "a.tflite"]
    (row,) = read_rows(out)
    assert row["arena_bytes"] == 2336
    monkeypatch.setattr(sweeping, "_VERSION", "99")
    sweep([str(folder / "a.tflite")], out, question=Question("plan"))
    assert here == ["a.tflite"] * 3


def test_windows_that_slide(tmp_path: Path) -> None:
    """Figures are those of a hop; a network whose window cannot slide has a row that says why."""
    out = tmp_path / "out.csv"
    sweep(
        ["zoo:streaming-wake-word", "zoo:wake-word-window"], out, question=Question("plan", hop=2)
    )
    streams, row = read_rows(out)
    assert streams["error"].startswith("--hop: operator 0 (CALL_ONCE) keeps state")
    assert row["asked"] == "plan hop 2" and row["ram_resident_bytes"] is None
    compiled = compile_model(model_of("wake-word-window"), Options(hop=2, simplify=False))
    assert row["arena_bytes"] == compiled.arena_bytes
    assert row["state_bytes"] == compiled.state_bytes
    assert row["ram_streamed_bytes"] >= row["bound_bytes"] > compiled.state_bytes


@pytest.mark.parametrize("engine", ENGINES)
def test_an_ended_worker_is_replaced_and_its_task_done_once_more(
    engine: Engine, tmp_path: Path
) -> None:
    tasks = [(number, str(tmp_path)) for number in range(20)]
    pairs = list(run_tasks(engine, ending, tasks, 2))
    assert sorted(task for task, _ in pairs) == tasks
    assert sorted(task[0] for task, row in pairs if row is None) == [3, 6, 8]
    assert all(row == {"twice": 2 * task[0]} for task, row in pairs if row)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_task_raises_is_raised(engine: Engine) -> None:
    with pytest.raises(MissingToolError) as error:
        list(run_tasks(engine, lacking, ["this"], 1))
    assert (error.value.cause, error.value.remedy) == ("no tool for this", "install it")


@pytest.mark.parametrize("engine", ENGINES)
def test_all_engines_make_the_same_rows(engine: Engine, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    sweep([str(folder)], out, engine=engine, jobs=2)
    expected = [row_of(Task(row["path"], row["sha256"])) for row in read_rows(out)]
    assert list(read_rows(out)) == expected


def test_a_sweep_that_is_killed_loses_and_repeats_nothing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "lowtide", "sweep", str(folder), "-o", str(out)]
    journal = tmp_path / ".out.jsonl.journal"
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.01)
    process.kill()
    process.communicate()  # returns when no worker is left that could still write
    kept = journal.read_text() if journal.exists() else out.read_text()
    assert kept
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "4 rows, 1 with an error" in done.stdout
    assert kept.splitlines()[0] in [json.dumps(row) for row in read_rows(out)]


def test_an_ended_worker_makes_a_row(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "run_tasks", lambda *_: [(Task("a", "0" * 64), None)])
    monkeypatch.setattr(sweeping, "_digest", lambda _: bytes(32))
    out = tmp_path / "out.jsonl"
    assert sweep([str(folder / "a.tflite")], out).errors == 1
    (row,) = read_rows(out)
    assert row["error"] == ENDED
    assert sweep([str(folder / "a.tflite")], out).known == 0  # it is tried anew


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_ctrl_c_leaves_a_table_that_the_next_sweep_completes(
    folder: Path, tmp_path: Path, suffix: str
) -> None:
    for number in range(6):
        network = zoo.build("figure1").replace(b"figure1", b"figure%d" % number)
        (folder / f"e{number}.tflite").write_bytes(network)
    out, whole = tmp_path / f"out{suffix}", tmp_path / f"whole{suffix}"
    command = [sys.executable, "-m", "lowtide", "sweep", str(folder), "-o"]
    process = subprocess.Popen(
        [*command, str(out)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    journal = tmp_path / f".out{suffix}.journal"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to all
    said = process.communicate()[1]
    assert "Traceback" not in said
    assert process.returncode in (0, 130)
    assert not journal.exists()
    done = list(read_rows(out))
    assert done
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    again = sweep([str(folder)], out)
    assert again.known >= len(done)
    assert out.read_bytes() == whole.read_bytes()


def test_ctrl_c_while_a_row_is_kept(
    folder: Path, here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is in the journal and in the table: the table alone stays."""
    add = Journal.add

    def interrupted(journal: Journal, row: Row) -> None:
        signal.raise_signal(signal.SIGINT)
        add(journal, row)

    monkeypatch.setattr(Journal, "add", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run without it
    try:
        done = sweep([str(folder)], tmp_path / "out.csv")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not done.complete
    assert here == ["a.tflite"]
    rows = list(read_rows(tmp_path / "out.csv"))
    assert [Path(row["path"]).name for row in rows] == ["a.tflite", "c.tflite"]  # the same network


def test_one_sweep_at_a_time_writes_a_table(folder: Path, here: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"

    def meanwhile(_done: int, _all: int, _errors: int) -> None:
        with pytest.raises(UsageError) as error:
            sweep([str(folder)], out)
        assert str(error.value) == (
            f"another sweep is writing {out}\n"
            "  remedy: wait until it is done, or name another file with -o"
        )

    assert sweep([str(folder)], out, tell=meanwhile).complete
    assert here == ["a.tflite", "b.tflite", "d.tflite"]
    assert sweep([str(folder)], out).known == 4


def test_a_full_disk_loses_nothing(folder: Path, here: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, limits[1]))  # bytes of a file: one row
    try:
        with pytest.raises(UsageError) as error:
            sweep([str(folder)], out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.cause.startswith(f"cannot write {out}: ")
    assert error.value.remedy == "check the path and the free space"
    assert not out.exists()
    here.clear()
    assert sweep([str(folder)], out).known == 2  # one network, twice
    assert here == ["b.tflite", "d.tflite"]


def test_lists_name_files(folder: Path, tmp_path: Path) -> None:
    names = tmp_path / "list.txt"
    names.write_text(f"{folder}/a.tflite\n\nzoo:figure1\n@{names}\n{folder}/gone.tflite\n")
    found = [f"{folder}/a.tflite", f"{folder}/gone.tflite", "zoo:figure1"]
    assert sweeping.files_of([f"@{names}"]) == found


def test_folders_and_patterns_name_the_files_in_them(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("none")
    files = [f"{folder}/{name}.tflite" for name in "abcd"]
    assert sweeping.files_of([str(folder), f"{folder}/./a.tflite"]) == files
    assert sweeping.files_of([f"{tmp_path}/n*"]) == files
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as error:
        sweeping.files_of([f"{tmp_path}/empty"])
    assert str(error.value) == (
        f"there is no .tflite file in {tmp_path}/empty\n"
        "  remedy: name another folder, or the files themselves"
    )


def test_a_folder_that_cannot_be_read_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UsageError) as error:
        sweeping.files_of([str(folder)])
    assert str(error.value) == (
        f"cannot read the folder {folder}: Permission denied\n"
        "  remedy: name another folder, or the files themselves"
    )


def test_a_file_that_cannot_be_read_or_changes_is_a_row(
    folder: Path, here: list[str], tmp_path: Path
) -> None:
    names, out = tmp_path / "list.txt", tmp_path / "out.jsonl"
    names.write_text(f"{folder}/a.tflite\n{folder}/b.tflite\n{folder}/gone.tflite\n")

    def change(done: int, _all: int, _errors: int) -> None:
        if done == 1:
            (folder / "b.tflite").write_bytes(b"other")

    assert sweep([f"@{names}"], out, tell=change).errors == 2
    assert [row["error"] for row in read_rows(out)] == [
        "",
        "the file has changed since the sweep began",
        "the file cannot be read",
    ]
    assert here == ["a.tflite", "b.tflite"]


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".csv", "name,ram\nx,1\n"),
        (".jsonl", '{"name": "x"}\n'),
        (".jsonl", "[1]\n"),
        (
            ".jsonl",
            '{"path": "x", "sha256": "no digest", "version": "0", "asked": "estimate", "error": ""}\n',
        ),
        (".parquet", "PAR1"),
    ],
)
def test_files_that_are_no_table_of_a_sweep_are_left_alone(
    folder: Path, tmp_path: Path, suffix: str, content: str
) -> None:
    out = tmp_path / f"out{suffix}"
    out.write_text(content)
    with pytest.raises(UsageError) as error:
        sweep([str(folder)], out)
    assert error.value.cause.startswith(f"{out} exists, but is not the result of a sweep: ")
    assert error.value.remedy == "name another file with -o"
    assert out.read_text() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nets", out.name]


def test_what_cannot_be_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        sweep([str(folder)], tmp_path / "out.xlsx")
    assert error.value.remedy == "use one of: .jsonl, .csv, .parquet"
    with pytest.raises(UsageError) as error:
        sweep(["nothing.tflite"], tmp_path / "out.csv")
    assert str(error.value) == (
        "there is no file nothing.tflite\n  remedy: name files, folders, patterns, or a list as @FILE"
    )


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingToolError) as error:
        next(run_tasks("ray", ending, [], 1))
    assert str(error.value) == (
        "the engine ray needs the package ray, which is not installed\n"
        '  remedy: run `pip install ".[ray]"` in your checkout of lowtide'
    )

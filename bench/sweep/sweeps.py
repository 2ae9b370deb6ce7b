"""Sweeps as users start them, in processes of their own: they scale, survive, agree, and stay small."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.shared.outside import NeedsError
from bench.shared.tables import Row, amount, verdict
from bench.shared.work import note
from bench.sweep.networks import file_of, write_networks
from lowtide import Graph, Shapes
from lowtide.errors import how_to_install
from lowtide.sweep.tables import read_rows

_TIMES = 1.8
_GROWTH = 10_000_000
_IDLE = 0.9
"""Of the time of two cores: what must be left for a comparison by the clock."""
_KILLED, _AGREEING, _WARM = 120, 40, 1000
"""Networks of a sweep that is killed; of those of all engines; rows after which memory is compared."""
_POLL = 0.02

Meanwhile = Callable[["subprocess.Popen[str]"], None]


@dataclass(frozen=True, slots=True)
class _Swept:
    """What a sweep took: seconds by the clock; of CPU time, of its own process and of all; bytes of RAM
    of its own process at the most; and the document that it printed, empty if it was killed."""

    seconds: float
    own_cpu: float
    all_cpu: float
    peak: int
    document: dict[str, int]


def cores(networks: int) -> list[Row]:
    """The same sweep with one worker and with two."""
    idle = _idle()
    with _candidates(networks) as folder:
        one, two = (
            _sweep(folder.parent / f"{jobs}.jsonl", folder, "--jobs", str(jobs)) for jobs in (1, 2)
        )
    times = one.seconds / two.seconds
    measured = (
        f"{times:.2f} times ({one.seconds:.1f} s, {two.seconds:.1f} s); CPU time a network "
        f"{1e3 * one.all_cpu / networks:.1f} ms, of it the sweep's own process "
        f"{1e3 * one.own_cpu / networks:.1f} ms"
    )
    status = verdict(times >= _TIMES)
    if idle < _IDLE:
        measured, status = f"{measured}; cores were busy ({1 - idle:.0%})", "not measured"
    return [
        Row(
            on=f"{networks:,} candidates, two idle cores against one",
            asked=f">= {_TIMES} times as fast",
            measured=measured,
            status=status,
            values={
                "idle": idle,
                "times": times,
                "seconds": [one.seconds, two.seconds],
                "cpu_seconds": [one.all_cpu, two.all_cpu],
                "own_cpu_seconds": [one.own_cpu, two.own_cpu],
            },
            record={
                "networks": networks,
                "seconds_one": round(one.seconds, 1),
                "seconds_two": round(two.seconds, 1),
                "times": round(times, 2),
            },
        )
    ]


def killed() -> list[Row]:
    """A sweep that is killed, then resumed, then loses a worker, beside one that nobody disturbs."""
    with _candidates(_KILLED) as folder:
        whole, out = folder.parent / "whole.jsonl", folder.parent / "out.jsonl"
        journal = out.with_name(f".{out.name}.journal")
        _sweep(whole, folder, "--jobs", "2")
        _sweep(out, folder, "--jobs", "2", meanwhile=_after(journal, _KILLED // 3, _kill))
        kept = journal.read_bytes().count(b"\n")
        again = _sweep(
            out, folder, "--jobs", "2", meanwhile=_after(journal, 2 * _KILLED // 3, _kill_worker)
        )
        paths = Counter(row["path"] for row in read_rows(out))
        same = out.read_bytes() == whole.read_bytes()
    known = again.document["known"]
    good = same and known == kept and len(paths) == _KILLED and max(paths.values()) == 1
    return [
        Row(
            on="kill -9 of a sweep, then of a worker",
            asked="nothing lost, nothing twice",
            measured=f"{kept} of {_KILLED} rows were kept, {known} of them not made again; in the end "
            f"{sum(paths.values())}, {'to the byte' if same else 'NOT'} those of a sweep undisturbed",
            status=verdict(good),
            values={"networks": _KILLED, "kept": kept, "known": known, "same": same},
            record={"networks": _KILLED, "kept": kept, "made_again": kept - known, "same": same},
        )
    ]


def engines() -> list[Row]:
    """The same rows from processes, Dask and Ray."""
    with _candidates(_AGREEING) as folder:
        local = folder.parent / "local.jsonl"
        _sweep(local, folder, "--jobs", "2")
        return [_agrees(engine, folder, local) for engine in ("dask", "ray")]


def _agrees(engine: str, folder: Path, local: Path) -> Row:
    on, asked = f"{_AGREEING} candidates, {engine} and local", "identical rows"
    if find_spec({"dask": "distributed"}.get(engine, engine)) is None:
        return Row(on, asked, f"needs {engine}: {how_to_install(engine)}", "not measured")
    out = folder.parent / f"{engine}.jsonl"
    _sweep(out, folder, "--jobs", "2", "--engine", engine)
    same = out.read_bytes() == local.read_bytes()
    return Row(
        on=on,
        asked=asked,
        measured="identical" if same else "DIFFERENT",
        status=verdict(same),
        values={"engine": engine, "networks": _AGREEING, "same": same},
        record={"engine": engine, "networks": _AGREEING, "same": same},
    )


def memory(rows: int) -> list[Row]:
    """The sweep's own process over many rows, beside one of few."""
    few, many = (_peak_of(count) for count in (_WARM, rows))
    growth = many - few
    return [
        Row(
            on=f"RAM of the sweep's own process, {rows:,} rows",
            asked=f"<= {_GROWTH / 1e6:g} MB more than for {_WARM:,}",
            measured=f"{growth / 1e6:.1f} MB more ({amount(few)} -> {amount(many)})",
            status=verdict(growth <= _GROWTH),
            values={"rows": rows, "few": few, "many": many},
            record={"rows": rows, "growth_bytes": growth, "rows_before": _WARM},
        )
    ]


def _peak_of(rows: int) -> int:
    """Bytes of RAM at the most while so many small networks, all different, become a table."""
    name = b"0000000"
    network = file_of(_one_layer(name.decode()))
    assert network.count(name) == 1
    with _folder() as folder:
        for number in range(rows):
            renamed = network.replace(name, b"%07d" % number)
            (folder / f"{number:05d}.tflite").write_bytes(renamed)
        swept = _sweep(folder.parent / "out.parquet", folder, "--jobs", "2")
        assert swept.document["rows"] == rows and not swept.document["errors"]
    return swept.peak


def _one_layer(name: str) -> Graph:
    """The least of a network: what is measured is the sweep's table, not its workers' time."""
    net = Shapes(name)
    return net.graph(net.conv(net.input((8, 8, 4)), 4))


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "networks"
        folder.mkdir()
        yield folder


@contextlib.contextmanager
def _candidates(networks: int) -> Iterator[Path]:
    with _folder() as folder:
        note(f"writing {networks:,} candidates")
        write_networks(folder, networks)
        yield folder


def _sweep(out: Path, folder: Path, *options: str, meanwhile: Meanwhile = lambda _: None) -> _Swept:
    """`lowtide sweep`, watched until it ends; `meanwhile` is called again and again."""
    if not Path("/proc/self/status").exists():
        raise NeedsError("needs /proc, which Linux has")
    note(f"lowtide sweep {' '.join(options)}, {sum(1 for _ in folder.iterdir()):,} networks")
    command = [sys.executable, "-m", "lowtide", "sweep", str(folder), "-o", str(out), "--json"]
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    own, peak = 0.0, 0
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        with contextlib.suppress(OSError, StopIteration):
            own, peak = _own_cpu(process.pid), max(peak, _peak(process.pid))
        meanwhile(process)
        time.sleep(_POLL)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stdout is not None
    with process.stdout as text:
        document = json.loads(text.read() or "{}")
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"lowtide sweep ended with {process.returncode}")
    return _Swept(seconds, own, usage.ru_utime + usage.ru_stime, peak, document)


def _own_cpu(pid: int) -> float:
    """Seconds of CPU time of a process alone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> int:
    """The most bytes of RAM that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def _after(journal: Path, rows: int, strike: Callable[[int], bool]) -> Meanwhile:
    """Calls `strike` with the sweep's id once its journal has so many rows, until that has struck."""
    struck = False

    def meanwhile(process: subprocess.Popen[str]) -> None:
        nonlocal struck
        with contextlib.suppress(OSError):
            if not struck and journal.read_bytes().count(b"\n") >= rows:
                struck = strike(process.pid)

    return meanwhile


def _kill(pid: int) -> bool:
    os.kill(pid, signal.SIGKILL)
    return True


def _kill_worker(pid: int) -> bool:
    """Kill one of the processes that the sweep started to work on networks."""
    for worker in _children(pid):
        with contextlib.suppress(OSError):
            if b"popen_loky" in Path(f"/proc/{worker}/cmdline").read_bytes():
                os.kill(worker, signal.SIGKILL)
                return True
    return False


def _children(pid: int) -> Sequence[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _idle() -> float:
    """The share of two cores that nobody uses, over a second."""

    def used() -> float:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        busy = sum(map(int, fields)) - int(fields[3]) - int(fields[4])
        return busy / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(1)
    return max(0.0, 1 - (used() - before) / 2)

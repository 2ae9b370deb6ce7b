"""Rows about `lowtide plan` itself: seconds, memory, progress; and a large random network.

The command runs alone, as a process of its own, with nothing else of this bench beside it. Its memory
is the kernel's high-water mark, read while it runs: a child's resource usage would count its parent's.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.rows.asked_limits import PROGRAMS
from bench.rows.random_network import random_network
from bench.rows.rivals import rival_seconds
from bench.shared.outside import NeedsError
from bench.shared.programs import Program, path_of
from bench.shared.tables import Row, amount, verdict
from bench.shared.work import note

_REPEATS = 3
_MOST_SECONDS, _RANDOM_SECONDS = 10.0, 60.0
_MOST_MEMORY = 2_000_000_000
_TIMEOUT = 180.0
_SILENT_SECONDS = 2.0
_START_UP_SECONDS = 1.5  # until lowtide can begin to count those two seconds: imports, the model
_POLL_SECONDS = 0.01

_OPERATORS = 300
_SEED = 4


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One run of `lowtide plan`: seconds until it ended, seconds until it first said anything.

    `failure` is "" if it ended well; `document` is the plan.
    """

    seconds: float
    first_word: float | None
    peak_memory: int
    failure: str
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def silent(self) -> bool:
        """It was at work for too long without a word."""
        silence = self.seconds if self.first_word is None else self.first_word
        return silence > _SILENT_SECONDS + _START_UP_SECONDS


def planning_rows() -> list[Row]:
    """Every model in every input mode that was asked for."""
    rows = []
    for program in PROGRAMS:
        on = f"lowtide plan: {program.label}"
        asked = f"<= {_MOST_SECONDS:g} s and 2 GB, no silence"
        try:
            model = path_of(program.network)
        except NeedsError as error:
            rows.append(Row(on, asked, str(error), "not measured"))
            continue
        note(f"{on}, {_REPEATS} times")
        timings = [_plan(model, program) for _ in range(_REPEATS)]
        rival = rival_seconds(program.network)
        rows.append(_row(on, asked, timings, _MOST_SECONDS, rival))
    return rows


def random_rows() -> list[Row]:
    """A network with many branches, and how far its plan is from what is proved."""
    note(f"building a random network of {_OPERATORS} operators")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "random.tflite")
        path.write_bytes(random_network(_OPERATORS, _SEED))
        note("lowtide plan: the random network")
        timing = _plan(str(path), Program("random"))
    on = f"lowtide plan: {_OPERATORS} operators at random"
    asked = f"<= {_RANDOM_SECONDS:g} s and 2 GB, no silence, its gap"
    row = _row(on, asked, [timing], _RANDOM_SECONDS, "")
    if timing.failure:
        return [row]
    plan = timing.document
    names = ("arena", "peak", "lower_bound", "best_order")
    arena, peak, bound, best = (plan[f"{name}_bytes"] for name in names)
    gap = arena / bound - 1
    told = (
        f"{row.measured}; arena {amount(arena)} for {amount(peak)} live, "
        f"bound {amount(bound)}: gap {gap:.0%}; layers {amount(best)}"
    )
    return [Row(row.on, row.asked, told, row.status, row.peer, {**row.values, "gap": gap})]


def _row(on: str, asked: str, timings: Sequence[PlanRun], limit: float, rival: str) -> Row:
    seconds = [timing.seconds for timing in timings]
    memory = max(timing.peak_memory for timing in timings)
    words = [timing.first_word for timing in timings if timing.first_word is not None]
    failure = next((timing.failure for timing in timings if timing.failure), "")
    silent = any(timing.silent for timing in timings)
    spread = f" ({min(seconds):.1f}-{max(seconds):.1f})" if len(seconds) > 1 else ""
    told = f"{median(seconds):.1f} s{spread}, {memory / 1e6:.0f} MB"
    told += f", speaks after {max(words):.1f} s" if words else ", SILENT" if silent else ""
    good = not failure and not silent and median(seconds) <= limit and memory <= _MOST_MEMORY
    values: dict[str, object] = {"seconds": seconds, "peak_memory_bytes": memory}
    values["first_word_seconds"] = [timing.first_word for timing in timings]
    return Row(on, asked, failure or told, verdict(good), rival, values)


def _plan(model: str, program: Program) -> PlanRun:
    command = [sys.executable, "-m", "lowtide", "plan", model, "--json"]
    command += ["--input", program.input_mode]
    command += ["--quantized-io"] if program.options.quantized_io else []
    # A terminal, where a person waits: into a file, lowtide says nothing for longer.
    terminal, its_end = os.openpty()
    with tempfile.TemporaryFile() as out, os.fdopen(terminal, "rb", buffering=0) as listening:
        begin = time.perf_counter()
        environment = {**os.environ, "TERM": "xterm"}
        process = subprocess.Popen(command, stdout=out, stderr=its_end, env=environment)
        first_word, memory, said, ended = None, 0, b"", False
        while not ended:
            ended = process.poll() is not None
            now = time.perf_counter() - begin
            memory = max(memory, _high_water(process.pid))
            if select.select([listening], [], [], _POLL_SECONDS)[0]:
                said += listening.read(1 << 16)
                first_word = first_word or now
            if now > _TIMEOUT:
                process.kill()
                process.wait()
                return PlanRun(now, first_word, memory, f"not done after {now:.0f} s")
        seconds = time.perf_counter() - begin
        os.close(its_end)
        out.seek(0)
        if process.returncode:
            told = " ".join(said.decode(errors="replace").split())
            return PlanRun(seconds, first_word, memory, f"exit {process.returncode}: {told}")
        return PlanRun(seconds, first_word, memory, "", json.loads(out.read()))


def _high_water(pid: int) -> int:
    """Bytes of memory that the process ever had resident; 0 once it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0

"""Rows about planning time: the whole front of each chain, as `lowtide plan` finds it.

The command runs alone, as a process of its own, with nothing else of this bench beside it. What others
took of the processors meanwhile stands beside the time, and a time that is too long on a computer that
had no processor to spare is not held against the planner.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.msf_cnn.ours_on_chains import own_nets
from bench.msf_cnn.planned_programs import Net
from bench.msf_cnn.released import name_of, seconds
from bench.shared.tables import Row, Status, verdict
from bench.shared.work import note

_MOST_SECONDS = 20.0
_IDLE = 0.25  # less of a processor than that was idle: the command may have had to wait
_SILENT_SECONDS = 5.0
_TIMEOUT = 300.0

TIME_NOTE = """
Wall time of `lowtide plan CHAIN --input const --output streamed --front`, start-up included. Others: the
processors that other programs took meanwhile; if they left none idle, a time that is longer than asked
does not count as measured. Load: its average over the minute before, this bench's own sections
included."""


@dataclass(frozen=True, slots=True)
class FrontRun:
    """One run: seconds, of them on a processor, the processors that others took meanwhile, the load
    before, whether it told of its progress.

    `failure` is "" if it ended well, `points` how many plans it found.
    """

    seconds: float
    processor: float
    others: float
    load: float
    speaks: bool
    points: int
    failure: str

    @property
    def crowded(self) -> bool:
        """All processors were taken while the command ran, some of them by others."""
        taken = self.others + self.processor / max(self.seconds, 1e-9)
        return self.others > _IDLE and taken > (os.cpu_count() or 1) - _IDLE


def time_rows() -> list[Row]:
    """A row per chain."""
    return [_row(net, _timed(net)) for net in own_nets()]


def _row(net: Net, timing: FrontRun) -> Row:
    found = (
        f"{timing.seconds:.1f} s ({timing.processor:.1f} s of CPU; others {timing.others:.1f} CPUs, "
        f"load {timing.load:.1f}), "
        f"{timing.points} plans"
    )
    found += "" if timing.speaks else ", SILENT"
    state: Status = verdict(not timing.failure and timing.speaks)
    if state == "OK" and timing.seconds > _MOST_SECONDS:
        state = "not measured" if timing.crowded else "MISSED"
    return Row(
        on=f"{name_of(net)}, the whole front",
        asked=f"<= {_MOST_SECONDS:g} s on two idle cores, progress shown",
        measured=timing.failure or found,
        status=state,
        peer=seconds(net.network),
        values={
            "seconds": timing.seconds,
            "cpu": timing.processor,
            "others": timing.others,
            "load": timing.load,
        },
    )


def _timed(net: Net) -> FrontRun:
    command = [sys.executable, "-m", "lowtide", "plan", net.network, "--front", "--json"]
    command += ["--input", net.input_mode, "--output", net.output_mode]
    note(f"lowtide plan {net.network} --front")
    load, busy = os.getloadavg()[0], _busy_seconds()
    before, begin = os.times(), time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return FrontRun(_TIMEOUT, 0.0, 0.0, load, False, 0, f"not done after {_TIMEOUT:g} s")
    wall, after = time.perf_counter() - begin, os.times()
    processor = after.children_user + after.children_system
    processor -= before.children_user + before.children_system
    others = max(0.0, (_busy_seconds() - busy - processor) / wall)
    speaks = bool(done.stderr) or wall <= _SILENT_SECONDS
    if done.returncode:
        said = " ".join(done.stderr.split())
        return FrontRun(wall, processor, others, load, speaks, 0, f"exit {done.returncode}: {said}")
    points = len(json.loads(done.stdout)["front"])
    return FrontRun(wall, processor, others, load, speaks, points, "")


def _busy_seconds() -> float:
    """Seconds that all processors together were busy since the start of the computer; 0 if unknown."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, soft_irq, stolen = map(int, fields)
    ticks = user + nice + system + irq + soft_irq + stolen
    return ticks / os.sysconf("SC_CLK_TCK")

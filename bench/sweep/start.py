"""How long does it take to say what commands there are?"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from bench.shared.tables import Row, verdict
from bench.shared.work import note

_SECONDS = 0.10
_RUNS = 11


def start() -> list[Row]:
    """`lowtide --help`, in a process of its own, as a user starts it."""
    note(f"lowtide --help, {_RUNS} times")
    times = sorted(_seconds() for _ in range(_RUNS))
    middle = statistics.median(times)
    return [
        Row(
            on="lowtide --help",
            asked=f"<= {_SECONDS:.2f} s",
            measured=f"{middle:.3f} s of CPU time (median of {_RUNS}; "
            f"{times[0]:.3f} to {times[-1]:.3f})",
            status=verdict(middle <= _SECONDS),
            values={"seconds": middle, "runs": times},
            record={"command": "lowtide --help", "seconds": round(middle, 3)},
        )
    ]


def _seconds() -> float:
    """Seconds of CPU time, the start of Python included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "lowtide", "--help"]
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

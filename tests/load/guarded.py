"""A limit in time for tests of damaged files, whose likeliest fault besides a crash is a hang."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 10


@contextmanager
def guard() -> Iterator[None]:
    """Turn a hang into a failure; far above what any file takes, so that load is no failure."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no end after {SECONDS} seconds")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)

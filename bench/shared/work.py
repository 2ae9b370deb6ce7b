"""How the benches work: in two processes, with progress on stderr, and with a watch."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_WORKERS = 2


def note(text: str) -> None:
    """Say on stderr what is going on."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def timed(call: Callable[[], _Result]) -> tuple[_Result, float]:
    """A call's result and how many seconds it took."""
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


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

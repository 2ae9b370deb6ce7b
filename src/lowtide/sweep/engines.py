"""Where the networks of a sweep are worked on: processes of this computer, Ray, or Dask.

An engine takes an iterable of tasks and gives (task, row) pairs as they are done, in any order. Only a
window of tasks is under way at a time, so that a sweep of any length takes the same memory.

A task whose worker ends (crashes, or is killed) is done once more when all others are done: alone, in a
process of its own on this computer, so that none is blamed for what a neighbour did, or for the memory
that it took. Clusters may lose tasks that only waited for a worker that ended, so theirs are done twice.
If all these processes end, the row is None. What a task raises is raised here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, Final, Literal

from lowtide.errors import MissingToolError, how_to_install

Engine = Literal["local", "ray", "dask"]
Row = dict[str, Any]
Work = Callable[[Any], Row]
"""What is done with a task; a function of a module, which workers can import."""

_WINDOW: Final = 4
"""Tasks under way, per worker of a cluster."""

_AHEAD: Final = 2
"""Tasks that a process of this computer has: one that it does, one that waits for it."""


_WATCH_SECONDS: Final = 1.0
"""How long the workers of a sweep that was killed may still be there."""

_SILENT: Final = {"PYTHONFAULTHANDLER": ""}
"""What keeps loky from showing where a worker crashed: its network's row says that it did."""


def run_tasks(
    engine: Engine, work: Work, tasks: Iterable[Any], jobs: int
) -> Iterator[tuple[Any, Row | None]]:
    """Do all tasks with `jobs` workers. Raises MissingToolError if the engine is not installed."""
    lost = []
    with _silent_threads():
        for task, row in _ENGINES[engine](work, iter(tasks), jobs):
            if row is None:
                lost.append(task)
            else:
                yield task, row
    for task in lost:
        row = _alone(work, task)
        if row is None and engine != "local":
            row = _alone(work, task)
        yield task, row


def _alone(work: Work, task: Any) -> Row | None:
    """The row of a task from a process of its own; None if that ended."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(os.getpid(), sender, work, task))
    process.start()
    sender.close()
    try:
        found: Row | Exception = receiver.recv()
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()
    if isinstance(found, Exception):
        raise found
    return found


def _send(sweep: int, sender: Connection, work: Work, task: Any) -> None:
    _as_worker(sweep)
    try:
        found: Row | Exception = work(task)
    except Exception as error:  # raised where the row is awaited
        found = error
    sender.send(found)


def _as_worker(sweep: int) -> None:
    """In a new process of the process `sweep`: Ctrl-C, which reaches all of a terminal, is for that one,
    and if it ends in whatever way, so does this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    never = threading.Event()

    def watch() -> None:
        while os.getppid() == sweep:
            never.wait(_WATCH_SECONDS)
        os._exit(1)

    if hasattr(signal, "SIGKILL"):  # Windows tells nobody who the parent is now
        threading.Thread(target=watch, daemon=True).start()


_LOKYS: Final = ("ExecutorManagerThread", "QueueFeederThread")
"""Threads of loky's, which may not survive that a worker is interrupted before it is ready."""


@contextmanager
def _silent_threads() -> Iterator[None]:
    """Show no traceback of loky's threads: what they were to do ends as broken, which is dealt with."""
    shown = threading.excepthook

    def show(failed: threading.ExceptHookArgs) -> None:
        if failed.thread is None or not failed.thread.name.startswith(_LOKYS):
            shown(failed)

    threading.excepthook = show
    try:
        yield
    finally:
        threading.excepthook = shown


def _missing(engine: str, package: str) -> MissingToolError:
    return MissingToolError(
        f"the engine {engine} needs the package {package}, which is not installed",
        how_to_install("sweep" if engine == "local" else engine),
    )


def _local(work: Work, tasks: Iterator[Any], jobs: int) -> Iterator[tuple[Any, Row | None]]:
    """Processes of this computer, each with a queue of its own: it is known whose task ended one."""
    try:
        from joblib.externals.loky import ProcessPoolExecutor, wait
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError:
        raise _missing("local", "joblib") from None

    def worker() -> Any:
        return ProcessPoolExecutor(
            max_workers=1, initializer=_as_worker, initargs=(os.getpid(),), env=_SILENT
        )

    # A worker that has grown is replaced between two tasks, which is fine.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    workers = [worker() for _ in range(jobs)]
    queues: list[deque[tuple[Any, Any]]] = [deque() for _ in workers]
    back: list[Any] = []  # what waited behind a task that ended its worker

    def replace(number: int) -> None:
        workers[number].shutdown(wait=True, kill_workers=True)
        workers[number] = worker()

    def refill(number: int) -> None:
        queue = queues[number]
        while len(queue) < _AHEAD:
            for task in [back.pop()] if back else islice(tasks, 1):
                try:
                    queue.append((workers[number].submit(work, task), task))
                except (BrokenProcessPool, RuntimeError):
                    back.append(task)
                    if queue:
                        return  # the first in it tells
                    replace(number)
                break
            else:
                return

    try:
        while True:
            for number in range(jobs):
                refill(number)
            first = [queue[0][0] for queue in queues if queue]
            if not first:
                break
            wait(first, return_when="FIRST_COMPLETED")
            for number, queue in enumerate(queues):
                while queue and queue[0][0].done():
                    future, task = queue.popleft()
                    try:
                        row = future.result()
                    except BrokenProcessPool:
                        row = None
                        back += [waiting for _, waiting in queue]
                        queue.clear()
                        replace(number)
                    yield task, row
    finally:
        for each in workers:
            each.shutdown(wait=True, kill_workers=True)


def _ray(work: Work, tasks: Iterator[Any], jobs: int) -> Iterator[tuple[Any, Row | None]]:
    """Ray: the cluster that RAY_ADDRESS names, or one on this computer."""
    try:
        import ray
    except ImportError:
        raise _missing("ray", "ray") from None
    started = not ray.is_initialized()
    if started:
        own = (
            {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
        )
        ray.init(log_to_driver=False, logging_level="error", **own)
    remote = ray.remote(max_retries=0, num_cpus=1)(work)
    pending: dict[Any, Any] = {}
    try:
        while True:
            for task in islice(tasks, jobs * _WINDOW - len(pending)):
                pending[remote.remote(task)] = task
            if not pending:
                break
            done, _ = ray.wait(list(pending), num_returns=1)
            for reference in done:
                task = pending.pop(reference)
                try:
                    row = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError:
                    row = None
                yield task, row
    finally:
        if started:
            ray.shutdown()


def _dask(work: Work, tasks: Iterator[Any], jobs: int) -> Iterator[tuple[Any, Row | None]]:
    """Dask: the cluster that DASK_SCHEDULER_ADDRESS names, or one on this computer."""
    try:
        import dask
        import distributed
    except ImportError:
        raise _missing("dask", "distributed") from None
    address = dask.config.get("scheduler-address", None)
    settings = {"distributed.scheduler.allowed-failures": 0, "logging.distributed": "critical"}
    with dask.config.set(settings):
        cluster = None
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs=50,
            )
        client = distributed.Client(cluster if address is None else address)
        under_way: dict[Any, Any] = {}
        try:
            while True:
                for task in islice(tasks, jobs * _WINDOW - len(under_way)):
                    under_way[client.submit(work, task, pure=False)] = task
                if not under_way:
                    break
                done = distributed.wait(list(under_way), return_when="FIRST_COMPLETED").done
                for future in done:
                    task = under_way.pop(future)
                    try:
                        row = future.result()  # of a task that is lost, once it is done again
                    except distributed.KilledWorker:
                        row = None
                    yield task, row
        finally:
            with suppress(Exception):
                client.close()
            if cluster is not None:
                cluster.close()


_ENGINES: Mapping[Engine, Callable[..., Iterator[tuple[Any, Row | None]]]] = {
    "local": _local,
    "ray": _ray,
    "dask": _dask,
}

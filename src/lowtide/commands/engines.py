"""Where the networks of a sweep are worked on: processes of this computer, Ray, or Dask.

An engine takes an iterable of tasks and gives (task, row) pairs as they are done, in any order; row is
None for a task whose worker ended twice (crashed, or was killed). Only a window of tasks is under way at
a time, so that a sweep of any length takes the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

from lowtide.errors import MissingToolError

EngineName = Literal["local", "ray", "dask"]
Row = dict[str, Any]
Work = Callable[[Any], Row]
"""What is done with a task; a function of a module, which workers can import."""

_WINDOW = 4
"""Tasks under way, per worker."""


def run_tasks(
    engine: EngineName, work: Work, tasks: Iterable[Any], jobs: int
) -> Iterator[tuple[Any, Row | None]]:
    """Do all tasks with `jobs` workers. Raises MissingToolError if the engine is not installed."""
    return _ENGINES[engine](work, iter(tasks), jobs)


def _missing(engine: str, package: str) -> MissingToolError:
    return MissingToolError(
        f"the engine {engine} needs the package {package}, which is not installed",
        f"pip install 'lowtide[{'sweep' if engine == 'local' else engine}]'",
    )


def _local(work: Work, tasks: Iterator[Any], jobs: int) -> Iterator[tuple[Any, Row | None]]:
    """Processes of this computer. When one ends, all that was under way is done again one by one,
    and what ends its worker then once more."""
    try:
        from joblib.externals.loky import ProcessPoolExecutor, wait
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError:
        raise _missing("local", "joblib") from None

    def pool(workers: int) -> Any:
        return ProcessPoolExecutor(max_workers=workers)

    executor = pool(jobs)
    pending: dict[Any, Any] = {}
    try:
        while True:
            fresh = list(islice(tasks, jobs * _WINDOW - len(pending)))
            lost = []
            for number, task in enumerate(fresh):
                try:
                    pending[executor.submit(work, task)] = task
                except (BrokenProcessPool, RuntimeError):  # broken while tasks are handed out
                    lost += fresh[number:]
                    break
            if not pending and not lost:
                return
            done = wait(pending, return_when="FIRST_COMPLETED").done if pending else ()
            for future in done:
                task = pending.pop(future)
                try:
                    row = future.result()
                except BrokenProcessPool:
                    lost.append(task)
                else:
                    yield task, row
            if lost:
                for future, task in pending.items():
                    if future.done() and future.exception() is None:
                        yield task, future.result()
                    else:
                        lost.append(task)
                pending.clear()
                executor.shutdown(wait=True, kill_workers=True)
                for task in lost:
                    row = _alone(pool(1), work, task, BrokenProcessPool)
                    if row is None:  # what ended the first worker may have been another task
                        row = _alone(pool(1), work, task, BrokenProcessPool)
                    yield task, row
                executor = pool(jobs)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def _alone(executor: Any, work: Work, task: Any, broken: type[Exception]) -> Row | None:
    try:
        row: Row = executor.submit(work, task).result()
    except broken:
        return None
    finally:
        executor.shutdown(wait=True, kill_workers=True)
    return row


def _ray(work: Work, tasks: Iterator[Any], jobs: int) -> Iterator[tuple[Any, Row | None]]:
    """Ray: the cluster that RAY_ADDRESS names, or one on this computer."""
    try:
        import ray
    except ImportError:
        raise _missing("ray", "ray") from None
    started = not ray.is_initialized()
    if started:
        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False, logging_level="error")
    remote = ray.remote(max_retries=1, num_cpus=1)(work)
    pending: dict[Any, Any] = {}
    try:
        while True:
            for task in islice(tasks, jobs * _WINDOW - len(pending)):
                pending[remote.remote(task)] = task
            if not pending:
                return
            done, _ = ray.wait(list(pending), num_returns=1)
            for reference in done:
                task = pending.pop(reference)
                try:
                    row = ray.get(reference)
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
    settings = {"distributed.scheduler.allowed-failures": 1, "logging.distributed": "critical"}
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
        lost = []
        try:
            while True:
                for task in islice(tasks, jobs * _WINDOW - len(under_way)):
                    under_way[client.submit(work, task, pure=False)] = task
                if not under_way:
                    break
                done = distributed.wait(list(under_way), return_when="FIRST_COMPLETED").done
                for future in done:
                    task = under_way.pop(future)
                    if future.status == "error":
                        lost.append(task)  # perhaps it only shared a worker with what ended it
                    else:
                        yield task, future.result()
            for task in lost:
                future = client.submit(work, task, pure=False)
                distributed.wait([future])
                yield task, None if future.status == "error" else future.result()
        finally:
            with suppress(Exception):
                client.close()
            if cluster is not None:
                cluster.close()


_ENGINES: Mapping[EngineName, Callable[..., Iterator[tuple[Any, Row | None]]]] = {
    "local": _local,
    "ray": _ray,
    "dask": _dask,
}

"""The oracle that other tests ask is the one that users have: the same values, the same failures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle_server
from lowtide.modes import EngineName
from lowtide.oracle import interpreters
from lowtide.oracle.interpreters import OracleError, Reference, reference_tensors
from lowtide.oracle.samples import sample_inputs
from networks import loaded
from oracle_server import served

MODEL = loaded("figure1")


def _values(samples: int = 2) -> Reference:
    return reference_tensors(MODEL.source, sample_inputs(MODEL, samples), MODEL.graph.outputs)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Requests are served; the folders of those for which a worker is started all the same."""
    found: list[Path] = []
    own = interpreters.start_worker

    def start(folder: Path, timeout: float) -> tuple[str, int]:
        found.append(folder)
        return own(folder, timeout)

    monkeypatch.setattr(interpreters, "start_worker", served(start))
    return found


def test_the_same_values(started: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    served_values = _values()
    assert started == []
    monkeypatch.undo()
    for one, other in zip(served_values.samples, _values().samples, strict=True):
        assert list(one) == list(other)
        assert all(np.array_equal(one[tensor], other[tensor]) for tensor in one)


@pytest.mark.usefixtures("started")
def test_what_was_asked_before_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class AskedError(Exception):
        pass

    class Lock:
        def __enter__(self) -> None:
            raise AskedError

        def __exit__(self, *_: object) -> None:
            pass

    first = _values()
    monkeypatch.setattr(oracle_server, "_ONE_AT_A_TIME", Lock())
    for one, other in zip(first.samples, _values().samples, strict=True):
        assert all(np.array_equal(one[tensor], other[tensor]) for tensor in one)
    with pytest.raises(AskedError):
        _values(samples=3)


@pytest.mark.parametrize("engine", ["tflm", "litert"])
def test_the_same_failures(
    engine: EngineName, started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that is reported, and for TFLM a process that dies: of a file cut in two."""
    said = []
    for _ in range(2):
        for source, tensors in ((MODEL.source, [999]), (MODEL.source[:1000], [1])):
            with pytest.raises(OracleError) as info:
                reference_tensors(
                    source,
                    sample_inputs(MODEL, 1),
                    tensors,
                    engine=engine,
                )
            said.append(info.value.cause)
        monkeypatch.undo()
    assert started == []
    assert said[:2] == said[2:]


def test_another_environment_and_little_time_are_not_served(
    started: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _values()
    with pytest.raises(OracleError, match="did not finish within"):
        reference_tensors(MODEL.source, sample_inputs(MODEL, 1), [1], timeout=0.001)
    assert len(started) == 2
    monkeypatch.setenv("SOME", "thing")
    _values()
    assert len(started) == 3

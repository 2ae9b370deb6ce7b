"""Lowerings check all that their kernels trust, whatever was checked before: here, nothing was.

A file whose outputs contradict its operators is refused when it is read (`ir/relations.py`), and would
never come to the refusals that these tests are about.
"""

from __future__ import annotations

import pytest

from lowtide.ir import Graph


@pytest.fixture(autouse=True)
def _contradictions_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(graph: Graph) -> Graph:
        return graph

    monkeypatch.setattr("lowtide.tflite.read.check_shapes", unchecked)

"""Settings of all tests.

Why: hypothesis shall find the same examples in every run, and a busy machine shall fail no test.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from golden_files import pytest_addoption as pytest_addoption
from lowtide.oracle import interpreters
from oracle_server import served

settings.register_profile("lowtide", deadline=None, derandomize=True, database=None)
settings.load_profile("lowtide")


@pytest.fixture(autouse=True)
def _quick_oracles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracles are asked in a process that has them loaded, but where their start is what is tested."""
    if "tests/oracle/" not in request.node.path.as_posix():
        monkeypatch.setattr(interpreters, "start_worker", served(interpreters.start_worker))

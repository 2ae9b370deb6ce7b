"""Settings of all tests.

Why: hypothesis shall find the same examples in every run, and a busy machine shall fail no test.
"""

from __future__ import annotations

from hypothesis import settings

from golden_files import pytest_addoption as pytest_addoption

settings.register_profile("lowtide", deadline=None, derandomize=True, database=None)
settings.load_profile("lowtide")

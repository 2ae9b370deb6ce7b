"""Settings of all tests.

Why: hypothesis shall find the same examples in every run, and a busy machine shall fail no test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import settings

import golden_files
from lowtide.commands import compiling, planned, preparing, sliding
from lowtide.oracle import interpreters
from lowtide.report import data
from oracle_server import served


def pytest_addoption(parser: pytest.Parser) -> None:
    golden_files.pytest_addoption(parser)
    parser.addoption(
        "--seeds", metavar="A:B", help="random networks of a soak test, from A up to B"
    )
    parser.addoption(
        "--part", metavar="K/N", default="1/1", help="of the chosen tests, the K-th of N parts"
    )


# Text is as wide as for a file, wherever tests run. Python's readline sets COLUMNS where os.environ does
# not show it, and processes get it all the same.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

settings.register_profile("lowtide", deadline=None, derandomize=True, database=None)
settings.load_profile("lowtide")


@pytest.hookimpl(trylast=True)  # after `-m` has left out what is not asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Within a module, tests of one network come one after the other: they share what is made of it.

    Of N parts, each has every N-th test, so that all take about as long.
    """
    part, parts = map(int, config.getoption("--part").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--part {part}/{parts}: parts go from 1 to {parts}")
    config.hook.pytest_deselected(items=[x for at, x in enumerate(items) if at % parts != part - 1])
    items[:] = items[part - 1 :: parts]
    modules: dict[Path, int] = {}
    examples: dict[tuple[Path, str], int] = {}

    def place(item: pytest.Item) -> tuple[int, int]:
        call = getattr(item, "callspec", None)
        given = {} if call is None else call.params
        example = repr([given.get(name) for name in ("seed", "small", "network", "name")])
        module = modules.setdefault(item.path, len(modules))
        return module, examples.setdefault((item.path, example), len(examples))

    items.sort(key=place)


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """What a library puts into the environment, as joblib does, goes with the test that used it.

    Else oracles would be started anew for all tests after it: see `oracle_server.served`.
    """
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True)
def _quick_oracles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracles are asked in a process that has them loaded, but where their start is what is tested."""
    if "tests/oracle/" not in request.node.path.as_posix():
        monkeypatch.setattr(interpreters, "start_worker", served(interpreters.start_worker))


@pytest.fixture(autouse=True)
def _plans_of_commands_are_kept(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests of the command line look at what is printed and written, not at how plans are found."""
    if "tests/cli/" in request.node.path.as_posix():
        from kept_plans import kept

        searched = kept(preparing.searched)
        for module in (compiling, planned, sliding):
            monkeypatch.setattr(module, "searched", searched)


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(data.schema_of(name))


@pytest.fixture(autouse=True)
def _documents_are_as_their_schemas_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every JSON document that a test has printed is one of its schema."""
    write: Callable[[dict[str, Any]], str] = data.to_json

    def to_json(document: dict[str, Any]) -> str:
        _validator(document["schema"]).validate(document)
        return write(document)

    monkeypatch.setattr(data, "to_json", to_json)


@pytest.fixture(autouse=True)
def _contradictions_are_read(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tests of kernels: lowerings check all that these trust, whatever was checked before them.

    Elsewhere a file whose outputs contradict its operators is refused when it is read, by
    `ir/relations.py`, and would never come to the refusals that those tests are about.
    """
    if request.path.parent.name == "kernels":
        monkeypatch.setattr("lowtide.tflite.read.check_shapes", lambda graph: graph)

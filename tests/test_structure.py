"""Data flows one way: no import circles, of rooms or of modules, and each room knows only earlier ones.

Rooms that can be put in an order have no circles. Imports count wherever they are: in functions, and
under TYPE_CHECKING; none is hidden in a string, but for the names that the package loads lazily. A room
is a folder of the package, or a module at its top. The order of ROOMS is that of ARCHITECTURE.md: what a
room may import stands before it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

import lowtide

PACKAGE = Path(lowtide.__file__).parent
ROOMS = (
    *(
        "errors",
        "arguments",
        "shown",
        "kinds",
        "files",
        "cache",
        "effort",
        "sizes",
        "modes",
        "temporary",
        "target",
        "trigonometry",
        "ir",
        "tflite",
        "zoo",
        "order",
        "passes",
        "lower",
        "rows",
    ),
    *("place", "plans", "program", "kernels", "emit", "prove", "estimates"),
    *("oracle", "machines", "commands", "advice", "sweep", "report"),
    *("browser", "__init__", "cli", "__main__"),
)
"""`__init__` names what programs import, which is all before it; the command line asks its version."""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package at `root` by its name below it, as "ir.graph"; a folder's is "ir"."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: Mapping[str, Path], package: str) -> Iterator[str]:
    """The modules of `known` that the module `name` imports, anywhere in it.

    To import a module runs those of the folders that it is in; these say nothing that counts here, but
    a name that is imported from a folder is the folder's or a module's of it.
    """
    here = [package, *name.removeprefix("__init__").split(".")]
    if path.name != "__init__.py":
        here.pop()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        asked: list[str] = []
        if isinstance(node, ast.Import):
            asked = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            asked = [
                f"{start}.{alias.name}"
                if f"{start}.{alias.name}".partition(".")[2] in known
                else start
                for alias in node.names
            ]
        for module in asked:
            top, _, below = module.partition(".")
            if top == package and (below or "__init__") != name:
                assert (below or "__init__") in known, f"{name} imports {module}"
                yield below or "__init__"


def graph(root: Path, package: str) -> dict[str, set[str]]:
    """What each module of the package at `root` imports."""
    known = modules(root)
    return {name: set(imports(name, path, known, package)) for name, path in known.items()}


def circles(edges: Mapping[str, set[str]]) -> set[tuple[str, ...]]:
    """The largest sets whose members all reach each other, sorted; one alone if it reaches itself."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [*edges[start]]
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += edges[name]
        return seen

    reach = {name: reached(name) for name in edges}
    return {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in edges
        if name in reach[name]
    }


_BY_STRING = {"import_module", "__import__"}


def hidden_imports(path: Path) -> list[str]:
    """The calls in a file that import what a string names, as they are written."""

    def called(node: ast.expr) -> str:
        return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")

    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and called(node.func) in _BY_STRING
    ]


def room(module: str) -> str:
    return module.partition(".")[0]


@pytest.fixture(scope="module")
def edges() -> dict[str, set[str]]:
    """What each module of lowtide imports."""
    return graph(PACKAGE, "lowtide")


def test_every_room_has_its_place(edges: Mapping[str, set[str]]) -> None:
    rooms = {room(module) for module in edges}
    assert rooms <= set(ROOMS)
    assert set(ROOMS) - rooms <= {"kernels"}  # of C alone


def test_rooms_import_earlier_ones_only(edges: Mapping[str, set[str]]) -> None:
    found = {
        (module, other)
        for module, others in edges.items()
        for other in others
        if ROOMS.index(room(other)) > ROOMS.index(room(module))
    }
    assert found == set()


def test_no_circle_of_modules(edges: Mapping[str, set[str]]) -> None:
    assert circles(edges) == set()


def test_no_import_is_hidden_in_a_string() -> None:
    """But for the public names: each is where `HOMES` says, and type checkers read the same there."""
    found = {name: hidden_imports(path) for name, path in modules(PACKAGE).items()}
    assert {name: calls for name, calls in found.items() if calls} == {
        "__init__": ["import_module(home)"]
    }
    for name, (home, there) in lowtide.HOMES.items():
        assert getattr(import_module(home), there) is getattr(lowtide, name)
        assert home in {f"lowtide.{module}" for module in modules(PACKAGE)}


@pytest.mark.parametrize(
    "text",
    [
        "import_module('lowtide.ir')",
        "importlib.import_module(f'lowtide.{name}')",
        "def f():\n    return __import__(name).errors",
    ],
)
def test_imports_by_strings_are_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(text)
    assert len(hidden_imports(tmp_path / "it.py")) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import lowtide.ir.graph", {"ir.graph"}),
        ("from lowtide.ir import graph, Model", {"ir.graph", "ir"}),
        ("from lowtide import ir", {"ir"}),
        ("from lowtide import load", {"__init__"}),
        ("from . import graph", {"ir.graph"}),
        ("from .graph import Graph", {"ir.graph"}),
        ("from ..errors import LowtideError", {"errors"}),
        ("def f():\n    import lowtide.errors as e", {"errors"}),
        ("if TYPE_CHECKING:\n    from lowtide.errors import LowtideError", {"errors"}),
        ("import numpy, lowtide_other.ir", set()),
    ],
)
def test_imports_are_found_wherever_they_are(text: str, found: set[str], tmp_path: Path) -> None:
    for name in ("__init__.py", "errors.py", "ir/__init__.py", "ir/graph.py", "ir/it.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text if name == "ir/it.py" else "")
    assert graph(tmp_path, "lowtide")["ir.it"] == found


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f"}}
    assert circles(edges) == {("a", "b", "c"), ("d", "e"), ("f",)}
    assert circles({"a": {"b"}, "b": set()}) == set()

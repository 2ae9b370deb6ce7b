"""Which kernels a family's lowering can name: its functions, followed by what they mention.

Why from the syntax trees: what a module imports is more than what a family of its own uses. A function
or value at the top of a module leads to all that it mentions, in its module or in those of lowering
that it imports; a family begins with all of its own module. So what is not reached cannot be called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from pairs.universe import lowering_texts, named_in

IMAGES = "lt_images"
"""Called between, wherever the windows of a batch are asked for: see lower/images.py."""
_PACKAGE = "lowtide.lower"

Place = tuple[str, str]
"""(module below lowtide.lower, name at its top)."""


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(lowering_texts()[module])


@cache
def _tops(module: str) -> dict[str, ast.stmt]:
    """Name at the top of a module -> what defines it."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(module).body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                found[name] = node
            case ast.Assign(targets):
                found |= {t.id: node for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(name)):
                found[name] = node
            case _:
                pass
    return found


@cache
def _imports(module: str) -> dict[str, Place]:
    """Name in a module -> what it is of another; a whole module is (module, "")."""
    found: dict[str, Place] = {}
    for node in _tree(module).body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(_PACKAGE):
            continue
        base = (node.module or "")[len(_PACKAGE) :].lstrip(".")
        for alias in node.names:
            inner = f"{base}.{alias.name}".lstrip(".")
            own = (inner, "") if inner in lowering_texts() else (_file(base), alias.name)
            found[alias.asname or alias.name] = own
    return found


def imported(module: str) -> frozenset[str]:
    """The modules of lowering that a module imports, or imports something of."""
    return frozenset(of for of, _ in _imports(module).values())


def _file(module: str) -> str:
    """The file of a module or of a package."""
    return module if module in lowering_texts() else f"{module}.__init__".lstrip(".")


def _mentioned(place: Place) -> Iterator[Place]:
    """What is mentioned there, at the tops of modules."""
    module, name = place
    imports = _imports(module)
    for node in ast.walk(_tops(module)[name]):
        match node:
            case ast.Attribute(ast.Name(of), attribute) if imports.get(of, ("", "x"))[1] == "":
                yield imports[of][0], attribute
            case ast.Name(of) if of in _tops(module):
                yield module, of
            case ast.Name(of) if of in imports and imports[of][1]:
                yield imports[of]
            case _:
                pass


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts in it, but for docstrings."""
    docs = {
        id(of.body[0].value)
        for of in ast.walk(node)
        if isinstance(of, ast.FunctionDef | ast.ClassDef) and isinstance(of.body[0], ast.Expr)
    }
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in docs:
            yield part.value


@cache
def _all_reached(family: str) -> frozenset[Place]:
    pending: list[Place] = [(family, name) for name in _tops(family)]
    seen = set(pending)
    while pending:
        for place in _mentioned(pending.pop()):
            if place not in seen and place[1] in _tops(place[0]):
                seen.add(place)
                pending.append(place)
    return frozenset(seen)


@cache
def named_by(family: str) -> frozenset[str]:
    """The kernels that its lowering, or what that uses, names."""
    found: set[str] = set()
    for module, name in _all_reached(family):
        if module == "images":
            found.add(IMAGES)
        elif module != "nodes":  # which asks whether a kernel is that of images
            for text in _texts(_tops(module)[name]):
                found |= named_in(text)
    return frozenset(found)

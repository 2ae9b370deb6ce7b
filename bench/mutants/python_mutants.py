"""All mutants of a Python file: small changes in the bodies of its functions.

Texts, annotations, decorators and what runs when a module is imported stay as they are; so does `strict`
of a zip, which says what holds anyway.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bench.mutants.mutant import Mutant, mutant

Change = tuple[str, int, int, str]
_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def python_mutants(file: str, text: str) -> tuple[Mutant, ...]:
    """All of a file's mutants, from its top to its bottom."""
    reader = _Reader(text, _line_starts(text))
    changes = {change for body in _bodies(ast.parse(text)) for change in reader.changes(body)}
    found = [mutant(file, text, *change) for change in changes]
    return tuple(sorted(found, key=lambda m: (m.start, m.kind, m.end)))


def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(i + 1 for i, c in enumerate(text) if c == "\n"))


def _bodies(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements of all functions, but their documentation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                if not _is_text(statement):
                    yield statement


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str)
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """A file's text, and where its lines begin."""

    text: str
    starts: tuple[int, ...]

    def changes(self, node: ast.AST) -> Iterator[Change]:
        """Those of a statement or an expression, and of all in it."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef) or _is_text(node):
            return  # a function in a function is a body of its own
        if isinstance(node, ast.keyword) and node.arg == "strict":
            return
        yield from self._own(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_params"):
                continue
            for inner in value if isinstance(value, list) else (value,):
                if isinstance(inner, ast.AST):
                    yield from self.changes(inner)

    def _own(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for at, op in enumerate(node.ops):
                yield self._between(operands[at], operands[at + 1], *_COMPARED[type(op)])
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            if not (_is_text(node.left) or _is_text(node.right)):
                yield self._between(node.left, node.right, *_BINARY[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in pairwise(node.values):
                yield self._between(left, right, old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            start, _ = self._span(node)
            yield "dropped", start, start + (3 if isinstance(node.op, ast.Not) else 1), ""
        elif isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _NAMES:
                yield node.func.id, *self._span(node.func), _NAMES[node.func.id]
        else:
            yield from self._statement(node)

    def _statement(self, node: ast.AST) -> Iterator[Change]:
        """Of what has a condition, or may be left out."""
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            start, end = self._span(node.test)
            yield "negated", start, end, f"(not ({self.text[start:end]}))"
            if not isinstance(node, ast.While):
                yield "always", start, end, self._true(start, end)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                start, end = self._span(test)
                yield "negated", start, end, f"(not ({self.text[start:end]}))"
                yield "always", start, end, self._true(start, end)
        elif isinstance(node, ast.AugAssign):
            yield "dropped", *self._span(node), "pass"
            if type(node.op) in _BINARY:
                old, new = _BINARY[type(node.op)]
                yield self._between(node.target, node.value, f"{old}=", f"{new}=")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield "dropped", *self._span(node), "pass"

    def _true(self, start: int, end: int) -> str:
        """As many lines as a condition has."""
        return "(True" + "\n" * self.text.count("\n", start, end) + ")"

    def _constant(self, node: ast.Constant) -> Iterator[Change]:
        start, end = self._span(node)
        if isinstance(node.value, bool):
            yield str(node.value), start, end, str(not node.value)
        elif isinstance(node.value, int):
            yield "n+1", start, end, str(node.value + 1)
            if node.value > 0:
                yield "n-1", start, end, str(node.value - 1)

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Change:
        """The operator between two operands, which may have parentheses and comments around them."""
        begin, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), self.text[begin:end])
        at = re.search(re.escape(old).replace(r"\ ", r"\s+"), gap)
        assert at is not None, (old, gap)
        return old, begin + at.start(), begin + at.end(), new

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _at(self, line: int, column: int) -> int:
        """A place, of which `ast` says the column in bytes."""
        start = self.starts[line - 1]
        text = self.text[start : start + column].encode()[:column].decode()
        return start + len(text)

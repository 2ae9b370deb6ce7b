"""All mutants of a C file: small changes in the bodies of its functions.

Why tokens and no parser: the kernels are plain C of one style, and what does not compile is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.mutants.mutant import Mutant, mutant

_TOKEN = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<mark>\+\+|--|->|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SWAPPED = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
    "<<": ">>",
    ">>": "<<",
}
_BINARY = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&": "|", "|": "&", "^": "|"}
_INTEGER = re.compile(r"(0[xX][0-9A-Fa-f]+|\d+)([uUlL]*)")
_TYPE = re.compile(r"\w+_t|int|char|void|const|static|unsigned|float|double|struct|lt_\w+")
_NO_STATEMENT = frozenset(
    (
        *("if", "else", "for", "while", "do", "switch", "case", "default", "return", "break"),
        *(
            "continue",
            "goto",
            "static",
            "const",
            "int",
            "struct",
            "unsigned",
            "volatile",
            "__asm__",
        ),
    )
)
"""What a statement that may be left out does not begin with."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of C, and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the next one may begin."""
        return self.start + len(self.text)


def c_mutants(file: str, text: str) -> tuple[Mutant, ...]:
    """All of a file's mutants, from its top to its bottom."""
    found = [
        mutant(file, text, kind, start, end, new)
        for body in _bodies(_tokens(text))
        for kind, start, end, new in (
            *_swapped(body),
            *_numbers(body),
            *_conditions(body, text),
            *_dropped(body),
        )
    ]
    return tuple(sorted(found, key=lambda m: (m.start, m.kind)))


Change = tuple[str, int, int, str]


def _tokens(text: str) -> list[Token]:
    return [
        Token(m.lastgroup or "", m.group(), m.start())
        for m in _TOKEN.finditer(text)
        if m.lastgroup != "skip"
    ]


def _bodies(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each function's body, its braces among them."""
    depth, body, is_body = 0, 0, False
    for at, token in enumerate(tokens):
        if token.text == "{":
            if depth == 0:
                body, is_body = at, at > 0 and tokens[at - 1].text == ")"
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0 and is_body:
                yield list(tokens[body : at + 1])


def _swapped(body: Sequence[Token]) -> Iterator[Change]:
    """Operators that become others."""
    for before, token in pairwise(body):
        if token.text in _SWAPPED:
            yield f"{token.text}", token.start, token.end, _SWAPPED[token.text]
        elif token.text in _BINARY and _ends_value(body, before):
            yield f"{token.text}", token.start, token.end, _BINARY[token.text]
        elif token.text in ("++", "--"):
            yield f"{token.text}", token.start, token.end, ""


def _ends_value(body: Sequence[Token], token: Token) -> bool:
    """Whether an operator after `token` has two operands."""
    if token.text == ")":
        at = body.index(token)
        inner = body[at - 1]
        return inner.text != "*" and not _TYPE.fullmatch(inner.text)
    if token.kind == "word":
        return not _TYPE.fullmatch(token.text) and token.text not in _NO_STATEMENT
    return token.kind == "number" or token.text == "]"


def _numbers(body: Sequence[Token]) -> Iterator[Change]:
    """Integers one larger, and one smaller."""
    for token in body:
        found = _INTEGER.fullmatch(token.text) if token.kind == "number" else None
        if found:
            value = int(found[1], 0)
            shown = hex if found[1].lower().startswith("0x") else str
            yield "n+1", token.start, token.end, shown(value + 1) + found[2]
            if value > 0:
                yield "n-1", token.start, token.end, shown(value - 1) + found[2]


def _conditions(body: Sequence[Token], text: str) -> Iterator[Change]:
    """Conditions negated, or always met; a part of one left out."""
    for at, token in enumerate(body[:-1]):
        if token.text == "if" and body[at + 1].text == "(":
            end = _closing(body, at + 1)
            start, stop = body[at + 1].start, body[end].end
            yield "negated", start, stop, f"(!{text[start:stop]})"
            yield "always", start, stop, "(1)"


def _closing(body: Sequence[Token], at: int) -> int:
    """The parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(body)):
        depth += (body[i].text == "(") - (body[i].text == ")")
        if depth == 0:
            return i
    raise ValueError(f"no end of what begins at {body[at].start}")


def _dropped(body: Sequence[Token]) -> Iterator[Change]:
    """Statements left out: calls and assignments, no declarations."""
    for at in range(1, len(body) - 1):
        first, second = body[at], body[at + 1]
        begins = body[at - 1].text in (";", "{", "}") and _depth(body, at) == 0
        starts = first.kind == "word" or first.text in ("*", "++", "--")
        if not begins or not starts or first.text in _NO_STATEMENT or second.kind == "word":
            continue
        if first.kind == "word" and (_TYPE.fullmatch(first.text) and second.text == "*"):
            continue
        end = next(i for i in range(at, len(body)) if body[i].text in (";", "{"))
        if body[end].text == ";":
            yield "dropped", first.start, body[end].start, ""


def _depth(body: Sequence[Token], at: int) -> int:
    """How many parentheses are open: a semicolon in a `for` ends no statement."""
    return sum((t.text == "(") - (t.text == ")") for t in body[:at])

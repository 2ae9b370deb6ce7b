"""The bench of mutants: which there are of a file, which are drawn, and that tests are run on them."""

from __future__ import annotations

import ast
from pathlib import Path

from bench.mutants.c_mutants import c_mutants
from bench.mutants.mutant import Mutant, drawn
from bench.mutants.planted import copied
from bench.mutants.python_mutants import python_mutants
from bench.shared.outside import ROOT

_C = """\
#define MOST 3
static const int table[2] = {4, 5};
/* a < b */
static int first(const int *at, int n)
{
    int32_t found = *at + (int32_t)*at;
    for (int i = 0x0F; i < n && at[i] != -n; ++i) {
        found = more(at,
                     n);
    }
#if MOST < 3
    return 2;
#endif
    if (found >> 1) {
        found -= n;
    }
    return found;
}
"""
_PYTHON = '''\
def first(at: int = 2, *, most: int | None = 3) -> int:
    """Not 1 < 2."""
    if (at  # a < b
            < most) and not at is None:
        at += 1
        print(f"{at + 1}", end="a" + "b")
    all(zip(at, at, strict=True))
    return min(at // 2, 0 if True else -at)
'''


def _shown(mutants: tuple[Mutant, ...]) -> list[tuple[int, str, str]]:
    return sorted((m.line, m.kind, m.after) for m in mutants)


def test_mutants_of_c() -> None:
    """None of declarations, tables, comments and lines of the preprocessor."""
    loop = "for (int i = 0x0F; i < n && at[i] != -n; ++i) {"
    assert _shown(c_mutants("a.c", _C)) == sorted(
        [
            (6, "+", "int32_t found = *at - (int32_t)*at;"),
            (7, "n+1", loop.replace("0x0F", "0x10")),
            (7, "n-1", loop.replace("0x0F", "0xe")),
            (7, "<", loop.replace("<", "<=")),
            (7, "&&", loop.replace("&&", "||")),
            (7, "!=", loop.replace("!=", "==")),
            (7, "++", loop.replace("++", "")),
            (8, "dropped", ""),
            (12, "n+1", "return 3;"),
            (12, "n-1", "return 1;"),
            (14, "always", "if (1) {"),
            (14, "negated", "if (!(found >> 1)) {"),
            (14, ">>", "if (found << 1) {"),
            (14, "n+1", "if (found >> 2) {"),
            (14, "n-1", "if (found >> 0) {"),
            (15, "-=", "found += n;"),
            (15, "dropped", ";"),
        ]
    )


def test_mutants_of_python() -> None:
    """None of texts, annotations, defaults and comments; all of them are Python."""
    mutants = python_mutants("a.py", _PYTHON)
    made = "return min(at // 2, 0 if True else -at)"
    assert _shown(mutants) == sorted(
        [
            (3, "always", "if (True"),
            (3, "negated", "if (not ((at  # a < b"),
            (4, "<", "<= most) and not at is None:"),
            (4, "and", "< most) or not at is None:"),
            (4, "dropped", "< most) and  at is None:"),
            (4, "is", "< most) and not at is not None:"),
            (5, "+=", "at -= 1"),
            (5, "dropped", "pass"),
            (5, "n+1", "at += 2"),
            (5, "n-1", "at += 0"),
            (6, "dropped", "pass"),
            (7, "all", "any(zip(at, at, strict=True))"),
            (7, "dropped", "pass"),
            (8, "min", made.replace("min", "max")),
            (8, "//", made.replace("//", "*")),
            (8, "n+1", made.replace("2", "3")),
            (8, "n-1", made.replace("2", "1")),
            (8, "n+1", made.replace("0", "1")),
            (8, "True", made.replace("True", "False")),
            (8, "always", made.replace("True", "(True)")),
            (8, "negated", made.replace("True", "(not (True))")),
            (8, "dropped", made.replace("-", "")),
        ]
    )
    for one in mutants:
        text = one.applied(_PYTHON)
        ast.parse(text)
        assert text.count("\n") == _PYTHON.count("\n")


def test_every_python_file_has_mutants_that_are_python() -> None:
    for path in sorted((ROOT / "src" / "lowtide" / "plans").glob("*.py")):
        text = path.read_text("utf-8")
        for one in python_mutants(path.name, text)[::10]:
            assert one.applied(text) != text
            ast.parse(one.applied(text))


def test_drawing_takes_lines_by_their_text() -> None:
    """So what is drawn stays drawn when lines are added or taken away elsewhere."""
    possible = {name: c_mutants(name, _C) for name in ("a.c", "b.c")}
    chosen = list(drawn(possible, 6, 1, lambda m: m.kind != "n+1"))
    assert chosen == list(drawn(possible, 6, 1, lambda m: m.kind != "n+1"))
    assert len({(m.file, m.line) for m in chosen}) == 6
    assert "n+1" not in {m.kind for m in chosen}
    assert chosen != list(drawn(possible, 6, 2, lambda m: m.kind != "n+1"))
    assert list(drawn(possible, 6, 1, lambda _: False)) == []
    longer = {**possible, "a.c": c_mutants("a.c", "int a(int b)\n{\n    return b + 1;\n}\n" + _C)}
    again = {(m.file, m.after) for m in drawn(longer, 6, 1, lambda m: m.kind != "n+1")}
    assert len(again & {(m.file, m.after) for m in chosen}) >= 5


def test_tests_fail_on_a_mutant(tmp_path: Path) -> None:
    copy, where, name = copied(tmp_path), Path("sizes.py"), "tests/test_sizes.py"
    text = (ROOT / "src" / "lowtide" / where).read_text("utf-8")
    same = Mutant("sizes.py", 1, "none", 0, 0, "", "", "", 1)
    assert copy.fails(same, where, [name]) is None
    told = [copy.fails(one, where, [name]) for one in python_mutants("sizes.py", text)[:2]]
    assert all(each is not None and "test_sizes.py" in each for each in told)

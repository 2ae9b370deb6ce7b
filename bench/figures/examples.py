"""The blocks of the documents that show what commands print and what Python gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import wrap

from bench.shared.stored import measured
from bench.shared.tables import Record

_CODE_WIDTH, _COMMENT_WIDTH = 46, 56


def _example(name: str, *parts: tuple[str, int]) -> str:
    """A command and what it printed: all of it, or `parts` of it.

    A part begins with the line that has its text and has that many lines; if 0, to an empty one.
    """
    record = measured("examples", name).records[0]
    return "\n".join(["```console", f"$ {record['command']}", *_cut(record, parts), "```"])


def _cut(record: Record, parts: Sequence[tuple[str, int]]) -> list[str]:
    lines: list[str] = record["lines"]
    if not parts:
        return lines
    shown: list[str] = []
    end = 0
    for text, count in parts:
        begin = next(n for n, line in enumerate(lines) if n >= end and text in line)
        shown += ["..."] if begin > end else []
        end = begin + count if count else lines.index("", begin)
        shown += lines[begin:end]
    return shown + (["..."] if end < len(lines) else [])


def _script(name: str) -> str:
    """Lines of Python, and as a comment what each is or prints."""
    shown = []
    for line in measured("examples", name).records:
        told = wrap(line["value"], _COMMENT_WIDTH, subsequent_indent="      ")
        shown.append(f"{line['code']:<{_CODE_WIDTH}}# {told[0]}" if told else line["code"])
        shown += [f"{'':<{_CODE_WIDTH}}# {more}" for more in told[1:]]
    return "\n".join(["```python", *shown, "```"])


EXAMPLES: dict[str, Callable[[], str]] = {
    "readme-analyze": partial(_example, "readme-analyze", ("figure ", 4)),
    "readme-compile": partial(_example, "readme-compile", ("13 operators", 3)),
    "readme-run": partial(
        _example,
        "readme-run",
        ("bit-exact", 2),
        *((figure, 1) for figure in ("RAM in all", "flash in all", "instructions of one")),
    ),
    "python-analyze": partial(_script, "python-analyze"),
    "python-compile": partial(_script, "python-compile"),
    "analyze": partial(_example, "analyze", ("Steps in the file", 7), ("figure ", 11)),
    "reorder": partial(_example, "reorder"),
    "tflm-simplify": partial(_example, "tflm-simplify"),
    "own-board": partial(_example, "own-board"),
    "plan": partial(_example, "plan", ("Stages, run", 8), ("zoo:", 7)),
    "front": partial(_example, "front", ("All plans", 0)),
    "compile": partial(_example, "compile"),
    "verify": partial(_example, "verify"),
    "run": partial(_example, "run"),
    "check": partial(_example, "check"),
    "tutorial-analyze": partial(_example, "tutorial-analyze", ("figure ", 4), ("Peak in", 3)),
    "tutorial-plan": partial(_example, "tutorial-plan", ("input in the arena", 6)),
    "tutorial-streamed": partial(_example, "tutorial-streamed", ("input row by row", 3)),
    "tutorial-front": partial(_example, "tutorial-front", ("All plans", 0)),
    "tutorial-compile": partial(_example, "tutorial-compile"),
    "tutorial-verify": partial(_example, "tutorial-verify"),
    "tutorial-run": partial(
        _example,
        "tutorial-run",
        ("bit-exact", 2),
        *((figure, 1) for figure in ("RAM in all", "flash in all", "instructions of one")),
    ),
    "quantize": partial(_example, "quantize"),
    "quantize-run": partial(
        _example,
        "quantize-run",
        ("outputs bit-exact", 2),
        ("RAM in all", 1),
        ("flash in all", 2),
    ),
    "profile": partial(
        _example, "profile", ("Instructions, and", 0), ("one inference, counted", 2)
    ),
}
"""As `BLOCKS` of blocks.py."""

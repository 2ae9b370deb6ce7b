"""What cppcheck says of a program as a whole, for programs that have few of the runtime's files.

An unused macro, type or tag, and a function that its own file alone uses, depend on which files a
program has. Every program has the interpreter. So what is unused in it and one more file is listed: a
program that has both may still use it elsewhere, but none has a finding that is not listed. cppcheck
leaves what it gathered of each file in its folder of results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.misra.checker import Finding

_ALWAYS = "lowtide"
_ENDING = ".a1.ctu-info"
_UNUSED = {"MisraTypedefInfo": "2.3", "MisraTagName": "2.4", "MisraMacro": "2.5"}

_Gathered: TypeAlias = Mapping[str, tuple[Mapping[str, Any], ...]]


def in_some_program(kept: Path) -> Iterator[Finding]:
    """Findings in the interpreter and one more file, for each file with results in the folder `kept`."""
    always = _gathered(kept / f"{_ALWAYS}{_ENDING}")
    for path in sorted(kept.glob(f"*{_ENDING}")):
        more = _gathered(path)
        for summary, rule in _UNUSED.items():
            entries = (*always.get(summary, ()), *more.get(summary, ()))
            used = {entry["name"] for entry in entries if entry["used"]}
            yield from (_finding(rule, entry) for entry in entries if entry["name"] not in used)
        called = {entry["name"] for entry in more.get("MisraUsage", ())}
        defined = more.get("MisraExternalIdentifiers", ())
        yield from (_finding("8.7", e) for e in defined if not e["decl"] and e["name"] in called)


def _finding(rule: str, entry: Mapping[str, Any]) -> Finding:
    return Finding(f"misra-c2012-{rule}", entry["file"], entry["line"])


def _gathered(path: Path) -> _Gathered:
    """Summary -> its entries."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    read = (json.loads(line) for line in lines if line.startswith("{"))
    return {one["summary"]: tuple(one["data"]) for one in read}

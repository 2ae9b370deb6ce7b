"""cppcheck, with its addon for MISRA C:2012, on a folder of C."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lowtide.emit.misra import CHECK
from lowtide.errors import MissingToolError

_TEXTS = "Appendix A Summary of guidelines\n" + "".join(
    f"Rule {chapter}.{number} Required\nNot as {chapter}.{number} asks\n"
    for chapter in range(1, 23)
    for number in range(1, 22)
)
"""A text for each rule. Without, all rules have the same one, and of several findings on a line cppcheck
prints the first alone."""
_TEMPLATE = "{id}\t{file}\t{line}"
_REMARKS = frozenset({"unmatchedSuppression", "toomanyconfigs", "missingIncludeSystem"})
"""What says nothing of the code."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A line of a file, from 1, on which cppcheck reports `id`: a rule, or a check of its own."""

    id: str
    file: str
    line: int


def findings(
    folder: Path,
    sources: Iterable[str],
    defines: Sequence[str],
    *,
    kept: Path | None = None,
    listed: str | None = None,
) -> frozenset[Finding]:
    """What cppcheck finds in these .c files of `folder` and their headers, where a compiler has these
    `defines` (-DNAME).

    Results are kept in the folder `kept`, for files that are the same. What the file `listed` suppresses
    is not found. Raises MissingToolError without cppcheck, ValueError if it fails.
    """
    with TemporaryDirectory() as place:
        texts, addon = Path(place, "rules.txt"), Path(place, "misra.json")
        texts.write_text(_TEXTS, "utf-8")
        addon.write_text(
            json.dumps({"script": "misra.py", "args": [f"--rule-texts={texts}"]}), "utf-8"
        )
        command = [
            *CHECK.replace("=misra", f"={addon}").split(),
            "--quiet",
            f"--template={_TEMPLATE}",
        ]
        command += [] if kept is None else [f"--cppcheck-build-dir={kept}"]
        command += [] if listed is None else [f"--suppressions-list={listed}"]
        try:
            done = subprocess.run(
                [*command, *defines, *sorted(sources)],
                cwd=folder,
                env={**os.environ, "LC_ALL": "C"},
                capture_output=True,
                text=True,
            )
        except FileNotFoundError:
            raise MissingToolError(
                "cppcheck is not installed", "install it: sudo apt-get install cppcheck"
            ) from None
    lines = [line.split("\t") for line in done.stderr.splitlines() if line.strip()]
    if done.returncode or any(len(line) != 3 for line in lines):
        raise ValueError(f"cppcheck failed: {done.stdout}{done.stderr}")
    found = {Finding(rule, file, int(line)) for rule, file, line in lines}
    return frozenset(finding for finding in found if finding.id not in _REMARKS)

"""What cppcheck finds in the runtime, for all cores and in whatever programs, and the reasons."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.misra.checker import Finding, findings
from bench.misra.programs import in_some_program
from bench.shared.lined import lined
from bench.shared.outside import ROOT
from lowtide.emit.misra import CONFIGURATIONS, LINES, digest, idiom_of, idioms
from lowtide.emit.runtime import kernel_files, own_files

_KEPT = ROOT / "build" / "misra"
"""Where results of files stay, so that only changed files are looked at again."""


def in_runtime() -> frozenset[Finding]:
    """All that is found in the runtime's files, in all configurations of `emit/misra.py`."""
    with TemporaryDirectory() as place, ThreadPoolExecutor(len(CONFIGURATIONS)) as pool:
        for file, text in kernel_files().items():
            Path(place, file).write_text(text, "utf-8")
        found = pool.map(lambda name: _in_configuration(Path(place), name), CONFIGURATIONS)
        return frozenset().union(*found)


def _in_configuration(folder: Path, name: str) -> frozenset[Finding]:
    kept = _KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    sources = [file for file in kernel_files() if file.endswith(".c")]
    found = findings(folder, sources, CONFIGURATIONS[name], kept=kept)
    return found | frozenset(in_some_program(kept))


def without_reason(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those whose line is no idiom of their rule, sorted."""
    return tuple(sorted(f for f in found if idiom_of(f.id, line_of(f)) is None))


def unused(found: Iterable[Finding]) -> tuple[str, ...]:
    """The idioms of the runtime, as rule and pattern, that no finding is."""
    used = {idiom_of(f.id, line_of(f)) for f in found}
    return tuple(f"{i.id}: {i.line.pattern}" for i in idioms("runtime") if i not in used)


def line_of(finding: Finding) -> str:
    """The line of the runtime that a finding is about; empty if its file is none of the runtime's."""
    lines = kernel_files().get(finding.file, "").splitlines()
    return lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""


def stored(found: Iterable[Finding]) -> str:
    """The text of `emit/misra_lines.json`."""
    by_rule: dict[str, dict[str, list[int]]] = {}
    for finding in sorted(found):
        files = by_rule.setdefault(finding.id, {})
        files.setdefault(finding.file, []).append(finding.line)
    digests = {file: digest(text) for file, text in own_files().items()}
    return lined({"digests": digests, "lines": by_rule}, 3)


def is_stored(found: Iterable[Finding]) -> bool:
    """Whether `emit/misra_lines.json` says just this."""
    return LINES.exists() and LINES.read_text("utf-8") == stored(found)

"""Figures that the benches measured and the documents show, as files in docs/figures/.

Why files: a table of the documents should be what a bench measured, to the digit, and one can see with
what it was measured. `bench/run NAME --store` writes them, `make figures` puts them into the text, and a
test compares the two. A file holds groups of records, each with the version that was measured.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import lowtide
from bench.shared.outside import ROOT
from bench.shared.tables import Record, Row
from bench.shared.work import note

FIGURES = ROOT / "docs" / "figures"
_SCHEMA = "lowtide.figures/1"


@dataclass(frozen=True, slots=True)
class Group:
    """Records that were measured together, with lowtide `version` at `commit`, and `by` what tools."""

    version: str
    commit: str
    by: str
    records: tuple[Record, ...]

    def record(self, **wanted: object) -> Record:
        """The one record that has these figures. Raises ValueError if there is none, or several."""
        (found,) = [r for r in self.records if wanted.items() <= dict(r).items()]
        return found


def load_figures(bench: str) -> dict[str, Group]:
    """A bench's groups by name; none if it never stored any."""
    path = _path(bench)
    if not path.is_file():
        return {}
    document = json.loads(path.read_text("utf-8"))
    if document["schema"] != _SCHEMA:
        raise ValueError(f"{path.name}: its schema is {document['schema']}, not {_SCHEMA}")
    return {
        name: Group(g["lowtide"], g["commit"], g["by"], tuple(g["records"]))
        for name, g in document["groups"].items()
    }


def measured(bench: str, name: str) -> Group:
    """A bench's group. Raises ValueError if it was never stored."""
    groups = load_figures(bench)
    if name not in groups:
        raise ValueError(f"docs/figures/{bench}.json has no group {name}")
    return groups[name]


def store_figures(bench: str, found: Mapping[str, Sequence[Record]], by: str) -> Path:
    """Replace these groups of the bench's file, with this version's name on them; other groups stay.

    `by` says on what and with what tools they were measured.
    """
    new = {n: Group(lowtide.__version__, _commit(), by, tuple(r)) for n, r in found.items()}
    groups = load_figures(bench) | new
    document = {
        "schema": _SCHEMA,
        "groups": {
            name: {
                "lowtide": group.version,
                "commit": group.commit,
                "by": group.by,
                "records": list(group.records),
            }
            for name, group in sorted(groups.items())
        },
    }
    path = _path(bench)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def store_rows(bench: str, found: Mapping[str, Sequence[Row]], by: str) -> None:
    """Store the records of each group of rows, and say on stderr which groups were stored.

    A group is left as it is if one of its rows was not measured, or is missed and has no record: then
    some program was not there, or was wrong.
    """
    whole = {name: rows for name, rows in found.items() if not any(map(_is_broken, rows))}
    records = {n: [r.record for r in rows if r.record is not None] for n, rows in whole.items()}
    kept = {name: of for name, of in records.items() if of}
    if kept:
        path = store_figures(bench, kept, by)
        note(f"stored {', '.join(kept)} in {path.relative_to(ROOT)}")
    for name in found.keys() - whole.keys():
        note(f"not stored: {name}, as not all of it could be measured")


def _is_broken(row: Row) -> bool:
    return row.status == "not measured" or (row.status == "MISSED" and row.record is None)


def _path(bench: str) -> Path:
    return FIGURES / f"{bench}.json"


WITHOUT_FIGURES = tuple(
    f":!src/lowtide/{file}"
    for file in ("emit/stack.json", "emit/misra_lines.json", "plans/errors.json")
)
"""Leaves out, for git, the files among the sources that are figures themselves."""
_SOURCES = ("src", *WITHOUT_FIGURES)
"""What figures are of."""


def _commit() -> str:
    """The last commit that changed the sources, with "+changes" if they differ from it: commits of
    tests, documents and figures change nothing that is measured."""
    git = ("git", "-C", str(ROOT))
    commit = _said(*git, "log", "-1", "--abbrev=7", "--format=%h", "--", *_SOURCES)
    changed = _said(*git, "status", "--porcelain", "--", *_SOURCES)
    return (commit or "an unknown commit") + ("+changes" if changed else "")


def board_tools() -> str:
    """The versions of the compiler for boards and of the emulator."""
    compiler = _said("arm-none-eabi-gcc", "-dumpversion")
    emulator = _said("qemu-system-arm", "--version").partition("version ")[2].partition(" ")[0]
    return ", ".join(
        f"{name} {version.rpartition('.')[0] or 'of unknown version'}{flags}"
        for name, version, flags in (("gcc", compiler, " `-O2`"), ("QEMU", emulator, ""))
    )


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.partition("\n")[0].strip() if done.returncode == 0 else ""


def small_part(
    network: str, input_mode: str, part: str, ram: int, limit: int, overhead: float = 1.0
) -> Record:
    """A line of the documents' table of small parts; bytes of RAM in all, and of the part's RAM."""
    return {
        "network": network,
        "input": input_mode,
        "part": part,
        "ram_bytes": ram,
        "limit_bytes": limit,
        "overhead": round(overhead, 2),
    }


def millions(count: float) -> float:
    """A count in millions, to two digits."""
    return round(count / 1e6, 2)


def markdown(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; a column whose title ends with ":" is aligned to the right."""
    titles = [column.removesuffix(":") for column in columns]
    rules = ["---:" if column.endswith(":") else "---" for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, rules, *lines))


def sourced(columns: Sequence[str], lines: Sequence[Sequence[str]], *groups: Group) -> str:
    """A table of Markdown, and below it with what its groups were measured: a sentence per commit."""
    tools: dict[tuple[str, str], dict[str, None]] = {}
    for group in groups:
        tools.setdefault((group.version, group.commit), {})[group.by] = None
    sources = (
        f"Measured with lowtide {v} at {c}; {'; '.join(by)}." for (v, c), by in tools.items()
    )
    return f"{markdown(columns, lines)}\n\n<sub>{' '.join(sources)}</sub>"

"""The blocks of docs/how-tested.md: how many tests there are, what cases reach, what mutants show, which
features have met."""

from __future__ import annotations

from collections.abc import Sequence

from bench.shared.stored import load_figures, measured, sourced
from bench.shared.tables import Record

_WHAT = {
    "kernels": "each kernel, against the reference kernels and under sanitizers",
    "end_to_end": "whole programs on this computer and on emulated boards, packages, firmware",
    "prove": "the proof: what it accepts, and the faults that it must refuse",
    "rows": "schedules of rows, strips and blocks, and the search for plans",
    "place": "where tensors and rows lie, and the validator",
    "program": "the step program",
    "order": "the order of operators, against brute force",
    "passes": "what is rewritten and removed before a network is planned",
    "load": "reading files, damaged and hostile ones included",
    "zoo": "the built-in networks",
    "emit": "the C text, and bounds of the stack",
    "machines": "boards, cores and toolchains",
    "cli": "commands, messages, and every command that the documents show",
    "report": "texts, JSON documents with their schemas, pictures, the HTML page",
}
"""By folder of tests/: what its tests look at. The others are counted together."""


def counted() -> str:
    """Tests by folder."""
    group = measured("tested", "tests")
    records = {str(r["folder"]): r for r in group.records}
    rest = [r for name, r in records.items() if name not in _WHAT]
    lines: list[tuple[str, ...]] = [
        (f"`tests/{name}/`", what, *_sums([records[name]])) for name, what in _WHAT.items()
    ]
    lines.append(("others", "", *_sums(rest)))
    lines.append(("all", "", *_sums(group.records)))
    return sourced(("folder", "what its tests check", "`make test`:", "`make soak`:"), lines, group)


def _sums(records: Sequence[Record]) -> list[str]:
    return [f"{sum(r[of] for r in records):,}" for of in ("tests", "soak")]


_PLACES = {
    "kernels": "this computer, lines of C",
    "mps2-an386": "`mps2-an386`, a Cortex-M4, instructions",
    "mps3-an547": "`mps3-an547`, a Cortex-M55, instructions",
}


def covered() -> str:
    """What compared cases reach of the runtime, by where they run; files with a reason are left out."""
    stored = load_figures("coverage")
    groups = {place: stored[place] for place in _PLACES if place in stored}
    columns = (
        *("where, and of what", "files:", "reached:", "outcomes of branches reached:"),
        *("outcomes of loops' guards:", "lines with a reason:", "lines without:"),
    )
    lines = []
    for place, group in groups.items():
        records = [r for r in group.records if not r["excepted"]]
        kind = "lines" if place == "kernels" else "instructions"

        def total(of: str, records: Sequence[Record] = records) -> str:
            return f"{sum(r[of] for r in records):,}"

        reached = (f"{total(f'{of}_reached')} of {total(of)}" for of in (kind, "outcomes"))
        rest = (total(of) for of in ("guards", "lines_with_reason", "lines_without_reason"))
        lines.append((_PLACES[place], f"{len(records)}", *reached, *rest))
    return sourced(columns, lines, *groups.values())


_PARTS = {
    "kernels": "the C of the runtime",
    "Python": "Python, from the graph's passes to the step program",
}


def planted() -> str:
    """Mutants, and what became of them."""
    stored = load_figures("mutants")
    groups = [stored[part] for part in _PARTS if part in stored]
    columns = (
        *("mutants of", "drawn:", "equivalent:", "found:", "of these without soak tests:"),
        *("not found:", "found of those that are faults:"),
    )
    lines = []
    for group in groups:
        r = group.record()
        faults = r["drawn"] - r["equivalent"]
        counts = (
            r["drawn"],
            r["equivalent"],
            r["killed"],
            r["killed_by_quick_tests"],
            r["survived"],
        )
        share = f"{100 * r['killed'] / faults:.1f} %"
        lines.append((_PARTS[str(r["part"])], *(f"{n}" for n in counts), share))
    return sourced(columns, lines, *groups)


_FEATURES = {
    "family": "family of operators",
    "type": "type of its activations",
    "kernel": "kernel, in a variant for a core",
    "lean": "whether it runs in less scratch memory",
    "core": "core that the program is for",
    "input": "input: in the arena, constant or streamed",
    "output": "output: in the arena or streamed",
    "unit": "schedule of rows or of whole operators",
    "strips": "whether there are strips",
    "blocks": "whether there are blocks",
    "slices": "whether it runs in slices",
    "hop": "whether its window slides",
    "simplify": "simplification: off, finds nothing, removes channels",
    "state": "whether it has state",
    "layout": "layout of input and output",
    "alignment": "alignment of the arena",
}
"""What each feature is."""


def met() -> str:
    """Pairs of features that have met."""
    features, every = measured("pairs", "features"), measured("pairs", "all")
    lines: list[tuple[str, ...]] = [
        (
            _FEATURES[str(r["feature"])],
            f"{r['values']}",
            f"{r['possible']:,}",
            f"{r['met']:,}",
            f"{r['possible'] - r['met']:,}",
        )
        for r in features.records
    ]
    r = every.record()
    left = r["possible"] - r["met"]
    lines.append(("all", "", f"{r['possible']:,}", f"{r['met']:,}", f"{left:,}"))
    columns = ("feature", "values:", "possible pairs with others:", "met:", "not yet:")
    return sourced(columns, lines, features, every)


def deviating() -> str:
    """Deviations from MISRA C:2012 in bundles: what cppcheck finds, and what their lists leave."""
    group = measured("misra", "bundles")
    columns = (
        *("network", "core", "findings before:", "findings:", "entries of the list:"),
        "found beside the list:",
    )
    lines = [
        (
            f"`zoo:{r['network']}`",
            str(r["core"]),
            f"{r['before']:,}" if "before" in r else "",
            *(f"{r[count]:,}" for count in ("found", "listed", "left")),
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)

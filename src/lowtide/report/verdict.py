"""A verdict for continuous integration: as text, as a JSON document, and as JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal
from xml.etree import ElementTree

from lowtide.commands.verdict import NAMES, SCHEMA, Finding, Name, Verdict, options_of
from lowtide.errors import LowtideError
from lowtide.report.fields import fields_of
from lowtide.report.part import network_name, part_fields
from lowtide.report.text import amount, plain, table

_TITLES: Final[dict[Name, str]] = {
    "ram_bytes": "RAM in all",
    "flash_bytes": "flash in all",
    "instructions": "instructions of one inference",
}


def verdict_text(verdict: Verdict) -> str:
    """A row for each figure and what it is compared with."""
    figures = verdict.figures
    name = network_name(verdict.compiled.model)
    how = "measured" if figures.measured else "predicted"
    where = f"on {figures.where}" if figures.measured else f"for {figures.where}"
    head = f"{name}: {'passed' if verdict.passed else 'FAILED'}; {how} {where}"
    if figures.why:
        head += f", not measured: {figures.why}"
    if not figures.bit_exact:
        head += "\nThe outputs differ from the reference kernels': `lowtide verify` shows where."
    if verdict.stored is not None:
        head += f"\n{plain(verdict.stored.sentence)}."
    rows: list[tuple[str, str, str, str, str]] = []
    for figure in NAMES:
        value = figures.of(figure)
        found = [f for f in verdict.findings if f.name == figure]
        start = _TITLES[figure], "unknown" if value is None else _amount(figure, value)
        rows += [(*start, _amount(figure, f.most), f.by, _fits(f)) for f in found]
        rows += [] if found else [(*start, "-", "-", "not limited")]
    columns = (f"{how}.", "figure", "at most", "by.", "verdict.")
    return head + "\n\n" + table("", columns, rows)


def failures(verdict: Verdict) -> str:
    """What is too much, and by how much, in a line."""
    over = [_sentence(f) for f in verdict.findings if f.over > 0]
    if not verdict.figures.bit_exact:
        over.append("the outputs differ from the reference kernels'")
    if verdict.stored is not None and not verdict.stored.same:
        over.append(verdict.stored.sentence)
    return "; ".join(over)


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Schema lowtide.check/1; sizes in bytes. It is a baseline for later checks as well."""
    figures, baseline = verdict.figures, verdict.baseline
    return {
        "schema": SCHEMA,
        "model": verdict.compiled.model.path,
        **part_fields(verdict.compiled.model),
        "passed": verdict.passed,
        "options": options_of(verdict.compiled),
        **fields_of(figures, "measured", "where"),
        "why_predicted": figures.why or None,
        "bit_exact": figures.bit_exact if figures.measured else None,
        **{name: figures.of(name) for name in NAMES},
        "limits": {name: verdict.limits.of(name) for name in NAMES},
        "baseline": None
        if baseline is None
        else {
            "file": baseline.file,
            "tolerance": float(baseline.tolerance),
            **{name: baseline.values.get(name) for name in NAMES},
        },
        "bundle": None
        if verdict.stored is None
        else {
            **fields_of(verdict.stored, "folder", "same"),
            "changed": list(verdict.stored.changed),
            "missing": list(verdict.stored.missing),
        },
        "findings": [
            {
                "figure": finding.name,
                **fields_of(finding, "by", "value", "most"),
                "over": max(0, finding.over),
                "passed": finding.over <= 0,
            }
            for finding in verdict.findings
        ],
    }


def verdict_junit(verdict: Verdict) -> bytes:
    """JUnit's XML: a test case for each comparison, and one for the outputs if they were compared."""
    figures = verdict.figures
    how = "measured on" if figures.measured else "predicted for"
    cases: list[_Case] = [
        (f"{_TITLES[f.name]}, {f.by}", "failure" if f.over > 0 else "", "exceeds", _sentence(f))
        for f in verdict.findings
    ]
    if figures.measured:
        differ = "the outputs differ from the reference kernels'"
        cases.append(("outputs", "" if figures.bit_exact else "failure", "differs", differ))
    if verdict.stored is not None:
        ended: _Ended = "" if verdict.stored.same else "failure"
        cases.append(("bundle", ended, "differs", verdict.stored.sentence))
    properties = [(how, figures.where), *((name, figures.of(name)) for name in NAMES)]
    return _junit(verdict.compiled.model.path, properties, cases)


def refused_junit(model: str, error: LowtideError) -> bytes:
    """JUnit's XML for a network of which there are no figures: one test case, which has the error."""
    said = f"{error.cause} (remedy: {error.remedy})" if error.remedy else error.cause
    return _junit(model, (), [("program", "error", type(error).__name__, said)])


_Ended = Literal["", "failure", "error"]
_Case = tuple[str, _Ended, str, str]
"""Name, what became of it, if not well, of which type, and a message."""


def _junit(model: str, properties: Iterable[tuple[str, object]], cases: Sequence[_Case]) -> bytes:
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name="lowtide check")
    listed = ElementTree.SubElement(suite, "properties")
    for key, value in properties:
        ElementTree.SubElement(listed, "property", name=key, value=str(value))
    for name, ended, kind, message in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(model), name=name)
        if ended:
            ElementTree.SubElement(case, ended, type=kind, message=_xml(message))
    suite.set("tests", str(len(cases)))
    for ended in ("failure", "error"):
        suite.set(f"{ended}s", str(sum(case[1] == ended for case in cases)))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return text + b"\n"


def _sentence(finding: Finding) -> str:
    value, most = (_amount(finding.name, n) for n in (finding.value, finding.most))
    text = f"{_TITLES[finding.name]}: {value}, the {finding.by} allows {most}"
    if finding.over > 0:
        text += f", {_amount(finding.name, finding.over)} too much"
    return text


def _fits(finding: Finding) -> str:
    if finding.over > 0:
        return f"{_amount(finding.name, finding.over)} too much"
    return f"fits, {_amount(finding.name, -finding.over)} left"


def _amount(name: Name, count: int) -> str:
    return f"{count:,}" if name == "instructions" else amount(count)


def _xml(text: str) -> str:
    """`text` without what XML cannot have."""
    return "".join(c if c >= " " else "?" for c in plain(text))

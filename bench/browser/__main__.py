"""Prints what lowtide takes in a browser beside what it takes on the same computer in CPython.

    bench/run browser                     the table
    bench/run browser --store             also write the documents' figures, docs/figures/browser.json
    bench/run browser --json              {"schema": "lowtide.bench.browser/1", "rows": [...]}

Exit code 1 if a row is missed: if a report is not, figure by figure, that of CPython. Seconds are those
of the processor, of all processes of the browser. Needs headless Chromium, and Linux, whose /proc tells
them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium.webdriver.common.by import By

from bench.shared.command import bench_parser, machine
from bench.shared.driver import Table, answered
from bench.shared.outside import shared_model
from bench.shared.page import PAGE, choose, chromium, served_site, wrong
from bench.shared.tables import Row, verdict
from bench.shared.work import note
from lowtide.zoo import build
from tools import pyodide

_TABLE = Table(
    140,
    (("on", 34), ("asked", 26), ("measured", 44), ("peer", 22)),
    "lowtide in a browser, measured now",
    figures_right=False,
)
_NETWORKS = ("zoo:resnet8", "te_vww")
_TICKS = os.sysconf("SC_CLK_TCK")
_HERE = """
import sys
from resource import RUSAGE_SELF, getrusage
from lowtide.browser import answer

asked = '{"model": "%s"}' % sys.argv[1]
answer("look", asked)
print(answer("report", asked))
used = getrusage(RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""


def _used(pid: int) -> float:
    """Seconds of the processor that the processes below `pid` have taken."""
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(path.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    below, more = set[int](), {pid}
    while more:
        more = {child for child, (parent, _) in found.items() if parent in more}
        below |= more
    return sum(found[child][1] for child in below)


def measure(folder: Path) -> list[Row]:
    """A row per network; `folder` is for scratch files."""
    rows = []
    for network in _NETWORKS:
        file = folder / f"{network.removeprefix('zoo:')}.tflite"
        if network.startswith("zoo:"):
            file.write_bytes(build(network.removeprefix("zoo:")))
        else:
            file.write_bytes(shared_model(network).read_bytes())
        note(f"{network} in CPython")
        here, own = _in_cpython(file)
        note(f"{network} in the browser")
        there, loading, taken = _in_browser(folder / f"browser-{file.stem}", file)
        rows.append(
            Row(
                network,
                "the report of CPython",
                f"{loading:.0f} s to load, {taken:.0f} s to report",
                verdict(here == there),
                f"{own:.0f} s in CPython",
                record={
                    "network": network,
                    "loading_seconds": round(loading),
                    "report_seconds": round(taken),
                    "cpython_seconds": round(own),
                },
            )
        )
    return rows


def _in_cpython(file: Path) -> tuple[object, float]:
    """The report's document, and the seconds that a process for it took."""
    said = subprocess.run(
        [sys.executable, "-c", _HERE, file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    answer, seconds = said.splitlines()
    return json.loads(answer)["report"], float(seconds)


def _in_browser(folder: Path, file: Path) -> tuple[object, float, float]:
    """The same of a new browser, with the seconds until it is ready to report apart."""
    folder.mkdir()
    wrong_file = folder / "empty.tflite"
    wrong_file.write_bytes(b"")
    with served_site(folder) as (_, proxy), chromium(proxy) as browser:
        before = _used(os.getpid())
        browser.get(PAGE)
        choose(browser, wrong_file)  # which loads everything, and does nothing
        ready = _used(os.getpid())
        choose(browser, file)
        done = _used(os.getpid())
        assert wrong(browser) == []
        link = browser.find_element(By.CSS_SELECTOR, f"a[download='{file.stem}-report.json']")
        text = browser.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0].href).then((r) => r.text()).then(done)",
            link,
        )
    return json.loads(text), ready - before, done - ready


def main() -> int:
    """Measure every network and print the table; the exit code."""
    given = bench_parser("bench/run browser", "What lowtide takes in a browser.").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    return answered("browser", given, {"report": rows}, _TABLE, _tools)


def _tools() -> str:
    browser = f"Pyodide {pyodide.VERSION} in {_browser_name()}"
    return f"seconds of the processor, {browser}, {machine()}"


def _browser_name() -> str:
    said = subprocess.run(["chromium", "--version"], capture_output=True, text=True, check=True)
    name, version, *_ = said.stdout.split()
    return f"{name} {version.partition('.')[0]}"


if __name__ == "__main__":
    sys.exit(main())

"""The page of the documentation that runs lowtide, in a real browser: it reports, and sends nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from axe_core_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import lowtide
from bench.shared.page import (
    MOST_SECONDS,
    NETWORK,
    PAGE,
    SITE,
    Served,
    begun,
    choose,
    chromium,
    done,
    hit,
    part,
    press,
    served_site,
    wrong,
)
from lowtide.advice.reporting import report_on
from lowtide.browser import answer
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from lowtide.report.page import report_document
from lowtide.report.page_words import verdict_sentence
from lowtide.zoo import build
from schema_models import Net
from tools import pyodide

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    if not pyodide.FOLDER.exists():  # others' servers have it: `make test` must not depend on them
        pytest.skip("Python for browsers could not be had: see tools/pyodide.py")
    with served_site(tmp_path_factory.mktemp("served")) as site:
        yield site


@pytest.fixture(scope="module")
def served(site: tuple[Served, str]) -> Served:
    return site[0]


@pytest.fixture(scope="module")
def browser(site: tuple[Served, str]) -> Iterator[webdriver.Chrome]:
    with chromium(site[1]) as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(browser: webdriver.Chrome) -> webdriver.Chrome:
    """The page, opened once: what it has loaded serves all tests, as it serves a reader."""
    browser.get(PAGE)
    return browser


@pytest.fixture
def page(opened: webdriver.Chrome) -> webdriver.Chrome:
    """The same with its form empty."""
    opened.execute_script("document.querySelector('.lowtide-app form').reset()")
    errors(opened)
    return opened


@pytest.fixture
def reported(page: webdriver.Chrome, file: Path) -> webdriver.Chrome:
    """The page when it shows the report of `file`, which no other test names so."""
    if not page.find_elements(By.CSS_SELECTOR, f"a[download='{file.stem}-report.html']"):
        choose(page, file)
        assert wrong(page) == []
    return page


def downloads(page: webdriver.Chrome) -> dict[str, str]:
    """Name -> text of what is offered."""
    script = (
        "const done = arguments[0], links = [...document.querySelectorAll('.lowtide-links a')];"
        "Promise.all(links.map((a) => fetch(a.href).then((r) => r.text()).then((t) => [a.download, t])))"
        ".then(done);"
    )
    return dict(page.execute_async_script(script))


def errors(page: webdriver.Chrome) -> list[dict[str, Any]]:
    return page.get_log("browser")  # type: ignore[no-any-return,no-untyped-call]  # it has no types


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "mine.tflite"
    path.write_bytes(build("figure1"))
    return path


def test_a_file_becomes_the_report_of_the_command_line(
    reported: webdriver.Chrome, served: Served, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    expected = report_on(lowtide.load("mine.tflite"))
    found = downloads(reported)
    assert list(found) == [
        f"mine-{what}" for what in ("report.html", "report.json", "plan.json", "analysis.json")
    ]
    assert json.loads(found["mine-report.json"]) == json.loads(
        json.dumps(report_document(expected))
    )
    here = json.loads(answer("report", '{"model": "mine.tflite"}'))
    assert found["mine-report.html"] == here["page"]
    assert json.loads(found["mine-plan.json"]) == here["plan"]
    assert json.loads(found["mine-analysis.json"]) == here["analysis"]
    verdicts = [p.text for p in reported.find_elements(By.CLASS_NAME, "lowtide-verdict")]
    assert verdicts == [verdict_sentence(expected)]
    # All that was ever asked: the site's own files, and Python. It was a GET each time.
    hosts = {urlsplit(request.removeprefix("GET ")).hostname for request in served.asked}
    assert hosts == {SITE, NETWORK}
    assert errors(reported) == []


def test_the_report_is_shown_where_it_may_do_nothing(reported: webdriver.Chrome) -> None:
    page = reported
    frame = page.find_element(By.CSS_SELECTOR, "iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    page.switch_to.frame(frame)
    try:
        assert page.find_element(By.TAG_NAME, "h1").text == "mine.tflite"
        assert page.find_elements(By.CSS_SELECTOR, ".plot svg")
        refused = page.execute_async_script(
            "const done = arguments[0];"
            "fetch('http://site.test/').then(() => done(''), (error) => done(error.name));"
        )
        assert refused == "TypeError"
    finally:
        page.switch_to.default_content()
    # As high as what it shows: no scrolling within scrolling.
    WebDriverWait(page, MOST_SECONDS).until(lambda _: frame.size["height"] > 2000)
    assert [e for e in errors(page) if "Content Security Policy" not in e["message"]] == []


def test_figures_are_there_at_a_glance(reported: webdriver.Chrome) -> None:
    rows = part(reported, "look").find_elements(By.CSS_SELECTOR, "tbody tr")
    found = lowtide.estimate(lowtide.load("zoo:figure1"), simplify=True)
    assert [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows] == [
        [
            where,
            f"{needs.total_ram_bytes:,} B",
            f"{needs.flash_bytes:,} B",
            f"{needs.instructions:,}",
        ]
        for where, needs in zip(
            ("in the arena", "in your own memory", "row by row"), found.needs.values(), strict=True
        )
    ]


def test_numbers_of_more_than_32_bits(
    page: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's own indices have 32 bits there; what a PAD of negative values is told apart by has 33."""
    net = Net(np.int8, zero=-128)
    padded = net.op(
        "PAD",
        [net.input((1, 4, 3, 5)), net.const([[0, 0], [2, 1], [1, 2], [0, 0]])],
        (1, 7, 6, 5),
        output=False,
    )
    net.op("PAD", [padded, net.const([[0, 0], [1, 1], [0, 0], [0, 0]])], (1, 9, 6, 5))
    (tmp_path / "padded.tflite").write_bytes(net.build())
    choose(page, tmp_path / "padded.tflite")
    assert wrong(page) == []
    monkeypatch.chdir(tmp_path)
    here = json.loads(answer("report", '{"model": "padded.tflite"}'))
    found = downloads(page)
    assert json.loads(found["padded-report.json"]) == here["report"]
    assert json.loads(found["padded-analysis.json"]) == here["analysis"]


def test_once_loaded_nothing_is_asked_of_anybody(
    reported: webdriver.Chrome, served: Served, file: Path
) -> None:
    page, before = reported, len(served.asked)
    Select(page.find_element(By.NAME, "core")).select_by_value("cortex-m4")
    Select(page.find_element(By.NAME, "input")).select_by_value("streamed")
    page.find_element(By.NAME, "ram").send_keys("8K")
    page.find_element(By.NAME, "compare").send_keys(str(file))
    Select(page.find_element(By.NAME, "zoo")).select_by_value("zoo:figure1")
    press(page, page.find_element(By.CSS_SELECTOR, "button[type=submit]"))
    assert wrong(page) == []
    target = find_target("cortex-m4")
    options = Options(input_mode="streamed", target=target, max_ram=8192)
    document = report_document(
        report_on(lowtide.load("zoo:figure1"), options),
        report_on(lowtide.load(file), options),
    )
    shown = json.loads(downloads(page)["figure1-report.json"])
    for network in (*document["networks"], *shown["networks"]):
        del network["path"], network["advice"]  # of the second file, where it lies
    assert shown == json.loads(json.dumps(document))
    press(page, part(page, "fit").find_element(By.TAG_NAME, "button"))
    caption = part(page, "fit").find_element(By.TAG_NAME, "caption").text
    assert caption.endswith(" parts (estimated), without recomputed rows")
    assert served.asked[before:] == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "notes.tflite",
            b"no network at all",
            "notes.tflite is not a .tflite file (no TFL3 identifier)",
        ),
        ("net.onnx", b"\x08\x07\x12\x07pytorch:", "net.onnx is "),
        ("floats.tflite", build("resnet8", floats=True), "FLOAT32"),
    ],
)
def test_what_is_wrong_is_said_in_one_message(
    page: webdriver.Chrome, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    choose(page, file)
    cause, remedy = wrong(page)
    assert cause.startswith("It didn't work: ")
    assert said in cause
    assert remedy.startswith("What to do: ")
    expected = json.loads(answer("look", json.dumps({"model": str(file)})))["error"]
    assert expected["cause"].replace(str(file), name) in cause
    assert part(page, "report").text == ""


def test_a_limit_that_is_none_is_said(page: webdriver.Chrome, file: Path) -> None:
    page.find_element(By.NAME, "ram").send_keys("12 KB")
    choose(page, file)
    assert wrong(page) == [
        "It didn't work: '12 KB' is not a number of bytes",
        "What to do: write it as 16384, 16K or 16KiB",
    ]


def test_a_network_can_be_dropped_and_stopped(page: webdriver.Chrome) -> None:
    begun(page)
    page.execute_script(
        "const carried = new DataTransfer();"
        "carried.items.add(new File([new Uint8Array(64)], 'dropped.tflite'));"
        "document.querySelector('.lowtide-drop').dispatchEvent("
        "new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true }));"
    )
    done(page)
    assert part(page, "chosen").text == "Dropped: dropped.tflite"
    assert "dropped.tflite is not a .tflite file" in wrong(page)[0]
    Select(page.find_element(By.NAME, "zoo")).select_by_value("zoo:resnet8")
    hit(page.find_element(By.CSS_SELECTOR, "button[type=submit]"))
    hit(part(page, "stop"))
    assert part(page, "status").text == "Stopped."
    assert page.find_element(By.CSS_SELECTOR, "button[type=submit]").is_enabled()


def test_everybody_can_use_it(reported: webdriver.Chrome) -> None:
    page = reported
    page.execute_script(Axe().axe_script)
    # The theme moves its search box when the width changes: measured on the way, it is too wide.
    still = "*, *::before, *::after { transition: none !important; animation: none !important; }"
    page.execute_script(
        "document.head.appendChild(document.createElement('style')).append(arguments[0])", still
    )
    for scheme, width in product(("light", "dark"), (1100, 360)):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        colours = page.find_element(By.TAG_NAME, "body").get_attribute("data-md-color-scheme")
        assert colours == {"light": "default", "dark": "slate"}[scheme]
        over = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        assert page.execute_script(over) <= 0, width
        result = page.execute_async_script("axe.run('.lowtide-app').then(arguments[0])")
        found = [(fault["id"], fault["nodes"][0]["html"]) for fault in result["violations"]]
        assert found == [], (scheme, width)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_python_comes_from_the_version_that_is_tested() -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert f'pyodide: !ENV [LOWTIDE_PYODIDE, "{pyodide.NETWORK}"]' in settings

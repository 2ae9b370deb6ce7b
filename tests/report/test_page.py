"""The report's page in a real browser: it hovers, switches, sorts, prints, and everybody can read it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from jsonschema import Draft202012Validator
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from lowtide.advice.reporting import Reported, report_on
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.report.data import schema_of
from lowtide.report.memory_views import views_of
from lowtide.report.page import report_document, report_page
from networks import model_of

_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    *("--window-size=1100,1400", "--force-device-scale-factor=1"),
)


@pytest.fixture(scope="module")
def reported() -> Reported:
    return report_on(model_of("figure1"))


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for option in _OPTIONS:
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: webdriver.Chrome, reported: Reported, tmp_path: Path) -> webdriver.Chrome:
    return _open(browser, tmp_path, reported)


def _open(browser: webdriver.Chrome, folder: Path, *reported: Reported) -> webdriver.Chrome:
    file = folder / "report.html"
    file.write_text(report_page(*reported), "utf-8")
    _log(browser, "browser")
    _log(browser, "performance")
    browser.get(file.as_uri())
    _drawn(browser)
    return browser


def _log(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    return browser.get_log(kind)  # type: ignore[no-any-return,no-untyped-call]  # it has no types


def _drawn(browser: webdriver.Chrome) -> None:
    """Wait for two frames: what is asked for in one is drawn in the next."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
    )


def _texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector)]


def _column(table: WebElement, number: int) -> list[str]:
    return [
        cell.text for cell in table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({number})")
    ]


def test_nothing_is_loaded_and_nothing_is_complained_of(page: webdriver.Chrome) -> None:
    assert _log(page, "browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in _log(page, "performance")]
    urls = [
        m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []
    assert page.title == "figure1: lowtide's report"


def test_each_way_of_running_can_be_chosen(page: webdriver.Chrome, reported: Reported) -> None:
    views = [view for view in views_of(reported) if view.key == view.way]
    assert [view.key for view in views] == ["tflm", "order", "rows", "streamed"]
    pictures = set()
    for choice, view in zip(
        page.find_elements(By.CSS_SELECTOR, "fieldset input"), views, strict=True
    ):
        choice.click()
        status = page.find_element(By.CSS_SELECTOR, "[role=status]").text
        assert status.startswith(f"{view.title}: {view.ram_bytes:,} B of RAM")
        pictures.add(page.find_element(By.CSS_SELECTOR, ".plot svg").get_attribute("innerHTML"))
        label = page.find_element(By.CSS_SELECTOR, ".plot svg").get_attribute("aria-label")
        assert label is not None and f"{view.ram_bytes:,} B" in label
        at_peak = _texts(page, "section:nth-of-type(2) tbody td:first-child")
        assert at_peak == [held.name for held in view.peak]
    assert len(pictures) == len(views)


def test_the_tensor_below_the_pointer_is_told(page: webdriver.Chrome, reported: Reported) -> None:
    picture = page.find_element(By.CSS_SELECTOR, ".plot svg")
    tip = page.find_element(By.CSS_SELECTOR, ".plot .tip")
    assert not tip.is_displayed()
    view, rows = (next(v for v in views_of(reported) if v.key == key) for key in ("tflm", "rows"))
    size = picture.size
    ends = [0, *accumulate(view.work)]
    across = (size["width"] - 62 - 8) / max(view.instructions, rows.instructions)
    for box in view.shown.everything:
        x = 62 + across * (ends[box.start] + ends[box.end]) / 2
        if across * (ends[box.end] - ends[box.start]) < 3:
            continue  # hardly to be met
        y = 44 + 340 * (1 - (box.offset + box.size / 2) / (1.02 * view.ram_bytes))
        move = ActionChains(page, duration=0)
        move.move_to_element_with_offset(
            picture, round(x - size["width"] / 2), round(y - size["height"] / 2)
        ).perform()
        assert tip.is_displayed()
        first, where, steps, _, *named = tip.text.splitlines()
        assert first == "{} ({})".format(*view.names[box.tensor])
        assert where == f"{box.size:,} B at address {box.offset:,}"
        assert steps == f"steps {box.start} to {box.end - 1}"
        own = reported.analysis.graph.tensors[box.tensor].name
        assert named == ([own] if own else [])
    ActionChains(page, duration=0).move_to_element(page.find_element(By.TAG_NAME, "h1")).perform()
    assert not tip.is_displayed()


def test_a_press_on_a_column_sorts(page: webdriver.Chrome, reported: Reported) -> None:
    (table,) = [
        table
        for table in page.find_elements(By.TAG_NAME, "table")
        if (table.get_attribute("aria-label") or "").startswith("Operators")
    ]
    document = report_document(reported)["networks"][0]["operators"]
    heads = {th.text: th for th in table.find_elements(By.CSS_SELECTOR, "th")}
    macs = sorted((row["macs"] for row in document), reverse=True)
    assert len(set(macs)) > 3
    for expected, direction in ((macs, "descending"), (macs[::-1], "ascending")):
        head = next(th for name, th in heads.items() if name.startswith("MACs"))
        head.find_element(By.TAG_NAME, "button").click()
        assert head.get_attribute("aria-sort") == direction
        assert _column(table, 4) == [f"{n:,}" for n in expected]


def test_all_parts_are_in_a_table(page: webdriver.Chrome, reported: Reported) -> None:
    page.find_element(By.XPATH, "//summary[contains(., 'parts')]").click()
    table = page.find_element(By.CSS_SELECTOR, "table[aria-label^='Parts by RAM']")
    ram = [fit.mcu.ram_bytes for fit in reported.fits]
    assert len(_column(table, 1)) == len(ram) > 60
    smallest = [fit.mcu.name for fit in reported.fits if fit.mcu.ram_bytes == min(ram)]
    assert _column(table, 1)[0] in smallest
    assert set(_column(table, 5)) == {"fits"}


def test_both_have_one_scale(page: webdriver.Chrome, reported: Reported) -> None:
    """As many bytes a pixel above as below, so that what became smaller is seen."""

    def heights() -> list[float]:
        lines = page.find_elements(By.CSS_SELECTOR, ".plot svg line.top")
        floors = page.find_elements(By.CSS_SELECTOR, ".plot svg line.axis[x2]")
        floors = [f for f in floors if f.get_attribute("x1") != f.get_attribute("x2")]
        tops = [float(line.get_attribute("y1") or 0) for line in lines]
        lows = [float(line.get_attribute("y1") or 0) for line in floors][:2]
        return [low - top for top, low in zip(tops, lows, strict=True)]

    views = {view.key: view.ram_bytes for view in views_of(reported)}
    before, after = heights()
    assert before / after == pytest.approx(views["tflm"] / views["rows"], rel=0.01)
    page.find_element(By.CSS_SELECTOR, "input[type=checkbox]").click()
    assert heights() == [pytest.approx(before), pytest.approx(340 / 1.04)]


def test_a_tensor_is_found_and_followed(page: webdriver.Chrome, reported: Reported) -> None:
    view = views_of(reported)[0]
    short, origin = next(iter(view.names.values()))
    find = page.find_element(By.CSS_SELECTOR, "input[type=search]")
    find.send_keys(short)
    trail = page.find_element(By.CLASS_NAME, "trail")
    assert trail.text.startswith(f"{short} ({origin}): at most ")
    bright = page.find_elements(By.CSS_SELECTOR, ".plot svg g path:not(.dull)")
    fills = {path.get_attribute("style") for path in bright}
    assert len(bright) == 2 and len(fills) == 1  # one above, one below, of one colour
    find.clear()
    find.send_keys(" ")
    assert page.find_elements(By.CSS_SELECTOR, ".plot svg g path.dull") == []


def test_it_zooms_and_moves(page: webdriver.Chrome) -> None:
    def picture() -> str:
        return page.find_element(By.CSS_SELECTOR, ".plot svg").get_attribute("innerHTML") or ""

    seen = [picture()]
    for label in ("Zoom in", "Later", "Zoom out"):
        page.find_element(By.CSS_SELECTOR, f"button[aria-label='{label}']").click()
        seen.append(picture())
    page.find_element(By.CSS_SELECTOR, "button[aria-label='The whole run']").click()
    assert picture() == seen[0]
    assert len(set(seen[:3])) == 3


def test_it_prints(page: webdriver.Chrome) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert page.find_element(By.TAG_NAME, "fieldset").is_displayed()  # as bars of RAM
        assert all(not p.is_displayed() for p in page.find_elements(By.CLASS_NAME, "noprint"))
        assert all(not b.is_displayed() for b in page.find_elements(By.CLASS_NAME, "copy"))
        made = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    pdf = base64.b64decode(made["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    details = page.find_elements(By.CSS_SELECTOR, "details:not(.noprint)")
    assert details
    assert all(d.get_attribute("open") for d in details)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault(page: webdriver.Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    for details in page.find_elements(By.TAG_NAME, "summary"):
        details.click()
    page.execute_script(Axe().axe_script)
    found: dict[str, Any] = page.execute_async_script(
        "const done = arguments[0]; axe.run().then(done);"
    )
    assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []
    assert len(found["passes"]) > 10


@pytest.fixture(scope="module")
def long_names() -> Reported:
    """Of blocks, whose names are those of two operators, and with large figures."""
    return report_on(model_of("mobilenet-v1-0.25-96"))


@pytest.mark.parametrize("networks", [1, 2])
@pytest.mark.parametrize("width", [320, 390, 768, 1100, 1400])
def test_nothing_is_cut_and_no_width_needs_scrolling_sideways(
    browser: webdriver.Chrome,
    reported: Reported,
    long_names: Reported,
    width: int,
    networks: int,
    tmp_path: Path,
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    try:
        page = _open(browser, tmp_path, *(long_names, reported)[:networks])
        for details in page.find_elements(By.CSS_SELECTOR, "details:not([open]) > summary"):
            details.click()
        _drawn(page)
        wide = page.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        cut = page.execute_script(
            "return [...document.querySelectorAll('.scroll')]"
            ".filter((frame) => frame.scrollWidth > frame.clientWidth)"
            ".map((frame) => frame.getAttribute('aria-label'));"
        )
        assert cut == []
        narrow = page.find_elements(By.CSS_SELECTOR, ".narrow td[data-name='MACs']")
        assert narrow or width > 500
        assert not narrow or width < 1200 or networks == 2
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_two_networks_side_by_side(
    browser: webdriver.Chrome, reported: Reported, tmp_path: Path
) -> None:
    other = report_on(model_of("ds-cnn-kws"))
    page = _open(browser, tmp_path, reported, other)
    assert _log(page, "browser") == []
    assert page.find_element(By.TAG_NAME, "h1").text == "figure1 and ds-cnn-kws"
    table = page.find_element(By.TAG_NAME, "table")
    documents = report_document(reported, other)["networks"]
    for column, document in enumerate(documents, start=2):
        figures = [value for _, value in document["compared"]]
        assert _column(table, column) == ["-" if f is None else f"{f:,}" for f in figures]
    assert len(page.find_elements(By.TAG_NAME, "fieldset")) == 2
    first, second = page.find_elements(By.CSS_SELECTOR, "section:nth-of-type(3) > div")
    assert first.location["y"] == second.location["y"] < 1400


def test_names_are_never_markup(
    browser: webdriver.Chrome, reported: Reported, tmp_path: Path
) -> None:
    """Tensors and files may be called anything."""
    evil = "</script><img src=x onerror=alert(1)><!--{{data}}"
    model = reported.compiled.model
    graph = model.graph
    tensors = tuple(replace(t, name=evil) for t in graph.tensors)
    named: Model = replace(model, path=evil, graph=replace(graph, tensors=tensors))
    page = _open(browser, tmp_path, report_on(named))
    assert _log(page, "browser") == []
    assert page.find_elements(By.TAG_NAME, "img") == []
    assert (
        page.find_element(By.TAG_NAME, "h1").text
        == "script><img src=x onerror=alert(1)><!--{{data}}"
    )


def test_what_is_proved_is_shown_if_asked_for(
    browser: webdriver.Chrome, reported: Reported, tmp_path: Path
) -> None:
    """The same claims as `lowtide prove` makes, and what it doesn't prove."""
    heading = "Proved for all inputs"
    assert heading not in _texts(_open(browser, tmp_path, reported), "h2")
    proved = report_on(model_of("figure1"), prove=True)
    document = report_document(proved)
    Draft202012Validator(schema_of("lowtide.report/1")).validate(document)
    page = _open(browser, tmp_path, proved)
    assert _log(page, "browser") == []
    assert heading in _texts(page, "h2")
    assert proved.certificate is not None
    shown = page.find_element(By.XPATH, f"//section[.//h2[text()='{heading}']]")
    assert "object" not in shown.text
    shown.find_element(By.TAG_NAME, "summary").click()
    claims = proved.certificate["proved"]["products"]
    assert _column(shown.find_element(By.TAG_NAME, "table"), 4) == [
        f"{claim['largest']:,}" for claim in claims
    ]
    lines = [line.text for line in shown.find_elements(By.TAG_NAME, "li")]
    assert lines == [*proved.certificate["tested_alone"], *proved.certificate["not_proved"]]


def test_it_is_small_and_complete(reported: Reported) -> None:
    text = report_page(reported)
    assert len(text.encode()) < 1_000_000
    assert "{{" not in text.split("<script>")[0]
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_report_is_of_rows() -> None:
    from lowtide.commands.options import Options

    with pytest.raises(UsageError, match="a report shows how rows are scheduled"):
        report_on(model_of("figure1"), Options(schedule="operators"))

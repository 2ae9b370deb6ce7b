"""The page of the documentation that runs lowtide, in a real browser: it reports, and sends nothing.

Why behind a proxy: every request of the browser, of its workers and frames too, goes through it, to
whatever host, so what leaves the browser can be counted. Python for browsers comes from a host of its
own here, as from a content delivery network. `tools/pyodide.py` fetches it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_core_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

import lowtide
from lowtide.browser import answer
from lowtide.commands.compiling import Options
from lowtide.commands.reporting import report_on
from lowtide.machines.board import find_target
from lowtide.report.page import report_document, verdict_sentence
from lowtide.zoo import build
from tools import pyodide

ROOT = Path(__file__).parents[1]
SITE, NETWORK = "site.test", "cdn.test"
PAGE = f"http://{SITE}/browser/"
MOST_SECONDS = 300
"""After which a step of the browser's is taken to hang, on a machine however busy."""

_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1100,1400"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-first-run", "--disable-extensions", "--proxy-bypass-list=<-loopback>"),
)


@dataclass
class Served:
    """What hosts hold, and what was asked of any host, known or not: method and address."""

    folders: dict[str, Path]
    asked: list[str] = field(default_factory=list)

    def note(self, method: str, address: str) -> None:
        """Write it down, but for what Chromium asks of its maker by itself, on whatever page."""
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
        if not host.endswith((".google.com", ".googleapis.com")):
            self.asked.append(f"{method} {address}")


class _Proxy(SimpleHTTPRequestHandler):
    """Every host of the world: it serves the folders that it has, and writes down what is asked."""

    protocol_version = "HTTP/1.1"
    served: Served

    def do_GET(self) -> None:
        self.served.note("GET", self.path)
        address = urlsplit(self.path)
        folder = self.served.folders.get(address.hostname or "")
        if folder is None:
            self.send_error(404)
            return
        self.directory = os.fspath(folder)
        self.path = address.path
        super().do_GET()

    def _other(self) -> None:
        self.served.note(self.command, self.path)
        self.send_error(405)

    do_POST = do_PUT = do_CONNECT = do_HEAD = do_OPTIONS = _other  # noqa: N815  # http.server's names

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's name
        """Say nothing."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    if not pyodide.FOLDER.exists():  # others' servers have it: `make test` must not depend on them
        pytest.skip("Python for browsers could not be had: see tools/pyodide.py")
    assert pyodide.complete()
    cdn = tmp_path_factory.mktemp("cdn")
    (cdn / "pyodide").symlink_to(pyodide.FOLDER)
    site = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", site],
        cwd=ROOT,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "LOWTIDE_PYODIDE": f"http://{NETWORK}/pyodide/",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return Served({SITE: site, NETWORK: cdn})


@pytest.fixture(scope="module")
def proxy(served: Served) -> Iterator[str]:
    handler = type("Handler", (_Proxy,), {"served": served})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler)) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(proxy: str) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for option in (*_OPTIONS, f"--proxy-server={proxy}"):
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(MOST_SECONDS)
    yield driver
    driver.quit()


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


def part(page: webdriver.Chrome, name: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, f"[data-part={name}]")


def done(page: webdriver.Chrome) -> None:
    """Wait until it is no longer at work."""
    app = page.find_element(By.CLASS_NAME, "lowtide-app")
    WebDriverWait(page, MOST_SECONDS).until(lambda _: app.get_attribute("aria-busy") == "false")


def choose(page: webdriver.Chrome, file: Path) -> None:
    """Choose a file, as the keyboard does, which starts the report; wait for what comes of it."""
    begun(page)
    page.find_element(By.NAME, "file").send_keys(str(file))
    done(page)


def begun(page: webdriver.Chrome) -> None:
    """Mark it as at work, until it says that it no longer is."""
    page.execute_script("document.querySelector('.lowtide-app').setAttribute('aria-busy', 'asked')")


def press(page: webdriver.Chrome, button: WebElement) -> None:
    """Press a button that has it work, and wait."""
    begun(page)
    button.click()
    done(page)


def wrong(page: webdriver.Chrome) -> list[str]:
    return [p.text for p in part(page, "wrong").find_elements(By.TAG_NAME, "p")]


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
            ("in the arena", "elsewhere, readable", "row by row"), found.needs.values(), strict=True
        )
    ]


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
    assert caption.endswith(" will do, as estimated, nothing computed twice")
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
    assert cause.startswith("This did not work: ")
    assert said in cause
    assert remedy.startswith("What to do: ")
    expected = json.loads(answer("look", json.dumps({"model": str(file)})))["error"]
    assert expected["cause"].replace(str(file), name) in cause
    assert part(page, "report").text == ""


def test_a_limit_that_is_none_is_said(page: webdriver.Chrome, file: Path) -> None:
    page.find_element(By.NAME, "ram").send_keys("12 KB")
    choose(page, file)
    assert wrong(page) == [
        "This did not work: '12 KB' is no number of bytes",
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
    page.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    part(page, "stop").click()
    assert part(page, "status").text == "Stopped."
    assert page.find_element(By.CSS_SELECTOR, "button[type=submit]").is_enabled()


def test_everybody_can_use_it(reported: webdriver.Chrome) -> None:
    page = reported
    page.execute_script(Axe().axe_script)
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

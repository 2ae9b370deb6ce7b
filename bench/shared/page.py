"""The page of the documentation that runs lowtide, built, served and opened in headless Chromium.

Why behind a proxy: every request of the browser, of its workers and frames too, goes through it, to
whatever host, so what leaves the browser can be counted. Python for browsers comes from a host of its
own here, as from a content delivery network. `tools/pyodide.py` fetches it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tools import pyodide

_ROOT = Path(__file__).parents[2]
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


@contextmanager
def served_site(folder: Path) -> Iterator[tuple[Served, str]]:
    """The site, built in `folder`, and Python for browsers, served by a proxy; its address."""
    if not pyodide.complete():
        raise FileNotFoundError("Python for browsers is missing: run `python tools/pyodide.py`")
    site, network = folder / "site", folder / "network"
    network.mkdir()
    (network / "pyodide").symlink_to(pyodide.FOLDER)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", site],
        cwd=_ROOT,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "LOWTIDE_PYODIDE": f"http://{NETWORK}/pyodide/",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or done.stderr:
        raise ValueError(f"the site was not built: {done.stderr}")
    served = Served({SITE: site, NETWORK: network})
    handler = type("Handler", (_Proxy,), {"served": served})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield served, f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def chromium(proxy: str) -> Iterator[webdriver.Chrome]:
    """A browser that asks everything of `proxy`."""
    options = webdriver.ChromeOptions()
    for option in (*_OPTIONS, f"--proxy-server={proxy}"):
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService("/usr/bin/chromedriver")
    )
    driver.set_script_timeout(MOST_SECONDS)
    yield driver
    driver.quit()


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


def hit(button: WebElement) -> None:
    """Press it by the keyboard: a click misses where the page moves, as a report above it grows."""
    button.send_keys(Keys.ENTER)


def press(page: webdriver.Chrome, button: WebElement) -> None:
    """Press a button that has it work, and wait."""
    begun(page)
    hit(button)
    done(page)


def wrong(page: webdriver.Chrome) -> list[str]:
    return [p.text for p in part(page, "wrong").find_elements(By.TAG_NAME, "p")]

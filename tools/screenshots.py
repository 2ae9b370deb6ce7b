"""Takes the screenshots of the report, docs/report/*.png, in Chromium: `python tools/screenshots.py`.

Why a tool: the pictures are of the report as it is, of one network, in the same sizes each time.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium import webdriver

ROOT = Path(__file__).resolve().parents[1]
NETWORK = "zoo:branchy-cell"
OUT = ROOT / "docs" / "report"

SHOTS: Mapping[str, tuple[int, int, str, str]] = {
    "desktop": (1100, 1330, "screen", "light"),
    "dark": (1100, 1330, "screen", "dark"),
    "phone": (375, 1800, "screen", "light"),
    "print": (794, 1123, "print", "light"),  # A4 at 96 pixels an inch
}
"""Name -> width and height in pixels, medium and colour scheme."""


def main() -> None:
    """Make the report, and a picture of it of each kind."""
    sys.path.insert(0, str(ROOT / "src"))
    from lowtide import load
    from lowtide.advice.reporting import report_on
    from lowtide.report.page import report_page

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.binary_location = "/usr/bin/chromium"
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with TemporaryDirectory() as folder:
        file = Path(folder, "report.html")
        file.write_text(report_page(report_on(load(NETWORK))), "utf-8")
        with webdriver.Chrome(options=options, service=service) as browser:
            for name, (width, height, medium, scheme) in SHOTS.items():
                size = {"width": width, "height": height, "deviceScaleFactor": 1}
                told: dict[str, Any] = {**size, "mobile": width < 500}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", told)
                features = [{"name": "prefers-color-scheme", "value": scheme}]
                media = {"media": medium, "features": features}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
                browser.get(file.as_uri())
                shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (OUT / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
                print(OUT / f"{name}.png")


if __name__ == "__main__":
    main()

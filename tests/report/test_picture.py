"""Pictures: the format comes from the file's name, the same picture gives the same file, SVG or PNG."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
import xml.etree.ElementTree as Xml
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from selenium import webdriver

from lowtide.errors import UsageError
from lowtide.report.picture import (
    Boxes,
    Line,
    Picture,
    Words,
    format_of,
    png_bytes,
    svg_text,
    write_picture,
)

DRAWN = Picture(
    200,
    100,
    "all <kinds>",
    (
        Boxes(((10, 10, 50, 40), (70, 10, 50, 40)), "#0000ff", "#ffffff", "t1 & t2"),
        Line(((10, 80), (190, 80)), "#ff0000", 4),
        Line(((10, 90), (190, 90)), "#ff0000", 2, (6, 4)),
        Line(((130, 50), (150, 10), (170, 50)), "#000000", 1, fill="#00ff00"),
        Words(100, 70, "a < b", "middle", bold=True, halo=True),
        Words(190, 60, "up", "end", "#ff0000", 9, turn=90),
    ),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.png", "png"), ("a.SVG", "svg"), ("a.b.Png", "png"), (".svg", "svg")],
)
def test_format_of(name: str, expected: str) -> None:
    assert format_of(name) == expected


@pytest.mark.parametrize("name", ["", "png", "a", "a.", "a.pdf", "a.png.", "a.svgz", "a.jpeg"])
def test_format_of_any_other_name(name: str) -> None:
    with pytest.raises(UsageError) as info:
        format_of(name)
    assert info.value.cause == f"cannot tell the picture format of {name!r}"
    assert info.value.remedy == "end the file name in .png or .svg"


@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    write_picture(DRAWN, path)
    first = path.read_bytes()
    start = b"\x89PNG\r\n\x1a\n" if ending.lower() == "png" else b"<!-- Drawn by lowtide. -->\n<svg"
    assert first.startswith(start)
    assert b"dc:date" not in first
    write_picture(DRAWN, path)
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["plan", "plan.pdf", "plan.jpeg", "png"])
def test_an_unknown_ending(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot tell the picture format"):
        write_picture(DRAWN, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        write_picture(DRAWN, tmp_path / "none" / "plan.png")


def test_svg_has_every_element_and_text_stays_text() -> None:
    root = Xml.fromstring(svg_text(DRAWN))
    names = [element.tag.rpartition("}")[2] for element in root]
    assert names == ["title", "rect", "path", *["polyline"] * 3, *["text"] * 2]
    assert root.attrib["viewBox"] == "0 0 200 100"
    assert [e.text for e in root.iter() if e.tag.endswith("}title")] == ["all <kinds>", "t1 & t2"]
    path, line, dashed = (root[n].attrib for n in (2, 3, 4))
    assert path["d"] == "M10 10h50v40h-50zM70 10h50v40h-50z"
    assert "stroke-dasharray" not in line
    assert dashed["stroke-dasharray"] == "6 4"
    assert root[7].attrib["transform"] == "rotate(-90 190 60)"
    bare = svg_text(Picture(9, 9, "", DRAWN.elements, ground=""))
    assert "<rect" not in bare


def test_a_png_has_them_where_the_svg_has() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = Image.open(io.BytesIO(png_bytes(DRAWN))).convert("RGB")
    assert image.size == (240, 120)
    looks_right(np.asarray(image.resize((200, 100))))


def test_a_browser_draws_the_svg(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(svg_text(DRAWN), "utf-8")
    page = '<body style="margin:0"><img src="a.svg" width="200" height="100"></body>'
    (tmp_path / "a.html").write_text(page, "utf-8")
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--force-device-scale-factor=1"):
        options.add_argument(option)
    options.binary_location = "/usr/bin/chromium"
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with webdriver.Chrome(options=options, service=service) as browser:
        browser.get((tmp_path / "a.html").as_uri())
        shot = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    looks_right(np.asarray(shot)[:100, :200])


def looks_right(pixels: NDArray[np.uint8]) -> None:
    """`DRAWN` as pixels [100, 200, RGB]: every element in its place and colour."""

    def near(x: int, y: int, colour: tuple[int, int, int]) -> bool:
        return bool(np.abs(pixels[y, x].astype(int) - colour).max() < 60)

    blue, red, green, white = (0, 0, 255), (255, 0, 0), (0, 255, 0), (255, 255, 255)
    assert near(30, 30, blue) and near(90, 30, blue) and near(65, 30, white)
    assert near(100, 80, red) and near(150, 40, green) and near(150, 5, white)
    dashes = pixels[90, 10:190, 1] < 128
    assert 0.4 < dashes.mean() < 0.8
    words = np.flatnonzero(pixels[62:71, :180].min(axis=(0, 2)) < 60)
    assert 85 < words.mean() < 115  # in the middle, at 100
    upright = pixels[40:62, 178:194, 1] < 128  # ends at 60, and goes up from there
    assert upright.any()


def test_matplotlib_is_imported_only_for_png() -> None:
    modules = "analysis_picture, chart, front_picture, picture, plan_boxes, plan_picture"
    code = (
        f"import sys; from lowtide.report import {modules}; "
        "picture.svg_text(picture.Picture(9, 9, '', ())); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

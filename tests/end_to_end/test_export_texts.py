"""What packages say of themselves: descriptions, keywords and READMEs name what is there."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from packages import NETWORKS, WHOLE, package

from lowtide.emit.exports import KINDS
from networks import compiled


@pytest.mark.parametrize("name", NETWORKS)
def test_descriptions_name_all_files(name: str) -> None:
    files = package(name, "cmsis-pack").files
    root = ElementTree.fromstring(files[f"lowtide.{name}.pdsc"])
    named = {file.get("name") for file in root.iter("file")}
    sources = {file for file in files if file.startswith("src/") and file.endswith(".c")}
    assert named == sources | {f"src/{name}.h", "src/", "example/main.c"}
    manifest = json.loads(package(name, "platformio").files["library.json"])
    example = manifest["examples"][0]
    kept = package(name, "platformio").files
    assert all(f"{example['base']}/{file}" in kept for file in example["files"])
    text = package(name, "arduino").files["library.properties"].decode()
    found = dict(line.split("=", 1) for line in text.splitlines())
    required = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category")
    assert all(found.get(key) for key in (*required, "url", "architectures"))
    assert "avr" not in found["architectures"].split(",") and "*" not in found["architectures"]
    assert manifest["build"]["flags"] == "-O2" and "atmelavr" not in manifest["platforms"]
    release = root.find("releases/release")
    assert release is not None
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", release.get("date", ""))
    assert re.match("https://", root.findtext("url") or "")


@pytest.mark.parametrize("name", NETWORKS)
def test_keywords_are_all_that_the_header_declares(name: str) -> None:
    """Types and functions, as nm and a compiler find them."""
    files = package(name, "arduino").files
    words = dict(line.split("\t") for line in files["keywords.txt"].decode().splitlines()[2:])
    header = files[f"src/{name}.h"].decode()
    declared = re.findall(rf"^[a-z].*?\b({name}_\w+)\(", header, re.MULTILINE)
    types = re.findall(rf"^(?:typedef .*|\}}) ({name}_\w+);", header, re.MULTILINE)
    assert {word for word, kind in words.items() if kind == "KEYWORD2"} == set(declared)
    assert {word for word, kind in words.items() if kind == "KEYWORD1"} == set(types)
    assert f"{name}_t" in types and f"{name}_invoke" in declared


@pytest.mark.parametrize("kind", KINDS)
def test_commands_of_a_readme_are_blocks_of_code(kind: str) -> None:
    lines = package("branchy", kind).files["README.md"].decode().splitlines()
    commands = [line for line in lines if re.match(r" *(cmake|west|cd|arduino-cli|pio|zip) ", line)]
    assert commands and all(line.startswith("    ") for line in commands)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_readme_tells_of_cores_that_the_build_system_builds_for(name: str, kind: str) -> None:
    if kind == "tflm" and name not in WHOLE:
        return
    before = compiled(*NETWORKS[name]).files["README.md"].decode()
    after = package(name, kind).files["src/README.md"].decode()
    cores = re.findall(r"^\| `--core (\S+)`", before, re.MULTILINE)
    arm = {core for core in cores if core.startswith("cortex")}
    wanted = {"esp-idf": set(cores) - arm, "cmsis-pack": arm}.get(kind, set(cores))
    assert set(re.findall(r"^\| `--core (\S+)`", after, re.MULTILINE)) == wanted
    assert ("## For one core" in after) == bool(wanted) and cores
    titles = [re.findall(r"^## .*", text, re.MULTILINE) for text in (before, after)]
    assert [t for t in titles[0] if t != "## For one core" or wanted] == titles[1]


def test_zephyr_is_asked_for_the_fpu() -> None:
    """Of which Helium is a part, to GCC."""
    files = package("branchy", "zephyr").files
    assert b"\timply FPU if CPU_HAS_FPU\n" in files["Kconfig"]


def test_an_example_of_esp_idf_builds_what_it_needs() -> None:
    lists = package("branchy", "esp-idf").files["examples/branchy/CMakeLists.txt"].decode()
    assert lists.index("set(COMPONENTS main)") < lists.index("include(")

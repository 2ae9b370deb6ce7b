"""lowtide without its extras: what the base promises works, and what is missing is named.

Why processes that refuse to import: the packages are there when tests run, and a module that uses one of
them on the way would go unseen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = ("ai_edge_litert", "flatbuffers", "matplotlib", "tflite_micro")
NETWORK = "zoo:figure1"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of processes in which no extra can be imported."""
    folder = tmp_path / "refused"
    folder.mkdir()
    for package in EXTRAS:
        (folder / f"{package}.py").write_text("raise ImportError('not in the base')\n")
    before = os.environ.get("PYTHONPATH")
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])])
    }


def python(bare: dict[str, str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=bare, check=False, capture_output=True, text=True
    )


def lowtide(
    bare: dict[str, str], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return python(bare, folder, "-m", "lowtide", *arguments)


def test_what_the_base_does(bare: dict[str, str], tmp_path: Path) -> None:
    for arguments in [
        ("analyze", NETWORK),
        ("analyze", NETWORK, "--csv", "tables"),
        ("analyze", NETWORK, "--plot", "network.svg"),
        ("plan", NETWORK, "-o", "plan.json", "--plot", "plan.svg"),
        ("plan", NETWORK, "--front", "--plot", "front.svg"),
        ("compile", NETWORK, "--plan", "plan.json", "-o", "c"),
        ("compile", NETWORK, "--schedule", "operators", "-o", "c"),
        ("reorder", NETWORK, "--no-check", "--offline-plan", "-o", "new.tflite"),
        ("analyze", "new.tflite", "--json"),
        ("zoo", "resnet8", "-o", "resnet8.tflite"),
        ("compile", "resnet8.tflite", "-o", "resnet8"),
        ("boards",),
        ("ops",),
    ]:
        done = lowtide(bare, tmp_path, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert json.loads((tmp_path / "plan.json").read_text())["arena_bytes"] > 0
    assert (tmp_path / "c/figure1.h").is_file()
    assert (tmp_path / "resnet8/resnet8.c").is_file()


def test_the_python_api_of_the_base(bare: dict[str, str], tmp_path: Path) -> None:
    code = (
        "import lowtide\n"
        "model = lowtide.load('zoo:figure1')\n"
        "results = [lowtide.analyze(model), lowtide.reorder(model, check=False)]\n"
        "results += [lowtide.plan(model), lowtide.compile(model)]\n"
        "assert all(map(lowtide.describe, results))"
    )
    done = python(bare, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "needless"),
    [
        (
            "from lowtide.cli import main; sys.argv = ['lowtide', '--help']; main()",
            ["importlib.metadata", "email", "hashlib", "numpy", "rich", "tempfile"],
        ),
        (
            "import lowtide; lowtide.estimate(lowtide.load('zoo:figure1'))",
            ["rich", "ssl", "urllib.request", "lowtide.report"],
        ),
        (
            "import lowtide; net = lowtide.Shapes()\n"
            "lowtide.estimate(net.graph(net.conv(net.input((8, 8, 3)), 4)))",
            ["rich", "ssl", "urllib.request", "lowtide.report"],
        ),
    ],
    ids=["help", "estimate", "shapes"],
)
def test_what_starts_quickly_imports_little(tmp_path: Path, code: str, needless: list[str]) -> None:
    """What is counted is what is imported: that takes most of the time, whatever the computer."""
    begin = "import atexit, sys\nbefore = set(sys.modules)\n"
    told = f"print(sorted({set(needless)!r} & (set(sys.modules) - before)), file=sys.stderr)"
    text = f"{begin}atexit.register(lambda: {told})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("reorder", NETWORK, "-o", "new.tflite"), "verify"),
        (("verify", NETWORK), "verify"),
        (("run", NETWORK, "--board", "mps2-an386"), "verify"),
        (("analyze", NETWORK, "--plot", "x.png"), "plot"),
        (("plan", NETWORK, "--plot", "x.png"), "plot"),
        (("plan", NETWORK, "--front", "--plot", "x.png"), "plot"),
    ],
)
def test_what_is_missing_is_named(
    bare: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], extra: str
) -> None:
    done = lowtide(bare, tmp_path, *arguments)
    assert done.returncode == 4, done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-2:]
    if extra == "plot":
        assert last == [
            "lowtide: matplotlib is not installed (not in the base)",
            '  remedy: run `pip install ".[plot]"` in your checkout of lowtide; to write an .svg, you '
            "need nothing",
        ]
    else:
        assert last == [
            "lowtide: TensorFlow Lite Micro is not installed (not in the base); LiteRT is not "
            "installed (not in the base)",
            '  remedy: install TensorFlow Lite Micro or LiteRT: run `pip install ".[verify]"` in your '
            "checkout of lowtide",
        ]
    assert [path.name for path in tmp_path.iterdir()] == ["refused"]


def test_the_base_s_requirements() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [text.partition(">=")[0] for text in project["dependencies"]]
    assert names == ["numpy", "click"]
    assert set(project["optional-dependencies"]) == {
        *("verify", "plot", "quantize", "sweep", "dask", "ray", "all", "docs", "test"),
    }

"""`lowtide zoo`: the list of built-in networks, and one written to a file.

Why: this is how the first command in the README finds its model without any download.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import call, fine, refused

from lowtide import zoo
from networks import contents


def test_the_list_names_every_network_as_a_command_takes_it() -> None:
    lines = fine(call("zoo")).splitlines()
    assert [line.split()[0] for line in lines] == [f"zoo:{name}" for name in zoo.names()]
    for line, name in zip(lines, zoo.names(), strict=True):
        assert line.endswith("  " + zoo.describe(name))
    assert (
        len({line.index(zoo.describe(n)) for line, n in zip(lines, zoo.names(), strict=True)}) == 1
    )


def test_the_list_as_json() -> None:
    document = json.loads(fine(call("zoo", "--json")))
    assert document["schema"] == "lowtide.zoo/1"
    assert document["networks"] == [
        {"name": name, "description": zoo.describe(name)} for name in zoo.names()
    ]


def test_the_list_is_quick() -> None:
    """Neither numpy nor the .tflite schema is imported to show it."""
    code = (
        "import sys; sys.argv = ['lowtide', 'zoo']\n"
        "from lowtide.cli import main\n"
        "try: main()\n"
        "finally: print([m for m in ('numpy', 'ai_edge_litert', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["figure1", "zoo:figure1"])
def test_write_a_network(name: str, tmp_path: Path) -> None:
    out = tmp_path / "net.tflite"
    assert fine(call("zoo", name, "-o", out)) == f"Wrote {out}.\n"
    assert out.read_bytes() == contents("figure1")
    assert list(tmp_path.iterdir()) == [out]


def test_a_written_network_can_be_analysed(tmp_path: Path) -> None:
    out = tmp_path / "net.tflite"
    fine(call("zoo", "figure1", "-o", out))
    document = json.loads(fine(call("analyze", out, "--json")))
    assert document["model"]["path"] == str(out)
    assert document["peak_bytes"] == 5216


def test_an_unknown_name_brings_a_suggestion(tmp_path: Path) -> None:
    out = tmp_path / "net.tflite"
    cause = "the zoo has no network named 'figur1'"
    refused(call("zoo", "figur1", "-o", out), 2, cause, "did you mean figure1?")
    refused(call("analyze", "zoo:figur1"), 2, cause, "did you mean figure1?")
    refused(call("reorder", "zoo:figur1", "-o", out), 2, cause, "did you mean figure1?")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["zoo:", "zoo:qqqq"])
def test_a_name_like_none_brings_the_whole_list(name: str) -> None:
    refused(call("analyze", name), 2, "the zoo has no network", ", ".join(zoo.names()))

"""Help, version, and every wrong way to call a command: one message, a remedy, exit code 2.

Why: a mistyped command is what users meet first, and scripts tell usage errors by the code.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from command import call, fine, refused, run

import lowtide
from networks import contents

COMMANDS = (
    "analyze",
    "reorder",
    "simplify",
    "plan",
    "report",
    "compile",
    "verify",
    "run",
    "evaluate",
    "check",
    "prove",
    "fit",
    "sweep",
    "quantize",
    "zoo",
    "boards",
    "ops",
    "completion",
)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, flag: str) -> None:
    text = fine(call(command, flag))
    assert text.startswith(f"Usage: lowtide {command} ")
    assert "--json" in text or command == "completion"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_the_commands_in_the_order_of_use(flag: str) -> None:
    text = fine(call(flag))
    lines = text[text.index("Commands:") :].splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(COMMANDS)


def test_help_names_every_option() -> None:
    text = fine(call("analyze", "--help"))
    for option in ("--json", "--csv DIR", "--plot FILE", "--effort"):
        assert option in text
    text = fine(call("reorder", "--help"))
    for option in ("-o OUT", "--offline-plan", "--no-check", "--json", "--effort"):
        assert option in text
    text = fine(call("compile", "--help"))
    for option in (
        *("-o DIR", "--schedule [operators|rows]", "--allocator [planned|greedy|compacting]"),
        *("--input [resident|const|streamed]", "--output [resident|streamed]", "--json"),
        *("--preserve-input", "--quantized-io", "--align", "--name ID", "--effort"),
    ):
        assert option in text


def test_version_is_the_projects() -> None:
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    version = tomllib.loads(project.read_text())["project"]["version"]
    assert fine(call("--version")) == f"lowtide {version}\n"
    assert lowtide.__version__ == version


def test_help_and_version_as_a_process() -> None:
    assert fine(run("--version")) == fine(call("--version"))
    assert fine(run("-h")).startswith("Usage: lowtide ")


def test_no_command() -> None:
    result = call()
    assert result.code == 0
    assert result.out.startswith("Usage: lowtide") or "Usage" in result.out


@pytest.mark.parametrize(
    ("arguments", "cause", "remedy"),
    [
        (("analyse",), "No such command 'analyse'", "`lowtide --help`"),
        (("--bogus",), "No such option '--bogus'", "`lowtide --help`"),
        (("analyze",), "Missing argument 'MODEL'", "`lowtide analyze --help`"),
        (("analyze", "a", "b"), "unexpected extra argument (b)", "`lowtide analyze --help`"),
        (("analyze", "zoo:figure1", "--bogus"), "--bogus", "`lowtide analyze --help`"),
        (("analyze", "zoo:figure1", "--json=1"), "--json", "lowtide"),
        (("analyze", "zoo:figure1", "--effort", "soon"), "'soon'", "`lowtide analyze --help`"),
        (("analyze", "zoo:figure1", "--effort", "0"), "the range", "`lowtide analyze --help`"),
        (("analyze", "zoo:figure1", "--effort", "inf"), "the range", "`lowtide analyze --help`"),
        (("analyze", "zoo:figure1", "--csv"), "'--csv' requires an argument", "--help`"),
        (("reorder",), "Missing argument 'MODEL'", "`lowtide reorder --help`"),
        (
            ("reorder", "zoo:figure1"),
            "Missing option '-o'",
            "`lowtide reorder --help`",
        ),
        (("reorder", "zoo:figure1", "-o"), "'-o' requires an argument", "--help`"),
        (("zoo", "figure1", "extra"), "unexpected extra argument (extra)", "`lowtide zoo --help`"),
        (("zoo", "figure1"), "needs both its name and a file", "`lowtide zoo NAME -o OUT.tflite`"),
        (("zoo", "-o", "x.tflite"), "needs both its name and a file", "`lowtide zoo`"),
        (("zoo", "--bogus"), "No such option '--bogus'", "`lowtide zoo --help`"),
    ],
)
def test_a_wrong_call(
    arguments: tuple[str, ...],
    cause: str,
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(call(*arguments), 2, cause, remedy)
    assert list(tmp_path.iterdir()) == []


def test_no_number_is_no_effort() -> None:
    """nan is in no range: taken as a factor, it would be one that never ends the search."""
    refused(call("analyze", "zoo:figure1", "--effort", "nan"), 2, "--effort")


def test_a_mistyped_option_brings_a_suggestion() -> None:
    refused(call("analyze", "zoo:figure1", "--jsn"), 2, "--json")


def test_a_wrong_call_as_a_process() -> None:
    refused(run("analyse"), 2, "No such command 'analyse'")


@pytest.mark.parametrize("command", ["compile", "plan", "verify", "run"])
def test_output_is_where_outputs_are_in_every_command(command: str) -> None:
    assert "--output [resident|streamed]" in fine(call(command, "--help"))


@pytest.mark.parametrize("command", ["reorder", "simplify", "quantize", "zoo"])
def test_output_is_no_file(command: str, tmp_path: Path) -> None:
    """The file to write is -o everywhere."""
    result = call(command, "zoo:figure1", "--output", tmp_path / "out.tflite")
    refused(result, 2, "No such option '--output'", "--help`")


@pytest.mark.parametrize("command", COMMANDS)
def test_summaries_are_whole(command: str) -> None:
    (line,) = [li for li in fine(call("--help")).splitlines() if li.startswith(f"  {command} ")]
    assert line.endswith(".") and not line.endswith("...")


def test_files_above_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(contents("figure1"))
    size = f"{path.stat().st_size:,}"
    for command in (("analyze", str(path)), ("fit", str(path)), ("plan", str(path))):
        refused(
            call(*command, "--max-file", "1K"),
            3,
            f"{path} has {size} bytes, more than the limit of 1,024",
            "raise the limit, such as --max-file 4G",
        )
        assert "--max-file" in call(command[0], "--help").out
    fine(call("analyze", str(path), "--max-file", "1M"))
    refused(call("analyze", str(path), "--max-file", "lots"), 2, "not a number of bytes", "--help")
    refused(call("analyze", "/dev/zero"), 3, "/dev/zero is a device, not a file", ".tflite file")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Of bytes that are not UTF-8, as old archives have them."""
    path = tmp_path / os.fsdecode(b"n\xff.tflite")
    path.write_bytes(contents("figure1"))
    for name in ("fit.html", "fit.csv", "fit.json"):
        fine(call("fit", str(path), "-o", str(tmp_path / name)))
        assert (tmp_path / name).stat().st_size
    for name in ("sweep.csv", "sweep.jsonl"):
        fine(call("sweep", str(path), "-o", str(tmp_path / name)))
        assert (tmp_path / name).stat().st_size

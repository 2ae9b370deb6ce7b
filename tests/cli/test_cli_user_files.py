"""No command destroys a file of the user's: one rule for every option that names what is written.

What is written is listed here in full, so that an option that is added comes under the rule as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from command import call, fine, refused

from lowtide.cli import app
from lowtide.cli.writing import OutputOption
from networks import contents

NET = "zoo:figure1"
Words = tuple[str | Path, ...]
QUICK = ("--schedule", "operators")

FILES: dict[tuple[str, str], tuple[str, Callable[[str | Path, Path], Words]]] = {
    ("analyze", "--plot"): (".png", lambda m, out: ("analyze", m, "--plot", out)),
    ("reorder", "-o"): (".tflite", lambda m, out: ("reorder", m, "--no-check", "-o", out)),
    ("simplify", "-o"): (
        ".tflite",
        lambda m, out: ("simplify", m, "--no-check", "--always-write", "-o", out),
    ),
    ("quantize", "-o"): (".tflite", lambda m, out: ("quantize", m, "--random", "-o", out)),
    ("zoo", "-o"): (".tflite", lambda _, out: ("zoo", "figure1", "-o", out)),
    ("plan", "-o"): (".json", lambda m, out: ("plan", m, "-o", out)),
    ("plan", "--plot"): (".svg", lambda m, out: ("plan", m, "--plot", out)),
    ("report", "-o"): (".html", lambda m, out: ("report", m, "-o", out)),
    ("report", "--picture"): (".svg", lambda m, out: ("report", m, "--picture", out)),
    ("check", "-o"): (".json", lambda m, out: ("check", m, *QUICK, "-o", out)),
    ("check", "--junit"): (".xml", lambda m, out: ("check", m, *QUICK, "--junit", out)),
    ("prove", "-o"): (".json", lambda m, out: ("prove", m, *QUICK, "-o", out)),
    ("fit", "-o"): (".csv", lambda m, out: ("fit", m, "--mcu", "RP2040", "-o", out)),
    ("sweep", "-o"): (".csv", lambda m, out: ("sweep", m, "-o", out)),
}
"""Option -> the ending of what it writes, and a command that has it."""

FOLDERS: dict[tuple[str, str], tuple[str, Callable[[str | Path, Path], Words]]] = {
    ("analyze", "--csv"): ("tensors.csv", lambda m, out: ("analyze", m, "--csv", out)),
    ("compile", "-o"): ("README.md", lambda m, out: ("compile", m, *QUICK, "-o", out)),
    ("run", "--csv"): (
        "kernels.csv",
        lambda m, out: ("run", m, "--board", "mps2-an386", "--profile", "--csv", out),
    ),
}
"""Option -> a file that it writes into a folder, and a command that has it."""

READ = {
    *((command, "model") for command in ("analyze", "reorder", "simplify", "quantize", "plan")),
    *((command, "model") for command in ("report", "compile", "verify", "run", "check", "prove")),
    *(
        (command, "plan_file")
        for command in ("plan", "report", "compile", "verify", "run", "check", "prove")
    ),
    *((command, "board_file") for command in ("boards", "report", "run", "check")),
    *(("compile", "others"), ("check", "baseline"), ("report", "compare"), ("quantize", "data")),
    *(("check", "bundle"), ("prove", "bundle"), ("prove", "certificate")),
    *(("verify", "windows"), ("run", "windows")),
    *(("fit", "models"), ("sweep", "inputs")),
    *(("evaluate", name) for name in ("model", "data", "labels", "against", "plan_file")),
}
"""Parameters that name files which are read."""

MINE = b"my own notes\n"

every_file = pytest.mark.parametrize("option", FILES, ids=" ".join)
every_folder = pytest.mark.parametrize("option", FOLDERS, ids=" ".join)


def test_all_options_are_listed() -> None:
    written, read = set(), set()
    for name, command in app.commands.items():
        names = {flag for param in command.params for flag in param.opts}
        for param in command.params:
            if isinstance(param, OutputOption):
                written.add((name, param.opts[0]))
                assert "--force" in names, name
            elif isinstance(param.type, click.Path | click.File):
                read.add((name, param.name))
    assert written == {*FILES, *FOLDERS}
    assert read == READ


@pytest.mark.parametrize("option", [option for option in FILES if option[0] != "zoo"], ids=" ".join)
@pytest.mark.parametrize("how", ["itself", "hard link", "symbolic link", "other words"])
def test_no_input_is_written(option: tuple[str, str], how: str, tmp_path: Path) -> None:
    suffix, command = FILES[option]
    model = tmp_path / f"m{suffix}"
    model.write_bytes(contents("figure1"))
    out = tmp_path / f"out{suffix}"
    if how == "hard link":
        out.hardlink_to(model)
    elif how == "symbolic link":
        out.symlink_to(model)
    else:
        out = model if how == "itself" else tmp_path / ".." / tmp_path.name / model.name
    before = sorted(tmp_path.iterdir())
    for force in ((), ("--force",)):
        result = call(*command(model, out), *force)
        refused(result, 2, f"cannot write {out}: it is an input of this command", "another file")
    assert model.read_bytes() == contents("figure1")
    assert sorted(tmp_path.iterdir()) == before


@every_file
def test_a_file_of_somebody_elses_stays(option: tuple[str, str], tmp_path: Path) -> None:
    suffix, command = FILES[option]
    out = tmp_path / f"notes{suffix}"
    out.write_bytes(MINE)
    result = call(*command(NET, out))
    cause = (
        "is not the result of a sweep" if option[0] == "sweep" else "the file exists, and is not a"
    )
    refused(result, 2, cause, "name another file")
    assert out.read_bytes() == MINE
    assert list(tmp_path.iterdir()) == [out]


@every_file
def test_what_a_command_wrote_it_writes_again(option: tuple[str, str], tmp_path: Path) -> None:
    """Also where the file was empty, as one that was made to hold the place; and others by force."""
    suffix, command = FILES[option]
    net: str | Path = NET
    if option[0] == "quantize":
        net = tmp_path / "float.tflite"
        fine(call("zoo", "figure1", "--float", "-o", net))
    out = tmp_path / f"out{suffix}"
    out.touch()
    extra = ("--always-write",) if option[0] == "reorder" else ()

    def write(*more: str) -> bytes:
        result = call(*command(net, out), *extra, *more)
        assert result.code == 0, result.err
        return out.read_bytes()

    first = write()
    assert first
    assert write() == first
    out.write_bytes(MINE)
    assert write("--force") == first


@every_folder
def test_no_input_in_a_folder_is_written(option: tuple[str, str], tmp_path: Path) -> None:
    name, command = FOLDERS[option]
    model = tmp_path / name
    model.write_bytes(contents("figure1"))
    result = call(*command(model, tmp_path), "--force")
    refused(result, 2, f"cannot write {model}: it is an input of this command", "another file")
    assert model.read_bytes() == contents("figure1")
    assert list(tmp_path.iterdir()) == [model]


@every_folder
def test_files_in_a_folder_stay(option: tuple[str, str], tmp_path: Path) -> None:
    name, command = FOLDERS[option]
    (tmp_path / name).write_bytes(MINE)
    refused(call(*command(NET, tmp_path)), 2, "cannot write", "--force")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == MINE


def test_tables_are_written_again(tmp_path: Path) -> None:
    (tmp_path / "else.csv").write_bytes(MINE)
    for _ in range(2):
        fine(call("analyze", NET, "--csv", tmp_path))
    assert (tmp_path / "else.csv").read_bytes() == MINE


@pytest.mark.parametrize(
    "kind", [None, "cmake", "arduino", "zephyr", "esp-idf", "platformio", "cmsis-pack", "tflm"]
)
def test_a_bundle_is_written_again(kind: str | None, tmp_path: Path) -> None:
    """Every file of it is known to be lowtide's, however it was changed below its first lines."""
    out = tmp_path / "figure1"
    words = ("compile", NET, *QUICK, "-o", out, *(() if kind is None else ("--export", kind)))
    fine(call(*words))
    first = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for path, content in first.items():
        if path.name != "LICENSE":
            path.write_bytes(content + b"\n")
    fine(call(*words))
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == first
    fine(call("compile", "zoo:branchy-cell", *QUICK, "-o", out))  # beside the other


def test_a_component_of_esp_idf_is_in_a_folder_of_its_name(tmp_path: Path) -> None:
    """Which is how ESP-IDF calls it: the example asks for it by that name."""
    (tmp_path / "mine.txt").write_bytes(MINE)
    words = ("compile", NET, *QUICK, "--export", "esp-idf", "-o")
    for _ in range(2):
        assert f"to {tmp_path / 'figure1'}" in fine(call(*words, tmp_path))
    fine(call(*words, tmp_path / "figure1"))
    fine(call(*words, tmp_path, "--name", "other"))
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("idf_component.yml"))
    own = [f"{name}/{at}idf_component.yml" for name in ("figure1", "other") for at in ("", "main/")]
    own = [p.replace("/main", f"/examples/{p.split('/')[0]}/main") for p in own]
    assert found == sorted(own)
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "mine.c").write_bytes(MINE)
    cause = f"cannot write into {tmp_path / 'third'}: it is not empty"
    refused(call(*words, tmp_path, "--name", "third"), 2, cause, "name a new folder")


def test_a_project_is_no_folder_for_a_bundle(tmp_path: Path) -> None:
    lists = tmp_path / "CMakeLists.txt"
    lists.write_text("# net/ is generated by lowtide.\nproject(mine)\n")
    words = ("compile", NET, *QUICK, "--export", "cmake", "-o", tmp_path)
    cause = (
        f"cannot write into {tmp_path}: it is not empty, and holds nothing that lowtide generated"
    )
    refused(call(*words), 2, cause, "name a new folder, or write into this one with --force")
    assert list(tmp_path.iterdir()) == [lists]
    fine(call(*words, "--force"))
    assert "add_library" in lists.read_text()


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "figure1.h", "lt_move.c"])
def test_a_foreign_file_in_a_bundle(name: str, tmp_path: Path) -> None:
    """Nothing at all is written then."""
    words = ("compile", NET, *QUICK, "-o", tmp_path / "out")
    fine(call(*words))
    for path in (tmp_path / "out").iterdir():
        path.write_bytes(path.read_bytes() + b"\n" * (path.name != "LICENSE"))
    (tmp_path / "out" / name).write_bytes(MINE)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    refused(call(*words), 2, f"cannot write {tmp_path / 'out' / name}: the file exists", "--force")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    fine(call(*words, "--force"))
    assert (tmp_path / "out" / name).read_bytes() != MINE


@pytest.mark.parametrize("link", ["README.md", "src"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_link_in_a_folder_is_followed(link: str, force: Words, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    words = ("compile", NET, *QUICK, "--export", "cmake", "-o", out)
    fine(call(*words))
    (out / link).rename(other)
    (out / link).symlink_to(other)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    cause = f"{out / link} is a symbolic link, which is not followed"
    refused(call(*words, *force), 2, cause, "remove the link")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fine(call("compile", NET, *QUICK, "-o", tmp_path / "link"))
    assert (tmp_path / "real" / "figure1.c").is_file()


@pytest.mark.parametrize(
    "content",
    ["my own line\n", "path,sha256,version,asked,error,mine\n", "name;size\na;1\n"],
    ids=["a line", "another column", "another table"],
)
def test_a_table_of_somebody_elses_stays(content: str, tmp_path: Path) -> None:
    out = tmp_path / "notes.csv"
    out.write_text(content)
    refused(call("sweep", NET, "-o", out), 2, "is not the result of a sweep: it has a column")
    refused(call("fit", NET, "-o", out), 2, "the file exists, and is not a table of this kind")
    assert out.read_text() == content
    assert list(tmp_path.iterdir()) == [out]


def test_all_files_of_a_sweep_are_its_inputs(tmp_path: Path) -> None:
    """Also those that a list names, and the list; what it wrote may lie in a folder of networks."""
    net = tmp_path / "m.csv"
    net.write_bytes(contents("figure1"))
    listed = tmp_path / "list.csv"
    listed.write_text(f"{net}\n")
    for out in (net, listed):
        refused(call("sweep", f"@{listed}", "--force", "-o", out), 2, "is an input of this command")
    (tmp_path / "networks").mkdir()
    net.rename(tmp_path / "networks" / "m.tflite")
    for _ in range(2):
        fine(call("sweep", tmp_path / "networks", "-o", tmp_path / "networks" / "table.csv"))


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "link").symlink_to(out)
    result = call("check", NET, "-o", out, "--junit", tmp_path / "link")
    refused(
        result, 2, f"-o and --junit both name {tmp_path / 'link'}", "name a different file for each"
    )
    assert not out.exists()


def test_other_inputs_stay_as_well(tmp_path: Path) -> None:
    """Whatever a command reads: a plan, a baseline, another network, samples."""
    plan, base = tmp_path / "plan.json", tmp_path / "base.json"
    fine(call("plan", NET, "-o", plan))
    fine(call("check", NET, *QUICK, "-o", base))
    (tmp_path / "samples").mkdir()
    sample = tmp_path / "samples" / "0.npy"
    sample.write_bytes(MINE)
    before = plan.read_bytes(), base.read_bytes(), MINE
    for words in (
        ("plan", NET, "--plan", plan, "-o", plan),
        ("check", NET, "--baseline", base, "-o", base),
        ("report", NET, "--compare", base, "-o", base, "--force"),
        ("quantize", NET, "--data", sample.parent, "-o", sample, "--force"),
    ):
        refused(call(*words), 2, "it is an input of this command", "name another file")
    assert (plan.read_bytes(), base.read_bytes(), sample.read_bytes()) == before


def test_a_cache_that_others_can_write_to_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    monkeypatch.setenv("LOWTIDE_CACHE", str(tmp_path / "cache"))
    words = ("check", NET, *QUICK)
    result = call(*words)
    assert result.code == 0
    assert result.messages == (
        f"lowtide: the cache in {tmp_path / 'cache'} is not used: others can write to "
        f"{tmp_path / 'cache'}; remove it, and lowtide creates it again for you only\n"
    )
    assert list((tmp_path / "cache").iterdir()) == []
    fine(call(*words, "--no-cache"))

"""What the documents show to be typed works: commands are run, Python is run, C names what there is.

Why page by page: commands of a page follow each other, in one folder, as a reader types them. Files that
a reader would bring are stood in for by small networks of the zoo. What needs something that not every
machine has says so in a comment before its block, and what was tried with it in a sentence.

`test_a_broken_command_is_found` and its neighbours show that none of this passes by itself.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest
from command import Result, call

from bench.shared.outside import ROOT
from lowtide.cli import app
from lowtide.errors import LowtideError
from lowtide.zoo import build
from shown import PAGES, Shown, blocks_of, commands_of, differences, inline_of

WIDTH = "100"
"""Of the text that the documents show."""

STAND_INS = {
    **dict.fromkeys(("MODEL", "model.tflite", "person.tflite", "kws.tflite"), "figure1"),
    **dict.fromkeys(("candidates/a.tflite", "runs/1/best.tflite", "more/b.tflite"), "figure1"),
}
"""File of a reader's -> the network of the zoo that stands in for it."""

FAILING = {"lowtide check zoo:branchy-cell": 1}
"""The beginning of a command -> its exit code, where the page says that it is not 0."""

BY_COMPILER = {"run", "check", "quantize"}
"""Commands whose output depends on the C compiler, or on another tool: it is not compared."""

RUN_ELSEWHERE = {
    "examples/camera_rows/README.md": "tests/end_to_end/test_camera_rows.py",
    "examples/search/README.md": "tests/end_to_end/test_search.py",
    "examples/shared_arena/README.md": "tests/end_to_end/test_shared_arena.py",
    "examples/wake_window/README.md": "tests/end_to_end/test_wake_window.py",
    "examples/wake_word/README.md": "tests/end_to_end/test_wake_word.py",
}
"""Page -> the test that runs what it shows: every word of it but paths is there."""

OTHERS_OPTIONS = {
    *("--store", "--only", "--check", "--update-golden", "--seeds", "--specs", "--gc-sections"),
    *("--whole-archive", "--optimize", "--break-system-packages"),
    *("--family", "--seed", "--repeat", "--part", "--fit"),
}
"""Options in the documents of programs that are not lowtide."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=_name)


def stand_in(folder: Path, text: str) -> None:
    """The files that a reader of the page would have in `folder`."""
    for name, network in STAND_INS.items():
        if name.split("/")[0] in text:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(build(network))
    (folder / "more.txt").write_text("more/b.tflite\n")
    if "lowtide quantize model.tflite" in text:
        assert call("zoo", "resnet8", "--float", "-o", folder / "model.tflite").code == 0
        samples = np.random.default_rng(1).uniform(-1, 1, (8, 32, 32, 3))
        np.savez(folder / "samples.npz", samples.astype(np.float32))
    for block in blocks_of(text):
        if block.language == "toml" and "[board." in "\n".join(block.lines):
            (folder / "myboards.toml").write_text("\n".join(block.lines))


def lowtide_command(shown: Shown, run: Callable[..., Result] = call) -> list[str]:
    """Run it; what is wrong with it."""
    words = shown.words[1:]
    target = None
    if ">" in words:
        at = words.index(">")
        words, target = words[:at], Path(words[at + 1])
    result = run(*words)
    expected = next((c for text, c in FAILING.items() if shown.text.startswith(text)), 0)
    if result.code != expected:
        return [f"line {shown.line}: exit code {result.code}: {shown.text}\n{result.err}"]
    if target is not None:
        target.parent.mkdir(exist_ok=True)
        target.write_text(result.out)
    if not shown.output or words[0] in BY_COMPILER:
        return []
    wrong = differences(shown.output, result.out.splitlines())
    mend = "`bench/run examples --store && make figures` writes what is printed now"
    return [f"line {shown.line}: not printed by {shown.text}: {s}; {mend}" for s in wrong]


def other_command(shown: Shown, page: Path) -> list[str]:
    """What is wrong with a command that is not run here, but held in another way."""
    words = shown.words
    program, given = words[0].removeprefix(".venv/bin/"), words[1:]
    match program:
        case "python" | "python3" if given[0] == "-c":
            exec(given[1], {})
            return []
        case "pip" | "pipx":
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            asked = re.findall(r"\[([\w,-]+)\]", " ".join(given))
            extras = {extra for found in asked for extra in found.split(",")}
            missing = extras - set(known["optional-dependencies"])
            return [f"line {shown.line}: no extra {name}" for name in sorted(missing)]
        case "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            return [f"line {shown.line}: no target {t}" for t in given if t not in targets]
        case "bench/run":
            there = not given or (ROOT / "bench" / given[0] / "__main__.py").exists()
            return [] if there else [f"line {shown.line}: no bench {given[0]}"]
        case "pytest":
            paths = [word for word in given if word.startswith("tests/")]
            return [f"line {shown.line}: no {p}" for p in paths if not (ROOT / p).exists()]
        case "python3" if given[:2] == ["-m", "venv"]:
            return []
        case "python" if given[:1] == ["-m"]:
            module = ROOT / given[1].replace(".", "/")
            return (
                [] if (module / "__main__.py").exists() else [f"line {shown.line}: no {given[1]}"]
            )
        case "python" if given[0].startswith("tests/"):
            return [] if (ROOT / given[0]).exists() else [f"line {shown.line}: no {given[0]}"]
        case "cd":
            return []
    test = RUN_ELSEWHERE.get(_name(page))
    if test is not None:
        source = (ROOT / test).read_text("utf-8")
        names = [word.rsplit("/", 1)[-1] for word in words if not word.startswith("/tmp")]
        return [f"line {shown.line}: {n} is not in {test}" for n in names if n not in source]
    return [f"{_name(page)}, line {shown.line}: nothing runs `{shown.text}`: see tests/shown.py"]


def broken(text: str, page: Path, run: Callable[..., Result] = call) -> list[str]:
    """What is wrong with the commands of a page, run one after the other in the working folder."""
    found = []
    for shown in commands_of(text):
        if shown.needs:
            continue
        is_ours = shown.text.startswith("lowtide ")
        found += lowtide_command(shown, run) if is_ours else other_command(shown, page)
    return found


@EACH_PAGE
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    text = page.read_text("utf-8")
    stand_in(tmp_path, text)
    assert broken(text, page) == []


@EACH_PAGE
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are executed in their order; the values that `bench/run figures` wrote are compared."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    stand_in(tmp_path, text)
    names: dict[str, object] = {}
    for block in blocks_of(text):
        if block.language == "python" and not block.needs and not block.source:
            compared = block.figures
            assert python_differences("\n".join(block.lines), names, compared=compared) == []


def python_differences(code: str, names: dict[str, object], *, compared: bool) -> list[str]:
    """Run statement by statement; those whose comment is not the value, or what was printed."""
    wrong = []
    lines = code.splitlines()
    for node in ast.parse(code).body:
        source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if isinstance(node, ast.Expr):
                value = eval(compile(ast.Expression(node.value), "shown", "eval"), names)
            else:
                exec(compile(ast.Module([node], []), "shown", "exec"), names)
                continue
        text = printed.getvalue().strip() if value is None else repr(value)
        comment = lines[node.lineno - 1][node.end_col_offset or 0 :]
        for more in lines[node.lineno :]:
            if not more.startswith(" " * 8 + "  "):
                break
            comment += more
        told = re.sub(r"[\s#]+", "", comment)
        if compared and told and "measured" not in source and told != re.sub(r"[\s#]+", "", text):
            wrong.append(f"{source} is {text}")
    return wrong


@EACH_PAGE
def test_what_is_in_sentences_is_known(page: Path) -> None:
    """Commands and options in backticks are lowtide's, or of a program that is named above."""
    wrong = [w for quoted in inline_of(page.read_text("utf-8")) for w in unknown(quoted)]
    assert wrong == []


def unknown(quoted: str) -> list[str]:
    """What of something in backticks is no command, or no option, of lowtide's."""
    if quoted.startswith("lowtide ") and len(quoted.split()) > 2 and "`" not in quoted:
        try:
            parse(quoted.split()[1:])
        except (click.ClickException, LowtideError) as error:
            return [f"{quoted}: {error}"]
    options = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", quoted)
    return [f"{quoted}: no option {o}" for o in options if o not in known_options()]


def parse(words: list[str]) -> None:
    """Have click take a command's words, without running it. A network need not be named."""
    name, *given = words
    command = app.commands.get(name)
    if command is None:
        raise click.UsageError(f"no command {name}")
    with contextlib.suppress(click.MissingParameter):
        command.make_context(name, given)


@cache
def known_options() -> frozenset[str]:
    own = {o for c in app.commands.values() for p in c.params for o in (*p.opts, *p.secondary_opts)}
    return frozenset({*own, *OTHERS_OPTIONS, "--help", "--version"})


C_NAMES = ("branchy_cell", "ds_cnn_kws", "vww", "wake", "net")
C_WAYS: Mapping[str, tuple[str, ...]] = {
    "resident": (),
    "streamed": ("--input", "streamed", "--output", "streamed"),
    "const": ("--input", "const"),
    "slices": ("--slices",),
}


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All names that headers of programs have, of a program `net` made in several ways."""
    text = ""
    for way, flags in C_WAYS.items():
        folder = tmp_path_factory.mktemp(way)
        assert call("compile", "zoo:figure1", "--name", "net", "-o", folder, *flags).code == 0
        text += "".join(path.read_text() for path in folder.glob("*.h"))
    ring = ("zoo:wake-word-window", "--hop", "1", "--input", "const")
    for asked in (("zoo:streaming-wake-word",), ring):
        folder = tmp_path_factory.mktemp("more")
        assert call("compile", *asked, "--name", "net", "-o", folder).code == 0
        text += (folder / "net.h").read_text()
    return text


@EACH_PAGE
def test_c_names_what_headers_have(page: Path, headers: str) -> None:
    for block in blocks_of(page.read_text("utf-8")):
        if block.language == "c":
            assert unknown_names("\n".join(block.lines), headers) == []


def unknown_names(code: str, headers: str) -> list[str]:
    """Names in C with the prefix of a program of the documents, that programs do not have."""
    found = []
    for prefix in C_NAMES:
        for name in re.findall(rf"\b(?:{prefix}|{prefix.upper()})_\w+", code):
            own = name.replace(prefix, "net", 1).replace(prefix.upper(), "NET", 1)
            if not re.search(rf"\b{own}\b", headers):
                found.append(name)
    return found


@EACH_PAGE
def test_code_is_the_projects(page: Path) -> None:
    """What is shown as of a file of the project is in it; "..." stands for what is left out."""
    for block in blocks_of(page.read_text("utf-8")):
        if block.source:
            source = (ROOT / block.source).read_text("utf-8")
            assert not_in("\n".join(block.lines), source) == []


def not_in(shown: str, source: str) -> list[str]:
    """The parts of something shown, between lines of "...", that do not follow each other in a file."""
    missing, at = [], 0
    for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE):
        found = source.find(part.strip("\n"), at)
        if found < 0:
            missing.append(part.strip("\n"))
        else:
            at = found
    return missing


@EACH_PAGE
def test_blocks_have_a_kind(page: Path) -> None:
    """No block is left out because its language is unknown."""
    kinds = {"sh", "console", "c", "python", "toml", "text", "yaml", "json", "diff", "ini", "cmake"}
    wrong = [b.line for b in blocks_of(page.read_text("utf-8")) if b.language not in kinds]
    assert wrong == [], "say behind the three backticks what the block is"


def nothing(*_: object) -> Result:
    return Result(0, "first\nsecond\nthird\n", "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("    lowtide plan zoo:figure1 --no-such-option\n", "No such option"),
        ("Text.\n\n    lowtide plan no-such.tflite  # a comment\n", "exit code 3"),
        ("```sh\nlowtide frobnicate x\n```\n", "No such command"),
        ("```console\n$ lowtide zoo no-such -o x.tflite\n```\n", "exit code 2"),
        ("    frobnicate model.tflite\n", "nothing runs `frobnicate model.tflite`"),
        ("    make no-such\n", "no target no-such"),
        ("    pip install 'lowtide[no-such]'\n", "no extra no-such"),
        ("    bench/run no-such\n", "no bench no-such"),
        ("    pytest tests/no-such\n", "no tests/no-such"),
        ("    a line of output\n", "nothing runs `a line of output`"),
        ("- item\n\n    lowtide plan \\\n        zoo:figure1 --no-such\n", "No such option"),
    ],
)
def test_a_broken_command_is_found(text: str, found: str) -> None:
    wrong = broken(text, ROOT / "README.md")
    assert len(wrong) == 1
    assert found in wrong[0]


@pytest.mark.parametrize(
    ("shown", "wrong"),
    [
        ("first\nsecond\nthird", 0),
        ("...\nthird", 0),
        ("first\n...", 0),
        ("...\nsecond\n...", 0),
        ("second", 1),
        ("...\nsecnd", 1),
        ("first\nthird", 1),
        ("...\nthird\nsecond", 1),
    ],
)
def test_output_that_was_not_printed_is_found(shown: str, wrong: int) -> None:
    text = f"```console\n$ lowtide zoo\n{shown}\n```\n"
    assert len(broken(text, ROOT / "README.md", nothing)) == wrong


def test_what_a_block_needs_is_not_run() -> None:
    text = "<!-- needs: ESP-IDF -->\n\n    idf.py build\n\nText.\n\n    idf.py flash\n"
    assert [shown.needs for shown in commands_of(text)] == ["ESP-IDF", ""]


def test_wrong_python_is_found() -> None:
    assert python_differences("x = 1\nx + 1  # 3", {}, compared=True) == ["x + 1  # 3 is 2"]
    assert python_differences("x = 1\nx + 1  # 2\nprint(x)  # 1", {}, compared=True) == []
    assert python_differences("1 + 1  # an even number", {}, compared=False) == []
    with pytest.raises(NameError):
        python_differences("no_such(1)", {}, compared=False)


def test_wrong_words_in_sentences_are_found() -> None:
    assert unknown("lowtide plan --max-ram 16K") == []
    assert unknown("lowtide ops") == []
    assert unknown("--input streamed") == []
    assert len(unknown("lowtide plan MODEL --cost seconds")) == 1
    assert unknown("--no-such x") == ["--no-such x: no option --no-such"]
    assert unknown("lowtide make x") == ["lowtide make x: no command make"]


def test_code_that_changed_is_found() -> None:
    assert not_in("b = 2\n...\nd = 4", "a = 1\nb = 2\nc = 3\nd = 4\n") == []
    assert not_in("b = 2\nd = 4", "a = 1\nb = 2\nc = 3\nd = 4\n") == ["b = 2\nd = 4"]
    assert not_in("c = 3\n...\nb = 2", "a = 1\nb = 2\nc = 3\n") == ["b = 2"]


def test_wrong_c_is_found(headers: str) -> None:
    assert unknown_names("vww_init(&net, 0, VWW_ARENA_SIZE); vww_t net;", headers) == []
    assert unknown_names("vww_start(&net); VWW_ARENA", headers) == ["vww_start", "VWW_ARENA"]

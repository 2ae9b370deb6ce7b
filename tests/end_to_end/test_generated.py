"""What is generated: the same bytes every time, no warning from any compiler, a README that is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from programs import merged

from bench.shared.built import compile_only
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import load_boards
from networks import EFFORT, compiled, model_of
from origins import without_origin

_BOTH = Options(input_mode="streamed", output_mode="streamed")

# Together they use every way of generating C: views, scratch, constants, tables, moves, inputs outside,
# rows that are given and taken.
PROGRAMS: tuple[tuple[str | int, Options], ...] = (
    ("figure1", Options(input_mode="const")),
    ("ds-cnn-kws", Options()),
    ("resnet8", Options(schedule="operators")),
    ("branchy-cell", Options(schedule="operators", allocator="compacting")),
    ("attention-block", Options(preserve_input=True)),
    ("figure1", replace(_BOTH, name="pushed")),
    (15, _BOTH),  # two inputs, so that rows cannot be pushed, and three outputs
)
# One for every set of kernels and instructions: a Cortex-M7 has those of a Cortex-M4.
_BOARDS = ("microbit", "mps2-an385", "mps2-an386", "mps3-an547", "hifive1b")


def _targets() -> dict[str, tuple[str, tuple[str, ...]]]:
    boards = {name: load_boards()[name] for name in _BOARDS}
    return {
        "x86-64": ("host", ("-O2",)),
        **{b.core.name: (b.core.toolchain, (*b.flags, b.optimise)) for b in boards.values()},
        "xtensa-lx106": ("xtensa-lx106-elf", ("-O2",)),
    }


@pytest.mark.parametrize("target", _targets())
def test_no_compiler_warns(target: str, tmp_path: Path) -> None:
    toolchain, flags = _targets()[target]
    files = {name: text.encode() for name, text in kernel_files().items()}
    files |= merged(*(compiled(network, options) for network, options in PROGRAMS))
    assert compile_only(files, toolchain, tmp_path, *flags) == ""


@pytest.mark.parametrize(("network", "options"), PROGRAMS, ids=lambda value: str(value)[:12])
def test_generating_twice_gives_the_same_bytes(network: str | int, options: Options) -> None:
    once = compiled(network, options)
    again = compile_model(model_of(network), once.options)
    assert again.files == once.files
    assert list(again.files) == list(once.files)


def test_two_processes_generate_the_same_bytes(tmp_path: Path) -> None:
    """Also with another seed of Python's hashes, in another folder, in another language."""
    command = [sys.executable, "-m", "lowtide", "compile", "zoo:branchy-cell"]
    command += ["--effort", str(EFFORT)]
    found = []
    for number, language in enumerate(("C", "C.UTF-8")):
        folder = tmp_path / f"run {number}" / "out"
        subprocess.run(
            [*command, "-o", str(folder)],
            env={**os.environ, "PYTHONHASHSEED": str(number + 1), "LC_ALL": language},
            check=True,
            capture_output=True,
            timeout=120,
        )
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0] == found[1]
    assert without_origin(found[0]) == without_origin(compiled("branchy-cell").files)


@pytest.mark.parametrize(("network", "options"), PROGRAMS, ids=lambda value: str(value)[:12])
def test_a_reviewer_finds_nothing_to_object_to(network: str | int, options: Options) -> None:
    """No heap, no recursion's helpers, no state of its own, nothing of the machine it was made on."""
    program = compiled(network, options)
    for name, content in program.files.items():
        text = content.decode("ascii")
        assert text.endswith("\n"), name
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), name
        assert "\t" not in text, name
        if name.endswith((".c", ".h")):
            assert not re.search(r"\b(malloc|calloc|realloc|free|alloca|printf)\s*\(", text), name
    main = program.files[f"{program.name}.c"].decode()
    for line in main.splitlines():
        function = re.fullmatch(r"static int \w+\(\w+ \*m\)", line)
        assert not line.startswith("static ") or line.startswith("static const ") or function, line


def test_the_readme_has_the_programs_own_figures() -> None:
    program = compiled("ds-cnn-kws")
    text = program.files["README.md"].decode()
    assert f"| arena | {program.arena_bytes} |" in text
    header = program.files["ds_cnn_kws.h"].decode()
    assert f"#define DS_CNN_KWS_ARENA_SIZE {program.arena_bytes}\n" in header
    for words in ("ds_cnn_kws_init", "ds_cnn_kws_input", "ds_cnn_kws_invoke", "ds_cnn_kws_output"):
        assert words in text
        assert words in header
    assert "**overwrites the inputs**" in text


@pytest.mark.parametrize(
    ("network", "options"),
    PROGRAMS,
    ids=lambda value: str(value)[:12],
)
def test_the_readme_calls_functions_that_there_are(network: str | int, options: Options) -> None:
    program = compiled(network, options)
    pattern = rf"\b{program.name}_\w+(?=\()"
    header = set(re.findall(pattern, program.files[f"{program.name}.h"].decode()))
    named = set(re.findall(pattern, program.files["README.md"].decode()))
    assert {f"{program.name}_init", f"{program.name}_invoke"} <= named <= header

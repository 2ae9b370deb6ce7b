"""The runtime does not look at data: no branch and no address of it depends on an input or a state.

So what the proof plays on labels is what runs for every input. All memory of a program is marked as
undefined, and kernels are stubs that leave it so; Valgrind's memcheck reports every branch, and every
address, that depends on such a byte. What is left of the program is its tables and the runtime:
lowtide.c, lt_stream.c, lt_slice.c, lt_images.c, lt_block.c and what they include, built by the host's
gcc, so it is shown for the paths that these programs take, on this compiler. Moving bytes is no look at
them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from lowtide.commands.compiling import Compiled
from lowtide.commands.options import Options
from lowtide.machines.board import find_target
from networks import compiled
from proving import in_batches, kept_in_strips

_HEADER = Path("/usr/include/valgrind/memcheck.h")
_RUNTIME = (
    *("lowtide.c", "lt_stream.c", "lt_slice.c", "lt_slice_stream.c"),
    *("lt_images.c", "lt_block.c", "lt_block_4x2.c", "lt_block_vector.c", "lt_slide.c"),
)
_EXIT = 9

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None or not _HEADER.exists(), reason="needs Valgrind"
)

PROGRAMS: Mapping[str, Callable[[], Compiled]] = {
    "rows": lambda: compiled("figure1"),
    "const": lambda: compiled("figure1", Options(input_mode="const")),
    "moves": lambda: compiled(
        "branchy-cell", Options(schedule="operators", allocator="compacting")
    ),
    "streams": lambda: compiled(
        "mobilenet-v1-0.25-96",
        Options(input_mode="streamed", output_mode="streamed", slices=True),
    ),
    "state": lambda: compiled("streaming-wake-word"),
    "batches": lambda: in_batches(),
    "blocks in strips": lambda: kept_in_strips(),
    "blocks 4x2": lambda: kept_in_strips(Options(target=find_target("cortex-m4"), slices=True)),
    "blocks vector": lambda: kept_in_strips(Options(target=find_target("cortex-m55"))),
}


def _main(program: Compiled) -> str:
    """A program that runs each way there is, with all memory undefined."""
    header = program.files[f"{program.name}.h"].decode()
    name, upper = program.name, program.name.upper()
    count = len(program.graph.inputs)
    state = ", state, sizeof state" if f"{upper}_STATE_SIZE" in header else ""
    streamed = program.options.input_mode == "streamed"
    lines = [
        "#include <stdint.h>",
        "#include <valgrind/memcheck.h>",
        f'#include "{name}.h"',
        f"static {name}_t net;",
        f"static uint8_t arena[{upper}_ARENA_SIZE] __attribute__((aligned({upper}_ARENA_ALIGN)));",
    ]
    if state:
        lines.append(
            f"static uint8_t state[{upper}_STATE_SIZE] "
            f"__attribute__((aligned({upper}_STATE_ALIGN)));"
        )
    lines += [
        f"static uint8_t input_{i}[{upper}_INPUT_{i}_BYTES] __attribute__((aligned(16)));"
        for i in range(count)
    ]
    sizes = ", ".join(f"{upper}_INPUT_{i}_ROW_BYTES" for i in range(count)) if streamed else "0"
    lines += [
        f"static const unsigned sizes[] = {{{sizes}}};",
        "static int pull(void *c, int input, int row, void *to)",
        "{ (void)c; (void)row; (void)VALGRIND_MAKE_MEM_UNDEFINED(to, sizes[input]); return 0; }",
        "static int take(void *c, int output, int row, const void *from)",
        "{ (void)c; (void)output; (void)row; (void)from; return 0; }",
        "static int made(void *c, int op, int row) { (void)c; (void)op; return row & 1; }",
        "static void forget(void)",
        "{",
        "    (void)VALGRIND_MAKE_MEM_UNDEFINED(arena, sizeof arena);",
        *["    (void)VALGRIND_MAKE_MEM_UNDEFINED(state, sizeof state);"] * bool(state),
        *(
            f"    (void)VALGRIND_MAKE_MEM_UNDEFINED(input_{i}, sizeof input_{i});"
            for i in range(count)
        ),
        "}",
        "int main(void)",
        "{",
        "    (void)pull; (void)take; (void)made; (void)sizes; (void)input_0;",
        f"    if ({name}_init(&net, arena, sizeof arena{state}) != 0) return 1;",
    ]
    if program.options.input_mode == "const":
        lines += [f"    {name}_set_input(&net, {i}, input_{i});" for i in range(count)]
    if streamed:
        lines.append(f"    {name}_set_pull(&net, pull, 0);")
    if program.options.output_mode == "streamed":
        lines.append(f"    {name}_set_take(&net, take, 0);")
    lines += [f"    forget();\n    if ({name}_invoke(&net) != 0) return 2;"] * 2
    if program.options.slices:
        lines += [
            "    int status;",
            f"    do status = {name}_invoke_some(&net, 1000); while (status == LT_MORE);",
            "    if (status != 0) return 3;",
            "    forget();",
            f"    do status = {name}_invoke_watched(&net, 1u << 30, made, 0); "
            "while (status == LT_MORE);",
            "    if (status != 0) return 4;",
        ]
    if f"{name}_push_rows" in header:
        lines += [
            "    forget();",
            f"    {name}_begin(&net);",
            f"    while ({name}_rows_wanted(&net) > 1) {{",
            f"        pull(0, 0, 0, {name}_next_row(&net));",
            f"        if ({name}_row_done(&net) != 0) return 5;",
            "    }",
            f"    if ({name}_push_rows(&net, input_0, 1) != 0) return 6;",
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _run(
    program: Compiled, folder: Path, change: Mapping[str, tuple[str, str]] | None = None
) -> subprocess.CompletedProcess[str]:
    """Build the runtime and the tables with stubs for all kernels, and run them under memcheck."""
    sources = [f"{program.name}.c", "main.c"]
    for file, contents in program.files.items():
        text = contents.decode()
        if change and file in change:
            old, new = change[file]
            assert old in text
            text = text.replace(old, new)
        if file.endswith(".h") or file == f"{program.name}.c" or file in _RUNTIME:
            (folder / file).write_text(text)
            sources += [file] * (file in _RUNTIME)
    (folder / "main.c").write_text(_main(program))
    gcc = ["gcc", "-std=gnu99", "-O1", "-g", "-w"]
    subprocess.run([*gcc, "-c", *sources], cwd=folder, check=True)
    names = subprocess.run(
        ["nm", *(Path(s).with_suffix(".o").name for s in sources)],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    defined = set(re.findall(r" [TWVDR] (lt_\w+)", names))
    stubs = sorted(set(re.findall(r" U (lt_\w+)", names)) - defined)
    (folder / "stubs.c").write_text("".join(f"void {stub}(void) {{}}\n" for stub in stubs))
    objects = [Path(s).with_suffix(".o").name for s in sources]
    subprocess.run([*gcc, "-o", "run", *objects, "stubs.c"], cwd=folder, check=True)
    checked = ["valgrind", "-q", f"--error-exitcode={_EXIT}", "./run"]
    return subprocess.run(checked, cwd=folder, capture_output=True, text=True, check=False)


@needs_valgrind
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_branch_and_no_address_depends_on_data(program: str, tmp_path: Path) -> None:
    done = _run(PROGRAMS[program](), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


LOOKS: Mapping[str, tuple[str, str, tuple[str, str]]] = {
    "a branch": (
        "rows",
        "lowtide.c",
        ("run_step(program, node, next", "if (bases[0][7] != 3) run_step(program, node, next"),
    ),
    "an address": (
        "streams",
        "lt_stream.c",
        (
            "at.row, row);",
            "at.row + *(const uint8_t *)row, (char *)net + *(const uint8_t *)row % 2 * 0);",
        ),
    ),
    "a kept row": (
        "blocks in strips",
        "lt_block.c",
        ("int32_t y = top + i;", "int32_t y = top + i + (windows[0] == 1 ? kept : 0);"),
    ),
}


@needs_valgrind
@pytest.mark.parametrize("look", LOOKS)
def test_a_look_is_found(look: str, tmp_path: Path) -> None:
    """So that the check above cannot come to see nothing."""
    program, file, change = LOOKS[look]
    done = _run(PROGRAMS[program](), tmp_path, {file: change})
    assert done.returncode == _EXIT, done.stderr
    assert "uninitialised" in done.stderr

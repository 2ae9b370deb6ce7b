"""Networks that share an arena: run in turns, each output is what it is alone, as TFLM has it.

After each turn the whole arena is overwritten: what a network needs later must be in its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
from programs import c_array, run_with, write_files

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.together import shared
from lowtide.ir import Model
from lowtide.machines.toolchain import WARNINGS
from lowtide.oracle.samples import reference
from lowtide.tflite.read import parse
from lowtide.zoo.quantise import Activation
from networks import model_of
from random_nets import Maker
from stateful import ring, sequence, slow_inputs

TURNS = 12
STREAMED = Options(input_mode="streamed")
SLICED = Options(input_mode="streamed", slices=True)


def _chain() -> Model:
    net = Maker("chain")
    x = net.conv(net.input((1, 16, 5, 2)), "first", 3, 3, 1, Activation.RELU6)
    return parse(net.finish(net.conv(x, "second", 4, 3, 1, Activation.RELU6)), path="chain")


def _turn(program: Compiled) -> str:
    """C that gives a program the inputs of turn `t`, runs it and compares its outputs."""
    name, upper, graph = program.name, program.name.upper(), program.graph
    data = [f"{name}_in_{i} + t * {upper}_INPUT_{i}_BYTES" for i in range(len(graph.inputs))]
    if program.options.input_mode == "streamed":
        give = f"""
        CHECK({name}_begin(&all.{name}) == LT_OK);
        for (int r = 0; r < {upper}_INPUT_0_ROWS; r++) {{
            memcpy({name}_next_row(&all.{name}), {data[0]} + r * {upper}_INPUT_0_ROW_BYTES,
                   {upper}_INPUT_0_ROW_BYTES);
            CHECK({name}_row_done(&all.{name}) == LT_OK);
        }}"""
    else:
        give = "".join(
            f"\n        memcpy({name}_input(&all.{name}, {i}), {at}, {upper}_INPUT_{i}_BYTES);"
            for i, at in enumerate(data)
        )
        give += f"\n        CHECK({name}_invoke(&all.{name}) == LT_OK);"
    checks = "".join(
        f"\n        CHECK(memcmp({name}_output(&all.{name}, {i}), {name}_out_{i}"
        f" + t * {upper}_OUTPUT_{i}_BYTES, {upper}_OUTPUT_{i}_BYTES) == 0);"
        for i in range(len(graph.outputs))
    )
    return f"{give}{checks}\n        memset(arena, 0xA5 + t, sizeof arena);"


def _data(program: Compiled) -> str:
    """Arrays of the inputs and outputs of all turns."""
    model = program.model
    given = slow_inputs(model, TURNS)
    wanted = sequence(model, given)
    sides = {
        "in": [b"".join(turn[i].tobytes() for turn in given) for i in range(len(given[0]))],
        "out": [b"".join(turn[i] for turn in wanted) for i in range(len(wanted[0]))],
    }
    return "".join(
        c_array(f"{program.name}_{side}_{i}", data)
        for side, all_data in sides.items()
        for i, data in enumerate(all_data)
    )


def _run(folder: Path, programs: Sequence[Compiled], turns: str, declarations: str) -> None:
    """`turns` is C that is run with `all` networks set up in the `arena` that they share."""
    made = shared("all_of", programs, Options())
    assert made.arena_bytes == max(program.arena_bytes for program in programs)
    body = f"""
    memset(arena, 0x5A, sizeof arena);
    CHECK(all_of_init(&all, arena, sizeof arena - 1) == LT_ERROR_ARENA);
    CHECK(all_of_init(&all, arena, sizeof arena) == LT_OK);
{turns}"""
    head = """#include "all_of.h"
static all_of_t all;
static uint8_t arena[ALL_OF_ARENA_SIZE] ALL_OF_ARENA_PLACED;
"""
    run_with(folder, made.files, body, head + declarations, ["-std=c99", *WARNINGS, "-Werror"])


@pytest.mark.parametrize(
    "options",
    [
        (Options(), Options(), Options()),
        (Options(), STREAMED, Options()),
        (STREAMED, STREAMED, STREAMED),
        (SLICED, SLICED, SLICED),
    ],
    ids=["whole", "one streamed", "streamed", "slices"],
)
def test_networks_in_turns(options: Sequence[Options], tmp_path: Path) -> None:
    """One with state, one without, one of several branches."""
    models = (ring(4), _chain(), model_of("branchy-cell"))
    programs = [compile_model(m, o) for m, o in zip(models, options, strict=True)]
    assert [bool(program.state_bytes) for program in programs] == [True, False, False]
    turns = "".join(f"{{{_turn(program)}\n    }}" for program in programs)
    declarations = "".join(map(_data, programs))
    _run(tmp_path, programs, f"for (int t = 0; t < {TURNS}; t++) {{ {turns} }}", declarations)


def test_a_network_that_needs_more_than_the_arena(tmp_path: Path) -> None:
    """Generated again by itself, it does not compile with the others; in C++, they do."""
    model = model_of("branchy-cell")
    small, large = (
        compile_model(model, Options(schedule=how, effort=0.1)) for how in ("rows", "operators")
    )
    made = shared("all_of", [compile_model(_chain(), Options()), small], Options())
    write_files(tmp_path, made.files)
    (tmp_path / "main.cpp").write_text('#include "all_of.h"\n')
    command = ["g++", "-std=c++11", *WARNINGS, "-Werror", "-fsyntax-only", "main.cpp"]
    assert run(command, cwd=tmp_path, check=True, capture_output=True).stderr == b""
    assert large.arena_bytes > small.arena_bytes
    write_files(tmp_path, large.files)
    done = run(command, cwd=tmp_path, check=False, capture_output=True)
    assert b"generate all of them together" in done.stderr and done.returncode != 0


def test_windows_that_slide(tmp_path: Path) -> None:
    """Between two hops the arena is another's, in the first window too once its outputs are read."""
    program = compile_model(model_of("wake-word-window"), Options(hop=2))
    beside = compile_model(_chain(), Options())
    (given,), (made,) = program.model.graph.inputs, program.model.graph.outputs
    rows = np.random.default_rng(1).integers(-128, 128, (30 + 2 * TURNS, 40), np.int8)
    windows = [{given: rows[2 * t : 2 * t + 30].reshape(1, 30, 1, 40)} for t in range(TURNS)]
    found = reference(program.model, windows, [made]).samples
    name, upper = program.name, program.name.upper()
    wanted = b"".join(values[made].tobytes() for values in found)
    declarations = _data(beside) + c_array("rows", rows.tobytes()) + c_array("wanted", wanted)
    turns = f"""
    const uint8_t *from = rows;
    for (int t = 0; t < {TURNS}; t++) {{
        while ({name}_rows_wanted(&all.{name}) > 0 || from == rows + (30 + 2 * (t - 1)) * 40) {{
            CHECK({name}_push_rows(&all.{name}, from, 1) == LT_OK);
            from += 40;
        }}
        CHECK(from == rows + (30 + 2 * t) * 40);
        CHECK(memcmp({name}_output(&all.{name}, 0), wanted + t * {upper}_OUTPUT_0_BYTES,
                     {upper}_OUTPUT_0_BYTES) == 0);
        memset(arena, 0xA5 + t, sizeof arena);
        {_turn(beside)}
    }}
"""
    _run(tmp_path, [program, beside], turns, declarations)

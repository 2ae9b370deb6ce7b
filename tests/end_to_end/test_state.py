"""State in the C interface: what is kept from one run to the next, what a reset does, what may be lent.

TFLM runs each sequence with one interpreter; where the C is reset, TFLM gets a fresh one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from programs import Sample, run_main
from streams import BOTH_USED, CALLER, c_data

from bench.shared.built import compile_only
from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.errors import InfeasibleError
from lowtide.ir import Model
from lowtide.machines.board import find_board
from lowtide.tflite.read import load
from stateful import ring, sequence, slow_inputs

WORLD = Path(__file__).resolve().parents[3] / "shared" / "world"
RUNS, RESET = 20, 12
MODES = {
    "resident": Options(),
    "operators": Options(schedule="operators"),
    "preserved": Options(preserve_input=True),
    "const": Options(input_mode="const"),
    "streamed": Options(input_mode="streamed"),
    "both": Options(input_mode="streamed", output_mode="streamed"),
}
FIRST = {"ring": np.arange(-6, 6, dtype=np.int8).reshape(1, 3, 1, 4)}
SAME = {"ring": np.full((1, 3, 1, 4), 77, np.int8)}


@cache
def _ring(what: str = "zero") -> Model:
    return ring(3, first={"zero": None, "first": FIRST, "same": SAME}[what])


def _samples(model: Model, resets: Sequence[int] = (0,), count: int = RUNS) -> list[Sample]:
    """Inputs, and TFLM's outputs of them as a sequence that begins anew at `resets`."""
    inputs = slow_inputs(model, count)
    inputs = tuple(inputs[n - max(r for r in resets if r <= n)] for n in range(count))
    outputs = sequence(model, inputs, resets)
    return [
        Sample(tuple(array.tobytes() for array in given), out)
        for given, out in zip(inputs, outputs, strict=True)
    ]


def _memory(name: str) -> str:
    """State of a program of this name, and an instance."""
    upper = name.upper()
    return (
        f"static uint8_t {name}_state[{upper}_STATE_SIZE]"
        f" __attribute__((aligned({upper}_STATE_ALIGN)));\nstatic {name}_t {name};\n"
    )


def _shared(names: Sequence[str]) -> str:
    """One arena for all, as large and as well aligned as any of them needs."""
    sizes = "".join(f"uint8_t {name}[{name.upper()}_ARENA_SIZE]; " for name in names)
    return f"static union {{ {sizes}}} arena __attribute__((aligned(16)));\n"


def _init(name: str, arena: str = "&arena") -> str:
    state = f"{name}_state, sizeof {name}_state"
    return f"CHECK({name}_init(&{name}, {arena}, sizeof arena, {state}) == LT_OK);"


def _compare(program: Compiled, sample: str, data: str = "data") -> str:
    return "\n".join(
        f"CHECK(memcmp({program.name}_output(&{program.name}, {i}), {data}_out[{sample}][{i}],"
        f" {program.name.upper()}_OUTPUT_{i}_BYTES) == 0);"
        for i in range(len(program.graph.outputs))
    )


def _run(program: Compiled, sample: str, data: str = "data") -> str:
    """One run of a program with one input: any way to give it, and its outputs compared."""
    name, upper, mode = program.name, program.name.upper(), program.options.input_mode
    given = f"{data}_in[{sample}][0]"
    invoke = f"CHECK({name}_invoke(&{name}) == LT_OK);"
    if mode == "resident":
        before = f"memcpy({name}_input(&{name}, 0), {given}, {upper}_INPUT_0_BYTES);{invoke}"
    elif mode == "const":
        before = f"CHECK({name}_set_input(&{name}, 0, {given}) == LT_OK);{invoke}"
    else:
        before = f"""
        c.in[0] = {given};
        CHECK({name}_begin(&{name}) == LT_OK);
        for (int piece = {sample}; {name}_rows_wanted(&{name}) > 0; piece++) {{
            const int wanted = {name}_rows_wanted(&{name});
            const uint8_t *const row =
                c.in[0] + ({upper}_INPUT_0_ROWS - wanted) * {upper}_INPUT_0_ROW_BYTES;
            if (piece % 3 == 0) {{
                memcpy({name}_next_row(&{name}), row, {upper}_INPUT_0_ROW_BYTES);
                CHECK({name}_row_done(&{name}) == LT_OK);
            }} else {{
                const int some = piece % 3 < wanted ? piece % 3 : wanted;
                CHECK({name}_push_rows(&{name}, row, some) == LT_OK);
            }}
        }}"""
    if program.options.output_mode == "resident":
        return f"{{ {before}\n{_compare(program, sample, data)} }}"
    outputs = range(len(program.graph.outputs))
    lines = [f"static uint8_t got_{i}[{upper}_OUTPUT_{i}_BYTES];" for i in outputs]
    lines += ["memset(&c, 0, sizeof c);"]
    lines += [f"c.out[{i}] = got_{i};" for i in outputs]
    lines += [f"c.out_bytes[{i}] = {upper}_OUTPUT_{i}_ROW_BYTES;" for i in outputs]
    lines += [f"CHECK({name}_set_take(&{name}, take, &c) == LT_OK);", before]
    lines += [
        f"CHECK(memcmp(got_{i}, {data}_out[{sample}][{i}], sizeof got_{i}) == 0);" for i in outputs
    ]
    return "{ " + "\n".join(lines) + " }"


@pytest.mark.parametrize("what", ["zero", "first", "same"])
def test_state_is_kept_reset_and_apart(what: str, tmp_path: Path) -> None:
    """In every mode: the arena is overwritten between runs, and the state's first values come back."""
    model = _ring(what)
    data = CALLER + c_data("data", _samples(model, (0, RESET))) + "static caller_t c;\n"
    programs = [
        compile_model(model, replace(options, name=f"net_{mode}"))
        for mode, options in MODES.items()
    ]
    body = BOTH_USED + "(void)c;"
    names = [program.name for program in programs]
    for program in programs:
        name = program.name
        body += f"""
    memset({name}_state, 0xA5, sizeof {name}_state);
    {_init(name)}
    for (int n = 0; n < {RUNS}; n++) {{
        memset(&arena, 0x5A + n, sizeof arena);
        if (n == {RESET}) {{
            CHECK({name}_reset(&{name}) == LT_OK);
        }}
        {_run(program, "n")}
    }}
"""
    run_main(tmp_path, programs, body, data + _shared(names) + "".join(map(_memory, names)))


def test_every_misuse_of_state_has_its_status_code(tmp_path: Path) -> None:
    program = compile_model(_ring(), Options(name="net"))
    assert program.state_bytes == 12
    assert program.arena_bytes == program.assembly.placement.arena_bytes
    body = """
    static net_t m;
    CHECK(NET_STATE_SIZE == 12 && NET_STATE_ALIGN == 4);
    CHECK(net_reset(NULL) == LT_ERROR_ARGUMENT && net_reset(&m) == LT_ERROR_ARGUMENT);
#define INIT(arena, size, state, state_size) net_init(&m, arena, size, state, state_size)
    CHECK(net_init(NULL, a, sizeof a, s, 12) == LT_ERROR_ARGUMENT);
    CHECK(INIT(NULL, sizeof a, s, 12) == LT_ERROR_ARGUMENT);
    CHECK(INIT(a, sizeof a, NULL, 12) == LT_ERROR_ARGUMENT);
    CHECK(INIT(a, NET_ARENA_SIZE - 1, s, 12) == LT_ERROR_ARENA);
    CHECK(INIT(a, sizeof a, s, 11) == LT_ERROR_STATE);
    CHECK(INIT(a, sizeof a, s, 0) == LT_ERROR_STATE);
    CHECK(INIT(a, sizeof a, s + 1, 15) == LT_ERROR_STATE);
    CHECK(INIT(a + 16, NET_ARENA_SIZE, a + 16, 12) == LT_ERROR_STATE);
    CHECK(INIT(a + 16, NET_ARENA_SIZE, a + 12, 12) == LT_ERROR_STATE);
    CHECK(INIT(a + 16, NET_ARENA_SIZE, a + 16 + (NET_ARENA_SIZE - 1) / 4 * 4, 12) == LT_ERROR_STATE);
    CHECK(net_reset(&m) == LT_ERROR_ARGUMENT); /* no init has succeeded */
    CHECK(net_invoke(&m) == LT_ERROR_ARGUMENT);
    CHECK(INIT(a + 16, NET_ARENA_SIZE, a + 4, 12) == LT_OK); /* next to each other */
    CHECK(INIT(a + 16, NET_ARENA_SIZE, a + 16 + (NET_ARENA_SIZE + 3) / 4 * 4, 12) == LT_OK);
    CHECK(INIT(a, sizeof a, s, sizeof s) == LT_OK && net_reset(&m) == LT_OK);
"""
    memory = "static uint8_t a[NET_ARENA_SIZE + 64] __attribute__((aligned(16)));\n"
    memory += "static uint8_t s[16] __attribute__((aligned(4)));\n"
    run_main(tmp_path, [program], body, memory)


def test_state_is_copied_away_and_back(tmp_path: Path) -> None:
    """Over a deep sleep, in which arena and instance are lost."""
    program = compile_model(_ring(), Options(name="net"))
    body = f"""
    static uint8_t saved[NET_STATE_SIZE];
    {_init("net")}
    for (int n = 0; n < {RUNS}; n++) {{
        {_run(program, "n")}
        memcpy(saved, net_state, sizeof saved);
        memset(net_state, 0xA5, sizeof net_state);
        memset(&net, 0xA5, sizeof net);
        {_init("net")}
        memcpy(net_state, saved, sizeof saved);
    }}
"""
    data = BOTH_USED + body
    declared = CALLER + c_data("data", _samples(_ring())) + _shared(["net"]) + _memory("net")
    run_main(tmp_path, [program], data, declared)


def test_runs_that_are_given_up_then_a_reset(tmp_path: Path) -> None:
    """By a callback, whichever call fails; by begin, and by a reset in the middle of a run."""
    program = compile_model(_ring(), replace(MODES["both"], name="net"))
    body = f"""
    {_init("net")}
    CHECK(net_set_pull(&net, pull, &c) == LT_OK);
    CHECK(net_set_take(&net, take, &c) == LT_OK);
    for (int at = 1; at <= 12; at++) {{
        static uint8_t got[3][64];
        memset(&c, 0, sizeof c);
        c.in[0] = data_in[at][0];
        c.in_bytes[0] = NET_INPUT_0_ROW_BYTES;
        for (int i = 0; i < 3; i++) {{
            c.out[i] = got[i];
        }}
        c.fail_pull = c.fail_take = at;
        c.status = 42;
        const int status = net_invoke(&net);
        CHECK(status == (c.events == at ? 42 : LT_OK));
        CHECK(net_rows_wanted(&net) == 0);
        CHECK(net_reset(&net) == LT_OK && net_rows_wanted(&net) == NET_INPUT_0_ROWS);
        for (int n = 0; n < 4; n++) {{
            {_run(program, "n")}
        }}
        CHECK(net_push_rows(&net, data_in[at][0], 1) == LT_OK);
        CHECK(net_rows_wanted(&net) == NET_INPUT_0_ROWS - 1);
        CHECK(net_reset(&net) == LT_OK && net_rows_wanted(&net) == NET_INPUT_0_ROWS);
        for (int n = 0; n < 4; n++) {{
            {_run(program, "n")}
        }}
    }}
    memset(&c, 0, sizeof c);
    c.fail_pull = 1;
    c.status = 42;
    CHECK(net_reset(&net) == LT_OK && net_invoke(&net) == 42); /* callbacks stay */
"""
    declared = CALLER + "static caller_t c;\n" + c_data("data", _samples(_ring()))
    run_main(tmp_path, [program], body, declared + _shared(["net"]) + _memory("net"))


def _interleaved(models: Sequence[Model], runs: int, folder: Path) -> tuple[Compiled, ...]:
    """All in one program with one arena, each with its own state, run by turns in changing order."""
    names = [f"net{i}" for i in range(len(models))]
    programs = [compile_model(m, Options(name=n)) for m, n in zip(models, names, strict=True)]
    declared, body = CALLER + _shared(names), BOTH_USED + "(void)order;"
    rng = np.random.default_rng(4)
    order = rng.permutation(np.repeat(np.arange(len(models)), runs))
    declared += f"static const uint8_t order[] = {{{', '.join(map(str, order))}}};\n"
    for i, (program, model) in enumerate(zip(programs, models, strict=True)):
        declared += _memory(program.name) + c_data(f"data{i}", _samples(model, count=runs))
        body += _init(program.name) + f"int done{i} = 0;\n"
    body += "for (size_t k = 0; k < sizeof order; k++) { switch (order[k]) {\n"
    for i, program in enumerate(programs):
        body += f"case {i}: {_run(program, f'done{i}', f'data{i}')} done{i}++; break;\n"
    run_main(folder, programs, body + "default: break; } }\n", declared)
    return tuple(programs)


def test_networks_share_an_arena_and_keep_their_own_state(tmp_path: Path) -> None:
    """Two of one kind and one of another, each as if it were alone."""
    programs = _interleaved([_ring(), ring(5, zero=-7), _ring()], 30, tmp_path)
    assert {program.state_bytes for program in programs} == {12, 20}


REAL = ["mww_okay_nabu_v2", "mww_vad_v2"]


@pytest.mark.skipif(
    not all((WORLD / f"{n}.tflite").exists() for n in REAL),
    reason="needs the wake words of the optional folder ../shared/world",
)
def test_wake_words_share_an_arena(tmp_path: Path) -> None:
    """Two instances of a wake word and a voice detector."""
    models = [load(WORLD / f"{name}.tflite") for name in (*REAL, REAL[0])]
    programs = _interleaved(models, 70, tmp_path)
    kept = [sum(v.size for v in program.assembly.variables) for program in programs]
    assert kept == [3472, 1120, 3472]
    assert [program.state_bytes for program in programs] == [3656, 1288, 3656]


def test_equal_first_values_take_no_flash() -> None:
    """Zero points, or any other value that all bytes have; neighbours of one value at once."""
    for what, start in (
        ("zero", "memset(m->bases[2] + 0, 3, 12)"),
        ("same", "memset(m->bases[2] + 0, 77, 12)"),
    ):
        code = compile_model(_ring(what), Options(name="net")).files["net.c"].decode()
        assert re.findall(r"mem(?:set|cpy)\(.*\)", code) == [start]
    code = compile_model(_ring("first"), Options(name="net")).files["net.c"].decode()
    (start,) = re.findall(r"mem(?:set|cpy)\(.*\)", code)
    assert re.fullmatch(r"memcpy\(m->bases\[2\] \+ 0, net_weights_\d, 12\)", start)


def test_header_and_readme_say_what_is_kept() -> None:
    program = compile_model(_ring(), Options(name="net"))
    header, readme = (program.files[name].decode() for name in ("net.h", "README.md"))
    assert " *     0: INT8, 12 bytes: ring\n" in header
    assert "undefined until net_reset" in header
    assert "the network keeps 1 tensor, 12 bytes in all" in readme
    assert "| state | 12 | exact; kept from one call to the next |" in readme
    assert f"| arena and state | {program.arena_bytes + 12} | |" in readme
    assert "net_init(&net, arena, sizeof arena, state, sizeof state);" in readme


@pytest.mark.parametrize(
    "toolchain", ["host", "arm-none-eabi", "riscv64-unknown-elf", "xtensa-lx106-elf"]
)
def test_no_compiler_warns(toolchain: str, tmp_path: Path) -> None:
    files: dict[str, bytes] = {}
    for what in ("zero", "first"):
        for mode, options in MODES.items():
            program = compile_model(_ring(what), replace(options, name=f"{what}_{mode}"))
            files |= {
                name: text for name, text in program.files.items() if name.endswith((".c", ".h"))
            }
    assert compile_only(files, toolchain, tmp_path) == ""


@pytest.mark.parametrize("board", ["mps2-an386", "rv32-virt"])
def test_boards_count_state(board: str) -> None:
    program = compile_model(_ring(), Options(name="net"))
    result = checking.run(program, find_board(board), samples=1)
    ram = result.measured.ram
    assert result.bit_exact
    assert (ram.arena_bytes, ram.state_bytes) == (program.arena_bytes, 12)
    parts = ram.arena_bytes + ram.state_bytes + ram.data_bytes + ram.bss_bytes + ram.stack_bytes
    assert ram.total_bytes == parts


def test_a_limit_of_ram_holds_for_arena_and_state() -> None:
    least = compile_model(_ring(), Options(name="net"))
    assert least.ram_bytes == least.arena_bytes + 12
    fits = compile_model(_ring(), Options(name="net", max_ram=least.ram_bytes))
    assert fits.ram_bytes <= least.ram_bytes
    for limit in (11, 12, 20):
        with pytest.raises(InfeasibleError) as caught:
            compile_model(_ring(), Options(name="net", max_ram=limit))
        assert caught.value.cause.startswith(
            f"no plan of this network fits {limit} bytes of arena and state (the state takes 12); "
            "the smallest plan needs "
        )

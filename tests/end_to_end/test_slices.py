"""Runs in slices: the same bytes wherever they are cut, and slices as long as they are asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
from programs import c_arena, c_samples, run_main, samples

from lowtide.commands.compiling import Compiled
from lowtide.commands.options import Options
from lowtide.machines.board import find_board
from lowtide.machines.qemu import BoardRun, run_on_board
from lowtide.modes import InputMode
from lowtide.program.tables import called
from lowtide.program.turns import expand
from networks import compiled, present

BOARD = find_board("mps2-an386")
SLICED = Options(name="net", slices=True, target=BOARD.core.target)
_MEMORY = c_arena("arena", "net")
_RIGHT = "memcmp(net_output(&m, 0), data_out[{}], NET_OUTPUT_0_BYTES) == 0"


def test_the_same_bytes_at_every_cut(tmp_path: Path) -> None:
    """Cut after the first step, after the second, ..., after each, and given up there."""
    body = f"""
    static net_t m;
    int cuts = 0, n;
    CHECK(net_invoke_some(NULL, 1) == LT_ERROR_ARGUMENT);
    CHECK(net_invoke_some(&m, 1) == LT_ERROR_ARGUMENT);
    CHECK(net_init(&m, arena, sizeof arena) == LT_OK);
    memcpy(net_input(&m, 0), data_in[0], NET_INPUT_0_BYTES);
    while (net_invoke_some(&m, (uint32_t)(cuts % 2)) == LT_MORE) {{
        cuts++;
    }}
    CHECK(cuts == STEPS - 1 && {_RIGHT.format(0)});
    for (int cut = 1; cut <= cuts; cut++) {{
        const int s = cut % 3;
        memcpy(net_input(&m, 0), data_in[s], NET_INPUT_0_BYTES);
        for (n = 0; n < cut; n++) {{
            CHECK(net_invoke_some(&m, 1) == LT_MORE);
        }}
        if (cut % 50 == 0) {{ /* given up: what comes next is whole */
            memcpy(net_input(&m, 0), data_in[1], NET_INPUT_0_BYTES);
            if (cut % 100 == 0) {{
                CHECK(net_reset(&m) == LT_OK);
                CHECK(net_invoke_some(&m, UINT32_MAX) == LT_OK);
            }} else {{
                CHECK(net_invoke(&m) == LT_OK);
            }}
            CHECK({_RIGHT.format(1)});
            continue;
        }}
        CHECK(net_invoke_some(&m, UINT32_MAX) == LT_OK && {_RIGHT.format("s")});
    }}
"""
    program = compiled("branchy-cell", SLICED)
    nodes = program.assembly.nodes
    steps = sum(called(nodes[node]) is not None for node in expand(program.assembly.turns))
    assert steps > 200
    body = body.replace("STEPS", str(steps))
    data = _MEMORY + c_samples("data", "branchy-cell")
    run_main(tmp_path, [program], body, data)


_RANDOM_BUDGETS = f"""
    static net_t m;
    uint32_t seed = 7;
    CHECK(net_init(&m, arena, sizeof arena) == LT_OK);
    for (int round = 0; round < 200; round++) {{
        int status;
        memcpy(net_input(&m, 0), data_in[round % 3], NET_INPUT_0_BYTES);
        do {{
            seed = seed * 1664525u + 1013904223u;
            status = net_invoke_some(&m, seed >> (8 + round % 16));
        }} while (status == LT_MORE);
        CHECK(status == LT_OK && {_RIGHT.format("round % 3")});
    }}
"""


@pytest.mark.parametrize("network", ["ds-cnn-kws", "figure1"])
def test_the_same_bytes_at_random_budgets(network: str, tmp_path: Path) -> None:
    program = compiled(network, SLICED)
    run_main(tmp_path, [program], _RANDOM_BUDGETS, _MEMORY + c_samples("data", network))


def test_rows_in_and_out_within_slices(tmp_path: Path) -> None:
    """Callbacks are called within slices; what they return gives up the run; pushed rows do, too."""
    declarations = """
static int given, fail = -1;
static uint8_t got[NET_OUTPUT_0_BYTES];
static int pull(void *context, int input, int row, void *to)
{
    (void)input;
    given++;
    memcpy(to, (const uint8_t *)context + row * NET_INPUT_0_ROW_BYTES, NET_INPUT_0_ROW_BYTES);
    return row == fail ? 42 : LT_OK;
}
static int take(void *context, int output, int row, const void *from)
{
    (void)context; (void)output;
    memcpy(got + row * NET_OUTPUT_0_ROW_BYTES, from, NET_OUTPUT_0_ROW_BYTES);
    return LT_OK;
}
"""
    body = """
    static net_t m;
    CHECK(net_init(&m, arena, sizeof arena) == LT_OK);
    CHECK(net_invoke_some(&m, 1) == LT_ERROR_ARGUMENT); /* no callbacks */
    CHECK(net_set_take(&m, take, NULL) == LT_OK);
    CHECK(net_invoke_some(&m, 1) == LT_ERROR_ARGUMENT);
    for (int s = 0; s < 3; s++) {
        int slices = 1, status;
        CHECK(net_set_pull(&m, pull, (void *)(uintptr_t)data_in[s]) == LT_OK);
        given = 0;
        memset(got, 0x5A, sizeof got);
        while ((status = net_invoke_some(&m, 1u << (4 * s))) == LT_MORE) {
            CHECK(net_rows_wanted(&m) == 0 && net_next_row(&m) == NULL);
            slices++;
        }
        CHECK(status == LT_OK && slices > 10 && given == NET_INPUT_0_ROWS);
        CHECK(memcmp(got, data_out[s], sizeof got) == 0);
    }
    fail = 3;
    int status;
    while ((status = net_invoke_some(&m, 1)) == LT_MORE) {
    }
    CHECK(status == 42);
    fail = -1;
    CHECK(net_invoke_some(&m, 1) == LT_MORE); /* anew, and given up for rows that are pushed */
    CHECK(net_push_rows(&m, data_in[0], 2) == LT_OK);
    CHECK(net_rows_wanted(&m) == NET_INPUT_0_ROWS - 2);
    given = 0;
    while ((status = net_invoke_some(&m, 1000)) == LT_MORE) { /* and the other way round */
    }
    CHECK(status == LT_OK && given == NET_INPUT_0_ROWS);
    CHECK(memcmp(got, data_out[2], sizeof got) == 0);
"""
    options = replace(SLICED, input_mode="streamed", output_mode="streamed")
    program = compiled("ds-cnn-kws", options)
    run_main(tmp_path, [program], body, _MEMORY + c_samples("data", "ds-cnn-kws") + declarations)


def test_state_goes_on_from_slice_to_slice(tmp_path: Path) -> None:
    """Two instances take turns, one of them in slices, on a sequence: the same outputs all along."""
    body = """
    static net_t a, b;
    CHECK(net_init(&a, arena, sizeof arena, state, sizeof state) == LT_OK);
    CHECK(net_init(&b, arena_b, sizeof arena_b, state_b, sizeof state_b) == LT_OK);
    for (int run = 0; run < 40; run++) {
        int status, slices = 1;
        memcpy(net_input(&a, 0), data_in[run % 3], NET_INPUT_0_BYTES);
        memcpy(net_input(&b, 0), data_in[run % 3], NET_INPUT_0_BYTES);
        CHECK(net_invoke(&b) == LT_OK);
        while ((status = net_invoke_some(&a, 500)) == LT_MORE) {
            slices++;
        }
        CHECK(status == LT_OK && slices > 3);
        CHECK(memcmp(net_output(&a, 0), net_output(&b, 0), NET_OUTPUT_0_BYTES) == 0);
        CHECK(memcmp(state, state_b, sizeof state) == 0);
    }
"""
    state = "static uint8_t {}[NET_STATE_SIZE] __attribute__((aligned(NET_STATE_ALIGN)));\n"
    data = _MEMORY + c_arena("arena_b", "net") + state.format("state") + state.format("state_b")
    data += c_samples("data", "lstm-gestures") + "#define data_out (void)data_out\n"
    run_main(tmp_path, [compiled("lstm-gestures", SLICED)], "    data_out;\n" + body, data)


def _sliced(program: Compiled, budget: int) -> dict[str, bytes]:
    """The bundle, whose net_invoke runs one slice: so that a board measures each."""
    code = program.files["net.c"].decode()
    call = re.findall(r"return (lt_slice_run\(.*\));", code)[0]
    start = code.index("    m->at.node = LT_NONE;\n    lt_position at;")
    end = code.index("}", start)
    one = f"    const uint32_t budget = {budget};\n    return {call} < 0;\n"
    sliced = re.findall(r"static const lt_sliced .*;", code)[0]
    code = code[:start] + one + code[end:].replace(sliced, "")
    code = code.replace("int net_reset(", f"{sliced}\n\nint net_reset(")
    return {**program.files, "net.c": code.encode()}


def _run(files: dict[str, bytes], count: int) -> BoardRun:
    inputs = list(samples("branchy-cell")[0].inputs)
    return run_on_board(BOARD, files, "net", [inputs] * count)


def test_slices_on_a_board_are_as_long_as_they_are_asked_for() -> None:
    """At most one and a half budgets and a row's work; all of them at most 1 % more than a run; 32 B."""
    options = replace(SLICED, input_mode="const")
    plain = _run(dict(compiled("branchy-cell", replace(options, slices=False)).files), 1)
    program = compiled("branchy-cell", options)
    costs = program.assembly.costs
    assert costs is not None
    for budget, count in ((100_000, 150), (1_000_000, 20)):
        files = _sliced(program, budget)
        measured = _run(files, count)
        slices = measured.instructions
        sums = list(accumulate(slices))
        used = next(i for i, n in enumerate(sums) if n > 0.99 * plain.max_instructions)
        assert max(slices) <= 1.5 * budget + max(costs)
        assert abs(sums[used] / plain.max_instructions - 1) <= 0.01
        assert measured.ram.total_bytes - plain.ram.total_bytes <= 32


@pytest.mark.soak
def test_the_same_bytes_at_random_budgets_of_a_large_network(tmp_path: Path) -> None:
    """200 runs of te_vww, where the shared networks are there, each in slices of its own lengths."""
    for network in present("te_vww"):
        program = compiled(network, SLICED)
        run_main(
            tmp_path, [program], _RANDOM_BUDGETS, _MEMORY + c_samples("data", network), ["-O2"]
        )


_WATCHED = """
static const char *const types[] = NET_OPERATORS;
static long seen[sizeof types / sizeof *types];
static int steps, last, end_at;
static int made(void *context, int op, int row)
{
    if (context != seen || op < -1 || op >= (int)(sizeof types / sizeof *types) || row < 0) {
        last = -2;
    }
    if (op >= 0) {
        seen[op]++;
    }
    return ++steps == end_at;
}
"""


@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_who_watches_is_told_of_each_step_and_may_end_the_slice(
    mode: InputMode, tmp_path: Path
) -> None:
    rows = ""
    if mode == "streamed":
        rows = """
static int pull(void *context, int input, int row, void *to)
{
    (void)input;
    memcpy(to, (const uint8_t *)context + row * NET_INPUT_0_ROW_BYTES, NET_INPUT_0_ROW_BYTES);
    return LT_OK;
}
"""
    give = "memcpy(net_input(&m, 0), data_in[end_at % 3], NET_INPUT_0_BYTES);"
    if mode == "streamed":
        give = "CHECK(net_set_pull(&m, pull, (void *)(uintptr_t)data_in[end_at % 3]) == LT_OK);"
    body = f"""
    static net_t m;
    CHECK(net_init(&m, arena, sizeof arena) == LT_OK);
    CHECK(net_invoke_watched(&m, 1, NULL, seen) == LT_ERROR_ARGUMENT);
    for (end_at = 0; end_at <= NET_STEPS; end_at++) {{
        {give}
        steps = last = 0;
        int status = net_invoke_watched(&m, UINT32_MAX, made, seen);
        if (0 < end_at && end_at < NET_STEPS) {{
            CHECK(status == LT_MORE && steps == end_at);
            status = net_invoke_watched(&m, UINT32_MAX, made, seen);
        }}
        CHECK(status == LT_OK && steps == NET_STEPS && last == 0);
        CHECK({_RIGHT.format("end_at % 3")});
    }}
    for (size_t op = 0; op < sizeof types / sizeof *types; op++) {{
        CHECK(strcmp(types[op], WANTED[op]) == 0);
        CHECK(seen[op] % (NET_STEPS + 1) == 0); /* each run the same */
    }}
    CHECK(seen[0] > 0);
"""
    program = compiled("ds-cnn-kws", replace(SLICED, input_mode=mode))
    names = ", ".join(f'"{op.label}"' for op in program.assembly.graph.ops)
    wanted = f"static const char *const WANTED[] = {{{names}}};\n"
    data = _MEMORY + c_samples("data", "ds-cnn-kws") + _WATCHED + rows + wanted
    run_main(tmp_path, [program], body, data)

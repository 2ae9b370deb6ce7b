"""Callers in C of windows that slide: the rows that they give are those that the header asks for.

They pull rows, push them, write them in place or into a ring of their own, drop them, and give up.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from programs import run_main

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.oracle.samples import reference
from networks import model_of

_WHOLE = "net_invoke(&m)"
_SLICES = "in_slices(&m)"
_IN_SLICES = """static int in_slices(net_t *m)
{
    int status;
    for (int n = 0; n < 100000; n++) {
        status = net_invoke_some(m, 1);
        if (status != LT_MORE) {
            break;
        }
    }
    return status;
}
"""
_PULL = """
static int at, last = -1, pulled; /* the first row; the one that does not come; how many came */
static int pull(void *context, int input, int row, void *to)
{
    (void)context;
    (void)input;
    if (at + row == last) {
        return 7;
    }
    pulled++;
    memcpy(to, rows + (at + row) * 40, 40);
    return 0;
}
"""


def recorded(model: Model, rows: NDArray[np.int8], firsts: Iterable[int]) -> str:
    """C arrays: the `rows` of a recording, and the outputs `wanted` of its windows of 30 rows that
    begin with `firsts`."""
    (given,), (made,) = model.graph.inputs, model.graph.outputs
    inputs = [{given: rows[at : at + 30].reshape(1, 30, 1, 40)} for at in firsts]
    found = reference(model, inputs, [made])
    wanted = np.concatenate([sample[made].reshape(-1) for sample in found.samples])
    return (
        '#include "net.h"\n'
        f"static const int8_t rows[] = {{{', '.join(map(str, rows.reshape(-1)))}}};\n"
        f"static const int8_t wanted[] = {{{', '.join(map(str, wanted))}}};\n"
    )


def test_a_program_says_what_it_wants(tmp_path: Path) -> None:
    """A caller that pulls, pushes, writes rows in place, and drops one: each output is the window's."""
    model = model_of("wake-word-window")
    program = compile_model(model, Options(hop=4, name="net"))
    rng = np.random.default_rng(1)
    rows = rng.integers(-128, 128, (60, 40), np.int8)
    firsts = [0, 4, 8, 20, 24]  # of windows: three in a row, and two after a row was dropped
    declarations = recorded(model, rows, firsts) + _PULL
    body = """
    static net_t m;
    static uint8_t arena[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    static uint8_t state[NET_STATE_SIZE] __attribute__((aligned(16)));
    memset(arena, 0x5a, sizeof arena);
    memset(state, 0x5a, sizeof state);
    CHECK(net_init(&m, arena, sizeof arena, state, sizeof state) == LT_OK);
    CHECK(NET_HOP_ROWS == 4 && NET_INPUT_0_ROWS == 30 && net_rows_wanted(&m) == 30);
    CHECK(net_invoke(&m) == LT_ERROR_ARGUMENT);
    CHECK(net_set_pull(&m, pull, NULL) == LT_OK);
    CHECK(net_invoke(&m) == LT_OK && net_rows_wanted(&m) == 0);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0);
    CHECK(net_next_row(&m) == NULL && net_row_done(&m) == LT_ERROR_ARGUMENT);
    CHECK(net_push_rows(&m, rows, 5) == LT_ERROR_ARGUMENT);
    CHECK(net_push_rows(&m, rows + 30 * 40, 3) == LT_OK && net_rows_wanted(&m) == 1);
    CHECK(net_push_rows(&m, rows + 33 * 40, 1) == LT_OK && net_rows_wanted(&m) == 0);
    CHECK(memcmp(net_output(&m, 0), wanted + 3, 3) == 0);
    CHECK(net_begin(&m) == LT_OK && net_rows_wanted(&m) == 4);
    CHECK(net_begin(&m) == LT_OK && net_rows_wanted(&m) == 4);
    for (int row = 34; net_rows_wanted(&m) > 0; row++) {
        memcpy(net_next_row(&m), rows + row * 40, 40);
        CHECK(net_row_done(&m) == LT_OK);
    }
    CHECK(memcmp(net_output(&m, 0), wanted + 6, 3) == 0);
    CHECK(net_push_rows(&m, rows, 1) == LT_OK && net_rows_wanted(&m) == 3);
    CHECK(net_begin(&m) == LT_OK && net_rows_wanted(&m) == 30); /* a row was dropped */
    at = 20;
    CHECK(net_invoke(&m) == LT_OK);
    CHECK(memcmp(net_output(&m, 0), wanted + 9, 3) == 0);
    at = 24;
    CHECK(net_invoke(&m) == LT_OK);
    CHECK(memcmp(net_output(&m, 0), wanted + 12, 3) == 0);
    CHECK(net_reset(&m) == LT_OK && net_rows_wanted(&m) == 30);
    at = 0;
    CHECK(net_invoke(&m) == LT_OK);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0);
"""
    run_main(tmp_path, [program], body, declarations)


def test_a_program_reads_its_window_in_the_callers_ring(tmp_path: Path) -> None:
    """Rings of all lengths, from the least on: rows that come one by one, in slices, or before the call;
    a dropped row, and a ring elsewhere. What is not of the window is noise."""
    model = model_of("wake-word-window")
    program = compile_model(model, Options(hop=4, name="net", input_mode="const", slices=True))
    assert program.graph.hop is not None and program.graph.hop.ring == 6
    assert program.files["net.h"].count(b"#define NET_RING_ROWS 6") == 1
    rng = np.random.default_rng(1)
    rows = rng.integers(-128, 128, (60, 40), np.int8)
    declarations = (
        recorded(model, rows, range(31))
        + """
static net_t m;
static int8_t ring[40 * 64], *newest;
static int count, at; /* rows of the ring; of the window that is pulled, the first */

static int come(int row) /* to its place, and the row behind it is noise if nobody may read it */
{
    newest = net_next_row(&m);
    CHECK(newest >= ring && newest < ring + count * 40 && (newest - ring) % 40 == 0);
    memcpy(newest, rows + row * 40, 40);
    if (count > NET_RING_ROWS) {
        memset(newest + 40 < ring + count * 40 ? newest + 40 : ring, row, 40);
    }
    return 0;
}

static int pull(void *context, int input, int row, void *to)
{
    (void)context;
    (void)input;
    if (at + row == 99) {
        return 7;
    }
    return come(at + row) == 0 && newest == to ? 0 : 5;
}

static int is_of(int window)
{
    return memcmp(net_output(&m, 0), wanted + window * 3, 3) == 0;
}
"""
    )
    body = """
    static uint8_t arena[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    static uint8_t state[NET_STATE_SIZE] __attribute__((aligned(16)));
    CHECK(net_init(&m, arena, sizeof arena, state, sizeof state) == LT_OK);
    CHECK(net_next_row(&m) == NULL && net_row_done(&m) == LT_ERROR_ARGUMENT); /* there is no ring */
    CHECK(net_invoke(&m) == LT_ERROR_ARGUMENT && net_invoke_some(&m, 1) == LT_ERROR_ARGUMENT);
    CHECK(net_set_ring(&m, NULL, 6, 0) == LT_ERROR_ARGUMENT);
    CHECK(net_set_ring(&m, ring, 5, 0) == LT_ERROR_ARGUMENT);
    CHECK(net_set_ring(&m, ring, 6, 6) == LT_ERROR_ARGUMENT);
    CHECK(net_set_ring(&m, ring, 6, -1) == LT_ERROR_ARGUMENT);
    CHECK(net_set_ring(&m, ring, 65536, 0) == LT_ERROR_ARGUMENT);
    for (count = 6; count <= 64; count++) {
        memset(ring, count, sizeof ring);
        memset(arena, 0x5a, sizeof arena);
        CHECK(net_set_ring(&m, ring, count, count / 2) == LT_OK && net_rows_wanted(&m) == 30);
        for (int row = 0; row < 38; row++) {
            CHECK(net_rows_wanted(&m) == (row < 30 ? 30 - row : (34 - row) & 3));
            if (net_rows_wanted(&m) == 0) {
                CHECK(is_of(row - 30) && net_begin(&m) == LT_OK && net_rows_wanted(&m) == 4);
            }
            CHECK(come(row) == 0 && net_row_done(&m) == LT_OK);
        }
        CHECK(is_of(8) && net_rows_wanted(&m) == 0 && net_row_done(&m) == LT_ERROR_ARGUMENT);
        CHECK(net_push_rows(&m, rows + 38 * 40, 5) == LT_ERROR_ARGUMENT);
        CHECK(net_push_rows(&m, rows + 38 * 40, 3) == LT_OK && net_rows_wanted(&m) == 1);
        CHECK(net_push_rows(&m, rows + 41 * 40, 1) == LT_OK && is_of(12));
        CHECK(net_set_pull(&m, pull, NULL) == LT_OK);
        at = 16;
        CHECK(net_invoke(&m) == LT_OK && is_of(16));
        at = 20;
        int slices = 1;
        for (int status = LT_MORE; status == LT_MORE; slices++) {
            status = net_invoke_some(&m, 1000);
            CHECK(status == LT_OK || (status == LT_MORE && net_next_row(&m) == NULL));
        }
        CHECK(slices > 4 && is_of(20));
        CHECK(net_push_rows(&m, rows, 1) == LT_OK && net_begin(&m) == LT_OK); /* a row was dropped */
        CHECK(net_rows_wanted(&m) == 30);
        at = 1;
        while (net_invoke_some(&m, 20000) == LT_MORE) {
        }
        CHECK(is_of(1));
        at = 99 - 26;
        CHECK(net_invoke(&m) == 7 && net_rows_wanted(&m) == 0); /* a callback gave up */
        CHECK(net_begin(&m) == LT_OK && net_rows_wanted(&m) == 30);
        at = 2;
        CHECK(net_invoke(&m) == LT_OK && is_of(2));
        m.hop.stream.pull = NULL; /* as before there is one */
        CHECK(net_reset(&m) == LT_OK && net_rows_wanted(&m) == 30);
        if (count < 30) { /* they cannot be all there */
            CHECK(net_invoke(&m) == LT_ERROR_ARGUMENT && net_invoke_some(&m, 9) == LT_ERROR_ARGUMENT);
            continue;
        }
        CHECK(net_set_ring(&m, ring, count, count - 3) == LT_OK);
        for (int row = 0; row < 30; row++) {
            memcpy(ring + (row + count - 3) % count * 40, rows + row * 40, 40);
        }
        CHECK(net_invoke(&m) == LT_OK && is_of(0));
        for (int row = 30; row < 34; row++) {
            memcpy(ring + (row + count - 3) % count * 40, rows + row * 40, 40);
        }
        CHECK(net_invoke(&m) == LT_OK && is_of(4));
    }
"""
    run_main(tmp_path, [program], body, declarations)


@pytest.mark.parametrize("invoke", [_WHOLE, _SLICES])
def test_a_run_that_lacks_rows(invoke: str, tmp_path: Path) -> None:
    """A window of 30 rows in hops of 4, two rows of zeros before the first: right at once, after a hop
    whose third row does not come, and after a whole window that stops at its 20th."""
    model = model_of("wake-word-window")
    program = compile_model(model, Options(hop=4, slices=True, name="net"))
    rows = np.random.default_rng(2).integers(-128, 128, (34, 40), np.int8)
    declarations = recorded(model, rows, (0, 4)) + _PULL
    if invoke == _SLICES:
        declarations += _IN_SLICES
    body = f"""
    static net_t m;
    static uint8_t arena[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    static uint8_t state[NET_STATE_SIZE] __attribute__((aligned(16)));
    CHECK(net_init(&m, arena, sizeof arena, state, sizeof state) == LT_OK);
    CHECK(net_set_pull(&m, pull, NULL) == LT_OK);
    CHECK({invoke} == LT_OK && pulled == 30);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0 && net_rows_wanted(&m) == 0);
    at = 4;
    last = 32;
    CHECK({invoke} == 7 && pulled == 32 && net_rows_wanted(&m) == 0);
    at = 0;
    last = 20;
    CHECK({invoke} == 7 && pulled == 52 && net_rows_wanted(&m) == 0);
    last = -1;
    CHECK({invoke} == LT_OK && pulled == 82);
    CHECK(memcmp(net_output(&m, 0), wanted, 3) == 0 && net_rows_wanted(&m) == 0);
    at = 4;
    CHECK({invoke} == LT_OK && pulled == 86);
    CHECK(memcmp(net_output(&m, 0), wanted + 3, 3) == 0);
"""
    run_main(tmp_path, [program], body, declarations)

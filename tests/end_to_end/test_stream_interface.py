"""The C interface of streamed rows as a user's program sees it: order, counts, statuses, failures."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from programs import STRICT, run_main, samples, samples_of, write_files
from streams import CALLER, OUT_OF_ORDER, c_data, c_run

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.ir import Model
from lowtide.machines.finding import find_compiler
from lowtide.machines.objects import compile_objects
from lowtide.tflite.read import parse
from lowtide.zoo.quantise import Activation
from networks import compiled
from random_nets import Maker

BOTH = Options(name="net", input_mode="streamed", output_mode="streamed")
PUSHED = Options(name="net", input_mode="streamed")
TWO_INPUTS = 15
"""A random network with two inputs and three outputs."""


@cache
def _chain(rows: int = 16) -> Model:
    """`rows` rows in and as many out, each made of five."""
    net = Maker("chain")
    x = net.input((1, rows, 5, 2))
    x = net.conv(x, "first", 3, 3, 1, Activation.RELU6)
    return parse(net.finish(net.conv(x, "second", 4, 3, 1, Activation.RELU6)), path="chain")


@cache
def _program(options: Options) -> Compiled:
    return compile_model(_chain(), options)


_SETTING = """
static uint8_t arena[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
static uint8_t got[NET_OUTPUT_0_BYTES];
static net_t m;
static caller_t c;

/* A new inference on sample `s`, with callbacks that know of none before. */
static void begin(int s)
{
    (void)data_out;
    memset(&c, 0, sizeof c);
    c.in[0] = data_in[s][0];
    c.out[0] = got;
    c.in_bytes[0] = NET_INPUT_0_ROW_BYTES;
    c.status = 42;
    memset(got, 0x5A, sizeof got);
    SET_TAKE;
}

#define ROW(s, r) (data_in[s][0] + (r) * NET_INPUT_0_ROW_BYTES)
#define WANTED net_rows_wanted(&m)
"""

_TAKES = """
#define SET_TAKE c.out_bytes[0] = NET_OUTPUT_0_ROW_BYTES; (void)net_set_take(&m, take, &c)
#define RIGHT(s) (memcmp(got, data_out[s][0], sizeof got) == 0)
"""
_LEAVES = """
#define SET_TAKE (void)take
#define RIGHT(s) (memcmp(net_output(&m, 0), data_out[s][0], sizeof got) == 0)
"""


def _run(folder: Path, body: str, options: Options = BOTH) -> str:
    """Run `body` with the chain as `net`, set up as `m`: 16 rows, three samples."""
    streamed = options.output_mode == "streamed"
    declarations = CALLER + c_data("data", samples_of(_chain()))
    declarations += (_TAKES if streamed else _LEAVES) + _SETTING
    begin = """
    memset(arena, 0xA5, sizeof arena);
    CHECK(net_init(&m, arena, sizeof arena) == LT_OK);
    CHECK(net_set_pull(&m, pull, &c) == LT_OK);
    CHECK(NET_INPUT_0_ROWS == 16 && NET_INPUT_0_ROWS * NET_INPUT_0_ROW_BYTES == NET_INPUT_0_BYTES);
"""
    return run_main(folder, [_program(options)], begin + body, declarations)


both_ends = pytest.mark.parametrize("options", [BOTH, PUSHED], ids=["taken", "left"])


@both_ends
def test_rows_wanted_before_during_and_after(options: Options, tmp_path: Path) -> None:
    body = """
    CHECK(WANTED == 16); /* init begins a run */
    for (int s = 0; s < 3; s++) {
        begin(s);
        CHECK(net_begin(&m) == LT_OK && c.events == 0);
        for (int r = 0; r < 16; r++) {
            CHECK(WANTED == 16 - r);
            CHECK(net_push_rows(&m, ROW(s, r), 1) == LT_OK);
        }
        CHECK(WANTED == 0 && RIGHT(s));
    }
    begin(1); /* a run by itself in between */
    CHECK(net_invoke(&m) == LT_OK && WANTED == 0 && RIGHT(1));
    begin(2); /* a row that is pushed begins a run where none is under way */
    CHECK(net_push_rows(&m, ROW(2, 0), 1) == LT_OK && WANTED == 15);
    CHECK(net_push_rows(&m, ROW(2, 1), 15) == LT_OK && WANTED == 0 && RIGHT(2));
"""
    _run(tmp_path, body, options)


@both_ends
def test_rows_written_where_they_go(options: Options, tmp_path: Path) -> None:
    """In any order of bytes, asked for more than once, as a loop that is the same for every run."""
    body = """
    for (int s = 0; s < 3; s++) {
        begin(s);
        CHECK(net_begin(&m) == LT_OK);
        while (net_rows_wanted(&m)) {
            const int r = 16 - WANTED;
            uint8_t *const to = net_next_row(&m);
            CHECK(to >= arena && to + NET_INPUT_0_ROW_BYTES <= arena + sizeof arena);
            for (int i = NET_INPUT_0_ROW_BYTES; i > 0; i--) {
                to[i - 1] = ROW(s, r)[i - 1];
                CHECK(net_next_row(&m) == to);
            }
            CHECK(WANTED == 16 - r);
            CHECK(net_row_done(&m) == LT_OK);
        }
        CHECK(RIGHT(s));
        CHECK(net_next_row(&m) == NULL); /* none is wanted */
        CHECK(net_row_done(&m) == LT_ERROR_ARGUMENT && WANTED == 0 && RIGHT(s));
    }
    CHECK(net_begin(&m) == LT_OK);
    CHECK(net_row_done(&m) == LT_ERROR_ARGUMENT && WANTED == 16); /* none was asked for */
"""
    _run(tmp_path, body, options)


@both_ends
def test_rows_pushed_and_written_in_place_by_turns(options: Options, tmp_path: Path) -> None:
    body = """
    for (int s = 0; s < 3; s++) {
        begin(s);
        CHECK(net_begin(&m) == LT_OK);
        for (int n = s; WANTED > 0; n++) {
            const int r = 16 - WANTED, some = n % 4 < WANTED ? n % 4 : WANTED;
            CHECK(net_push_rows(&m, ROW(s, r), some) == LT_OK && WANTED == 16 - r - some);
            if (WANTED > 0) {
                memcpy(net_next_row(&m), ROW(s, r + some), NET_INPUT_0_ROW_BYTES);
                CHECK(net_row_done(&m) == LT_OK && WANTED == 16 - r - some - 1);
            }
        }
        CHECK(RIGHT(s));
    }
"""
    _run(tmp_path, body, options)


@both_ends
def test_too_many_rows_change_nothing(options: Options, tmp_path: Path) -> None:
    """Neither do none, or fewer than none: not before a run, not during one, and not after it."""
    body = """
    for (int s = 0; s < 3; s++) {
        begin(s);
        int done = 0;
        for (int some = 0; done < 16; some++) {
            const int wanted = WANTED, events = c.events;
            CHECK(wanted == (done == 0 && s > 0 ? 0 : 16 - done));
            CHECK(net_push_rows(&m, ROW(s, 0), 16 - done + 1) == LT_ERROR_ARGUMENT);
            CHECK(net_push_rows(&m, ROW(s, 0), 0x7fffffff) == LT_ERROR_ARGUMENT);
            CHECK(net_push_rows(&m, ROW(s, 0), -1) == LT_ERROR_ARGUMENT);
            CHECK(net_push_rows(&m, ROW(s, 0), 0) == LT_OK);
            CHECK(net_push_rows(&m, NULL, 1) == LT_ERROR_ARGUMENT);
            CHECK(net_push_rows(NULL, ROW(s, 0), 1) == LT_ERROR_ARGUMENT);
            CHECK(WANTED == wanted && c.events == events);
            const int n = some < 16 - done ? some : 16 - done;
            CHECK(net_push_rows(&m, ROW(s, done), n) == LT_OK);
            done += n;
        }
        CHECK(WANTED == 0 && RIGHT(s));
    }
    CHECK(net_push_rows(&m, ROW(0, 0), 17) == LT_ERROR_ARGUMENT);
    CHECK(WANTED == 0 && RIGHT(2));
"""
    _run(tmp_path, body, options)


def test_rows_come_out_while_others_go_in(tmp_path: Path) -> None:
    """Two convolutions with windows of three rows: output r needs input r + 2."""
    body = """
    begin(0);
    for (int r = 0; r < 16; r++) {
        CHECK(net_push_rows(&m, ROW(0, r), 1) == LT_OK);
        CHECK(c.taken[0] <= (r < 2 ? 0 : r < 15 ? r - 1 : 16));
        CHECK(c.taken[0] > r - 6);
    }
    CHECK(c.taken[0] == 16 && RIGHT(0));
    begin(1);
    CHECK(net_invoke(&m) == LT_OK && RIGHT(1));
    CHECK(c.pulled[0] == 16 && c.taken[0] == 16 && c.first_take < c.last_pull);
"""
    _run(tmp_path, body)
    longer = compile_model(_chain(48), BOTH)
    assert longer.arena_bytes <= _program(BOTH).arena_bytes


@both_ends
def test_a_pull_that_fails(options: Options, tmp_path: Path) -> None:
    """Its status comes back, no row is asked for any more, and the next run begins anew."""
    body = """
    for (int at = 1; at <= 40; at++) {
        begin(at % 3);
        c.fail_pull = at;
        c.status = at % 2 != 0 ? 42 : LT_ERROR_ARENA;
        const int status = net_invoke(&m);
        const int failed = c.pulled[0] < 16;
        CHECK(status == (failed ? c.status : LT_OK));
        CHECK(WANTED == 0);
        CHECK(!failed || c.events == at);
        CHECK(failed || RIGHT(at % 3));
        begin((at + 1) % 3);
        if (at % 4 < 2) {
            CHECK(net_invoke(&m) == LT_OK);
        } else {
            CHECK(net_push_rows(&m, ROW((at + 1) % 3, 0), 1) == LT_OK && WANTED == 15);
            CHECK(net_push_rows(&m, ROW((at + 1) % 3, 1), 15) == LT_OK && WANTED == 0);
        }
        CHECK(RIGHT((at + 1) % 3));
    }
"""
    _run(tmp_path, body, options)


def test_a_take_that_fails(tmp_path: Path) -> None:
    """Of a run by itself, and of rows that are pushed."""
    body = """
    for (int at = 1; at <= 32; at++) {
        const int s = at % 3, next = (at + 1) % 3;
        int status, done = 0;
        begin(s);
        c.fail_take = at;
        c.status = at % 2 != 0 ? 42 : LT_ERROR_ARGUMENT;
        status = net_invoke(&m);
        CHECK(status == (c.taken[0] < 16 ? c.status : LT_OK));
        CHECK(WANTED == 0);
        CHECK(c.taken[0] == 16 || c.events == at);

        begin(s);
        c.fail_take = at;
        status = LT_OK;
        for (; status == LT_OK && done < 16; done++) {
            status = net_push_rows(&m, ROW(s, done), 1);
            CHECK(status == LT_OK || (status == 42 && c.events == at));
        }
        CHECK(status == LT_OK ? RIGHT(s) : c.taken[0] == at - 1);
        CHECK(WANTED == 0);

        begin(s);
        c.fail_take = at;
        status = net_push_rows(&m, ROW(s, 0), 16);
        CHECK(status == (at <= 16 ? 42 : LT_OK));
        CHECK(WANTED == 0);

        begin(next);
        if (at % 4 < 2) {
            CHECK(net_invoke(&m) == LT_OK);
        } else {
            CHECK(net_push_rows(&m, ROW(next, 0), 16) == LT_OK);
        }
        CHECK(RIGHT(next));
    }
"""
    _run(tmp_path, body)


@both_ends
def test_a_run_that_is_given_up(options: Options, tmp_path: Path) -> None:
    """By a run by itself, by begin or by init: what was pushed before counts no more."""
    body = """
    for (int done = 1; done < 16; done++) {
        const int s = done % 3;
        begin(s);
        CHECK(net_push_rows(&m, ROW((s + 1) % 3, 0), done) == LT_OK && WANTED == 16 - done);
        begin(s);
        if (done % 3 == 0) {
            CHECK(net_invoke(&m) == LT_OK);
        } else if (done % 3 == 1) {
            CHECK(net_begin(&m) == LT_OK && WANTED == 16 && c.events == 0);
            CHECK(net_push_rows(&m, ROW(s, 0), 16) == LT_OK);
        } else {
            CHECK(net_init(&m, arena, sizeof arena) == LT_OK && WANTED == 16);
            begin(s);
            CHECK(net_push_rows(&m, ROW(s, 0), 16) == LT_OK);
            CHECK(net_set_pull(&m, pull, &c) == LT_OK);
        }
        CHECK(WANTED == 0 && RIGHT(s));
    }
"""
    _run(tmp_path, body, options)


def test_null_arguments_and_what_is_missing(tmp_path: Path) -> None:
    body = """
    net_t n;
    memset(&n, 0, sizeof n);
    (void)begin;
    CHECK(net_rows_wanted(NULL) == 0 && net_rows_wanted(&n) == 0);
    CHECK(net_invoke(NULL) == LT_ERROR_ARGUMENT && net_invoke(&n) == LT_ERROR_ARGUMENT);
    CHECK(net_push_rows(&n, ROW(0, 0), 1) == LT_ERROR_ARGUMENT); /* before init */
    CHECK(net_next_row(&n) == NULL && net_next_row(NULL) == NULL);
    CHECK(net_row_done(&n) == LT_ERROR_ARGUMENT && net_row_done(NULL) == LT_ERROR_ARGUMENT);
    CHECK(net_begin(&n) == LT_ERROR_ARGUMENT && net_begin(NULL) == LT_ERROR_ARGUMENT);
    CHECK(net_set_pull(NULL, pull, &c) == LT_ERROR_ARGUMENT);
    CHECK(net_set_take(NULL, take, &c) == LT_ERROR_ARGUMENT);
    CHECK(net_init(&n, NULL, sizeof arena) == LT_ERROR_ARGUMENT);
    CHECK(net_init(&n, arena, sizeof arena - 1) == LT_ERROR_ARENA);
    CHECK(net_init(&n, arena, sizeof arena) == LT_OK);
    CHECK(net_set_pull(&n, NULL, &c) == LT_ERROR_ARGUMENT);
    CHECK(net_set_take(&n, NULL, &c) == LT_ERROR_ARGUMENT);
    CHECK(net_invoke(&n) == LT_ERROR_ARGUMENT); /* neither pull nor take */
    CHECK(net_push_rows(&n, ROW(0, 0), 1) == LT_ERROR_ARGUMENT && net_rows_wanted(&n) == 16);
    CHECK(net_next_row(&n) == NULL && net_row_done(&n) == LT_ERROR_ARGUMENT);
    CHECK(net_set_pull(&n, pull, &c) == LT_OK);
    CHECK(net_invoke(&n) == LT_ERROR_ARGUMENT && c.events == 0); /* no take */
    CHECK(net_push_rows(&n, ROW(0, 0), 1) == LT_ERROR_ARGUMENT && net_rows_wanted(&n) == 16);
    CHECK(net_next_row(&n) == NULL && net_row_done(&n) == LT_ERROR_ARGUMENT);
    CHECK(net_set_take(&n, take, NULL) == LT_OK); /* a context may be null */
    CHECK(net_push_rows(&n, ROW(0, 0), 1) == LT_OK && net_rows_wanted(&n) == 15); /* no pull needed */
    CHECK(net_init(&n, arena, sizeof arena) == LT_OK);
    CHECK(net_invoke(&n) == LT_ERROR_ARGUMENT); /* init forgets them */
"""
    _run(tmp_path, body)


def test_instances_take_turns(tmp_path: Path) -> None:
    """Row by row, with a third run by itself in between, as an interrupt could."""
    body = """
    static uint8_t second[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    static uint8_t third[NET_ARENA_SIZE] __attribute__((aligned(NET_ARENA_ALIGN)));
    uint8_t *const arenas[] = {arena, second, third};
    static uint8_t outputs[3][NET_OUTPUT_0_BYTES];
    static net_t n[3];
    static caller_t callers[3];
    begin(0);
    for (int i = 0; i < 3; i++) {
        CHECK(net_init(&n[i], arenas[i], NET_ARENA_SIZE) == LT_OK);
        callers[i] = c;
        callers[i].in[0] = data_in[i][0];
        callers[i].out[0] = outputs[i];
        CHECK(net_set_take(&n[i], take, &callers[i]) == LT_OK);
        CHECK(net_set_pull(&n[i], pull, &callers[i]) == LT_OK);
    }
    for (int r = 0; r < 16; r++) {
        CHECK(net_push_rows(&n[0], ROW(0, r), 1) == LT_OK);
        callers[2].pulled[0] = callers[2].taken[0] = 0;
        CHECK(net_invoke(&n[2]) == LT_OK);
        CHECK(net_push_rows(&n[1], ROW(1, r), 1) == LT_OK);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(memcmp(outputs[i], data_out[i][0], sizeof outputs[i]) == 0);
    }
"""
    _run(tmp_path, body)


def test_a_row_may_be_given_where_it_lies(tmp_path: Path) -> None:
    """Rows at odd addresses, and read only: they are copied."""
    body = """
    static uint8_t odd[NET_INPUT_0_BYTES + 1] __attribute__((aligned(16)));
    for (int s = 0; s < 3; s++) {
        begin(s);
        memcpy(odd + 1, data_in[s][0], NET_INPUT_0_BYTES);
        CHECK(net_push_rows(&m, odd + 1, 16) == LT_OK && RIGHT(s));
        CHECK(memcmp(odd + 1, data_in[s][0], NET_INPUT_0_BYTES) == 0);
    }
"""
    _run(tmp_path, body)


def _functions(program: Compiled) -> set[str]:
    """The functions that a program's header declares, without the program's name."""
    header = program.files[f"{program.name}.h"].decode()
    return set(re.findall(rf"^[a-z ]+\*?{program.name}_(\w+)\(", header, re.MULTILINE))


def test_which_functions_there_are() -> None:
    always = {"init", "reset", "invoke"}
    assert _functions(_program(Options(name="net"))) == always | {"input", "output"}
    const = Options(name="net", input_mode="const", output_mode="streamed")
    assert _functions(_program(const)) == always | {"set_input", "set_take"}
    pushed = {"set_pull", "begin", "rows_wanted", "next_row", "row_done", "push_rows"}
    assert _functions(_program(PUSHED)) == always | pushed | {"output"}
    assert _functions(_program(BOTH)) == always | pushed | {"set_take"}
    # Rows that are pushed do not say of which input they are.
    assert _functions(compiled(TWO_INPUTS, BOTH)) == always | {"set_pull", "set_take"}


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    """Each input's rows are asked for in order, each output's come in order, as they are made."""
    program, found = compiled(TWO_INPUTS, BOTH), samples(TWO_INPUTS)
    graph = program.graph
    assert (len(graph.inputs), len(graph.outputs)) == (2, 3)
    declarations, body = c_run(program, "data", found)
    body += """
    {
        static net_t n;
        caller_t c;
        memset(&c, 0, sizeof c);
        CHECK(net_init(&n, net_arena, sizeof net_arena) == LT_OK);
        CHECK(net_set_pull(&n, pull, &c) == LT_OK && net_set_take(&n, take, &c) == LT_OK);
        for (int at = 1; c.status != LT_OK || at == 1; at++) {
            memset(&c, 0, sizeof c);
            memcpy(c.in, data_in[0], sizeof c.in);
            const int in_bytes[] = {NET_INPUT_0_ROW_BYTES, NET_INPUT_1_ROW_BYTES};
            const int out_bytes[] = {
                NET_OUTPUT_0_ROW_BYTES, NET_OUTPUT_1_ROW_BYTES, NET_OUTPUT_2_ROW_BYTES};
            memcpy(c.in_bytes, in_bytes, sizeof in_bytes);
            memcpy(c.out_bytes, out_bytes, sizeof out_bytes);
            c.out[0] = net_got_0;
            c.out[1] = net_got_1;
            c.out[2] = net_got_2;
            c.fail_pull = c.fail_take = at; /* whichever it is */
            c.status = 42;
            c.status = net_invoke(&n);
            CHECK(c.status == (c.events == at ? 42 : LT_OK));
        }
        const int rows = NET_INPUT_0_ROWS + NET_INPUT_1_ROWS + NET_OUTPUT_0_ROWS + NET_OUTPUT_1_ROWS
            + NET_OUTPUT_2_ROWS;
        CHECK(c.events == rows);
        CHECK(memcmp(net_got_2, data_out[0][2], sizeof net_got_2) == 0);
    }
"""
    run_main(tmp_path, [program], body, CALLER + c_data("data", found) + declarations)


def test_a_row_out_of_order_is_found(tmp_path: Path) -> None:
    """The callers' check can fail: of a program that gives each row its neighbour's number."""
    body = f"""
    begin(0);
    c.pulled[0] = 1;
    CHECK(net_invoke(&m) == {OUT_OF_ORDER});
    begin(0);
    c.taken[0] = 1;
    CHECK(net_invoke(&m) == {OUT_OF_ORDER});
"""
    _run(tmp_path, body)


def test_callbacks_are_c_plus_plus_too(tmp_path: Path) -> None:
    files = _program(BOTH).files
    write_files(tmp_path, files)
    (tmp_path / "main.cpp").write_text("""
#include "net.h"
namespace {
alignas(NET_ARENA_ALIGN) uint8_t arena[NET_ARENA_SIZE];
net_t net;
}
int main()
{
    int rows = 0;
    const net_pull_t pull = [](void *context, int, int, void *to) {
        static_cast<uint8_t *>(to)[0] = 1;
        ++*static_cast<int *>(context);
        return LT_OK;
    };
    const net_take_t take = [](void *context, int, int, const void *from) {
        *static_cast<int *>(context) += 100 + 0 * static_cast<const uint8_t *>(from)[0];
        return LT_OK;
    };
    int bad = net_init(&net, arena, sizeof arena);
    bad |= net_set_pull(&net, pull, &rows) | net_set_take(&net, take, &rows) | net_invoke(&net);
    return bad | (rows != NET_INPUT_0_ROWS + 100 * NET_OUTPUT_0_ROWS);
}
""")
    sources = sorted(name for name in files if name.endswith(".c"))
    objects, said = compile_objects([*find_compiler("host"), *STRICT], sources, tmp_path)
    assert said == ""
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["g++", "-std=c++11", *warnings, "main.cpp", *objects, "-o", "program"]
    for line in (command, ["./program"]):
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

"""What a board run reports, against models whose every figure is known, on every board."""

from __future__ import annotations

import math

import pytest
from board_bundles import INCREMENT, LOOP, bundle, deep, looping, outside, stacking

from lowtide.machines.board import find_board, load_boards
from lowtide.machines.qemu import run_on_board

BOARDS = list(load_boards())
SAMPLES = [[bytes([1, 2, 3, 4])], [bytes([5, 6, 7, 255])]]
OUTPUTS = ((bytes([2, 3, 4, 5]),), (bytes([6, 7, 8, 0]),))
TURNS = 100_000

# 40 bytes of .data, 100 of .bss, 1,000 of weights, 300 of constants, a loop, 500 bytes of stack.
EVERYTHING = bundle(
    f"""turn({TURNS}ul);
    {deep(500)}
    counted[0] = (uint8_t)(counted[0] + 1);
    zeroed[3] = tiny_weights_a[in[0]] + (uint32_t)tiny_table[in[1]];
    (void)memcmp;
    {INCREMENT}""",
    globals_=LOOP
    + """
static const uint8_t tiny_weights_a[1000] = {1, 2, 3};
static const uint8_t tiny_table[300] = {4, 5, 6};
static volatile uint8_t counted[40] = {7};
static volatile uint32_t zeroed[25];
""",
    arena=4000,
    fields="uint32_t more[9];",
)


@pytest.mark.parametrize("name", BOARDS)
def test_every_figure_on_every_board(name: str) -> None:
    board = find_board(name)
    run = run_on_board(board, EVERYTHING, "tiny", SAMPLES)

    assert run.warnings == ""
    assert run.outputs == OUTPUTS
    assert (run.ram.arena_bytes, run.ram.data_bytes, run.ram.bss_bytes) == (4000, 40, 100 + 40)
    assert 500 <= run.ram.stack_bytes <= 560
    assert run.ram.total_bytes == 4000 + 40 + 140 + run.ram.stack_bytes
    assert run.flash.weights_bytes == 1000
    assert 300 <= run.flash.constant_bytes <= 316  # and the offsets of inputs and outputs
    assert 100 <= run.flash.code_bytes <= 400
    assert run.flash.data_bytes == 40
    # Two instructions per turn; writing the stack and the rest is at most 15 per byte.
    assert len(run.instructions) == 2
    for count in run.instructions:
        assert 2 * TURNS <= count <= 2 * TURNS + 500 * 15 + 200
    assert run.max_instructions == max(run.instructions)
    assert run.init_instructions <= 60

    assert run_on_board(board, EVERYTHING, "tiny", SAMPLES) == run


@pytest.mark.parametrize("name", BOARDS)
def test_a_known_loop_counts_its_instructions(name: str) -> None:
    run = run_on_board(find_board(name), looping(2_000_000), "tiny", SAMPLES)
    assert math.isclose(run.instructions[0], 4_000_000, rel_tol=2e-5)


def test_counts_beyond_the_24_bits_of_systick() -> None:
    # At 168 MHz the counter wraps after 99.9 million instructions.
    run = run_on_board(find_board("netduinoplus2"), looping(105_000_000), "tiny", SAMPLES[:1])
    assert math.isclose(run.instructions[0], 210_000_000, rel_tol=1e-5)
    assert run.outputs == OUTPUTS[:1]


@pytest.mark.parametrize("name", ["microbit", "mps3-an547", "esp32c3"])
def test_stack_grows_by_what_the_model_uses(name: str) -> None:
    board = find_board(name)
    small, large = (
        run_on_board(board, stacking(size), "tiny", SAMPLES).ram.stack_bytes
        for size in (1600, 3200)
    )
    assert 3200 - 1600 <= large - small <= 3200 - 1600 + 16  # large frames cost a register more


def test_stack_of_init_counts() -> None:
    model = bundle(INCREMENT, init=deep(700))
    run = run_on_board(find_board("mps2-an386"), model, "tiny", SAMPLES)
    assert 700 <= run.ram.stack_bytes <= 730
    assert run.init_instructions > 700


@pytest.mark.parametrize("name", ["microbit", "mps2-an386", "hifive1b"])
def test_library_functions_count_as_the_models(name: str) -> None:
    body = "memcpy(out, in, in[0] < 4u ? in[0] : 4u);"
    run = run_on_board(find_board(name), bundle(body), "tiny", [[bytes([4, 3, 2, 1])]])
    bare = run_on_board(find_board(name), bundle(""), "tiny", [[bytes([4, 3, 2, 1])]])
    assert run.outputs == ((bytes([4, 3, 2, 1]),),)
    assert run.flash.code_bytes > bare.flash.code_bytes + 20
    assert bare.flash.code_bytes <= 80


@pytest.mark.parametrize("name", ["microbit", "mps2-an500", "mps3-an547", "esp32c3", "rv32-virt"])
def test_floating_point_works_on_every_kind_of_core(name: str) -> None:
    body = """float x[4]; for (int i = 0; i < 4; i++) { x[i] = (float)in[i] / 2.0f + 0.25f; }
    for (int i = 0; i < 4; i++) { out[i] = (uint8_t)(x[i] * 4.0f + expf((float)in[i])); }"""
    model = bundle(body, globals_="#include <math.h>")
    run = run_on_board(find_board(name), model, "tiny", [[bytes([0, 1, 2, 3])]])
    values = (int((i / 2 + 0.25) * 4 + math.exp(i)) for i in range(4))
    assert run.outputs == ((bytes(values),),)


def test_several_inputs_and_outputs_of_a_model_with_another_name() -> None:
    body = "for (int i = 0; i < 5; i++) { out[i] = (uint8_t)(in[i] + in[i]); }"
    model = bundle(body, name="my_net2", inputs=(2, 3), outputs=(4, 1), arena=160)
    run = run_on_board(find_board("mps2-an385"), model, "my_net2", [[b"\1\2", b"\3\4\5"]])
    assert run.outputs == ((b"\2\4\6\10", b"\12"),)
    assert run.ram.arena_bytes == 160


def test_a_model_without_inputs_and_a_run_without_samples() -> None:
    model = bundle("out[0] = 9;", inputs=(), outputs=(1,))
    board = find_board("mps2-an386")
    assert run_on_board(board, model, "tiny", [[], []]).outputs == ((b"\t",), (b"\t",))
    none = run_on_board(board, model, "tiny", [])
    assert (none.outputs, none.instructions, none.max_instructions) == ((), (), 0)


def test_a_sample_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sample 1 has inputs of \[3\] bytes; tiny takes \[4\]"):
        run_on_board(find_board("mps2-an386"), bundle(), "tiny", [[b"1234"], [b"123"]])


@pytest.mark.parametrize("name", BOARDS)
def test_an_input_outside_the_models_ram_takes_none(name: str) -> None:
    inputs = [[bytes([n] * 20_000)] for n in (1, 2)]  # more than microbit and hifive1b have
    run = run_on_board(find_board(name), outside(20_000), "tiny", inputs)
    assert run.warnings == ""
    assert run.outputs == tuple(((20_000 * n).to_bytes(4, "little"),) for n in (1, 2))
    assert (run.ram.arena_bytes, run.ram.data_bytes, run.ram.bss_bytes) == (64, 0, 8)
    assert run.flash.total_bytes < 400

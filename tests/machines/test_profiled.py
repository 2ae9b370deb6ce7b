"""What the emulator's plugin counts, against what the board measures; and what is said without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from board_bundles import INCREMENT, LOOP, bundle, looping, outside

import lowtide.machines.profiled as profiling
import lowtide.machines.qemu as qemu
from built import build_program
from lowtide.errors import MissingToolError
from lowtide.machines.board import find_board, load_boards
from lowtide.machines.disassembly import read_listing
from lowtide.machines.executed import Span
from lowtide.machines.finding import find_compiler
from lowtide.machines.linkmap import Section
from lowtide.machines.profiled import Profiled, Program, Unprofiled, profiled
from lowtide.machines.qemu import BoardRun, run_on_board

SAMPLES = [[bytes([1, 2, 3, 4])], [bytes([9, 6, 7, 255])], [bytes([5, 0, 0, 0])]]
# The second sample takes most. What it jumps to, and memcpy, is the model's, too.
BY_INPUT = bundle(
    f"turn(in[0] * 1000ul); memcpy(out, in, in[1] < 4u ? in[1] : 4u); {INCREMENT}", globals_=LOOP
)


def _counted(run: BoardRun) -> Profiled:
    assert isinstance(run.profile, Profiled), run.profile
    return run.profile


def _instructions(run: BoardRun, function: str) -> int:
    return sum(p.instructions for p in _counted(run).parts if p.function == function)


@pytest.mark.parametrize("name", list(load_boards()))
def test_a_profile_adds_up_to_what_is_measured(name: str) -> None:
    """minstret counts one by one; SysTick in portions, of which the two ends may lie in any place."""
    board = find_board(name)
    run = run_on_board(board, BY_INPUT, "tiny", SAMPLES, profile=True)
    counted = _counted(run)

    assert replace(run, profile=None) == run_on_board(board, BY_INPUT, "tiny", SAMPLES)
    assert run.instructions.index(run.max_instructions) == 1
    if board.machine.counter == "minstret":
        assert counted.instructions == run.max_instructions
    else:
        each = board.machine.instructions_per_tick
        assert abs(counted.instructions - run.max_instructions) <= each
    assert sum(part.instructions for part in counted.parts) == counted.instructions
    assert 2 * 9000 <= _instructions(run, "tiny_invoke") + _instructions(run, "turn") <= 18_100
    assert {p.role for p in counted.parts if p.function == "call_invoke"} == {"caller"}
    assert {p.node for p in counted.parts} == {-1}
    assert (counted.manual is None) == (board.core.manual is None)
    assert all((p.cycles is None) == (counted.manual is None) for p in counted.parts)


def test_windows_that_are_set_aside() -> None:
    """The longest of the other calls is profiled; of none but those, the longest of all."""
    board = find_board("rv32-virt")

    def profiled_but(*whole: int) -> tuple[BoardRun, int]:
        run = run_on_board(board, BY_INPUT, "tiny", SAMPLES, profile=True, whole=frozenset(whole))
        return run, _counted(run).instructions

    for whole in ((1,), (1, 2), (0,)):
        run, counted = profiled_but(*whole)
        assert counted == run.max_instructions
        assert run.first_instructions == max(run.instructions[i] for i in whole)
    run, counted = profiled_but(0, 1, 2)
    assert counted == max(run.instructions)


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        ("mps2-an386", Span(3, 4, 5)),  # a subtraction, a branch that is taken, and P
        ("mps2-an385", Span(3, 4, 5)),
        ("microbit", Span.of(4)),
        ("hifive1b", Span.of(2)),  # the branch is predicted
    ],
)
def test_the_cycles_of_a_known_loop(name: str, turn: Span) -> None:
    turns = 50_000
    run = run_on_board(find_board(name), looping(turns), "tiny", SAMPLES[:1], profile=True)
    cycles = [p.cycles for p in _counted(run).parts if p.cycles is not None]
    for of in ("least", "usual", "most"):
        total = sum(getattr(c, of) for c in cycles)
        assert 0 <= total - getattr(turn, of) * turns < 150


@pytest.mark.parametrize("name", ["microbit", "hifive1b"])
def test_reading_beyond_pages_of_the_emulator(name: str) -> None:
    run = run_on_board(find_board(name), outside(20_000), "tiny", [[bytes(20_000)]], profile=True)
    assert _counted(run).instructions > 20_000


def test_no_compiler_for_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:

    def none_of_the_host(name: str) -> tuple[str, ...]:
        if name == "host":
            raise MissingToolError("gcc is not installed", "install it: sudo apt-get install gcc")
        return find_compiler(name)

    monkeypatch.setattr(profiling, "find_compiler", none_of_the_host)
    _runs_without(
        "the emulator's plugin cannot be built: gcc is not installed "
        "(install it: sudo apt-get install gcc)"
    )


def test_a_compiler_that_does_not_build_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "_FLAGS", ("-DEXPORT",))
    compiler = find_compiler("host")[0]
    _runs_without(f"{compiler} does not build the emulator's plugin")


def test_an_emulator_that_refuses_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "plugin_version", lambda _: 99)
    _runs_without("the emulator did not run the plugin: ")


def test_an_emulator_without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "plugin_for", lambda *_, **__: "./nothing.so")
    _runs_without("the emulator did not run the plugin: ")


def test_no_objdump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "_objdump", lambda _: None)
    _runs_without("there is no objdump beside the compiler of arm-none-eabi")


def _runs_without(why: str) -> None:
    """The board measures all the same, and it is said why there is no profile."""
    board = find_board("mps2-an386")
    run = run_on_board(board, BY_INPUT, "tiny", SAMPLES, profile=True)
    assert isinstance(run.profile, Unprofiled)
    assert run.profile.why.startswith(why)
    assert replace(run, profile=None) == run_on_board(board, BY_INPUT, "tiny", SAMPLES)


CODE = """
00000100 <call_invoke>:
     100:\tb510      \tpush\t{r4, lr}
     102:\tbd10      \tpop\t{r4, pc}

00000200 <lt_run>:
     200:\t4770      \tbx\tlr

00000300 <lt_x_row>:
     300:\t3001      \tadds\tr0, #1
     302:\td1fd      \tbne.n\t300 <lt_x_row>
     304:\t4770      \tbx\tlr
"""
PROGRAM = Program(
    (
        Section(".text.call_invoke", 0x100, 4, "harness/main_board.o"),
        Section(".text.lt_run", 0x200, 2, "bundle/src/lowtide.o"),
        Section(".text.lt_x_row", 0x300, 6, "bundle/src/lt_x.o"),
        Section(".rodata.tiny_nodes", 0x400, 36, "bundle/tiny.o"),
    ),
    "tiny",
)
COUNTS = """lowtide-profile 1
empty 2
call 19
-1 100 1 1 1 1
-1 200 1 1 1 1
1 200 1 2 2 2
1 300 2 1 1 1
1 300 2 4 4 3
1 304 1 1 0 1
2 300 2 1 0 0
2 304 1 1 0 1
2 102 1 1 1 1
"""


def test_counts_by_node_and_function() -> None:
    found = profiled(COUNTS, read_listing(CODE), PROGRAM, None)
    assert found.instructions == 17
    assert [(p.node, p.function, p.role, p.instructions) for p in found.parts] == [
        (-1, "call_invoke", "caller", 0),
        (-1, "lt_run", "step program", 1),
        (1, "lt_run", "step program", 2),
        (1, "lt_x_row", "kernel", 11),
        (2, "lt_x_row", "kernel", 3),
    ]


def test_counts_of_another_program() -> None:
    listing = read_listing(CODE)
    for counts, why in (
        (COUNTS.replace("profile 1", "profile 2"), "they are of another form"),
        (COUNTS.replace("1 304 1", "1 304 2"), "there are no 2 instructions at 0x304"),
        (COUNTS.replace("call 19", "call 20"), "they do not add up"),
    ):
        with pytest.raises(ValueError, match=f"^{why}$"):
            profiled(counts, listing, PROGRAM, None)


def test_the_plugin_compiles_without_warnings(tmp_path: Path) -> None:
    """As a program of its own: a main, and QEMU's functions, which do nothing."""
    plugin = Path(profiling.__file__).with_name("plugin")
    sources = {name: (plugin / name).read_bytes() for name in ("qemu_profile.c", "qemu_plugin.h")}
    main = "int main(void) { return 0; }\n"
    flags = [*profiling._FLAGS, "-Werror"]
    (tmp_path / "rest.c").write_text(main)
    files = {**sources, "rest.c": (main + STAND_INS).encode()}
    _, warnings = build_program(files, tmp_path, flags)
    assert warnings == ""


STAND_INS = """
#include <stddef.h>
#include <stdint.h>
void *qemu_plugin_register_vcpu_tb_trans_cb, *qemu_plugin_register_vcpu_tb_exec_cb;
void *qemu_plugin_register_vcpu_insn_exec_cb, *qemu_plugin_mem_size_shift;
void *qemu_plugin_register_vcpu_mem_cb, *qemu_plugin_tb_n_insns, *qemu_plugin_tb_get_insn;
void *qemu_plugin_insn_vaddr, *qemu_plugin_insn_size, *qemu_plugin_register_atexit_cb;
"""

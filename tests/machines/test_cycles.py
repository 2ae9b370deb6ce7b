"""Cycles by the manuals, on snippets whose every cycle was added up by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lowtide.machines.cycles import MANUALS, manual_of
from lowtide.machines.disassembly import Instruction, read_listing
from lowtide.machines.executed import NOTHING, Count, Span

# As objdump prints it: a load, what its result is used for, and a loop of 10 rounds.
ARM = """
program.elf:     file format elf32-littlearm


Disassembly of section .text:

00000100 <lt_loop>:
     100:	b530      	push	{r4, r5, lr}
     102:	4c05      	ldr	r4, [pc, #20]	@ (118 <lt_loop+0x18>)
     104:	f854 2b04 	ldr.w	r2, [r4], #4
     108:	6823      	ldr	r3, [r4, #0]
     10a:	fb03 2202 	mla	r2, r3, r2, r2
     10e:	6022      	str	r2, [r4, #0]
     110:	3901      	subs	r1, #1
     112:	d1f7      	bne.n	104 <lt_loop+0x4>
     114:	bd30      	pop	{r4, r5, pc}
     116:	bf00      	nop
     118:	00002345 	.word	0x00002345
"""


def _cost(
    manual: str, text: str, counts: Mapping[int, Count], multiply_cycles: int | None = None
) -> Span:
    """What the instructions at these addresses took."""
    listing = read_listing(text)
    at = {i.address: n for n, i in enumerate(listing.instructions)}
    costs = manual_of(manual, multiply_cycles).costs(
        listing, {at[address]: count for address, count in counts.items()}
    )
    return sum(costs.values(), NOTHING)


def _line(*instructions: str) -> str:
    """Instructions of four bytes, one after the other from address 0, as objdump prints them."""
    lines = [f"{4 * n:8x}:\t0000 0000 \t{text}" for n, text in enumerate(instructions)]
    return "\n".join(["00000000 <lt_line>:", *lines])


def _once(count: int, executed: int = 1) -> dict[int, Count]:
    """So many instructions of four bytes, each run so often after the one before it."""
    return {4 * n: Count(executed) for n in range(count)}


def test_a_listing_has_code_alone() -> None:
    listing = read_listing(ARM)

    assert [i.address for i in listing.instructions][-3:] == [0x112, 0x114, 0x116]
    assert listing.instructions[1] == Instruction(0x102, 2, "ldr", "r4, [pc, #20]", "lt_loop")
    assert listing.instructions[7].operands == "104"
    assert listing.straight(0x104, 3) == range(2, 5)
    with pytest.raises(ValueError, match=r"^there are no 3 instructions at 0x105$"):
        listing.straight(0x105, 3)
    with pytest.raises(ValueError, match=r"^there are no 9 instructions at 0x104$"):
        listing.straight(0x104, 9)
    assert listing.before(0) is None
    assert listing.before(2) == 1


LOOP = {
    0x100: Count(1, entered=1),
    0x102: Count(1),
    0x104: Count(10, entered=9),
    **{at: Count(10) for at in (0x108, 0x10A, 0x10E, 0x110)},
    0x112: Count(10, left=9),
    0x114: Count(1, left=1),
}


def test_a_loop_on_a_cortex_m4() -> None:
    """push takes 1 + 3, the literal 2. In every round: 2 for a load that comes after a jump (or, once,
    after the load of its address), 1 for the next, as they overlap, 1 each for mla, str, subs and bne,
    and P for nine jumps. At last pop takes 1 + 3 + P. At the most P is 3, and the literal takes one
    more.
    """
    rounds = 10 * (2 + 1 + 1 + 1 + 1 + 1)
    usual = 4 + 2 + rounds + 9 * 2 + 4 + 2
    assert _cost("cortex-m4", ARM, LOOP) == Span(usual - 10, usual, usual + 10 + 1)


def test_the_same_loop_on_a_cortex_m3() -> None:
    """Its multiplication with accumulation takes a cycle more."""
    m4 = _cost("cortex-m4", ARM, LOOP)
    assert _cost("cortex-m3", ARM, LOOP) == m4 + Span.of(10)


THUMB = {n: Count(1) for n in range(0, 0x10, 4)}


@pytest.mark.parametrize(
    ("instructions", "cycles"),
    [
        (("adds r0, r1", "smlad r0, r1, r2, r3", "ssat r0, #8, r1", "nop"), Span.of(4)),
        (("smull r0, r1, r2, r3",), Span.of(1)),
        (("sdiv r0, r1, r2",), Span(2, 7, 12)),
        (("ldr r0, [r1, #4]",), Span.of(2)),
        (("ldr r0, [r1, #4]", "ldr r2, [r1, #8]", "ldrb r3, [r1, #9]"), Span.of(4)),
        (("ldr r0, [r1, #4]", "ldr r2, [r0, #8]"), Span.of(4)),
        (("ldr r0, [r1, r2]", "str r0, [r3, #20]"), Span.of(3)),
        (("ldr r0, [r1, r2]", "str r1, [r3, r2]"), Span.of(3)),
        (("str r0, [r1, #4]", "str r0, [r1, #8]"), Span.of(2)),
        (("str r0, [r1, r2]", "ldr r0, [r3, #0]"), Span.of(4)),
        (("str r0, [r1, #0]", "ldr r0, [r3, #0]"), Span(2, 2, 3)),
        (("add r0, r1, r2", "ldr r3, [r0, #0]"), Span(3, 3, 4)),
        (("add r0, r1, r2", "ldr r3, [r4, #0]"), Span.of(3)),
        (("ldrd r0, r1, [r2]",), Span.of(3)),
        (("ldmia.w r0!, {r1, r2, r5-r7}", "ldr r3, [r0, #0]"), Span.of(6 + 2)),
        (("stmdb sp!, {r4-fp, lr}",), Span.of(10)),
        (("vldmia r0!, {d0-d3}",), Span.of(9)),
        (("vpush {s16-s18}",), Span.of(4)),
        (("vmul.f32 s0, s1, s2", "vfma.f32 s0, s1, s2", "vdiv.f32 s0, s1, s2"), Span.of(18)),
        (("it eq", "ldreq r0, [r1, #0]"), Span(1, 3, 3)),
        (("mrs r0, ipsr",), Span(1, 1, 2)),
    ],
)
def test_instructions_on_a_cortex_m4(instructions: tuple[str, ...], cycles: Span) -> None:
    text = _line(*(i.replace(" ", "\t", 1) for i in instructions))
    assert _cost("cortex-m4", text, _once(len(instructions))) == cycles


@pytest.mark.parametrize(
    ("instruction", "cycles"),
    [
        ("mul r0, r1, r2", Span.of(1)),
        ("mla r0, r1, r2, r3", Span.of(2)),
        ("umull r0, r1, r2, r3", Span(3, 4, 5)),
        ("smlal r0, r1, r2, r3", Span(4, 6, 7)),
        ("udiv r0, r1, r2", Span(2, 7, 12)),
    ],
)
def test_instructions_on_a_cortex_m3(instruction: str, cycles: Span) -> None:
    assert _cost("cortex-m3", _line(instruction.replace(" ", "\t", 1)), _once(1)) == cycles


@pytest.mark.parametrize(
    ("instruction", "count", "least", "most"),
    [
        ("b.n 40", Count(1, left=1), 2, 4),
        ("beq.n 40", Count(10, left=0), 10, 10),
        ("cbz r0, 40", Count(10, left=4), 14, 22),
        ("bl 40", Count(1, left=1), 2, 4),
        ("blx r3", Count(1, left=1), 2, 4),
        ("bx lr", Count(1, left=1), 2, 4),
        ("tbb [pc, r3]", Count(1, left=1), 3, 5),
        ("pop {r4, pc}", Count(1, left=1), 4, 6),
        ("ldr pc, [r3, #0]", Count(1, left=1), 3, 5),
        ("mov pc, r3", Count(1, left=1), 2, 4),
    ],
)
def test_jumps_on_a_cortex_m4(instruction: str, count: Count, least: int, most: int) -> None:
    text = _line(instruction.replace(" ", "\t", 1))
    assert _cost("cortex-m4", text, {0: count}) == Span(least, (least + most) // 2, most)


@pytest.mark.parametrize(
    ("instruction", "count", "cycles"),
    [
        ("adds r0, r1", Count(3), 3),
        ("ldr r0, [r1, #4]", Count(3), 6),
        ("strb r0, [r1, r2]", Count(3), 6),
        ("push {r4, r5, lr}", Count(1), 4),
        ("ldmia r0!, {r1-r3}", Count(1), 4),
        ("pop {r4, r5, pc}", Count(1, left=1), 7),
        ("bne.n 40", Count(10, left=9), 28),
        ("b.n 40", Count(1, left=1), 3),
        ("bl 40", Count(1, left=1), 4),
        ("blx r3", Count(1, left=1), 3),
        ("bx lr", Count(1, left=1), 3),
        ("dmb sy", Count(1), 4),
    ],
)
def test_instructions_on_a_cortex_m0(instruction: str, count: Count, cycles: int) -> None:
    text = _line(instruction.replace(" ", "\t", 1))
    assert _cost("cortex-m0", text, {0: count}) == Span.of(cycles)


@pytest.mark.parametrize(
    ("multiplier", "cycles", "said"),
    [
        (1, Span.of(5), "the part's multiplier takes 1 cycle"),
        (32, Span.of(160), "the part's multiplier takes 32 cycles"),
        (None, Span(5, 5, 160), "a multiplication takes 1, 1 or 32 cycles"),
    ],
)
def test_a_cortex_m0_has_the_multiplier_of_its_part(
    multiplier: int | None, cycles: Span, said: str
) -> None:
    assert _cost("cortex-m0", _line("muls\tr0, r1"), {0: Count(5)}, multiplier) == cycles
    assert manual_of("cortex-m0", multiplier).assumptions == (said,)


@pytest.mark.parametrize(
    ("instructions", "cycles"),
    [
        (("add a0,a1,a2", "sw a0,0(a1)", "slli a0,a0,0x2"), 3),
        (("lw a0,0(a1)", "add a2,a0,a0"), 3),
        (("lw a0,0(a1)", "add a2,a3,a3", "add a2,a0,a0"), 3),
        (("lb a0,0(a1)", "add a2,a0,a0"), 4),
        (("lhu a0,0(a1)", "sw a0,4(a1)"), 4),
        (("mul a0,a1,a2", "add a3,a0,a0"), 6),
        (("mul a0,a1,a2", "mul a3,a4,a5"), 6),  # the multiplier is busy
        (("mul a0,a1,a2", *["nop"] * 4, "add a3,a0,a0"), 6),
        (("lw zero,0(a1)", "add a2,zero,a3"), 2),
    ],
)
def test_waiting_for_results_on_an_e31(instructions: tuple[str, ...], cycles: int) -> None:
    text = _line(*(i.replace(" ", "\t", 1) for i in instructions))
    assert _cost("sifive-e31", text, _once(len(instructions))) == Span.of(cycles)


def test_what_is_jumped_to_waits_for_nothing() -> None:
    """Only three of ten come from the load."""
    text = _line("lw\ta0,0(a1)", "add\ta2,a0,a0")
    counts = {0: Count(3), 4: Count(10, entered=7)}
    assert _cost("sifive-e31", text, counts) == Span.of(3 + 10 + 3)


@pytest.mark.parametrize(
    ("instruction", "count", "cycles"),
    [
        ("bnez a0,40", Count(10, left=9), Span(10, 13, 16)),
        ("bnez a0,40", Count(10, left=0), Span.of(10)),
        ("bltu a0,a1,40", Count(10, left=5), Span(10, 25, 40)),
        ("j 40", Count(1, left=1), Span.of(1)),
        ("jal 40", Count(1, left=1), Span.of(1)),
        ("ret", Count(1, left=1), Span(1, 1, 4)),
        ("jalr a5", Count(1, left=1), Span(1, 4, 4)),
        ("divu a0,a1,a2", Count(2), Span(4, 36, 66)),
    ],
)
def test_predictions_on_an_e31(instruction: str, count: Count, cycles: Span) -> None:
    text = _line(instruction.replace(" ", "\t", 1))
    assert _cost("sifive-e31", text, {0: count}) == cycles


@pytest.mark.parametrize(
    ("instructions", "cached", "smallest"),
    [
        (("add a0,a1,a2", "add a3,a4,a5"), 2, 2),
        (("add a0,a1,a2", "add a3,a0,a5"), 2, 6),  # without bypasses, through the register file
        (("slli a0,a1,0x2", "add a3,a0,a5"), 3, 7),  # the smallest shifts a bit a cycle
        (("srai a0,a1,0x1f", "nop", "add a3,a0,a5"), 3, 36),
        (("lb a0,0(a1)", "add a3,a0,a5"), 4, 6),
        (("lb a0,0(a1)", "nop", "nop", "add a3,a0,a5"), 4, 6),
        (("lb a0,0(a1)", "lb a2,1(a1)", "sb a4,0(a5)"), 3, 5),  # each second cycle, of the bus
    ],
)
def test_waiting_for_results_on_a_vexriscv(
    instructions: tuple[str, ...], cached: int, smallest: int
) -> None:
    text = _line(*(i.replace(" ", "\t", 1) for i in instructions))
    assert _cost("vexriscv", text, _once(len(instructions))) == Span.of(cached)
    assert _cost("vexriscv-min", text, _once(len(instructions))) == Span.of(smallest)


@pytest.mark.parametrize(
    ("instruction", "count", "cached", "smallest"),
    [
        ("bnez a0,40", Count(10, left=9), Span.of(10 + 9 * 3), Span.of(10 + 9 * 3)),
        ("bnez a0,0", Count(10, left=9), Span.of(10 + 9 + 3), Span.of(10 + 9 * 3)),
        ("j 40", Count(5, left=5), Span.of(5 + 5), Span.of(5 + 15)),
        ("ret", Count(5, left=5), Span.of(5 + 15), Span.of(5 + 15)),
        ("sll a0,a1,a2", Count(2), Span.of(2), Span(2, 16, 64)),
    ],
)
def test_jumps_and_shifts_on_a_vexriscv(
    instruction: str, count: Count, cached: Span, smallest: Span
) -> None:
    text = _line(instruction.replace(" ", "\t", 1))
    assert _cost("vexriscv", text, {0: count}) == cached
    assert _cost("vexriscv-min", text, {0: count}) == smallest


def test_a_vexriscv_predicts_that_loops_go_on() -> None:
    """Nine jumps back cost a cycle each, and the one that is not taken three."""
    text = _line("mul\ta0,a1,a2", "add\ta3,a0,a4", "bnez\ta3,4")
    counts = {0: Count(1), 4: Count(10, entered=9), 8: Count(10, left=9)}
    assert _cost("vexriscv", text, counts) == Span.of(1 + (10 + 2) + (10 + 9 + 3))


def test_every_manual_says_what_it_assumes() -> None:
    for name in MANUALS:
        manual = manual_of(name)
        assert manual.assumptions
        assert manual.core in manual.title or manual.core.split()[1] in manual.title

"""What is executed on boards: which conditions there are, and what is counted of them."""

from __future__ import annotations

import pytest

from lowtide.machines.disassembly import read_listing

from .board_coverage import guards, missing
from .boards import program
from .running import on_board
from .traced import Counting, Deciding, Site, code_of, met, sites_of

_BLOCK = """
00000100 <lt_x_row>:
     100:\t2800      \tcmp\tr0, #0
     102:\tbfd4      \tite\tle
     104:\t2001      \tmovle\tr0, #1
     106:\t2002      \tmovgt\tr0, #2
     108:\tf04f e001 \tdlstp.8\tlr, r0
     10c:\tf01f c003 \tletp\tlr, 108 <lt_x_row+0x8>
     110:\td0f6      \tbeq.n\t100 <lt_x_row>
     112:\t4770      \tbx\tlr
"""


def test_conditions_are_those_of_the_flags() -> None:
    """As the manual has them, of a comparison of a with b."""
    for a in (-(1 << 31), -3, 0, 1, 2, (1 << 31) - 1):
        for b in (-(1 << 31), -3, 0, 1, 2, (1 << 31) - 1):
            result, unsigned = a - b, (a & 0xFFFFFFFF, b & 0xFFFFFFFF)
            wrapped = (result + (1 << 31)) % (1 << 32) - (1 << 31)
            flags = (wrapped < 0, wrapped == 0, unsigned[0] >= unsigned[1], wrapped != result)
            status = sum(flag << bit for flag, bit in zip(flags, (31, 30, 29, 28), strict=True))
            wanted = {
                "eq": a == b,
                "ne": a != b,
                "lt": a < b,
                "ge": a >= b,
                "gt": a > b,
                "le": a <= b,
                "cs": unsigned[0] >= unsigned[1],
                "lo": unsigned[0] < unsigned[1],
                "hi": unsigned[0] > unsigned[1],
                "ls": unsigned[0] <= unsigned[1],
                "mi": wrapped < 0,
                "vs": wrapped != result,
            }
            assert {name: met(name, status) for name in wanted} == wanted


def test_sites_are_blocks_and_tails() -> None:
    found = list(sites_of(read_listing(_BLOCK).instructions))
    assert found == [Site(0x102, "le"), Site(0x10C, lanes=16)]
    assert [found[1].outcome(0, left) for left in (16, 3)] == [True, False]


def test_selections_are_sites() -> None:
    """cinc r2, r2, lt: that is csinc r2, r2, r2, ge."""
    text = _BLOCK.replace(
        "2800      \tcmp\tr0, #0", "ea52 92a2 \t\t\t@ <UNDEFINED> instruction: 0xea5292a2"
    )
    found = list(sites_of(read_listing(text).instructions))
    assert found[0] == Site(0x100, "ge")
    assert len(found) == 3


def test_long_shifts_are_no_selections() -> None:
    """lsll r0, r1, r9, and asrl r2, r3, r8."""
    for code in ("ea50 910d", "ea52 832d"):
        text = _BLOCK.replace(
            "2800      \tcmp\tr0, #0",
            f"{code} \t\t\t@ <UNDEFINED> instruction: 0x{code.replace(' ', '')}",
        )
        assert len(list(sites_of(read_listing(text).instructions))) == 2


@pytest.mark.parametrize("said", ["vpst", "vptt.s32\teq, q0, r1"])
def test_other_predication_is_refused(said: str) -> None:
    text = _BLOCK.replace("cmp\tr0, #0", said)
    with pytest.raises(ValueError, match="lanes are not looked at"):
        list(sites_of(read_listing(text).instructions))


def test_a_comparison_within_a_block_is_refused() -> None:
    text = _BLOCK.replace("movle\tr0, #1", "cmple\tr0, #1")
    with pytest.raises(ValueError, match="within its block"):
        list(sites_of(read_listing(text).instructions))


@pytest.mark.soak
def test_what_cases_execute() -> None:
    """Casts run all of their kernel's loop, both ways, and nothing of convolutions."""
    code = code_of(program("mps2-an386"))
    counting = Counting("mps2-an386", code)
    assert not on_board("mps2-an386", ["cast"], 600, 1, counting).finds
    ran = {code.owners[at] for at, count in counting.executed.items() if count}
    assert "lt_cast.c" in ran
    assert not any(name.startswith("lt_conv") for name in ran)
    casts = [b for b in code.branches if code.owners[b.address] == "lt_cast.c"]
    assert {counting.outcomes(b) for b in casts} >= {(True, True)}
    deciding = Deciding([s for s in code.sites if counting.executed[s.address]])
    assert not on_board("mps2-an386", ["cast"], 600, 1, deciding).finds
    assert all(deciding.seen[site] for site in deciding.sites)
    left = {one.address for one in missing(code, counting, deciding)}
    assert {b.address for b in casts if counting.outcomes(b) == (True, True)}.isdisjoint(left)
    lines = code.lines([i.address for i in code.listing.instructions])
    assert all(
        sum(counting.outcomes(b)) == 1
        for b in code.branches
        if b.address in guards(code, counting, lines)
    )

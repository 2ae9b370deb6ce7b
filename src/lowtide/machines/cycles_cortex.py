"""Cycles by the Technical Reference Manuals of Cortex-M0, M3 and M4.

Each of them has a table of instructions; those of M3 and M4 are followed by rules on which loads and
stores overlap. Their words are in the comments. Anything that is in no rule here takes one cycle, as all
data processing does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from lowtide.machines.disassembly import Instruction, Listing
from lowtide.machines.executed import NOTHING, Count, Span

Kind = Literal[
    "other",
    "load",
    "store",
    "loads",
    "stores",
    "branch",
    "call",
    "call by pointer",
    "table branch",
    "multiply",
    "accumulate",
    "long",
    "long accumulate",
    "divide",
    "if",
    "system",
    "float long",
    "float fused",
]

_CONDITIONS: Final = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al"
_BRANCH: Final = re.compile(rf"^(b({_CONDITIONS})?|bx|cbz|cbnz)$")
_MANY: Final = re.compile(r"^(ldm|stm|push|pop|vldm|vstm|vpush|vpop)")
_FUSED: Final = re.compile(r"^v(n?ml[as]|fn?m[as])$")
_NUMBERED: Final = {"sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14, "pc": 15}
_SYSTEM: Final = frozenset(("mrs", "msr", "dmb", "dsb", "isb"))


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction as the manuals' tables tell them apart.

    `words` is how many a load or store of several moves; `makes` the registers that it writes, as far as
    an address may depend on them; `address` those that its own address is made of. `to_pc` says that it
    may go elsewhere, `indexed` that its address has a register as offset.
    """

    kind: Kind
    words: int = 1
    makes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    to_pc: bool = False
    indexed: bool = False
    literal: bool = False
    maybe: bool = False


def decode(instruction: Instruction) -> Decoded:
    """What kind of instruction it is."""
    base = instruction.mnemonic.partition(".")[0]
    if instruction.maybe:
        base = re.sub(rf"({_CONDITIONS})$", "", base)
    operands, maybe = instruction.operands, instruction.maybe
    first = operands.partition(",")[0].strip()
    if _BRANCH.match(base):
        return Decoded("branch", to_pc=True, maybe=maybe)
    if base in ("bl", "blx"):
        return Decoded("call" if base == "bl" else "call by pointer", to_pc=True, maybe=maybe)
    if base in ("tbb", "tbh"):
        return Decoded("table branch", to_pc=True)
    if re.match(r"^it[te]{0,3}$", base):
        return Decoded("if")
    if base in _SYSTEM:
        return Decoded("system", maybe=maybe)
    if _MANY.match(base):
        names = _registers(operands)
        kind: Kind = "loads" if base.startswith(("ld", "pop", "vld", "vpop")) else "stores"
        words = sum(2 if name.startswith("d") else 1 for name in names)
        return Decoded(kind, words, to_pc="pc" in names and kind == "loads", maybe=maybe)
    if base in ("ldrd", "strd"):
        return Decoded("loads" if base == "ldrd" else "stores", 2, maybe=maybe)
    if base in ("vldr", "vstr"):
        words = 2 if first.startswith("d") else 1
        return Decoded("loads" if base == "vldr" else "stores", words, maybe=maybe)
    if base.startswith(("ldr", "str")):
        return _single(base, first, operands, maybe)
    kind = _arithmetic(base)
    to_pc = first == "pc" and base in ("mov", "add")
    made = frozenset() if base in ("cmp", "cmn", "tst", "teq") else frozenset((first,))
    if kind.startswith("long"):
        made = frozenset(part.strip() for part in operands.split(",")[:2])
    return Decoded(kind, makes=made, to_pc=to_pc, maybe=maybe)


def _single(base: str, first: str, operands: str, maybe: bool) -> Decoded:
    loads = base.startswith("ldr")
    inside = operands.partition("[")[2].partition("]")[0]
    address = [part.strip() for part in inside.split(",")]
    registers = frozenset(p for p in address if p == "lr" or p[:1] not in ("", "#", "l"))
    return Decoded(
        "load" if loads else "store",
        makes=frozenset((first,)) if loads else frozenset(),
        address=registers,
        to_pc=loads and first == "pc",
        indexed=len(registers) > 1,
        literal="pc" in registers,
        maybe=maybe,
    )


def _arithmetic(base: str) -> Kind:
    match base:
        case "mul" | "muls":
            return "multiply"
        case "mla" | "mls":
            return "accumulate"
        case "smull" | "umull":
            return "long"
        case "smlal" | "umlal" | "umaal":
            return "long accumulate"
        case "sdiv" | "udiv":
            return "divide"
        case "vdiv" | "vsqrt":
            return "float long"
    return "float fused" if _FUSED.match(base) else "other"


def _registers(operands: str) -> list[str]:
    """The registers of a list in braces, ranges written out."""
    names: list[str] = []
    for part in operands.partition("{")[2].partition("}")[0].split(","):
        low, _, high = part.strip().partition("-")
        if not high:
            names.append(low)
            continue
        letter = "r" if low[0] not in "ds" or low in _NUMBERED else low[0]
        names += [f"{letter}{n}" for n in range(_number(low), _number(high) + 1)]
    return names


def _number(register: str) -> int:
    return _NUMBERED[register] if register in _NUMBERED else int(register[1:])


@dataclass(frozen=True, slots=True)
class _Arm7:
    """What differs between Cortex-M3 and M4, in cycles."""

    accumulate: Span
    long: Span
    long_accumulate: Span


_REFILL: Final = Span(1, 2, 3)  # "P [...] ranges from 1 to 3"
_DIVIDE: Final = Span(2, 7, 12)  # "2 to 12"
_M3: Final = _Arm7(Span.of(2), Span(3, 4, 5), Span(4, 6, 7))  # "2", "3 to 5", "4 to 7"
_M4: Final = _Arm7(Span.of(1), Span.of(1), Span.of(1))


def cortex_m3(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """Cycles of the executed instructions, by their index, on a Cortex-M3."""
    return _priced(listing, counts, lambda *of: _arm7(_M3, *of))


def cortex_m4(listing: Listing, counts: Mapping[int, Count]) -> dict[int, Span]:
    """The same on a Cortex-M4, with its FPU."""
    return _priced(listing, counts, lambda *of: _arm7(_M4, *of))


def cortex_m0(
    multiplies: Span,
) -> Callable[[Listing, Mapping[int, Count]], dict[int, Span]]:
    """The same on a Cortex-M0 whose multiplier takes so many cycles."""
    return lambda listing, counts: _priced(
        listing, counts, lambda op, _, count: _arm6(multiplies, op, count)
    )


def _priced(
    listing: Listing,
    counts: Mapping[int, Count],
    price: Callable[[Decoded, Decoded | None, Count], Span],
) -> dict[int, Span]:
    decoded: dict[int, Decoded] = {}

    def of(index: int) -> Decoded:
        if index not in decoded:
            decoded[index] = decode(listing.instructions[index])
        return decoded[index]

    costs = {}
    for index, count in counts.items():
        before = listing.before(index)
        costs[index] = price(of(index), None if before is None else of(before), count)
    return costs


def _arm6(multiplies: Span, op: Decoded, count: Count) -> Span:
    """Cortex-M0: no instruction depends on another one."""
    match op.kind:
        case "load" | "store":
            each = Span.of(2)
        case "loads" | "stores":  # "1 + N", and "4 + N" if the pc is among them
            each = Span.of((4 if op.to_pc else 1) + op.words)
        case "branch":  # "1" or, taken, "3"
            return Span.of(count.executed + 2 * count.left)
        case "call":
            each = Span.of(4)
        case "multiply":
            each = multiplies
        case "system":
            each = Span.of(4)
        case _:
            each = Span.of(3 if op.to_pc else 1)
    return each * count.executed


def _arm7(core: _Arm7, op: Decoded, before: Decoded | None, count: Count) -> Span:
    """Cortex-M3 and M4. `before` is the instruction before it, if there is one."""
    fell = count.executed - count.entered if before is not None else 0
    each = NOTHING
    match op.kind:
        case "load" | "store":
            total = _access(op, before, count.executed, fell)
        case "loads" | "stores":  # "1 + N"; LDRD, STRD and LDM cannot be pipelined
            each = Span.of(1 + op.words)
        case "table branch":  # "2 + P"
            each = Span.of(2)
        case "accumulate":
            each = core.accumulate
        case "long":
            each = core.long
        case "long accumulate":
            each = core.long_accumulate
        case "divide":
            each = _DIVIDE
        case "if":
            each = Span(0, 1, 1)
        case "system":
            each = Span(1, 1, 2)
        case "float long":
            each = Span.of(14)
        case "float fused":
            each = Span.of(3)
        case _:
            each = Span.of(1)
    if op.kind not in ("load", "store"):
        total = each * count.executed
    if op.to_pc:
        total += _REFILL * count.left
    if op.maybe:  # skipped, it takes one cycle
        total = Span(min(total.least, count.executed + count.left), total.usual, total.most)
    return total


def _access(op: Decoded, before: Decoded | None, executed: int, fell: int) -> Span:
    """A single load or store that ran so often, `fell` times of them right after `before`."""
    alone = Span.of(2)
    if op.kind == "store" and not op.indexed:
        alone = Span.of(1)  # "STR Rx,[Ry,#imm] is always one cycle."
    if op.literal:
        alone += Span(0, 0, 1)  # "might add a cycle because of contention with the fetch unit"
    after = alone
    if before is not None:
        dependent = bool(before.makes & op.address)
        match before.kind:
            case "load" if not dependent and not before.to_pc:
                after = Span.of(1)  # "one cycle is removed from the cost of the next instruction"
            case "store" if before.indexed:
                pass  # "Other instructions cannot be pipelined after STR with register offset."
            case "store":  # "Neighboring [...] can pipeline their address and data phases."
                after = Span(1, 1, alone.most)
            case "loads" | "stores" | "load":
                pass
            case _ if dependent:  # "will stall the pipeline for an additional cycle"
                after = alone + Span(0, 0, 1)
    return after * fell + alone * (executed - fell)

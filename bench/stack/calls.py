"""Frames and calls of functions, read from objects: an upper bound of the stack below each.

All that a function takes off the stack pointer counts, whatever way through it is gone, and a call from
any point of it counts from there. A call by a pointer may reach each function whose address is held by a
function on the way to it, or by a constant in the same object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_LABEL = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_RELOCATION = re.compile(r"^\s+[0-9a-f]+: (R_\w+)\s+([^\s+-]+)")
_LINE = re.compile(r"^\s*[0-9a-f]+:\t[0-9a-f ]+\t(\S+)\s*(.*?)(?:\s*[@;<].*|\s+# .*)?$")
_SECTION = re.compile(r"^RELOCATION RECORDS FOR \[(.+)\]:$")
_CALLS = {
    "R_ARM_THM_CALL",
    "R_ARM_THM_JUMP24",
    "R_ARM_THM_JUMP19",
    "R_ARM_THM_JUMP11",
    "R_RISCV_CALL",
    "R_RISCV_CALL_PLT",
    "R_RISCV_JAL",
    "R_RISCV_RVC_JUMP",
}
_PUSH = {"push", "push.w", "vpush", "stmdb", "vstmdb", "stmdb.w"}
_WORD, _DOUBLE = 4, 8

Name = tuple[str, str]
"""Object, or "" where the name is known to all, and function."""


@dataclass(slots=True)
class Function:
    """What one function takes, calls and holds the addresses of."""

    frame: int = 0
    calls: set[str] = field(default_factory=set)
    holds: set[str] = field(default_factory=set)
    by_pointer: bool = False


@dataclass(frozen=True, slots=True)
class Object:
    """The functions of an object, and the addresses that its constants hold."""

    name: str
    functions: Mapping[str, Function]
    held: frozenset[str]


def read_object(name: str, code: str, constants: str) -> Object:
    """An object from what `objdump -dr` and `objdump -r` print of it.

    Raises ValueError for a function whose frame has no fixed size.
    """
    functions: dict[str, Function] = {}
    now, relocated = Function(), False
    for line in code.splitlines():
        if label := _LABEL.match(line):
            if label[1].startswith("."):  # within a function
                continue
            now = functions.setdefault(label[1], Function())
        elif relocation := _RELOCATION.match(line):
            kind, symbol = relocation.groups()
            (now.calls if kind in _CALLS else now.holds).add(_plain(symbol))
            relocated = kind.startswith("R_RISCV_CALL")
        elif instruction := _LINE.match(line):
            mnemonic, operands = instruction[1], instruction[2].strip()
            now.frame += _taken(mnemonic, operands)
            if _is_by_pointer(mnemonic, operands) and not relocated:
                now.by_pointer = True
            relocated = relocated and mnemonic == "auipc"
    held: set[str] = set()
    section = ""
    for line in constants.splitlines():
        if begins := _SECTION.match(line):
            section = begins[1]
        elif section.startswith((".rodata", ".data")) and len(parts := line.split()) == 3:
            held.add(_plain(re.split(r"[+-]0x", parts[2])[0]))
    return Object(name, functions, frozenset(held))


def _plain(symbol: str) -> str:
    return symbol.removeprefix(".text.")


def _taken(mnemonic: str, operands: str) -> int:
    """Bytes that an instruction takes off the stack pointer."""
    if mnemonic in _PUSH and (mnemonic.startswith(("push", "vpush")) or operands.startswith("sp!")):
        return _registers(operands)
    if mnemonic in {"sub", "sub.w", "subw"} and operands.startswith("sp"):
        amount = operands.rpartition(",")[2].strip()
        if not amount.startswith("#"):
            raise ValueError(f"a frame of no fixed size: {mnemonic} {operands}")
        return int(amount[1:], 0)
    if mnemonic in {"add", "addi", "c.addi16sp", "c.addi"} and operands.startswith("sp,sp,-"):
        return int(operands.removeprefix("sp,sp,-"), 0)
    if mnemonic in {"sub", "c.sub"} and operands.startswith("sp,sp,"):
        raise ValueError(f"a frame of no fixed size: {mnemonic} {operands}")
    before = re.match(r".*\[sp, #-(\d+)\]!", operands)
    return int(before[1]) if before else 0


def _registers(operands: str) -> int:
    """Bytes of the registers in braces."""
    total = 0
    for part in operands[operands.index("{") + 1 : operands.index("}")].split(","):
        first, _, last = part.strip().partition("-")
        count = int(last[1:]) - int(first[1:]) + 1 if last else 1
        total += count * (_DOUBLE if first.startswith("d") else _WORD)
    return total


def _is_by_pointer(mnemonic: str, operands: str) -> bool:
    """Whether an instruction goes where a register says, and does not return."""
    if mnemonic in {"blx", "bx"}:
        return operands not in {"lr"} and not operands.startswith(tuple("0123456789"))
    return mnemonic in {"jalr", "jr", "c.jalr", "c.jr"} and not operands.startswith("ra")


def depths(objects: Iterable[Object]) -> dict[str, int]:
    """The stack in bytes that each function which all objects know takes, with all that it calls."""
    every = {one.name: one for one in objects}
    public: dict[str, Name] = {}
    for one in every.values():
        for function in one.functions:
            public.setdefault(function, (one.name, function))

    def named(of: str, symbol: str) -> Name | None:
        if symbol in every[of].functions:
            return of, symbol
        return public.get(symbol)

    def found(at: Name, symbols: Iterable[str]) -> set[Name]:
        return {one for symbol in symbols if (one := named(at[0], symbol)) is not None}

    def function_of(at: Name) -> Function:
        return every[at[0]].functions[at[1]]

    def reached(root: Name) -> tuple[set[Name], set[Name]]:
        """All that may run below it, and of these what pointers may lead to."""
        seen, pointed, pending = {root}, set[Name](), [root]
        while pending:
            at = pending.pop()
            held = found(at, function_of(at).holds) | found(at, every[at[0]].held)
            pointed |= held
            for name in (held | found(at, function_of(at).calls)) - seen:
                seen.add(name)
                pending.append(name)
        return seen, pointed

    def depth(at: Name, pointed: set[Name], path: tuple[Name, ...], known: dict[Name, int]) -> int:
        if at in known:
            return known[at]
        function = function_of(at)
        next_ones = found(at, function.calls) | (pointed if function.by_pointer else set())
        below = (depth(one, pointed, (*path, one), known) for one in next_ones - set(path))
        known[at] = function.frame + max(below, default=0)
        return known[at]

    result = {}
    for symbol, name in public.items():
        _, pointed = reached(name)
        result[symbol] = depth(name, pointed, (name,), {})
    return result

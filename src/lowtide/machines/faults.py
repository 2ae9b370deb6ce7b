"""Faults of a guest in words: what Cortex-M and RISC-V report when a program crashes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lowtide.machines.linkmap import Sizes

_ARM_EXCEPTIONS: Final = {
    2: "NMI",
    3: "HardFault",
    4: "MemManage fault",
    5: "BusFault",
    6: "UsageFault",
    7: "SecureFault",
}
# Bits of the Configurable Fault Status Register.
_ARM_CAUSES: Final = {
    0: "execution of memory that holds no code",
    1: "access to protected memory",
    8: "execution of memory that does not exist",
    9: "access to memory that does not exist",
    10: "access to memory that does not exist",
    12: "stack outside memory",
    16: "undefined instruction",
    17: "invalid state",
    18: "invalid return",
    19: "FPU or Helium not enabled",
    20: "stack limit passed",
    24: "unaligned access",
    25: "division by zero",
}
_ARM_ADDRESS_VALID: Final = 1 << 15
_RISCV_CAUSES: Final = {
    0: "unaligned instruction",
    1: "execution of memory that does not exist",
    2: "illegal instruction",
    3: "breakpoint",
    4: "unaligned read",
    5: "read of memory that does not exist",
    6: "unaligned write",
    7: "write to memory that does not exist",
}


def fault_text(is_arm: bool, report: Mapping[str, int], sizes: Sizes) -> str:
    """The fault that the harness reported, the place in the code, and the address if it matters.

    `report` holds the harness's values: "fault", "pc", "detail" and "address".
    """
    cause, pc = report["fault"], report.get("pc", 0)
    detail, address = report.get("detail", 0), report.get("address", 0)
    if is_arm:
        name = _ARM_EXCEPTIONS.get(cause, f"exception {cause}")
        why = next((text for bit, text in _ARM_CAUSES.items() if detail >> bit & 1), "")
        what = f"{name}, {why}" if why else name
        has_address = bool(detail & _ARM_ADDRESS_VALID)
    else:
        what = _RISCV_CAUSES.get(cause, f"trap {cause}")
        has_address = 4 <= cause <= 7
    where = f" in {sizes.function_at(pc)} (pc {pc:#010x})"
    return what + where + (f", address {address:#010x}" if has_address else "")

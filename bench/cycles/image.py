"""What the RTL's flash holds: the program as it was linked for the emulator, its host calls apart.

The emulator's board calls the host by a marked `ebreak`, and counts by a register that not every core
has. In the image, both are accesses to the last four words of the address space, where simulated.cpp
answers: the operation, its argument, and cycles in two halves. All else is the same, byte for byte, and
lies where it lay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MARK: Final = 0x01F01013  # slli x0, x0, 0x1f: the first instruction of harness_host
_RETURN: Final = 0x00008067  # ret
_ASK: Final = (
    0xFEB02C23,  # sw a1, -8(x0): the argument
    0xFEA02E23,  # sw a0, -4(x0): the operation
    0xFFC02503,  # lw a0, -4(x0): what comes of it
)
_FLUSH: Final = (
    0x0000500F  # VexRiscv's own: empties the cache for data, as the host wrote to memory
)
_FENCE: Final = 0x0FF0000F  # fence
_DESTINATION: Final = 0xF80  # the bits that name the register
_COUNTERS: Final = {
    0xB0202073: 0xFF002003,  # csrr rd, minstret: lw rd, -16(x0)
    0xB8202073: 0xFF402003,  # csrr rd, minstreth: lw rd, -12(x0)
}
_LINE_BYTES: Final = 64  # no line of any cache holds what is added and what was there


def image(flash: bytes, origin: int, harness: Iterable[range], *, flushes: bool) -> bytes:
    """The contents of flash, from address `origin` on; `harness` is where the harness's code lies.

    With `flushes`, the core has a cache for data. Raises ValueError if the harness is of another form.
    """
    made = bytearray(flash + bytes(-len(flash) % _LINE_BYTES))
    asks = origin + len(made)
    marks = counters = 0
    for span in harness:
        for address in range(span.start, span.stop, 4):
            at = address - origin
            word = int.from_bytes(made[at : at + 4], "little")
            if word == _MARK:
                word, marks = _jump(asks - address), marks + 1
            elif (instead := _COUNTERS.get(word & ~_DESTINATION)) is not None:
                word, counters = instead | (word & _DESTINATION), counters + 1
            made[at : at + 4] = word.to_bytes(4, "little")
    if marks != 1 or counters == 0:
        raise ValueError(f"the harness has {marks} calls of the host and {counters} counters")
    for word in (*_ASK, _FLUSH if flushes else _FENCE, _RETURN):
        made += word.to_bytes(4, "little")
    return bytes(made) + bytes(-len(made) % _LINE_BYTES)


def _jump(offset: int) -> int:
    """ "j" by so many bytes, less than 1 MiB."""
    return (
        0x6F
        | (offset & 0xFF000)
        | (offset >> 11 & 1) << 20
        | (offset >> 1 & 0x3FF) << 21
        | (offset >> 20 & 1) << 31
    )

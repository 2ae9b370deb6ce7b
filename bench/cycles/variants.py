"""Which cores, networks and memories the bench measures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lowtide.machines.board import load_boards
from lowtide.machines.parts import Board

_BOARDS: Final = Path(__file__).with_name("boards.toml")

WAITS: Final = (0, 2, 8)
"""Cycles more that the flash behind the XIP cache takes for a line."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """A cache's bytes, ways, and bytes of a line."""

    bytes: int
    ways: int
    line_bytes: int

    @property
    def argument(self) -> str:
        """As the plugins of the emulator take it."""
        return f"{self.bytes:x}/{self.ways:x}/{self.line_bytes:x}"


XIP: Final = CacheShape(16384, 2, 8)
"""The cache that the flash of both cores is read through, that of an RP2040."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A generated core: its Verilog file, and the board of boards.toml that it is.

    `own` is the shape of its cache for instructions, and of that for data; None if it has none. A line
    that is missing there takes `refill_cycles` more, of memory without waits. `samples` are the inputs
    that it runs.
    """

    name: str
    verilog: str
    board_name: str
    own: CacheShape | None
    refill_cycles: int
    samples: int

    @property
    def board(self) -> Board:
        """It as a board."""
        return load_boards(_BOARDS)[self.board_name]


# A line comes in eight accesses; four cycles more are those of the core's way to its bus and back.
CACHED: Final = Variant("cached", "VexRiscv.v", "vexriscv", CacheShape(4096, 1, 32), 8 + 4, 2)
MIN: Final = Variant("min", "VexRiscv_Min.v", "vexriscv-min", None, 0, 1)

KWS, RESNET, VWW = "zoo:ds-cnn-kws", "zoo:resnet8", "zoo:mobilenet-v1-0.25-96"
VOICE, GESTURES = "zoo:streaming-voice-activity", "zoo:lstm-gestures"
"""Small ones, which the smallest core runs in seconds."""


@dataclass(frozen=True, slots=True)
class Case:
    """A network on a core, with flash of so many waits."""

    network: str
    variant: Variant
    waits: int

    @property
    def label(self) -> str:
        """Which one it is."""
        return f"{self.network.removeprefix('zoo:')}, {self.variant.name}, {self.waits} waits"


def _cases(variant: Variant, *networks: str) -> tuple[Case, ...]:
    return tuple(Case(network, variant, waits) for network in networks for waits in WAITS)


GROUPS: Final = {
    "cached": _cases(CACHED, KWS, RESNET, VWW),
    "min": _cases(MIN, VOICE, GESTURES),
    **{
        f"min-{name}-{waits}": (Case(network, MIN, waits),)
        for name, network in (("kws", KWS), ("resnet8", RESNET), ("vww", VWW))
        for waits in WAITS
    },
}
"""Groups of rows; those of the smallest core with large networks have a row each, as that takes long."""

QUICK: Final = ("cached", "min")
"""Those that take minutes, not hours: the smallest core multiplies in software."""

"""What the msf-CNN bench compares, as values: cells of the paper's Table 1 and more, ours and theirs.

Why: the released code prints exact bytes and MACs, the paper rounds them, and both are in the shared
data with further counts of the same settings. Ours are kept under the data's own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bench.shared.outside import ROOT

Agreement = Literal["equal", "tie", "DIFFERS", "not compared"]
"""A tie is another setting with the same bytes and MACs."""

_DATA = ROOT.parent / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Figures:
    """A setting in every way of counting. Blocks are [first, last] layers, as in the data.

    `factor` is F: MACs relative to those of no fusion, in the same count. `letter_factor` is that of
    equation 14 to the letter.
    """

    bytes: int
    macs: int
    factor: float
    blocks: tuple[tuple[int, int], ...]
    eq11_bytes: int
    bytes_with_ends: int
    clipped_macs: int
    clipped_factor: float
    letter_factor: float

    def as_data(self) -> dict[str, object]:
        """The figures that paper_tables.json has, under its names."""
        return {
            "bytes": self.bytes,
            "macs": self.macs,
            "F": round(self.factor, 6),
            "setting": [list(block) for block in self.blocks],
            "eq11_bytes_Buf1_zero": self.eq11_bytes,
            "bytes_with_network_input_and_output": self.bytes_with_ends,
            "macs_exact_same_padding": self.clipped_macs,
            "F_exact_same_padding": round(self.clipped_factor, 6),
        }

    @property
    def rounded(self) -> tuple[float, float]:
        """kB and F as Table 1 has them."""
        return round(self.bytes / 1000, 3), round(self.factor, 2)


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of Table 1 on one network, and the seconds of the search; None is "no solution".

    `code` is the released code's answer as in the data, `published` the paper's (kB, F); both are None
    without the shared data, too. `differs` names what is not as it should be; `note` says what the
    paper has where it is not our figures, rounded.
    """

    network: str
    constraint: str
    ours: Figures | None
    status: Agreement
    seconds: float
    code: Mapping[str, Any] | None = None
    published: tuple[float, float] | None = None
    differs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best setting in another accounting: (bytes, F), or None for "no solution"."""

    network: str
    accounting: str
    constraint: str
    ours: tuple[int, float] | None
    blocks: tuple[tuple[int, int], ...]
    status: Agreement


@dataclass(frozen=True, slots=True)
class SearchTime:
    """Seconds for all of a problem's settings on a network: the searches, the graph they share.

    `code` is the whole run of the released code that answers the same, where the data have it.
    """

    network: str
    problem: str
    searches: float
    graph: float
    code: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """All that was worked out; `missing` names the shared data that were not there to compare with."""

    cells: tuple[Cell, ...]
    optima: tuple[Optimum, ...]
    timings: tuple[SearchTime, ...]
    missing: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing differs that could be compared."""
        found = {cell.status for cell in self.cells} | {best.status for best in self.optima}
        return "DIFFERS" not in found


def published_cells(column: Mapping[str, Any]) -> dict[str, tuple[float, float] | None]:
    """A network's column of Table 1 with "SAA" (same as above) filled in; None is "no solution"."""
    found: dict[str, tuple[float, float] | None] = {}
    above: tuple[float, float] | None = None
    for constraint, value in column.items():
        if value != "SAA":
            above = None if value == "no solution" else (value[0], value[1])
        found[constraint] = above
    return found

"""What the msf-CNN bench compares: every cell of the paper's Table 1, ours beside theirs.

Why: the released code prints exact bytes and MACs, the paper rounds them, and both are in the shared
data with further counts of the same settings. A cell is equal if everything the data say of it is.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from msf_cnn_model import (
    AS_CODED,
    AS_PUBLISHED,
    CLIPPED,
    CLIPPED_WITH_ENDS,
    Accounting,
    Layer,
    setting_cost,
)
from msf_cnn_networks import ZOO, published_layers, zoo_layers
from msf_cnn_search import (
    FusionGraph,
    Setting,
    fusion_graph,
    heuristic,
    least_macs,
    least_peak,
    least_ram,
    vanilla,
)
from reorder_rows import ROOT, timed

Status = Literal["equal", "tie", "DIFFERS", "not compared"]
Document = Mapping[str, Any]

_DATA = ROOT.parent / "shared" / "data"
_FACTORS = (1.1, 1.2, 1.3, 1.4, 1.5, math.inf)
_KILOBYTES = (16, 32, 64, 128, 256)
_GOOD: tuple[Status, ...] = ("equal", "tie")
CLAIMED = "few seconds"
"""What section 6.1 says a search takes."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A setting in every way of counting. Blocks are [first, last] layers, as in the data.

    `factor` is F, MACs relative to no fusion in the same count. `letter_factor` is that of equation 14
    to the letter.
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
        """The figures under the names of paper_tables.json."""
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of Table 1 on one network; None stands for "no solution".

    `code` is the released code's answer as in the data, `published` the paper's (kB, F). `differs` names
    the figures of `code` that ours are not. Both are absent without the shared data.
    """

    network: str
    constraint: str
    ours: Figures | None
    status: Status
    seconds: float
    code: Document | None = None
    published: tuple[float, float] | None = None
    differs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best setting in another accounting, beside the one in the data (bytes, F), if any."""

    network: str
    accounting: str
    constraint: str
    ours: tuple[int, float] | None
    status: Status
    data: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds to answer all settings of a problem on a network, ours with and without the graph."""

    network: str
    problem: str
    search: float
    with_graph: float
    code: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was worked out. `missing` says what there was nothing to compare with."""

    cells: tuple[Cell, ...]
    optima: tuple[Optimum, ...]
    timings: tuple[Timing, ...]
    missing: str = ""

    @property
    def good(self) -> bool:
        """Nothing differs from the released code or from the data recomputed from it."""
        return not any(row.status == "DIFFERS" for row in (*self.cells, *self.optima))


def note(text: str) -> None:
    """Say on stderr what is going on."""
    print(f"bench/msf_cnn: {text}", file=sys.stderr, flush=True)


def measure() -> Report:
    """All three networks. Raises ValueError if the zoo's and the published layers differ."""
    tables, models = _shared("paper_tables.json"), _shared("paper_models.json")
    absent = [
        name
        for name, data in (("paper_tables.json", tables), ("paper_models.json", models))
        if data is None
    ]
    cells: list[Cell] = []
    optima: list[Optimum] = []
    timings: list[Timing] = []
    for network in ZOO:
        layers = zoo_layers(network)
        if models is not None and layers != published_layers(models[network]["layers"]):
            raise ValueError(f"zoo:{ZOO[network]} and paper_models.json differ in their layers")
        note(f"{network}: Table 1")
        graph, seconds = timed(lambda layers=layers: fusion_graph(layers, AS_CODED))
        own = _cells(network, layers, graph, tables)
        cells += own
        timings += _timings(network, own, seconds, tables)
        for accounting in (CLIPPED, CLIPPED_WITH_ENDS):
            note(f"{network}: {accounting.name}")
            optima += _optima(network, layers, accounting, tables)
    missing = f"needs the shared data ({', '.join(absent)})" if absent else ""
    return Report(tuple(cells), tuple(optima), tuple(timings), missing)


def _shared(name: str) -> Any:
    # The contents of a file of the shared data; None without it.
    try:
        return json.loads((_DATA / name).read_text())
    except FileNotFoundError:
        return None


def _searches(
    graph: FusionGraph, vanilla_macs: int
) -> dict[str, Callable[[], Setting | None]]:
    # The rows of Table 1, under their names in the data.
    found: dict[str, Callable[[], Setting | None]] = {
        "vanilla": lambda: vanilla(graph),
        "heuristic": lambda: heuristic(graph),
    }
    for factor in _FACTORS:
        found[f"P1 {factor}"] = lambda most=factor * vanilla_macs: least_ram(graph, most)
    for size in _KILOBYTES:
        found[f"P2 {size}kB"] = lambda limit=1000 * size: least_macs(graph, limit)
    return found

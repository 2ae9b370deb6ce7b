"""Works out what the msf-CNN bench prints: searches every setting, counts it, compares it.

Why: a cell is equal only if everything that the data say of it is: bytes, MACs, F, the setting itself,
and the recounts of that setting. Where the paper and its code disagree, the code decides, and the cell
says what the paper has.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from bench.msf_cnn.compared import (
    Agreement,
    Cell,
    Figures,
    Optimum,
    Report,
    SearchTime,
    published_cells,
)
from bench.msf_cnn.paper_chains import ZOO, published_layers, zoo_layers
from bench.msf_cnn.paper_costs import (
    AS_CODED,
    AS_PUBLISHED,
    CLIPPED,
    CLIPPED_WITH_ENDS,
    Accounting,
    Layer,
    setting_cost,
)
from bench.msf_cnn.paper_search import (
    FusionGraph,
    Setting,
    candidates,
    fusion_graph,
    heuristic,
    least_macs,
    least_peak,
    least_ram,
    vanilla,
)
from bench.shared.outside import shared
from bench.shared.work import note, timed

_Layers = tuple[Layer, ...]
_Search = Callable[[], Setting | None]

_FACTORS = (1.1, 1.2, 1.3, 1.4, 1.5, math.inf)
_KILOBYTES = (16, 32, 64, 128, 256)


def measure() -> Report:
    """All three networks. Raises ValueError where the zoo's layers are not the published ones."""
    files = {name: shared(name) for name in ("paper_tables.json", "paper_models.json")}
    tables, models = files.values()
    cells: list[Cell] = []
    optima: list[Optimum] = []
    timings: list[SearchTime] = []
    for network, zoo_name in ZOO.items():
        note(network)
        layers = zoo_layers(network)
        if models is not None and layers != published_layers(models[network]["layers"]):
            raise ValueError(f"zoo:{zoo_name} has other layers than paper_models.json")
        graph, seconds = timed(partial(fusion_graph, layers, AS_CODED))
        column = _column(network, layers, graph, tables)
        cells += column
        timings += _timings(network, column, seconds, tables)
        for accounting in (CLIPPED, CLIPPED_WITH_ENDS):
            optima += _optima(network, layers, accounting, tables)
    missing = tuple(name for name, data in files.items() if data is None)
    return Report(_noted(cells) if tables else tuple(cells), tuple(optima), tuple(timings), missing)


def _p1(graph: FusionGraph) -> dict[str, _Search]:
    whole = vanilla(graph).cost.macs

    def search(factor: float) -> _Search:
        return lambda: least_ram(graph, factor * whole)

    return {f"P1 {factor:g}": search(factor) for factor in _FACTORS}


def _p2(
    graph: FusionGraph, solve: Callable[[FusionGraph, int], Setting | None]
) -> dict[str, _Search]:
    def search(kilobytes: int) -> _Search:
        return lambda: solve(graph, 1000 * kilobytes)

    return {f"P2 {kilobytes}kB": search(kilobytes) for kilobytes in _KILOBYTES}


def _column(network: str, layers: _Layers, graph: FusionGraph, tables: Any) -> list[Cell]:
    searches: dict[str, _Search] = {
        "vanilla": lambda: vanilla(graph),
        "heuristic": lambda: heuristic(graph),
        **_p1(graph),
        **_p2(graph, least_macs),
    }
    published = published_cells(tables["table1_analytical_kB_F"][network]) if tables else {}
    column = []
    for constraint, search in searches.items():
        setting, seconds = timed(search)
        ours = None if setting is None else _figures(layers, setting.cuts)
        cell = Cell(network, constraint, ours, "not compared", seconds)
        if tables is not None:
            code = tables["analysis_code_exact"][network][constraint]
            differs = _differences(ours, code)
            cell = dataclasses.replace(
                cell,
                code=code,
                differs=differs,
                status=_status(differs),
                published=published[constraint],
            )
        if constraint == "P1 inf" and (ours is None or ours.bytes != least_peak(graph).cost.bytes):
            differs = (*cell.differs, "the minimax path's bytes")
            cell = dataclasses.replace(cell, differs=differs, status="DIFFERS")
        column.append(cell)
    return column


def _figures(layers: _Layers, cuts: Sequence[int]) -> Figures:
    alone = range(len(layers) + 1)
    coded, letter, clipped, with_ends = (
        setting_cost(layers, cuts, accounting)
        for accounting in (AS_CODED, AS_PUBLISHED, CLIPPED, CLIPPED_WITH_ENDS)
    )

    def factor(macs: int, accounting: Accounting) -> float:
        return macs / setting_cost(layers, alone, accounting).macs

    return Figures(
        bytes=coded.bytes,
        macs=coded.macs,
        factor=factor(coded.macs, AS_CODED),
        blocks=_blocks(cuts),
        eq11_bytes=clipped.bytes,
        bytes_with_ends=with_ends.bytes,
        clipped_macs=clipped.macs,
        clipped_factor=factor(clipped.macs, CLIPPED),
        letter_factor=factor(letter.macs, AS_PUBLISHED),
    )


def _blocks(cuts: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((first, stop - 1) for first, stop in pairwise(cuts))


def _differences(ours: Figures | None, code: Mapping[str, Any] | None) -> tuple[str, ...]:
    if ours is None or code is None:
        return () if ours is None and code is None else ("whether there is a solution",)
    data = ours.as_data()
    return tuple(key for key in code if data[key] != code[key])


def _status(differs: Sequence[str]) -> Agreement:
    if not differs:
        return "equal"
    # Recounts of another setting may differ; its bytes and MACs decide whether it is as good.
    is_tie = "setting" in differs and not {"bytes", "macs", "F"} & set(differs)
    return "tie" if is_tie else "DIFFERS"


def _noted(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    # Says where the paper's figures are not ours, rounded, and whether they are another network's.
    noted = []
    for cell in cells:
        ours = None if cell.ours is None else cell.ours.rounded
        if ours != cell.published:
            others = (c for c in cells if c.constraint == cell.constraint and c.ours is not None)
            owners = [c.network for c in others if c.ours and c.ours.rounded == cell.published]
            text = f"paper: {owners[0]}'s figures" if owners else "paper: other figures"
            cell = dataclasses.replace(cell, note=text)
        noted.append(cell)
    return tuple(noted)


def _optima(network: str, layers: _Layers, accounting: Accounting, tables: Any) -> list[Optimum]:
    graph = fusion_graph(layers, accounting)
    whole = vanilla(graph).cost.macs
    # The data's answers to P2 have no rule for ties: the first path of fewest MACs.
    searches = {
        **_p1(graph),
        **_p2(graph, lambda graph, limit: next(candidates(graph, limit), None)),
    }
    optima = []
    for constraint, search in searches.items():
        setting = search()
        ours, blocks = None, _blocks(setting.cuts if setting else ())
        if setting is not None:
            ours = (setting.cost.bytes, round(setting.cost.macs / whole, 4))
        status: Agreement = "not compared"
        if tables is not None:
            theirs = tables["optimum_with_exact_macs"][network][accounting.name][constraint]
            answer = ours and [*ours, [list(block) for block in blocks]]
            status = "equal" if answer == theirs else "DIFFERS"
        optima.append(Optimum(network, accounting.name, constraint, ours, blocks, status))
    return optima


def _timings(network: str, cells: Sequence[Cell], graph: float, tables: Any) -> list[SearchTime]:
    theirs = tables["analysis_wall_seconds_this_machine"] if tables else {}
    timings = []
    for problem in ("vanilla", "heuristic", "P1", "P2"):
        searches = sum(c.seconds for c in cells if c.constraint.startswith(problem))
        code = theirs.get(f"{network} {problem}")
        timings.append(SearchTime(network, problem, searches, graph, code))
    return timings

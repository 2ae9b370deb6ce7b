"""Measures operators on a grid of shapes and parameters, and compares neighbours; fits the cost model.

    bench/run cliffs                     every family on every core, and the cliffs there are
    bench/run cliffs --only FAMILY ...   only these families; --core CORE: only these cores
    bench/run cliffs --json              {"schema": "lowtide.bench.cliffs/1", ...}, every point
    bench/run cliffs --store             also write the documents' figures, docs/figures/cliffs.json, and
                                         what predictions keep to, plans/errors.json
    bench/run cliffs --fit               fit plans/costs.json anew on half of the points, of these cores,
                                         and write what predictions of the others keep to
    bench/run cliffs --fit --only ...    fit what has no price yet, on half of these families' points

Exit code 1 if a point takes more than twice what its neighbour does per MAC or element, and is not in
the table of those that stay (bench/cliffs/neighbours.py), or if prices are off, on the points that were
not fitted, by more than 8 % at 95 % of them or by more than 20 % at one. Points are called as compiled
programs call them, many in one start of an emulated board; instructions are repeatable, they are not
cycles.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

import lowtide.plans.cost
from bench.cliffs.fit import Off, added, error, fitted, stored
from bench.cliffs.grid import Point
from bench.cliffs.measured import BOARDS, Measured, measure, signal_points
from bench.cliffs.neighbours import Cliff, cliffs, unknown
from bench.cliffs.points import grids, shared_grids
from bench.cliffs.stepped import stepped_points
from bench.shared.lined import lined
from bench.shared.stored import board_tools, store_figures
from bench.shared.work import in_two_processes, note
from lowtide.plans.cost import OTHER, CostModel, known_model, load_model, priced_cores

_PLANS = Path(lowtide.plans.cost.__file__)
_AT_ONCE = 250
_USUAL, _MOST = 0.08, 0.20
_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Core:
    """What was measured on a core: in so many CPU seconds; the cliffs, and the prices it has."""

    name: str
    measured: Sequence[Measured]
    refused: Sequence[str]
    seconds: float
    found: Sequence[Cliff]
    model: CostModel

    @property
    def off(self) -> Off:
        """How far predictions are off on the points that are not fitted."""
        return Off.of(error(self.model, one) for one in self.measured if not one.is_fitted)

    @property
    def is_good(self) -> bool:
        """Whether no cliff is unknown, and no prediction is off too far."""
        return not unknown(self.found) and self.off.usual <= _USUAL and self.off.most <= _MOST


def main() -> int:
    """Exit code."""
    known = {grid.family: grid for grid in (*grids(), *shared_grids())}
    parser = argparse.ArgumentParser(
        prog="bench/run cliffs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--store", action="store_true", help="also write the figures")
    parser.add_argument("--fit", action="store_true", help="fit plans/costs.json anew")
    signals: dict[str, list[Point]] = defaultdict(list)
    for point in (*signal_points(), *stepped_points()):
        signals[point.family].append(point)
    choices = sorted((*known, *signals))
    parser.add_argument("--only", metavar="FAMILY", nargs="+", choices=choices)
    parser.add_argument("--core", choices=sorted(BOARDS), action="append")
    arguments = parser.parse_args()
    if arguments.only and arguments.store:
        parser.error("--store needs all families")
    families = arguments.only or [*known, *signals]
    points = [tuple(known[family].points()) for family in families if family in known]
    tasks = [each[at : at + _AT_ONCE] for each in points for at in range(0, len(each), _AT_ONCE)]
    tasks += [(point,) for family in families for point in signals.get(family, ())]
    cores = []
    for name in arguments.core or sorted(BOARDS):
        cores.append(_core(name, families, tasks, arguments.fit, new=bool(arguments.only)))
        if arguments.fit:
            _store_prices(cores)
    if arguments.store or (arguments.fit and not arguments.only):
        _store_errors(cores)
    if arguments.store:
        by = f"emulated boards, {board_tools()}"
        store_figures("cliffs", {core.name: [_summary(core)] for core in cores}, by)
    if arguments.json:
        document = {"schema": "lowtide.bench.cliffs/1", "cores": [_document(c) for c in cores]}
        print(json.dumps(document, indent=1))
    else:
        for core in cores:
            _show(core)
    return int(not all(core.is_good for core in cores))


def _store_prices(measured: Sequence[Core]) -> None:
    """Write the prices of some cores into plans/costs.json; those of others stay."""
    mine = {core.name: core.model for core in measured}
    names = dict.fromkeys((*sorted(BOARDS), *priced_cores()))
    models = [mine.get(name) or known_model(name) for name in names]
    file = _PLANS.with_name("costs.json")
    file.write_text(stored([each for each in models if each is not None]), "utf-8")


def _store_errors(measured: Sequence[Core]) -> None:
    """Write what 95 % of the predictions of some cores keep to into plans/errors.json; those of others
    stay."""
    errors = {name: load_model(name).worst_error for name in priced_cores()}
    errors |= {core.name: round(core.off.usual, 4) for core in measured}
    _PLANS.with_name("errors.json").write_text(lined(errors, 1), "utf-8")


def _core(
    name: str,
    families: Sequence[str],
    tasks: Sequence[Sequence[Point]],
    fit: bool,
    *,
    new: bool,
) -> Core:
    """What is measured on a core. With `fit` prices are fitted: all, or those that are `new`."""
    measured: list[Measured] = []
    refused: list[str] = []
    seconds = 0.0
    work = partial(measure, core=name)
    for progress, (done, cannot, taken) in in_two_processes(work, tasks):
        measured += done
        refused += cannot
        seconds += taken
        note(f"{name}: {progress} programs done")
    found = [c for grid in grids() if grid.family in families for c in cliffs(grid, name, measured)]
    found.sort(key=lambda cliff: -cliff.ratio)
    model = load_model(name)
    if fit and new:
        model = added(model, measured)
    elif fit:
        model = fitted(name, BOARDS[name], measured, model.kernels[OTHER])
    return Core(name, measured, refused, seconds, found, model)


def _summary(core: Core) -> dict[str, object]:
    off = core.off
    return {
        "core": core.name,
        "points": len(core.measured),
        "cpu_minutes": round(core.seconds / 60, 1),
        "cliffs": len(core.found),
        "unknown_cliffs": len(unknown(core.found)),
        "checked": off.points,
        "error_of_95_percent": round(off.usual, 4),
        "worst_error": round(off.most, 4),
    }


def _document(core: Core) -> dict[str, object]:
    return _summary(core) | {
        "refused": list(core.refused),
        "found": [_cliff(cliff) for cliff in core.found],
        "points": [
            {
                "family": one.point.family,
                "at": one.point.axes,
                "kernels": list(one.kernels),
                "units": one.units,
                "instructions": one.instructions,
                "error": round(error(core.model, one), 4),
                "fitted": one.is_fitted,
            }
            for one in core.measured
        ],
    }


def _cliff(cliff: Cliff) -> dict[str, object]:
    return {
        "family": cliff.dear.point.family,
        "at": cliff.dear.point.axes,
        "axis": cliff.axis,
        "step": list(cliff.step),
        "each": round(cliff.dear.each, 2),
        "neighbour": round(cliff.cheap.each, 2),
        "kernels": [list(cliff.dear.kernels), list(cliff.cheap.kernels)],
    }


def _show(core: Core) -> None:
    console = Console(width=150)
    table = Table(title=f"Cliffs on a {core.name} ({BOARDS[core.name]})")
    for name in ("family", "axis", "step", "here", "neighbour", "times", "at"):
        table.add_column(name)
    for cliff in core.found[:_SHOWN]:
        low, high = cliff.step
        table.add_row(
            *(cliff.dear.point.family, cliff.axis, f"{low} -> {high}"),
            *(f"{each:.2f}" for each in (cliff.dear.each, cliff.cheap.each, cliff.ratio)),
            str(cliff.dear.point).partition(": ")[2],
        )
    console.print(table)
    summary = _summary(core)
    console.print(
        f"{summary['points']} points in {summary['cpu_minutes']} CPU minutes, "
        f"{len(core.refused)} refused; {summary['cliffs']} cliffs, "
        f"{summary['unknown_cliffs']} of them not in the table",
        f"predictions of {summary['checked']} points that were not fitted: 95 % within "
        f"{core.off.usual:.1%}, all within {core.off.most:.1%}",
        sep="\n",
    )
    _show_errors(console, core)


def _show_errors(console: Console, core: Core) -> None:
    """The kernels whose predictions are off most."""
    by_kernel: Mapping[str, list[float]] = defaultdict(list)
    for one in core.measured:
        if not one.is_fitted:
            by_kernel[", ".join(one.kernels)].append(error(core.model, one))
    table = Table(title="Predictions by kernel, the worst first")
    for name in ("kernel", "points", "95 %", "worst"):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    offs = {kernel: Off.of(errors) for kernel, errors in by_kernel.items()}
    for kernel, off in sorted(offs.items(), key=lambda item: -item[1].most)[:_SHOWN]:
        if off.usual > _USUAL or off.most > _MOST:
            table.add_row(kernel, str(off.points), f"{off.usual:.1%}", f"{off.most:.1%}")
    if table.row_count:
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())

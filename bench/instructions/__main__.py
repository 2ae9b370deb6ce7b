"""Fits the model of instructions behind `--cost instructions`, or checks it on plans of real networks.

    bench/run instructions           twenty plans: predicted and measured, beside a model of MACs alone
    bench/run instructions --json    {"schema": "lowtide.bench.instructions/1", ...}
    bench/run instructions --store   also write the documents' figures, docs/figures/instructions.json
    bench/run instructions --fit     fit the models anew from generated networks, check, and store them;
                                     with --core only those of some cores, with --kinds only the kernels
                                     that some kinds of generated networks have, and of these with
                                     --kernels only some, unchecked

Exit code 1 if a prediction is off by more than 5 %. Programs run on emulated boards; instructions are
repeatable, they are not cycles. The model of MACs alone has one coefficient, fitted on the very plans it
is checked on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import lowtide.plans.cost
from bench.instructions.executed_programs import ANY, BOARDS, FIT, OWN, Case, Executed, run_all
from bench.instructions.fit import fitted, stored, total
from bench.shared.outside import NeedsError
from bench.shared.programs import path_of
from bench.shared.stored import board_tools, store_figures
from lowtide.plans.cost import OTHER, CostModel, load_model

_MOST = 0.05
_MBV2, _MN2 = "zoo:mbv2-w0.35-144-chain", "zoo:mn2-vww5-80-chain"
_PLANS = (
    *((_MBV2, overhead) for overhead in (1.0, 1.1, 1.2, 1.4)),
    *((_MN2, overhead) for overhead in (1.0, 1.2)),
    ("te_vww", None),
    ("mlperf_vww_96_int8", 1.6),
    ("mlperf_resnet8_int8", None),
    ("mlperf_kws_int8", None),
)
_INSTEAD = {
    "te_vww": "zoo:mobilenet-v2-0.35-144",
    "mlperf_vww_96_int8": "zoo:mobilenet-v1-0.25-96",
    "mlperf_resnet8_int8": "zoo:resnet8",
    "mlperf_kws_int8": "zoo:ds-cnn-kws",
}
"""Networks of the zoo to take where a shared model is absent."""


def plans(only: Sequence[str] | None = None) -> list[Case]:
    """Ten plans, for any core and for those with own kernels; or those of the networks `only`."""
    return [
        Case(_present(network), overhead, core=core)
        for core in (ANY, *OWN)
        for network, overhead in _PLANS
        if only is None or network in only
    ]


def _present(network: str) -> str:
    try:
        path_of(network)
    except NeedsError:
        return _INSTEAD[network]
    return network


def checked(model: CostModel, ran: Sequence[Executed]) -> list[dict[str, object]]:
    """Per plan what was predicted and measured, and what MACs alone say."""
    ran = [one for one in ran if model.core in one.instructions]
    macs = np.array([e.macs for e in ran], float)
    measured = np.array([e.instructions[model.core] for e in ran], float)
    # The coefficient of least squares of relative errors.
    share = macs / measured
    each = share.sum() / (share * share).sum()
    rows = []
    for number, one in enumerate(ran):
        predicted = total(model, one.counts)
        rows.append(
            {
                "core": model.core,
                "plan": one.case.label,
                "arena_bytes": one.arena_bytes,
                "macs": one.macs,
                "predicted": round(predicted),
                "measured": int(measured[number]),
                "error": round(float(predicted / measured[number] - 1), 4),
                "macs_only_error": round(float(each * share[number] - 1), 4),
            }
        )
    return rows


def _worst(rows: Sequence[Mapping[str, object]], key: str = "error") -> float:
    return max(abs(float(str(row[key]))) for row in rows)


def main() -> int:
    """Exit code."""
    parser = argparse.ArgumentParser(prog="bench/run instructions", description=__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the models anew and store them")
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument(
        "--store",
        action="store_true",
        help="also write what was measured to docs/figures/, for `make figures`",
    )
    parser.add_argument(
        "--only",
        metavar="NETWORK",
        nargs="+",
        choices=[network for network, _ in _PLANS],
        help="only plans of these networks",
    )
    kinds = sorted({case.network.partition(" ")[0] for case in FIT})
    parser.add_argument("--kinds", metavar="KIND", nargs="+", choices=kinds, help="with --fit")
    parser.add_argument(
        "--kernels",
        metavar="KERNEL[/FEATURE]",
        nargs="+",
        help="with --kinds: only these, all others as they are",
    )
    parser.add_argument("--core", choices=sorted(BOARDS), action="append", help="only these cores")
    arguments = parser.parse_args()
    cores = arguments.core or sorted(BOARDS)
    if arguments.kinds:
        _fit_some(arguments.kinds, cores, arguments.kernels)
        return 0
    samples = run_all(FIT, cores) if arguments.fit else []
    if arguments.only and (arguments.fit or arguments.store):
        parser.error("--fit and --store need all plans")
    ran = run_all(plans(arguments.only), cores)
    models, rows = [], []
    for core in cores:
        model = load_model(core)
        if arguments.fit:
            new = fitted(core, BOARDS[core], samples)
            model = new
        mine = checked(model, ran)
        rows += mine
        models.append((model, _worst(mine)))
    if arguments.fit:
        others = [load_model(core) for core in sorted(set(BOARDS) - set(cores))]
        models += [(model, model.worst_error) for model in others]
        Path(lowtide.plans.cost.__file__).with_name("costs.toml").write_text(
            stored(models), "utf-8"
        )
    if arguments.store:
        stored_rows = {core: [row for row in rows if row["core"] == core] for core in cores}
        store_figures("instructions", stored_rows, f"emulated boards, {board_tools()}")
    if arguments.json:
        document = {"schema": "lowtide.bench.instructions/1", "plans": rows}
        print(json.dumps(document, indent=2))
    else:
        _show(rows, cores)
    return int(_worst(rows) > _MOST)


def _fit_some(kinds: Sequence[str], cores: Sequence[str], only: Sequence[str] | None) -> None:
    """Price the kernels of those kinds of networks, or `only` some, and leave all others as they are."""
    samples = run_all([case for case in FIT if case.network.partition(" ")[0] in kinds], cores)
    file = Path(lowtide.plans.cost.__file__).with_name("costs.toml")
    models = []
    for core in tomllib.loads(file.read_text("utf-8")):
        model = load_model(core)
        if core in cores:
            model = with_some(model, samples, only)
        models.append((model, model.worst_error))
    file.write_text(stored(models), "utf-8")


def with_some(
    model: CostModel, samples: Sequence[Executed], only: Sequence[str] | None
) -> CostModel:
    """`model` with new prices of the kernels of `samples`, or `only` of some of them, all else as it is.
    Names are of kernels, or of one feature: KERNEL/FEATURE."""
    if not only:
        found = fitted(model.core, model.board, samples).kernels
        mine = {name: each for name, each in found.items() if name != OTHER}
        return replace(model, kernels=dict(sorted({**model.kernels, **mine}.items())))

    def is_new(kernel: str, feature: str) -> bool:
        return kernel in only or f"{kernel}/{feature}" in only

    def fixed(kernel: str, names: Iterable[str]) -> dict[str, float]:
        """What stays: all other features count as known, at no cost if they have no price."""
        old = model.kernels.get(kernel, {})
        return {name: old.get(name, 0.0) for name in names if not is_new(kernel, name)}

    seen: dict[str, set[str]] = {name: set(each) for name, each in model.kernels.items()}
    for kernel, name in (key for sample in samples for key in sample.counts):
        if kernel in model.kernels:
            seen[kernel].add(name)
    known = replace(model, kernels={kernel: fixed(kernel, names) for kernel, names in seen.items()})
    found = fitted(model.core, model.board, samples, known).kernels
    kernels = {kernel: dict(each) for kernel, each in model.kernels.items() if kernel not in only}
    for kernel, prices in found.items():
        new = {name: price for name, price in prices.items() if is_new(kernel, name)}
        if new:
            kernels[kernel] = {**kernels.get(kernel, {}), **new}
    return replace(model, kernels=dict(sorted(kernels.items())))


def _show(rows: Sequence[Mapping[str, object]], cores: Sequence[str]) -> None:
    console = Console(width=130)
    for core in cores:
        mine = [row for row in rows if row["core"] == core]
        table = Table(title=f"Instructions of one inference on a {core} ({BOARDS[core]})")
        for name in ("plan", "MACs", "predicted", "measured", "error", "MACs alone"):
            table.add_column(name, justify="left" if name == "plan" else "right")
        for row in mine:
            table.add_row(
                str(row["plan"]),
                *(f"{row[key]:,}" for key in ("macs", "predicted", "measured")),
                *(f"{row[key]:+.1%}" for key in ("error", "macs_only_error")),
            )
        worst, alone = _worst(mine), _worst(mine, "macs_only_error")
        table.add_section()
        table.add_row("worst", "", "", "", f"{worst:.1%}", f"{alone:.1%}")
        console.print(table)


if __name__ == "__main__":
    sys.exit(main())

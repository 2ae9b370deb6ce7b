"""Checks the model of instructions behind `--cost instructions` on plans of real networks.

    bench/run instructions           twenty plans: predicted and measured, beside a model of MACs alone
    bench/run instructions --json    {"schema": "lowtide.bench.instructions/1", ...}
    bench/run instructions --store   also write the documents' figures, docs/figures/instructions.json

Exit code 1 if a prediction is off by more than 5 %. Programs run on emulated boards; instructions are
repeatable, they are not cycles. `bench/run cliffs --fit` fits the model. That of MACs alone has one
coefficient, fitted on the very plans it is checked on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.cliffs.fit import predicted
from bench.cliffs.measured import BOARDS
from bench.instructions.executed_programs import ANY, OWN, Case, Executed, run_all
from bench.shared.outside import NeedsError
from bench.shared.programs import path_of
from bench.shared.stored import board_tools, store_figures
from lowtide.plans.cost import CostModel, load_model

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
        instructions = predicted(model, one.counts)
        rows.append(
            {
                "core": model.core,
                "plan": one.case.label,
                "arena_bytes": one.arena_bytes,
                "macs": one.macs,
                "predicted": round(instructions),
                "measured": int(measured[number]),
                "error": round(float(instructions / measured[number] - 1), 4),
                "macs_only_error": round(float(each * share[number] - 1), 4),
            }
        )
    return rows


def _worst(rows: Sequence[Mapping[str, object]], key: str = "error") -> float:
    return max(abs(float(str(row[key]))) for row in rows)


def main() -> int:
    """Exit code."""
    parser = argparse.ArgumentParser(prog="bench/run instructions", description=__doc__)
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
    parser.add_argument("--core", choices=sorted(BOARDS), action="append", help="only these cores")
    arguments = parser.parse_args()
    cores = arguments.core or sorted(BOARDS)
    if arguments.only and arguments.store:
        parser.error("--store needs all plans")
    ran = run_all(plans(arguments.only), cores)
    rows = [row for core in cores for row in checked(load_model(core), ran)]
    if arguments.store:
        stored_rows = {core: [row for row in rows if row["core"] == core] for core in cores}
        store_figures("instructions", stored_rows, f"emulated boards, {board_tools()}")
    if arguments.json:
        document = {"schema": "lowtide.bench.instructions/1", "plans": rows}
        print(json.dumps(document, indent=2))
    else:
        _show(rows, cores)
    return int(_worst(rows) > _MOST)


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

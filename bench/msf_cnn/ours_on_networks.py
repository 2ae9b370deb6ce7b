"""Rows about whole networks: the 16 KiB board, fronts of real networks, MACs that programs execute."""

from __future__ import annotations

import math

from bench.msf_cnn.ours_on_chains import own_nets
from bench.msf_cnn.planned_programs import (
    COUNTED,
    HOST,
    Ask,
    Net,
    PlanJob,
    PlanOutcome,
    PlanOutcomes,
)
from bench.shared.outside import shared
from bench.shared.programs import status
from bench.shared.stored import small_part
from bench.shared.tables import Detail, Row, amount, with_detail

_BOARD, _BOARD_RAM = "hifive1b", 16_384
_BOARD_ASK = Ask(Net("zoo:mbv2-w0.35-144"), "cost", 1.15)

_FACTOR, _SHARE = 1.3, 0.85
_REAL = ("te_vww", "mlperf_vww_96_int8", "mlperf_resnet8_int8", "swiftnet_cell_uint8")
_COUNTED_FACTORS = (1.1, math.inf)
_COUNTED = ("te_vww", "mlperf_vww_96_int8", "mlperf_resnet8_int8", "mlperf_kws_int8")

REAL_NOTE = """
Before: the least arena of plans that compute nothing twice and have no strips. Asked: 15 % under, or
why it cannot be. No plan of the stages searched has a smaller peak of live rows than the bound, at that
F or at any; the stage in the way is the one that needs most in the plan that was found."""
MACS_NOTE = "\nCounted by the kernels in a build for this computer; products with padding count."


def board_jobs() -> list[PlanJob]:
    """Paper 2's network with pooling and a dense layer, on the board and on this computer."""
    return [PlanJob(_BOARD_ASK, what) for what in (_BOARD, HOST)]


def board_rows(outcomes: PlanOutcomes) -> list[Row]:
    """Everything within the board's RAM."""
    ran, verified = (outcomes[job] for job in board_jobs())
    found, record = ran.problem or verified.problem, None
    if ran.exact and verified.exact:
        net = _BOARD_ASK.net
        record = small_part(
            net.network, net.input_mode, _BOARD, ran.total_ram, _BOARD_RAM, ran.overhead
        )
        parts = ran.document["ram"]
        found = (
            f"{amount(ran.total_ram)} (arena {ran.arena:,}, stack {parts['stack_bytes']:,}) at "
            f"{ran.overhead:.4f} x, {ran.instructions / 1e6:,.1f} M"
        )
    good = ran.exact and verified.exact
    good &= ran.total_ram <= _BOARD_RAM and ran.overhead <= _BOARD_ASK.limit
    tables = shared("paper_tables.json")
    rival = "needs the shared data (paper_tables.json)"
    if tables is not None:
        kilobytes = tables["table2_min_peak_ram_kB"]["msf-CNN"]["MBV2-w0.35"]
        rival = f"paper 2: {kilobytes:g} kB without the ends"
    return [
        Row(
            on=f"{_BOARD_ASK.net.label}; {_BOARD}",
            asked=f"<= {amount(_BOARD_RAM)} in all, <= {_BOARD_ASK.limit:g} x, bit-exact",
            measured=found,
            status=status(good, ran, verified),
            peer=rival,
            values={"host": verified.as_values(), **ran.as_values()},
            record=record,
        )
    ]


def real_jobs() -> list[PlanJob]:
    """Each network's front, its plan without strips, and that within the limit of cost."""
    jobs = []
    for net in map(Net, _REAL):
        jobs += [
            PlanJob(Ask(net, "least")),
            PlanJob(Ask(net, "front")),
            PlanJob(Ask(net, "cost", math.inf)),
        ]
        jobs.append(PlanJob(Ask(net, "cost", _FACTOR), HOST))
    return jobs


def real_rows(outcomes: PlanOutcomes) -> list[Row]:
    """The arena with strips against that without, then the fronts."""
    rows: list[Row] = []
    fronts = []
    for net in map(Net, _REAL):
        before, at_any = (outcomes[PlanJob(Ask(net, *a))] for a in (("least",), ("cost", math.inf)))
        now = outcomes[PlanJob(Ask(net, "cost", _FACTOR), HOST)]
        all_of_it = outcomes[PlanJob(Ask(net, "front"))]
        front = all_of_it.front
        limit = int(_SHARE * before.arena)
        asked = f"<= {amount(limit)} at F <= {_FACTOR:g} (before: {before.arena:,})"
        found, good = now.problem or before.problem or all_of_it.problem, False
        if now.exact and before.arena and front:
            change = f"{100 * (now.arena / before.arena - 1):+.1f} %"
            found = f"{amount(now.arena)} at {now.overhead:.4f} x: {change}"
            good = now.arena <= limit and now.overhead <= _FACTOR
            better = [a for a, overhead in front if a < now.arena and overhead <= _FACTOR]
            found += f" (the front has {min(better):,})" if better else ""
            beaten = sum(a >= now.arena and overhead > now.overhead for a, overhead in front)
            found += f" (better than {beaten} of the front)" if beaten else ""
            if not good:
                why, good = _why_not(now, at_any, limit)
                found += why
        rows.append(
            Row(
                on=net.label,
                asked=asked if before.arena else "15 % under the arena before",
                measured=found,
                status=status(good, now, before),
                values={"before": before.as_values(), "front": front, **now.as_values()},
            )
        )
        if front:
            fronts.append(
                (net.network, "  ".join(f"{a:,} at {overhead:.4f}" for a, overhead in front))
            )
    detail = Detail("Fronts: bytes of arena at overhead", ("", ""), tuple(fronts))
    return with_detail(rows, detail)


def _why_not(now: PlanOutcome, at_any: PlanOutcome, limit: int) -> tuple[str, bool]:
    """Why no plan is within `limit`, and whether that is certain."""
    bound, least = (o.figures.get("least_peak_bytes", 0) for o in (now, at_any))
    if bound <= limit:
        reason = f". Some plan might: bound {bound:,}"
    else:
        reason = f". No plan searched can: bound {bound:,}, at any F {least:,}"
    return f"{reason}. In the way: {now.worst}", bound > limit


def mac_jobs() -> list[PlanJob]:
    """Ten plans: the chains at two limits of cost, and four real networks."""
    asks = [Ask(net, "cost", factor) for net in own_nets() for factor in _COUNTED_FACTORS]
    asks += [Ask(Net(network), "cost", _FACTOR) for network in _COUNTED]
    return [PlanJob(ask, COUNTED) for ask in asks]


def mac_rows(outcomes: PlanOutcomes) -> list[Row]:
    """What the kernels counted against what the plan says."""
    rows = []
    for job in mac_jobs():
        outcome = outcomes[job]
        macs, counted = (outcome.figures.get(which, 0) for which in ("macs", "counted_macs"))
        found = f"{counted:,}" + ("" if counted == macs else f" ({counted - macs:+,})")
        rows.append(
            Row(
                on=f"{job.ask.net.label}, F <= {job.ask.limit:.1f}",
                asked=f"{macs:,} ({outcome.overhead:.4f} x)" if macs else "the plan's MACs",
                measured=found if outcome.exact else outcome.problem,
                status=status(outcome.exact and counted == macs, outcome),
                values={"macs": macs, "counted_macs": counted},
            )
        )
    return rows

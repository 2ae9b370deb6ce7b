"""Rows about paper 2's three chains: in its own accounting, in honest accounting, within given RAM."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bench.msf_cnn.paper_chains import ZOO
from bench.msf_cnn.planned_programs import HOST, Ask, Net, PlanJob, PlanOutcome, PlanOutcomes
from bench.msf_cnn.released import (
    KILOBYTE,
    NEEDS_DATA,
    Archive,
    archive,
    name_of,
    published,
    published_bytes,
)
from bench.shared.programs import M4, status
from bench.shared.tables import Record, Row, amount

FACTORS = (1.0, 1.1, 1.3, 1.5, math.inf)
_KILOBYTES = (16, 32, 64, 128, 256)
_CHAINS = tuple(f"zoo:{name}" for name in ZOO.values())

# Asked of the arena at each of FACTORS: at most, and the aim.
_ASKED = {
    "MBV2-w0.35": ((19_500, 16_500), (12_800, 9_200), (8_500, 7_800), (8_500, 7_800), (7_800, 0)),
    "MN2-vww5": (
        *((14_200, 11_800), (11_800, 11_400), (11_500, 10_600)),
        *((11_500, 10_600), (11_400, 10_600)),
    ),
    "MN2-320K": (
        *((58_000, 53_400), (57_500, 55_000), (52_500, 47_000)),
        *((49_500, 45_700), (42_000, 34_500)),
    ),
}
_EXACT = "\nThe F in parentheses counts what equation 12 forgets."

OWN_NOTE = f"""
Measured: the program's whole arena, scratch included, and its MACs over the network's own (x). Bound:
no plan of the stages searched has a smaller peak of live rows at that F.{_EXACT}"""
HONEST_NOTE = """
Measured on the emulated Cortex-M4: arena, data, bss and stack, and instructions; both sides -O2. Paper
2's programs: workspace, output and stack, and with a resident input that, too. x: MACs executed over
the network's own; their fused programs do not compute the network's results."""
RAM_NOTE = f"""
KB = 1000 B, a limit of the arena (--max-ram). Asked as well: no plan found for a limit of cost
fits and is cheaper. Where none fits: what is nearest, and that no plan of the stages searched has so
small a peak of live rows. Paper 2 counts neither input nor output.{_EXACT}"""


def own_nets() -> list[Net]:
    """The chains as paper 2 counts them: neither input nor output."""
    return [Net(chain, "const", "streamed") for chain in _CHAINS]


def honest_nets() -> list[Net]:
    """The chains with their outputs in RAM, and their inputs not or as well."""
    return [Net(c, mode) for mode in ("const", "resident") for c in _CHAINS]


def _within_costs(nets: Iterable[Net]) -> list[Ask]:
    return [Ask(net, "cost", factor) for net in nets for factor in FACTORS]


def own_jobs() -> list[PlanJob]:
    """Every chain at every limit of cost, on this computer."""
    return [PlanJob(ask, HOST) for ask in _within_costs(own_nets())]


def own_rows(outcomes: PlanOutcomes) -> list[Row]:
    """The arena in paper 2's own accounting."""
    rows = []
    for net in own_nets():
        for factor, (limit, aim) in zip(FACTORS, _ASKED[name_of(net)], strict=True):
            ask = Ask(net, "cost", factor)
            outcome = outcomes[PlanJob(ask, HOST)]
            good = outcome.exact and outcome.arena <= limit and outcome.overhead <= factor
            found = f"{amount(outcome.arena)} at {outcome.overhead:.4f} x"
            bound = outcome.figures.get("least_peak_bytes", 0)
            found += f", bound {bound:,}" if bound else ""
            found += ", aim reached" if outcome.arena <= aim else ""
            found += "" if outcome.arena <= limit else f". In the way: {outcome.worst}"
            rows.append(
                Row(
                    on=f"{name_of(net)}, F <= {factor:.1f}",
                    asked=f"<= {amount(limit)}" + (f", aim {aim:,}" if aim else ""),
                    measured=_told(outcome, found),
                    status=status(good, outcome),
                    peer=published(ask),
                    values={"limit": limit, "aim": aim or None, **outcome.as_values()},
                    record=_own_record(ask, outcome),
                )
            )
    return rows


def _own_record(ask: Ask, outcome: PlanOutcome) -> Record | None:
    rival = published_bytes(ask)
    if not outcome.exact or rival is None:
        return None
    limit = None if math.isinf(ask.limit) else ask.limit
    return {
        "chain": name_of(ask.net),
        "most_overhead": limit,
        "arena_bytes": outcome.arena,
        "msf_cnn_bytes": rival,
    }


def honest_jobs() -> list[PlanJob]:
    """Every chain at every limit of cost, on the M4."""
    return [PlanJob(ask, M4) for ask in _within_costs(honest_nets())]


def honest_rows(outcomes: PlanOutcomes) -> list[Row]:
    """RAM in all, and instructions, against the released programs'."""
    rows = []
    for ask in _within_costs(honest_nets()):
        outcome, rival = outcomes[PlanJob(ask, M4)], archive(ask)
        total = outcome.total_ram
        good = outcome.exact and outcome.overhead <= ask.limit
        good &= rival is None or total < rival.ram
        found = (
            f"{amount(total)} (arena {outcome.arena:,}) at {outcome.overhead:.4f} x, "
            f"{outcome.instructions / 1e6:,.1f} M"
        )
        rows.append(
            Row(
                on=f"{name_of(ask.net)}, {ask.net.input_mode} input, F <= {ask.limit:.1f}",
                asked="less RAM than paper 2, bit-exact" if rival else "bit-exact",
                measured=_told(outcome, found),
                status=status(good, outcome),
                peer=_beside(rival, outcome),
                values=outcome.as_values(),
            )
        )
    return rows


def ram_jobs() -> list[PlanJob]:
    """Every chain within every limit of RAM, and what `honest_rows` need to compare with."""
    return [*(PlanJob(ask, M4) for ask in _within_rams()), *honest_jobs()]


def _within_rams() -> list[Ask]:
    return [Ask(net, "ram", KILOBYTE * kb) for net in honest_nets() for kb in _KILOBYTES]


def ram_rows(outcomes: PlanOutcomes) -> list[Row]:
    """The overhead within each limit of RAM, or the nearest plan."""
    rows = []
    for ask in _within_rams():
        outcome = outcomes[PlanJob(ask, M4)]
        others = [outcomes[PlanJob(other, M4)] for other in _within_costs([ask.net])]
        fitting = [o.overhead for o in others if o.exact and o.arena <= ask.limit]
        if outcome.shortage:
            nearest = outcome.shortage.partition("; ")[2]
            found = f"none fits: {nearest}"
            bound = others[-1].figures.get("least_peak_bytes", 0)
            good = not fitting and "in the way" in nearest and bound > ask.limit
            found += "" if bound > ask.limit else f", but the bound is {bound:,}"
        else:
            found = f"{outcome.overhead:.4f} x, {amount(outcome.arena)}"
            found += f", {outcome.total_ram:,} in all, {outcome.instructions / 1e6:,.1f} M"
            good = outcome.exact and outcome.arena <= ask.limit
            good &= all(outcome.overhead <= other for other in fitting)
        kilobytes = int(ask.limit) // KILOBYTE
        rows.append(
            Row(
                on=f"{name_of(ask.net)}, {ask.net.input_mode} input, {kilobytes} KB",
                asked=f"arena <= {amount(int(ask.limit))}",
                measured=_told(outcome, found),
                status=status(good, outcome),
                peer=published(ask),
                values=outcome.as_values(),
            )
        )
    return rows


def _told(outcome: PlanOutcome, found: str) -> str:
    return found if outcome.exact or outcome.shortage else outcome.problem


def _beside(rival: Archive | None, outcome: PlanOutcome) -> str:
    if rival is None:
        return NEEDS_DATA
    own = outcome.figures.get("own_macs", 0)
    overhead = f" at {rival.macs / own:.2f} x" if own else ""
    return f"paper 2: {amount(rival.ram)}{overhead}, {rival.instructions / 1e6:,.1f} M"

"""Rows about the search for an order: is it always right, and is it quick on large graphs?"""

from __future__ import annotations

from collections.abc import Callable

from bench.reorder.graphs import (
    branch_patterns,
    brute_force,
    chain,
    parallel_branches,
    peak_of,
    random_dag,
    randomly_wired,
    several_readers,
)
from bench.shared.outside import peer, peer_value
from bench.shared.tables import Detail, Row, amount, cells, verdict
from bench.shared.work import note, timed
from lowtide.ir import Graph
from lowtide.order import OrderResult, best_order

# Asked.
_DAGS, _DAG_OPERATORS = 2_000, 9
_CHAIN, _CHAIN_SECONDS = 1_000, 1.0
_BRANCHES, _BRANCH_SECONDS = 9, 1.0
_WIRED, _WIRED_SECONDS = 300, 30.0

# The figure of tflite-tools on such graphs that was given with the task; peers.json lacks it.
_PEER_WRONG = "26 % wrong"

_RANDOM_PATTERNS = 10
_WIRED_SEEDS = (1, 2, 3)


def _sound(graph: Graph, found: OrderResult) -> bool:
    """The order is valid, needs what is claimed, and no less than the claimed bound."""
    return (
        peak_of(graph, found.order) == found.peak_bytes
        and found.lower_bound_bytes <= found.peak_bytes
    )


def random_dags() -> list[Row]:
    """Many small graphs against a brute force."""
    note(f"{_DAGS:,} random graphs against brute force")
    wrong: list[int] = []
    shared = improvable = 0
    for seed in range(_DAGS):
        graph = random_dag(seed)
        assert len(graph.ops) <= _DAG_OPERATORS
        least, found = brute_force(graph), best_order(graph)
        if not (_sound(graph, found) and found.proved_optimal and found.peak_bytes == least):
            wrong.append(seed)
        shared += several_readers(graph)
        improvable += least < peak_of(graph, range(len(graph.ops)))
    return [
        Row(
            on=f"{_DAGS:,} random DAGs, <= {_DAG_OPERATORS} operators",
            asked="none wrong",
            measured=f"{len(wrong)} wrong (an input with several consumers in {shared:,}; "
            f"the file's order is not the best in {improvable:,})",
            status=verdict(not wrong),
            peer=f"tflite-tools: {_PEER_WRONG}",
            values={
                "graphs": _DAGS,
                "wrong": len(wrong),
                "wrong_seeds": wrong,
                "with_shared_input": shared,
                "improvable": improvable,
            },
        )
    ]


def long_chain() -> list[Row]:
    """A chain deeper than any recursion limit."""
    note(f"a chain of {_CHAIN:,} operators")
    graph = chain(_CHAIN, seed=1)
    found, seconds = timed(lambda: best_order(graph))
    good = seconds <= _CHAIN_SECONDS and _sound(graph, found) and found.proved_optimal
    return [
        Row(
            on=f"chain of {_CHAIN:,} operators",
            asked=f"<= {_CHAIN_SECONDS:g} s",
            measured=f"{seconds:.2f} s, {_proof(found)}",
            status=verdict(good),
            peer=peer(
                "tflite_tools", "chain_of_500_ops", show=lambda x: f"tflite-tools: {x} (500 ops)"
            ),
            values={"seconds": seconds, **_values(found)},
            record={
                "operators": _CHAIN,
                "seconds": round(seconds, 2),
                "tflite_tools_500": peer_value("tflite_tools", "chain_of_500_ops"),
            },
        )
    ]


def nine_branches() -> list[Row]:
    """Parallel branches, the worst of many patterns of sizes."""
    note(f"{_BRANCHES} parallel branches of three operators")
    lines = []
    worst = 0.0
    good, proved = True, 0
    for name, sizes in branch_patterns(_BRANCHES, _RANDOM_PATTERNS):
        for joined in (True, False):
            graph = parallel_branches(sizes, 64, joined=joined)
            found, seconds = timed(_search(graph))
            good &= _sound(graph, found)
            proved += found.proved_optimal
            worst = max(worst, seconds)
            end = "joined" if joined else "all outputs"
            lines.append((name, end, found.peak_bytes, f"{seconds:.3f}", _proof(found)))
    rival = peer_value("tflite_tools", "parallel_branches_of_3_ops", str(_BRANCHES))
    return [
        Row(
            on=f"{_BRANCHES} parallel branches of 3 operators",
            asked=f"<= {_BRANCH_SECONDS:g} s",
            measured=f"{worst:.2f} s, the worst of {len(lines)} patterns; proved optimal in {proved}",
            status=verdict(good and worst <= _BRANCH_SECONDS),
            peer=peer(
                "tflite_tools",
                "parallel_branches_of_3_ops",
                str(_BRANCHES),
                show=lambda s: f"tflite-tools: {s} s",
            ),
            values={"seconds": worst, "patterns": len(lines), "proved": proved},
            record={
                "branches": _BRANCHES,
                "patterns": len(lines),
                "seconds": round(worst, 2),
                "tflite_tools_seconds": rival,
            },
            details=(
                Detail(
                    f"{_BRANCHES} parallel branches of three operators",
                    ("sizes", "ends", "peak", "seconds", "proof"),
                    cells(lines),
                ),
            ),
        )
    ]


def wired() -> list[Row]:
    """Large randomly wired networks, where a proof may be out of reach."""
    rows = []
    for seed in _WIRED_SEEDS:
        note(f"a randomly wired network of {_WIRED} operators, seed {seed}")
        graph = randomly_wired(_WIRED, seed)
        found, seconds = timed(_search(graph))
        before = peak_of(graph, range(len(graph.ops)))
        rows.append(
            Row(
                on=f"randomly wired, {len(graph.ops)} operators, seed {seed}",
                asked=f"<= {_WIRED_SECONDS:g} s, gap shown",
                measured=f"{seconds:.1f} s; {amount(before)} -> {amount(found.peak_bytes)}, "
                f"lower bound {amount(found.lower_bound_bytes)}, gap {found.gap:.1%}",
                status=verdict(seconds <= _WIRED_SECONDS and _sound(graph, found)),
                values={"seconds": seconds, "file_order_peak_bytes": before, **_values(found)},
                record={
                    "operators": len(graph.ops),
                    "seed": seed,
                    "seconds": round(seconds, 1),
                    "file_order_bytes": before,
                    "best_order_bytes": found.peak_bytes,
                    "bound_bytes": found.lower_bound_bytes,
                },
            )
        )
    return rows


def _search(graph: Graph) -> Callable[[], OrderResult]:
    return lambda: best_order(graph)


def _proof(found: OrderResult) -> str:
    return "proved optimal" if found.proved_optimal else f"gap at most {found.gap:.1%}"


def _values(found: OrderResult) -> dict[str, object]:
    return {
        "peak_bytes": found.peak_bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
        "proved_optimal": found.proved_optimal,
        "gap": found.gap,
    }

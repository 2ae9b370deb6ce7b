"""A schedule of rows, as text and as a JSON document."""

from __future__ import annotations

from typing import Any

from lowtide.compiler import Compiled
from lowtide.ir.macs import graph_macs
from lowtide.report.text import amount, change, plain, table
from lowtide.rows.stages import Stage


def plan_text(compiled: Compiled) -> str:
    """The stages with what each needs, and the arena beside TFLM's and the best order's."""
    plan, graph = compiled.assembly.plan, compiled.graph
    assert plan is not None
    rows = []
    for number, stage in enumerate(plan.stages):
        ids = _operators(compiled, stage)
        kinds = f"{graph.ops[ids[0]].label}"
        if len(ids) > 1:
            kinds += f" ... {graph.ops[ids[-1]].label} ({len(ids)} operators)"
        mark = " <- peak" if stage.peak_bytes == plan.peak_bytes else ""
        rows.append((number, f"{stage.peak_bytes:,}", kinds + mark, " ".join(map(str, ids))))
    arena, bound = compiled.arena_bytes, plan.lower_bound_bytes
    proof = (
        "proved optimal" if arena == bound else f"gap to the bound at most {arena / bound - 1:.1%}"
    )
    given = compiled.order.peak_bytes
    lines = [
        table("Stages, run one after the other", ("stage", "bytes", "what.", "operators."), rows),
        "",
        f"{plain(compiled.model.path)}, input {compiled.options.input_mode}: nothing is computed "
        f"twice ({graph_macs(graph):,} MACs)",
        f"arena, rows placed one by one         {amount(arena):>12}  {proof}",
        f"live rows and scratch at the peak     {amount(plan.peak_bytes):>12}",
        f"lower bound for any order of steps    {amount(bound):>12}",
        f"operator by operator, best order      {amount(given):>12}  {change(given, arena)} by rows",
    ]
    return "\n".join(lines)


def plan_document(compiled: Compiled) -> dict[str, Any]:
    """Schema lowtide.plan/1; sizes in bytes. A strip width of null is a tensor's full width."""
    plan = compiled.assembly.plan
    assert plan is not None
    return {
        "schema": "lowtide.plan/1",
        "model": compiled.model.path,
        "input": compiled.options.input_mode,
        "output": "resident",
        "arena_bytes": compiled.arena_bytes,
        "peak_bytes": plan.peak_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "proved_optimal": compiled.arena_bytes == plan.lower_bound_bytes,
        "macs": graph_macs(compiled.graph),
        "overhead": 1.0,
        "stages": [
            {
                "operators": _operators(compiled, stage),
                "strip_width": None,
                "peak_bytes": stage.peak_bytes,
            }
            for stage in plan.stages
        ],
    }


def _operators(compiled: Compiled, stage: Stage) -> list[int]:
    """Ids (in the graph that was compiled) of the operators of a stage."""
    nodes = compiled.assembly.nodes[stage.first : stage.last]
    return list(dict.fromkeys(entry.node.op for entry in nodes))

"""Results as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lowtide.commands.analysis import Analysis, Timeline
from lowtide.commands.reordering import Placements, Reordered
from lowtide.report.saved import advice_lines
from lowtide.report.terminal import GLUE, short_name, width
from lowtide.report.terminal import counted as counted
from lowtide.report.terminal import plain as plain
from lowtide.report.terminal import table as table

ENGINES: Final = {"tflm": "TensorFlow Lite Micro", "litert": "LiteRT's reference kernels"}
"""The reference engines in words."""
_BARS = ((100, 20), (80, 12), (0, 8))
"""From so many columns of a terminal on, bars are so long."""


def amount(count: int) -> str:
    """ "351,232 B"."""
    return f"{count:,} B"


def change(before: int, after: int) -> str:
    """ "-14.3 %", or "same"."""
    return "same" if before == after or not before else f"{after / before - 1:+.1%}"


def compared(
    what: str, before: int, after: int, note: str = "", unit: str = " B"
) -> tuple[str, str, str, str]:
    """A row of a table: a figure before and after, and its change."""
    return what, f"{before:,}{unit}", f"{after:,}{unit}", change(before, after) + note


def shape_text(shape: Sequence[int]) -> str:
    """ "1x7x7x64", or "scalar"."""
    return "x".join(map(str, shape)) or "scalar"


def analysis_text(analysis: Analysis, placements: Placements | None = None) -> str:
    """Per step and per tensor where the RAM goes, then the totals and the reason for the peak."""
    parts = [steps_text("Steps in the file's order", analysis.file)]
    if analysis.best.order != analysis.file.order:
        parts.append(steps_text(f"Steps in the {best_title(analysis)}", analysis.best))
    parts += [_tensors_text(analysis), summary_text(analysis, placements)]
    return "\n\n".join(parts)


def best_title(analysis: Analysis) -> str:
    """What to call the order found: the best one only if that is proved."""
    return "best order" if analysis.best_order.proved_optimal else "best order found"


def steps_text(title: str, line: Timeline) -> str:
    """One row per step: working set in bytes, as a bar, and by tensor ids; the peak is marked."""
    rows = []
    longest = next(length for across, length in _BARS if width() >= across)
    for number, step in enumerate(line.steps):
        bar = "#" * max(1, round(longest * step.bytes / max(1, line.peak_bytes)))
        mark = f"{GLUE}<-{GLUE}peak" if number == line.peak_step else ""
        ids = " ".join(map(str, step.working_set))
        rows.append(
            (number, step.operator, step.type, f"{step.bytes:,}", bar + mark, step.macs, ids)
        )
    columns = ("step", "operator", "type.", "bytes", "working set.", "MACs", "tensors.")
    return table(title, columns, [(*r[:5], f"{r[5]:,}", r[6]) for r in rows])


def _tensors_text(analysis: Analysis) -> str:
    rows = [
        (
            t.id,
            short_name(t.name) if t.name else "(no name)",
            shape_text(t.shape),
            t.type,
            f"{t.bytes:,}",
            t.role,
            t.first_step,
            t.last_step,
        )
        for t in analysis.tensors
        if t.first_step is not None
    ]
    columns = ("tensor", "name.", "shape.", "type.", "bytes", "role.", "first", "last")
    return table("Tensors in RAM, with the first and last step they are live in", columns, rows)


def summary_text(analysis: Analysis, placements: Placements | None = None) -> str:
    """Totals, the peak and what is live at it, before and after reordering."""
    graph, file, best = analysis.graph, analysis.file, analysis.best
    found = analysis.best_order
    lines = [
        f"{plain(analysis.path)}: {counted(len(graph.ops), 'operator')}, "
        f"{counted(len(graph.own_tensors), 'tensor')}, "
        f"{analysis.macs:,} MACs, weights {amount(analysis.weights_bytes)} of flash"
        + (f", variables {amount(analysis.variables_bytes)}" if analysis.variables_bytes else ""),
        "",
    ]
    proof = (
        "proved optimal"
        if found.proved_optimal
        else f"lower bound {amount(found.lower_bound_bytes)}, gap at most {found.gap:.1%}"
    )
    greedy = file.tflm_greedy_arena_bytes, best.tflm_greedy_arena_bytes
    rows = [
        compared(
            "peak memory (sum of live tensors)", file.peak_bytes, best.peak_bytes, f", {proof}"
        ),
        compared("arena of TFLM's greedy planner, predicted", *greedy),
    ]
    if analysis.stored_plan_bytes is not None:
        stored = "instead of the greedy planner's"
        rows.append(
            ("arena by the file's offline plan", amount(analysis.stored_plan_bytes), "", stored)
        )
    state, tflm = analysis.variables_bytes, analysis.tflm_variables_bytes
    if placements is not None:
        plan, compact = placements.planned, placements.compacting
        proof = (
            "proved optimal"
            if plan.proved_optimal
            else f"lower bound {amount(plan.lower_bound_bytes)}"
        )
        rows.append(("arena, planned offsets", "", amount(plan.arena_bytes), proof))
        moved = f"moves {amount(compact.moved_bytes)} per inference"
        rows.append(("arena, compacting allocator", "", amount(compact.arena_bytes), moved))
    if state:
        before, after = tflm_arena(analysis) + tflm, best.tflm_greedy_arena_bytes + tflm
        note = "counted once, in none of the above"
        rows.append(("state (variables)", amount(state), amount(state), note))
        title = "arena and variables of TFLM, predicted"
        rows.append(compared(title, before, after))
    lines.append(table("", ("figure.", "file order", best_title(analysis), "note."), rows))
    lines += ["", _why_text(analysis, "file's order", file)]
    if best.order != file.order:
        lines += [_why_text(analysis, best_title(analysis), best)]
        lines += ["", "Best order of the operators: " + " ".join(map(str, best.order))]
    else:
        lines += ["", "The file's order of the operators is already the best one found."]
    savings = analysis.savings
    if savings is not None and savings.anything:
        lines += ["", *advice_lines(savings)]
    return "\n".join(lines)


def _why_text(analysis: Analysis, what: str, line: Timeline) -> str:
    if line.peak_step < 0:
        when = "before the first step, when all inputs are given"
        used: set[int] = set()
    else:
        step = line.steps[line.peak_step]
        when = f"at step {line.peak_step}, operator {step.operator} ({plain(step.type)})"
        op = analysis.graph.ops[step.operator]
        used = {*op.inputs, *op.outputs}
    lines = [f"Peak in the {what}: {amount(line.peak_bytes)} {when}; live then:"]
    for tensor in sorted(line.peak_set, key=lambda t: -analysis.graph.tensors[t].bytes):
        value = analysis.graph.tensors[tensor]
        reason = "the operator's own" if tensor in used else _held_for(analysis, line, tensor)
        name = f" {short_name(value.name)}" if value.name else ""
        lines.append(
            f"  {value.bytes:>10,} B  tensor {tensor}{name} "
            f"[{shape_text(value.shape)} {value.dtype.name}], {reason}"
        )
    return "\n".join(lines)


def _held_for(analysis: Analysis, line: Timeline, tensor: int) -> str:
    if tensor in analysis.graph.outputs:
        return "held as a graph output"
    later = [
        op for op in line.order[line.peak_step + 1 :] if tensor in analysis.graph.ops[op].inputs
    ]
    if not later:
        return "given as a graph input"
    return "held for operator " + ", ".join(map(str, later))


def tflm_arena(analysis: Analysis) -> int:
    """By the file's offline plan if it has one, else by TFLM's own planner."""
    stored = analysis.stored_plan_bytes
    return analysis.tflm_greedy_arena_bytes if stored is None else stored


NOTHING_BETTER = "Nothing is better than the file as it is."


def _passed_over(result: Reordered) -> list[str]:
    """What would have done more than what was chosen, and TFLM's arena head for it."""
    by = "measured" if result.measured else "predicted"
    lines = []
    for way in result.ways[result.ways.index(result.chosen) + 1 :]:
        order = "the best order" if way.reordered else "the file's order"
        offsets = ", offsets stored" if way.plan else ""
        lines.append(f"Not better: {order}{offsets}, arena head {amount(way.head)} ({by}).")
    return lines


def _same(tensors: int) -> str:
    return "the only tensor in RAM is" if tensors == 1 else f"all {tensors} tensors in RAM are"


def reordered_text(result: Reordered) -> str:
    """What a rewrite gained and how it was checked."""
    before, after = result.before, result.after
    found = before.best_order
    stored = ", offsets stored" if result.plan else ""
    arenas = tflm_arena(before), tflm_arena(after)
    rows = [
        compared("peak memory (sum of live tensors)", before.peak_bytes, after.peak_bytes),
        compared("arena of TFLM for these tensors, predicted", *arenas, stored),
    ]
    if result.measured:
        heads = result.ways[0].head, result.chosen.head
        rows.append(compared("arena head that TFLM reports, measured", *heads))
    lines = [table("", ("figure.", "before", "after", "note."), rows), ""]
    check = result.check
    if result.changed:
        lines.append(f"Order of the operators: {found}.")
    elif before.best.order != before.file.order:
        lines.append(f"The order of the operators is unchanged; the best one found: {found}.")
    else:
        lines.append(f"The order of the operators is unchanged: {found}.")
    lines += _passed_over(result)
    if not result.better:
        return "\n".join([*lines, NOTHING_BETTER])
    if check is None:
        lines.append("Not checked against the reference kernels (--no-check).")
    else:
        lines.append(
            f"Checked with {ENGINES[check.engine]}: {_same(check.tensors)} the same, "
            f"byte for byte, on {counted(check.samples, 'input')} "
            + ("in a row, with the state carried over." if check.again else "(random and extreme).")
        )
        if result.plan is not None and check.engine != "tflm":
            lines.append("The offline plan itself was not run: TFLM does not run this model.")
    return "\n".join(lines)

"""Plans and fronts, as text and as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from lowtide.commands.compiling import Compiled
from lowtide.commands.options import plan_fields
from lowtide.commands.planned import Planned
from lowtide.ir import Graph
from lowtide.ir.macs import graph_macs
from lowtide.lower.nodes import NORMAL
from lowtide.plans.file import SCHEMA, graph_digest
from lowtide.plans.placer import Point
from lowtide.program.assemble import Assembly, ByOperators, ByRows
from lowtide.report.complete import incomplete_note
from lowtide.report.fields import fields_of
from lowtide.report.part import MODES, network_name, part_fields
from lowtide.report.predicted import predicted_fields, predicted_note, work_of
from lowtide.report.saved import saved_lines, savings_document
from lowtide.report.sliding import slid_fields, slid_text
from lowtide.report.terminal import GLUE
from lowtide.report.text import amount, change, counted, plain, table
from lowtide.rows.stages import Limit, RowPlan, Stage

_NAMED = 4
"""Live tensors that a stage's line names."""


def plan_text(planned: Planned) -> str:
    """The stages with what each needs, and the arena beside the best order's and TFLM's."""
    compiled = planned.compiled
    plan, graph = _plan(compiled.assembly), compiled.graph
    options = compiled.options
    rows = []
    strips = any(s.strip_width is not None for s in plan.stages)
    goes = any(s.choice.go > 1 for s in plan.stages)
    for number, stage in enumerate(plan.stages):
        ids = stage.operators
        kinds = graph.ops[ids[0]].label if ids else "rows given and taken"
        if len(ids) > 1:
            kinds += f" ... {graph.ops[ids[-1]].label} ({len(ids)}{GLUE}operators)"
        width = "" if stage.strip_width is None else f"{stage.strip_width}"
        kinds += f", {_blocks(graph, stage)}" if stage.blocks else ""
        mark = f" <-{GLUE}peak" if stage.peak_bytes == plan.peak_bytes else ""
        live = ", ".join(
            f"{plain(_name(compiled, tensor))}:{GLUE}{size:,}"
            for tensor, size in live_at_peak(compiled.assembly, stage)[:_NAMED]
        )
        more = [*[width] * strips, *[f"{stage.choice.go}"] * goes]
        rows.append((number, f"{stage.peak_bytes:,}", *more, kinds + mark, _ids(ids), live))
    arena, bound = compiled.arena_bytes, planned.lower_bound_bytes
    proof = (
        "proved optimal"
        if planned.proved_optimal
        else f"gap to the bound at most {arena / max(1, bound) - 1:.1%}"
    )
    ram, best, tflm = compiled.ram_bytes, compiled.order.peak_bytes, compiled.tflm_bytes.ram
    best += compiled.state_bytes
    by_rows = "by rows, with state" if compiled.state_bytes else "by rows"
    own = graph_macs(graph)
    overhead = (
        f"nothing is computed twice ({plan.macs:,} MACs)"
        if plan.macs <= own
        else f"{plan.macs:,} MACs, {plan.macs / (own or 1):.4f} times the network's"
    )
    columns = (
        *("stage", "bytes", *["strip"] * strips, *["in a go"] * goes),
        *("operators.", "numbers.", "live at the stage's peak (tensor: bytes)."),
    )
    figures = [
        ("arena, rows placed one by one", amount(arena), proof),
        *_state(compiled),
        (
            "live rows and scratch at the peak",
            amount(plan.peak_bytes),
            "proved least" if plan.peak_bytes == bound else "",
        ),
        ("lower bound for orders of its steps", amount(bound), ""),
        ("operator by operator, best order", amount(best), f"{change(best, ram)} {by_rows}"),
        (
            "TensorFlow Lite Micro, predicted",
            amount(tflm),
            f"{change(tflm, ram)} {by_rows}"
            if compiled.graph.hop is None
            else "for a whole window",
        ),
    ]
    count = f"{compiled.instructions_predicted:,}"
    figures.append(("instructions, predicted", count, predicted_note(compiled)))
    figures += _refills(planned)
    lines = [
        table("Stages, run one after the other", columns, rows),
        *_words(plan),
        *slid_text(compiled),
        "",
        f"{network_name(compiled.model)}, input {MODES[options.input_mode]}, output "
        f"{MODES[options.output_mode]}: "
        f"{overhead}",
        table("", (".", "", "."), figures),
        *_ways(planned),
        *saved_lines(compiled.savings),
        *incomplete_note(compiled),
    ]
    return "\n".join(lines)


def _words(plan: RowPlan) -> list[str]:
    """What our own words in the table of stages mean, of those that it has."""
    lines = []
    if any(stage.strip_width is not None for stage in plan.stages):
        lines.append(
            "strip: the stage makes its output in strips of this many columns, one after the other; "
            "where strips overlap, it computes columns twice."
        )
    if any(stage.choice.go > 1 for stage in plan.stages):
        lines.append(
            "in a go: the stage makes this many rows of its output before it goes on, so that it reads "
            "weights from flash less often."
        )
    if any(stage.blocks for stage in plan.stages):
        lines.append(
            "block: 1x1 and depthwise convolutions, and concatenations of channels, that run as one "
            "operator, a few pixels at a time."
        )
    return lines


def _ways(planned: Planned) -> list[str]:
    """The plans that there are to choose from, beside each other."""
    if not planned.ways:
        return []
    compiled, slow = planned.compiled, planned.refills is not None
    ram = "arena and state" if compiled.state_bytes else "arena"
    rows = [
        (
            "default" if name == "default" else f"--{name}",
            f"{point.ram_bytes:,}",
            f"{point.instructions:,}",
            *_refilled(point),
            f"{point.overhead:.4f}",
            (_WAYS_WITH_FLASH if slow else _WAYS)[name],
        )
        for name, point in planned.ways
    ]
    flash = [_REFILLED] * slow
    columns = ("plan.", f"{ram}, bytes", "instr., predicted", *flash, "MACs, times", "what it is.")
    return ["", table("Plans to choose from", columns, rows)]


_REFILLED = "flash, bytes"


def _refilled(point: Point) -> list[str]:
    """What a plan reads of slow flash, if that is known."""
    return [] if point.refilled_bytes is None else [f"{point.refilled_bytes:,}"]


def _refills(planned: Planned) -> list[tuple[str, str, str]]:
    """What the program reads of slow flash, if that is known."""
    refills = planned.refills
    if refills is None:
        return []
    cache = refills.cache
    note = (
        f"{refills.lines:,} lines of {cache.line_bytes} bytes, {refills.wait_cycles:,} cycles of "
        f"waiting; layer by layer {amount(refills.layer_by_layer_bytes)}"
    )
    what = f"read from {cache.part}'s flash, predicted"
    return [(what, amount(refills.bytes), note)]


_WAYS = {
    "fastest": "the fewest instructions",
    "default": "less RAM where it costs few instructions",
    "smallest": "the least RAM with nothing computed twice",
}
_WAYS_WITH_FLASH = {
    **_WAYS,
    "fastest": "the fewest cycles, of instructions and of waiting for flash",
    "default": "less RAM where it costs few of these cycles",
}


def _state(compiled: Compiled) -> list[tuple[str, str, str]]:
    """What is kept from one invocation to the next, if anything is."""
    slides, hop = [], compiled.graph.hop
    if hop is not None:
        kept = f"rows of {hop.kept} of {hop.most} tensors are kept"
        if hop.phases > 1:
            kept += f" in {hop.phases} phases; --hop {hop.new * hop.phases} needs only one"
        slides.append(("new rows of the window", f"{hop.new} of {hop.rows}", kept))
        if hop.ring:
            ring = compiled.graph.tensors[compiled.graph.inputs[0]].bytes
            told = f"{hop.ring} rows of it, in your memory: not counted"
            slides.append(("your ring, at least", amount(ring), told))
    if not compiled.state_bytes:
        return slides
    state, ram = compiled.state_bytes, compiled.ram_bytes
    return [
        *slides,
        ("state, kept between invocations", amount(state), "counted once, not in the arena"),
        ("arena and state", amount(ram), ""),
    ]


def plan_document(planned: Planned) -> dict[str, Any]:
    """Schema lowtide.plan/1; sizes in bytes. A strip width of null is a tensor's full width."""
    compiled = planned.compiled
    plan = _plan(compiled.assembly)
    own = graph_macs(compiled.graph)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "model": compiled.model.path,
        **part_fields(compiled.model),
        "sha256": compiled.origin.digest,
        "lowtide": compiled.origin.version,
        "command": compiled.origin.typed("plan", f"{compiled.name}.json"),
        **plan_fields(compiled.options),
        "graph_sha256": graph_digest(compiled.simplified.graph),
        **fields_of(compiled, "arena_bytes", "state_bytes", "ram_bytes"),
        "peak_bytes": plan.peak_bytes,
        **fields_of(planned, "lower_bound_bytes", "proved_optimal"),
        "complete": compiled.complete,
        "best_order_bytes": compiled.order.peak_bytes,
        "tflm_greedy_arena_bytes": planned.tflm_bytes,
        "tflm_variables_bytes": compiled.tflm_bytes.variables,
        "macs": plan.macs,
        "overhead": plan.macs / own if own else 1.0,
        "saved": savings_document(compiled.savings),
        **slid_fields(compiled),
        **predicted_fields(compiled),
        **_flash_fields(planned),
        "stages": [
            {
                **fields_of(stage, "operators", "strip_width"),
                "scratch": [_limit_document(limit) for limit in stage.choice.limits],
                "blocks": [fields_of(block, "operators", "kept_rows") for block in stage.blocks],
                **({} if stage.choice.go == 1 else {"rows_in_a_go": stage.choice.go}),
                "peak_bytes": stage.peak_bytes,
                "live": [
                    {"tensor": network_tensor(compiled.assembly, tensor)[0], "bytes": size}
                    for tensor, size in live_at_peak(compiled.assembly, stage)
                ],
            }
            for stage in plan.stages
        ],
    }
    if planned.ways:
        document["ways"] = {name: _point_document(point) for name, point in planned.ways}
    if planned.points is not None:
        document["front"] = [_point_document(point) for point in planned.points]
    return document


def _limit_document(limit: Limit) -> dict[str, object]:
    most = None if limit.bytes == NORMAL else limit.bytes
    start = {"from_step": limit.step} if limit.step else {}
    return {"operator": limit.operator, **start, "at_most_bytes": most}


def _flash_fields(planned: Planned) -> dict[str, Any]:
    refills = planned.refills
    if refills is None:
        return {}
    cache = refills.cache
    return {
        "flash": {
            **fields_of(cache, "part", "line_bytes"),
            "cache_bytes": cache.bytes,
            "refilled_bytes_predicted": refills.bytes,
            "lines_missed_predicted": refills.lines,
            "wait_cycles_predicted": refills.wait_cycles,
            "layer_by_layer_bytes_predicted": refills.layer_by_layer_bytes,
        }
    }


def _point_document(point: Point) -> dict[str, Any]:
    hop = point.ready.graph.hop
    return {
        **fields_of(point, "arena_bytes", "macs", "overhead"),
        "instructions_predicted": point.instructions,
        **(
            {}
            if point.refilled_bytes is None
            else {"refilled_bytes_predicted": point.refilled_bytes}
        ),
        **({} if hop is None else {"ram_bytes": point.ram_bytes, "keep": hop.kept}),
    }


def front_text(compiled: Compiled, points: Sequence[Point], *, complete: bool) -> str:
    """The front, a line per plan; the one that was chosen is marked."""
    hop = compiled.graph.hop
    rows = [
        (
            f"{p.ram_bytes:,}",
            f"{p.peak_bytes:,}",
            f"{p.overhead:.4f}",
            f"{p.macs:,}",
            f"{p.instructions:,}",
            *_refilled(p),
            sum(c.strip_width is not None for c in p.choices),
            *(() if hop is None else (_kept(p),)),
            f"<-{GLUE}this{GLUE}plan" if _same(p, compiled) else "",
        )
        for p in points
    ]
    ram = "arena and state" if compiled.state_bytes else "arena"
    title = f"All plans that no other beats in RAM, {work_of(compiled)} and MACs"
    if not complete:
        title += " (of the stages looked at before the effort was used up)"
    columns = [f"{ram}, bytes", "live, bytes", "overhead", "MACs", "instr., predicted"]
    columns += [_REFILLED] * (compiled.options.target.flash is not None)
    columns += ["in strips", *["kept, tensors"] * (hop is not None), "."]
    note = f"Instructions are predicted {predicted_note(compiled)}."
    return f"{table(title, columns, rows)}\n{note}"


def _kept(point: Point) -> int:
    """Of how many tensors beside the input rows are kept."""
    hop = point.ready.graph.hop
    return 0 if hop is None else hop.kept


def _blocks(graph: Graph, stage: Stage) -> str:
    """How many blocks there are in a stage, and how many of them keep no rows of what they expand."""
    count, none = len(stage.blocks), 0
    for block in stage.blocks:
        expands = graph.ops[block.operators[0]].type != "DEPTHWISE_CONV_2D"
        none += expands and block.kept_rows == 0
    return counted(count, "block") + (f", {none} without kept rows" if none else "")


def _same(point: Point, compiled: Compiled) -> bool:
    plan = _plan(compiled.assembly)
    if (point.ram_bytes, point.macs) != (compiled.ram_bytes, plan.macs):
        return False
    return compiled.instructions_predicted == point.instructions


def live_at_peak(assembly: Assembly, stage: Stage) -> list[tuple[int, int]]:
    """(tensor, bytes live) when most is live in a stage, the largest first; -1 is scratch memory."""
    plan = _plan(assembly)
    slots = [
        slot
        for slot, (node, _) in enumerate(plan.steps, start=1)
        if stage.first <= node < stage.last
    ]
    if not slots:
        return []
    tensor_of = {
        row: cut.tensor for cut in assembly.cuts for row in range(cut.first, cut.first + cut.count)
    }
    inside = set(slots)
    live: dict[int, dict[int, int]] = {slot: {} for slot in slots}
    for block in assembly.placement.rectangles:
        tensor = tensor_of.get(block.item, -1)
        for slot in range(max(block.start, slots[0]), min(block.end, slots[-1] + 1)):
            if slot in inside:
                live[slot][tensor] = live[slot].get(tensor, 0) + block.size
    most = max(live.values(), key=lambda sizes: sum(sizes.values()))
    return sorted(most.items(), key=lambda item: (-item[1], item[0]))


def _plan(assembly: Assembly) -> RowPlan:
    match assembly.schedule:
        case ByRows(plan):
            return plan
        case ByOperators():
            raise ValueError("operators that run one after the other have no plan")
        case _:
            assert_never(assembly.schedule)


def _name(compiled: Compiled, tensor: int) -> str:
    if tensor < 0:
        return "scratch"
    of, what = network_tensor(compiled.assembly, tensor)
    return f"{of} ({what})" if what else f"{of}"


def network_tensor(assembly: Assembly, tensor: int) -> tuple[int, str]:
    """The network's tensor that a tensor of the program is, and what of it: "", a strip, kept rows."""
    if tensor < len(assembly.graph.tensors):
        return tensor, ""
    if tensor in assembly.parts:
        return assembly.parts[tensor].tensor, "strip"
    keeper = next(op for op in assembly.program_graph.ops if tensor in op.intermediates)
    return assembly.graph.ops[assembly.members[keeper.id][0]].outputs[0], "kept rows"


def _ids(ids: Sequence[int]) -> str:
    """Numbers, runs of them shortened."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in runs)

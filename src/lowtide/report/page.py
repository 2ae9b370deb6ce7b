"""The report of a network as one file of HTML, which needs nothing else, and as a JSON document.

Why the page is drawn from the document: who reads the figures by program gets what people see. Names in
a model are other people's: they are data in the page, never markup.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any, Final

from lowtide.advice.reporting import Reported
from lowtide.commands.compiling import Compiled
from lowtide.commands.planned import Planned
from lowtide.commands.profiling import Profile
from lowtide.emit.footprint import CODE_PER_SOURCE, STACK, constants, flash_bytes
from lowtide.ir import Graph
from lowtide.ir.macs import op_macs
from lowtide.lower.nodes import Node
from lowtide.machines.profiled import Unprofiled
from lowtide.plans.placer import Point
from lowtide.report.advised import advice_documents
from lowtide.report.before_after import before_after, budget_of
from lowtide.report.fields import fields_of
from lowtide.report.memory_views import View, colours_of_views, views_of
from lowtide.report.numbers import Numbers
from lowtide.report.page_words import fronts_note, tflm_bytes, verdict_sentence
from lowtide.report.part import file_name
from lowtide.report.part_lines import part_lines
from lowtide.report.picture import COLOURS, svg_text
from lowtide.report.predicted import as_run
from lowtide.report.profile import ids_text
from lowtide.report.proved import proved_fields
from lowtide.report.sliding import slid_fields
from lowtide.report.template import filled, template
from lowtide.report.text import amount, counted, plain, shape_text

SCHEMA: Final = "lowtide.report/1"

_NAME: Final = 60
"""Letters of a tensor's name that a small box has room for."""


def report_document(*reported: Reported) -> dict[str, Any]:
    """Schema lowtide.report/1: what the page shows of one network, or of two. Sizes in bytes."""
    return {"schema": SCHEMA, "networks": [_network(each) for each in reported]}


def report_page(*reported: Reported) -> str:
    """The page of one network, or of two side by side: HTML with everything in it."""
    document = json.dumps(report_document(*reported), separators=(",", ":"))
    names = " and ".join(_name(each.compiled) for each in reported)
    return filled(
        "page.html",
        {
            "title": html.escape(f"{names}: lowtide's report"),
            "style": _palette() + template("page.css"),
            "script": filled("page.js", {"memory": template("memory.js").strip()}),
            # Nothing in a script element ends it but "</", and nothing is a comment but "<!--".
            "data": document.replace("<", "\\u003c"),
        },
    )


def _palette() -> str:
    """The pictures' colours as the page's: one palette, by day and by night."""
    return f":root {{ {' '.join(f'--c{n}: {c};' for n, c in enumerate(COLOURS))} }}\n"


def _name(compiled: Compiled) -> str:
    return file_name(compiled.model)


def _network(reported: Reported) -> dict[str, Any]:
    compiled, figures = reported.compiled, reported.figures
    views = views_of(reported)
    how = f"measured on {figures.where}" if figures.measured else "predicted"
    run = how if figures.measured else f"predicted {as_run(compiled)}"
    colours = colours_of_views(views, reported.analysis.graph, len(COLOURS))
    numbers = Numbers(compiled.graph, reported.analysis.graph)
    budget = budget_of(reported)
    instructions = "unknown" if figures.instructions is None else f"{figures.instructions:,}"
    return {
        "name": _name(compiled),
        "path": compiled.origin.file,
        "verdict": verdict_sentence(reported),
        "how": f"{_how(reported)} {plain(compiled.origin.sentence('report', f'{compiled.name}.html'))}",
        **fields_of(figures, "ram_bytes", "flash_bytes", "instructions", "measured"),
        **fields_of(compiled, "arena_bytes", "state_bytes"),
        "rest_bytes": figures.ram_bytes - compiled.ram_bytes,
        "figures": [
            {"name": "Total RAM", "shown": amount(figures.ram_bytes), "note": how},
            {"name": "Total flash", "shown": amount(figures.flash_bytes), "note": how},
            {"name": "Instructions per run", "shown": instructions, "note": run},
            {
                "name": "TensorFlow Lite Micro",
                "shown": amount(tflm_bytes(reported)),
                "note": "RAM of its tensors, predicted",
            },
        ],
        "compared": [
            ["total RAM, bytes", figures.ram_bytes],
            ["arena and state, bytes", compiled.ram_bytes],
            ["arena and state with the input streamed, bytes", _streamed_ram(reported)],
            ["TensorFlow Lite Micro's tensors and variables, predicted", tflm_bytes(reported)],
            [f"total flash, bytes, {how}", figures.flash_bytes],
            [f"instructions per run, {run}", figures.instructions],
            ["MACs per run", compiled.savings.macs.after],
            ["weights, bytes", compiled.savings.weights.after],
            ["operators", len(compiled.graph.ops)],
        ],
        "views": [_view(view, colours) for view in views],
        "work_note": f"instructions, predicted {as_run(compiled)}",
        "budget": None if budget is None else dict(zip(("name", "bytes"), budget, strict=True)),
        "picture": svg_text(before_after(reported)),
        "tensors": _tensor_names(compiled, views),
        "parts": [
            {"name": line.label, "bytes": line.ram_bytes, "count": line.parts}
            for line in part_lines(None if reported.mcu is None else reported.mcu.mcu)
        ],
        "core": compiled.options.target.core,
        "fits": [
            {
                "part": fit.mcu.name,
                "core": fit.mcu.core,
                "ram": fit.mcu.ram_bytes,
                "flash": None if fit.mcu.external else fit.mcu.flash_bytes,
                "overhead": round(fit.overhead, 4),
                **fields_of(fit, "way", "streamed", "spare_ram_bytes", "spare_flash_bytes"),
            }
            for fit in reported.fits
        ],
        "fronts": _fronts(reported),
        "fronts_note": fronts_note(reported),
        "operators": _operators(reported, numbers),
        "operators_note": "Operators are numbered as in the file. "
        + ("A block has the numbers of all its operators. " if compiled.assembly.members else "")
        + _predicted_note(reported),
        "graph": _graph(compiled, numbers),
        "flash": _flash(reported),
        "state": [
            {"name": plain(compiled.assembly.program_graph.tensors[v.tensor].name), "bytes": v.size}
            for v in compiled.assembly.variables
        ],
        **slid_fields(compiled),
        **({} if reported.certificate is None else {"proved": proved_fields(reported.certificate)}),
        "advice": advice_documents(compiled, reported.advice),
        "made_by": f"Made by lowtide {version('lowtide')}. This file loads nothing else.",
    }


def _streamed_ram(reported: Reported) -> int | None:
    return None if reported.streamed is None else reported.streamed.compiled.ram_bytes


def _how(reported: Reported) -> str:
    figures, options = reported.figures, reported.compiled.options
    text = (
        f"Compiled for {options.target.core if options.target.core != 'any' else 'any core'}, "
        f"input {options.input_mode}, output {options.output_mode}."
    )
    if reported.ran is not None:
        exact = (
            "are the same as those of the reference kernels, byte for byte"
            if figures.bit_exact
            else "are NOT the same as those of the reference kernels"
        )
        return (
            f"{text} Measured on {reported.ran.board.description} ({figures.where}), emulated. "
            f"On {counted(reported.ran.samples, 'input')}, the outputs {exact}. Total RAM is the "
            "arena, the state, the instance, data and the stack."
        )
    return (
        f"{text} Predicted: the arena, the state and all constants are exact; {STACK:,} B of stack "
        f"and {CODE_PER_SOURCE:,} B of code for each source file are assumed. Use --board to measure."
    )


def _tensor_names(compiled: Compiled, views: Iterable[View]) -> dict[str, str]:
    """What the file calls the tensors that the views show, long names cut in the middle."""
    tensors = compiled.graph.tensors
    names = {f"t{number}": plain(tensor.name) for number, tensor in enumerate(tensors)}
    shown = {name for view in views for name, _ in view.names.values()}
    return {
        key: name if len(name) <= _NAME else f"{name[: _NAME // 2]}\u2026{name[-_NAME // 2 :]}"
        for key, name in names.items()
        if key in shown and name
    }


def _view(view: View, colours: Mapping[int, int]) -> dict[str, Any]:
    shown = view.shown
    return {
        **fields_of(view, "key", "way", "title", "caption", "why", "culprits", "ram_bytes"),
        "instructions": view.instructions,
        **fields_of(shown, "arena_bytes", "state_bytes", "slots", "peak_slot", "peak_bytes"),
        "peak": [fields_of(held, "name", "bytes", "of", "pieces", "why") for held in view.peak],
        "steps": [
            [*step, sum(1 for _ in group)]
            for step, group in groupby(zip(view.steps, view.work, strict=True))
        ],
        "boxes": [[b.tensor, b.start, b.end, b.offset, b.size] for b in shown.everything],
        "runs": [[r.stage, r.start, r.end] for r in shown.runs],
        "names": {str(tensor): list(name) for tensor, name in view.names.items()},
        "colours": {str(t): colours[int(short[1:])] for t, (short, _) in view.names.items()},
    }


def _fronts(reported: Reported) -> list[dict[str, Any]]:
    found = [reported.planned]
    if reported.streams_for_less and reported.streamed is not None:
        found.append(reported.streamed)
    return [
        {
            "title": f"input {planned.compiled.options.input_mode}",
            "points": [_point(point) for point in _marked(planned)],
        }
        for planned in found
    ]


def _marked(planned: Planned) -> list[Point]:
    """The points of a front that no other beats in what the page shows, RAM, instructions and MACs:
    some only wait for flash less."""
    points = planned.points or ()
    if planned.refills is None:
        return list(points)

    def shown(point: Point) -> tuple[int, int, int]:
        return point.ram_bytes, point.instructions, point.macs

    return [
        point
        for point in points
        if not any(
            shown(other) != shown(point)
            and all(a <= b for a, b in zip(shown(other), shown(point), strict=True))
            for other in points
        )
    ]


def _point(point: Point) -> dict[str, Any]:
    return {
        "ram_bytes": point.ram_bytes,
        **fields_of(point, "macs", "overhead"),
        "instructions": point.instructions,
    }


def _operators(reported: Reported, numbers: Numbers) -> list[dict[str, Any]]:
    """A row for each operator, or for those that run as one, in the network's order."""
    compiled = reported.compiled
    assembly, graph = compiled.assembly, compiled.graph
    model = compiled.options.predictor
    nodes: dict[tuple[int, ...], list[tuple[Node, int]]] = {}
    for node, times in assembly.executed:
        if node.op >= 0:
            key = assembly.members.get(node.op, (node.op,))
            nodes.setdefault(tuple(key), []).append((node, times))
    measured: dict[tuple[int, ...], int] = {}
    if reported.ran is not None and isinstance(reported.ran.profile, Profile):
        measured = {s.operators: s.instructions for s in reported.ran.profile.operators}
    rows = []
    for key in sorted(nodes):
        ops = [graph.ops[op] for op in key]
        outs = [graph.tensors[t] for t in ops[-1].outputs]
        weights = {
            t: graph.tensors[t].bytes
            for op in ops
            for t in op.inputs
            if t >= 0 and graph.tensors[t].is_constant
        }
        rows.append(
            {
                "first": numbers.of[key[0]],
                "ids": ids_text([numbers.of[op] for op in key]),
                "type": " + ".join(dict.fromkeys(plain(op.label) for op in ops)),
                "shape": shape_text(outs[0].shape) if outs else "",
                "macs": sum(op_macs(graph, op) for op in ops),
                "weights_bytes": sum(weights.values()),
                "output_bytes": sum(out.bytes for out in outs),
                "instructions": model.program(nodes[key]),
                "measured": measured.get(key),
            }
        )
    return rows


def _predicted_note(reported: Reported) -> str:
    if reported.ran is not None and isinstance(reported.ran.profile, Profile):
        return f"Instructions were counted on {reported.figures.where}, emulated."
    model = reported.compiled.options.predictor
    return (
        f"Instructions are predicted {as_run(reported.compiled)}. For 95 % of the operators that were "
        f"measured, the error is at most {model.worst_error:.1%}."
    )


def _graph(compiled: Compiled, numbers: Numbers) -> list[dict[str, Any]]:
    """The operators in the order they begin, with the operators that make what they read."""
    graph, plan = compiled.graph, compiled.assembly.plan
    makers = {t: op.id for op in graph.ops for t in op.outputs}
    stage_of: dict[int, int] = {}
    for number, stage in enumerate(plan.stages if plan is not None else ()):
        stage_of |= dict.fromkeys(stage.operators, number)
    return [
        {
            "id": op,
            "number": numbers.of[op],
            "type": plain(graph.ops[op].label),
            "shape": shape_text(graph.tensors[graph.ops[op].outputs[0]].shape)
            if graph.ops[op].outputs
            else "",
            "stage": stage_of.get(op),
            "sources": sorted({makers[t] for t in graph.ops[op].inputs if t in makers}),
        }
        for op in _drawn_order(graph, compiled.assembly.order, stage_of)
    ]


def _drawn_order(graph: Graph, order: Sequence[int], stage_of: Mapping[int, int]) -> list[int]:
    """The operators by stage; one without, which takes no code, right before what reads it first."""
    drawn = sorted((op for op in order if op in stage_of), key=lambda op: stage_of[op])
    for op in reversed([op for op in order if op not in stage_of]):
        made = set(graph.ops[op].outputs)
        readers = (at for at, other in enumerate(drawn) if made & set(graph.ops[other].inputs))
        drawn.insert(next(readers, len(drawn)), op)
    return drawn


def _flash_reads(profile: Profile | Unprofiled | None) -> str:
    """What a run reads of slow flash, if that was counted."""
    if not isinstance(profile, Profile) or profile.flash is None:
        return ""
    least, most = profile.flash.waits
    return (
        f". A run reads {amount(profile.flash.refilled_bytes)} of it into the part's cache, which takes "
        f"{least:,} to {most:,} cycles more (counted with a model of the cache)"
    )


def _flash(reported: Reported) -> dict[str, Any]:
    if reported.ran is not None:
        found = reported.ran.measured.flash
        parts: Sequence[tuple[str, int]] = (
            ("code", found.code_bytes),
            ("weights", found.weights_bytes),
            ("tables and other constants", found.constant_bytes),
            ("data, copied to RAM at start", found.data_bytes),
        )
        note = f"Flash, measured: the program linked for {reported.figures.where}"
        note += _flash_reads(reported.ran.profile)
    else:
        compiled = reported.compiled
        sizes = constants(compiled.assembly)
        weights = sum(size for is_weights, size in sizes if is_weights)
        code = CODE_PER_SOURCE * sum(name.endswith(".c") for name in compiled.files)
        rest = flash_bytes(compiled.assembly, compiled.files) - weights - code
        parts = (("weights", weights), ("tables and other constants", rest), ("code", code))
        note = "Flash, predicted: constants are exact, code is assumed"
    return {"parts": [{"name": name, "bytes": size} for name, size in parts], "note": note}

"""Results as HTML for notebooks: figures in a table, memory over time as a picture.

Why not the page of `lowtide report`: a notebook shows one result among others, has a ground and letters
of its own, dark or light, and is saved with all that it shows. So there are a few kilobytes of tables
and one picture that needs no script, in the notebook's own colours but for the boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape

from lowtide.commands.analysis import Analysis
from lowtide.commands.checking import Ran, Verified
from lowtide.commands.compiling import Compiled
from lowtide.commands.estimating import Estimate
from lowtide.commands.planned import Planned
from lowtide.ir.macs import graph_macs
from lowtide.report.analysis_picture import stacked
from lowtide.report.chart import Frame, boxes_in
from lowtide.report.describe import Shown, describe
from lowtide.report.part import network_name
from lowtide.report.picture import STRONG, Element, Line, Picture, Words, svg_text
from lowtide.report.plan_boxes import Box, PlanBoxes, colours_of, plan_boxes, tensor_name
from lowtide.report.text import amount, plain, shape_text, tflm_arena

_WIDE, _HIGH, _TOP = 760, 240, 16
_NAMED = 8
"""Tensors at a peak that are named."""


def notebook_html(result: Shown) -> str:
    """A result as HTML that needs nothing else."""
    match result:
        case Analysis():
            return _page(plain(result.path), _analysis(result))
        case Estimate():
            return _page(plain(result.name), _estimate(result))
        case Planned():
            return _page(network_name(result.compiled.model), _planned(result))
        case Compiled():
            return _page(network_name(result.model), _compiled(result))
        case Verified():
            name = network_name(result.compiled.model)
            sign = "bit-exact" if result.bit_exact else "differs"
            return _page(f"{name}: {sign}", [f"<p>{escape(describe(result))}</p>"])
        case Ran():
            return _page(network_name(result.compiled.model), [_lines(describe(result))])
        case _:
            return _page("", [_lines(describe(result))])


def _page(title: str, parts: Iterable[str]) -> str:
    head = f"<p><b>{escape(title)}</b></p>" if title else ""
    return f'<div style="max-width:{_WIDE}px">{head}{"".join(parts)}</div>'


def _lines(text: str) -> str:
    return f'<pre style="white-space:pre-wrap">{escape(text)}</pre>'


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The first column is words, all others are figures."""

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left", *["right"] * (len(cells) - 1)]
        return "".join(
            f'<{tag} style="text-align:{side};padding:1px 8px">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    head = f"<tr>{line('th', columns)}</tr>" if any(columns) else ""
    return f"<table>{head}{body}</table>"


def _analysis(analysis: Analysis) -> Iterable[str]:
    file, best = analysis.file, analysis.best
    proof = "proved optimal" if analysis.best_order.proved_optimal else "not proved optimal"
    yield _table(
        ("", "file order", f"best order, {proof}"),
        [
            ("peak memory", amount(file.peak_bytes), amount(best.peak_bytes)),
            (
                "TensorFlow Lite Micro's arena, predicted",
                amount(tflm_arena(analysis)),
                amount(best.tflm_greedy_arena_bytes),
            ),
        ],
    )
    tensors = analysis.graph.tensors
    state = analysis.variables_bytes
    boxes = [replace(b, offset=b.offset - state) for b in stacked(analysis, file).boxes]
    names = {t.id: plain(f"tensor {t.id} {t.name}") for t in analysis.tensors}
    yield _picture(boxes, len(file.steps), file.peak_bytes, names, "working set by operator")
    held = sorted(file.peak_set, key=lambda t: -tensors[t].bytes)[:_NAMED]
    most = file.steps[file.peak_step] if file.steps else None
    where = (
        "" if most is None else f"live at the peak, operator {most.operator} ({plain(most.type)})"
    )
    yield _table(
        (where, "shape", "bytes"),
        [
            (names.get(t, f"tensor {t}"), shape_text(tensors[t].shape), amount(tensors[t].bytes))
            for t in held
        ],
    )


def _estimate(found: Estimate) -> Iterable[str]:
    def shown(size: int | None) -> str:
        return "-" if size is None else f"{size:,}"

    yield _table(
        ("input", "RAM, B", "at least", "flash, B", "instructions"),
        [
            (
                mode,
                *(shown(n) for n in (needs.ram_bytes, needs.bound_bytes)),
                *(shown(n) for n in (needs.flash_bytes, needs.instructions)),
            )
            for mode, needs in found.needs.items()
        ],
    )
    yield _table(
        ("", "bytes"),
        [
            ("best order of whole operators", shown(found.order_peak_bytes)),
            ("TensorFlow Lite Micro, tensors and state", shown(found.tflm_bytes)),
            ("weights", shown(found.weights_bytes)),
        ],
    )
    if found.fits is not None:
        verdict = "fits" if found.fits else "does not fit"
        yield f"<p>It {verdict} a budget of {amount(found.budget or 0)}.</p>"


def _compiled(compiled: Compiled) -> Iterable[str]:
    yield _table(("", ""), _figures(compiled))
    yield _memory(compiled)


def _figures(compiled: Compiled) -> list[tuple[str, str]]:
    options = compiled.options
    rows = [
        (f"arena, input {options.input_mode}, output {options.output_mode}", compiled.arena_bytes),
        *([("state", compiled.state_bytes)] if compiled.state_bytes else []),
        ("best order of whole operators", compiled.order.peak_bytes + compiled.state_bytes),
        ("TensorFlow Lite Micro, predicted", compiled.tflm_bytes.ram),
    ]
    macs = ("MACs of the network", f"{graph_macs(compiled.graph):,}")
    return [*((name, amount(size)) for name, size in rows), macs]


def _planned(planned: Planned) -> Iterable[str]:
    compiled = planned.compiled
    proof = "proved optimal" if planned.proved_optimal else "not reached"
    bound = (f"lower bound, {proof}", amount(planned.lower_bound_bytes))
    yield _table(("", ""), [*_figures(compiled), bound])
    yield _memory(compiled)
    if planned.points:
        yield _table(
            ("plans that no other beats: arena, B", "MACs, times the network's"),
            [(f"{p.arena_bytes:,}", f"{p.overhead:.4f}") for p in planned.points],
        )


def _memory(compiled: Compiled) -> str:
    shown: PlanBoxes = plan_boxes(compiled)
    names = {
        b.tensor: ", ".join(tensor_name(compiled, b.tensor)) for b in shown.boxes if b.tensor >= 0
    }
    what = "the arena over time: each box a row at its address, grey a kernel's scratch memory"
    return _picture(shown.boxes, shown.slots, shown.arena_bytes, names, what)


def _picture(boxes: Sequence[Box], slots: int, most: int, names: dict[int, str], what: str) -> str:
    """Boxes of bytes and steps as SVG, in the notebook's own ink."""
    ink = "currentColor"
    frame = Frame(0, _TOP, _WIDE, _HIGH, 0, slots, most)
    elements: tuple[Element, ...] = (
        *boxes_in(frame, boxes, colours_of(boxes, STRONG), names),
        Line(frame.across(most), ink, 1, (5, 4)),
        Words(0, _TOP - 4, f"{most:,} B", colour=ink),
        Words(0, _HIGH + 16, what, colour=ink),
    )
    return svg_text(Picture(_WIDE, _HIGH + 22, what, elements, ground=""))

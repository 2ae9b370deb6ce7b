"""Rows about simplified files in TFLM, and about the time that simplification takes."""

from __future__ import annotations

import time

from bench.shared.outside import NeedsError
from bench.shared.programs import end_of, path_of
from bench.shared.tables import Row, amount, verdict
from bench.shared.work import note
from bench.simplify.saved_programs import NETWORKS, VWW
from lowtide.commands.simplifying import simplify_model
from lowtide.errors import LowtideError
from lowtide.ir import Graph
from lowtide.passes import fold_pads, resolve_variables
from lowtide.passes.simplify import simplify
from lowtide.tflite.read import parse
from lowtide.zoo.loading import load
from lowtide.zoo.mobilenet_v2 import mobilenet_v2

_SAMPLES = 100
_MOST_BYTES = {VWW: 120_000}
_MOST_SECONDS = (("te_vww", 1.0), ("MobileNetV2 1.0, 96 x 96", 5.0))
_TRIES = 3


def file_rows() -> list[Row]:
    """A row per network: the file's size, TFLM's arena, outputs on 100 inputs."""
    return [_file_row(name, title) for name, title in NETWORKS]


def _file_row(name: str, title: str) -> Row:
    most = _MOST_BYTES.get(name)
    asked = f"the same on {_SAMPLES} inputs" + ("" if most is None else f", <= {amount(most)}")
    on = f"lowtide simplify {name}"
    note(on)
    try:
        made = simplify_model(load(path_of(name)), samples=_SAMPLES)
    except (NeedsError, LowtideError) as error:
        state, problem = end_of(error)
        return Row(on, asked, problem, "not measured" if state == "absent" else "MISSED")
    if not made.changed:
        return Row(on, asked, "nothing to leave out; no file is written", verdict(most is None))
    before, after, check = len(made.before.source), len(made.model.source), made.check
    assert check is not None
    record: dict[str, object] = {"network": title, "file_before": before, "file_after": after}
    shown = f"file {before:,} -> {after:,} B"
    if check.arena_before is not None and check.arena_after is not None:
        old, new = check.arena_before, check.arena_after
        shown += f"; TFLM's arena: head {old.head:,} -> {new.head:,} B, in all {old.total:,} -> "
        shown += f"{new.total:,} B"
        record |= {
            "head_before": old.head,
            "head_after": new.head,
            "total_before": old.total,
            "total_after": new.total,
        }
    shown += f"; equal on {check.samples} inputs in {' and '.join(check.engines)}"
    return Row(
        on, asked, shown, verdict(most is None or after <= most), values=record, record=record
    )


def time_rows() -> list[Row]:
    """Processor time of the passes, the least of a few tries."""
    rows = []
    for name, most in _MOST_SECONDS:
        note(f"simplify, {name}")
        try:
            zoo = name.startswith("MobileNetV2")
            source = mobilenet_v2(1.0, 96, 1000) if zoo else None
            model = load(path_of(name)) if source is None else parse(source)
        except NeedsError as error:
            rows.append(Row(f"simplify, {name}", f"<= {most} s", str(error), "not measured"))
            continue
        graph = fold_pads(resolve_variables(model.graph))
        least = min(_seconds(graph) for _ in range(_TRIES))
        values: dict[str, object] = {"seconds": round(least, 3)}
        shown = f"{least:.2f} s of processor time"
        rows.append(
            Row(f"simplify, {name}", f"<= {most} s", shown, verdict(least <= most), values=values)
        )
    return rows


def _seconds(graph: Graph) -> float:
    begin = time.process_time()
    simplify(graph)
    return time.process_time() - begin

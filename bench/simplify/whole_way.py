"""Rows about the whole way of those who stay with TFLM: simplified, reordered, offsets stored."""

from __future__ import annotations

from bench.shared.outside import NeedsError
from bench.shared.programs import end_of, path_of
from bench.shared.tables import Row, verdict
from bench.shared.work import note
from bench.simplify.saved_programs import NETWORKS, VWW
from lowtide.commands.simplifying import simplify_model
from lowtide.errors import LowtideError
from lowtide.zoo.loading import load

_ASKED = "TFLM's arena no larger"
_SHOWN = (VWW, "te_vww", "tflm_person_detect_int8", "mlperf_resnet8_int8", "mww_okay_nabu_v2")


def whole_way_rows() -> list[Row]:
    """A row per network: its file and TFLM's arena, before and after all that a file can hold."""
    return [_row(name, title) for name, title in NETWORKS if name in _SHOWN]


def _row(name: str, title: str) -> Row:
    on = f"lowtide simplify {name} --reorder --offline-plan"
    note(on)
    try:
        made = simplify_model(load(path_of(name)), reordered=True, offline_plan=True, always=True)
    except (NeedsError, LowtideError) as error:
        state, problem = end_of(error)
        return Row(on, _ASKED, problem, "not measured" if state == "absent" else "MISSED")
    check = made.check
    assert check is not None
    old, new = check.arena_before, check.arena_after
    assert old is not None
    assert new is not None
    record: dict[str, object] = {
        "network": title,
        "file_before": len(made.before.source),
        "file_after": len(made.model.source),
        "head_before": old.head,
        "head_after": new.head,
        "total_before": old.total,
        "total_after": new.total,
    }
    shown = f"head {old.head:,} -> {new.head:,} B, in all {old.total:,} -> {new.total:,} B"
    return Row(on, _ASKED, shown, verdict(new.total <= old.total), values=record, record=record)

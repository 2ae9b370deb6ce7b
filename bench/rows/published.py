"""Rows about activation memory as others published it for MLPerf Tiny's networks, beside our arenas."""

from __future__ import annotations

from bench.rows.row_programs import RowOutcomes
from bench.shared.outside import peer_value
from bench.shared.programs import path_of
from bench.shared.tables import Row, verdict
from bench.shared.work import note
from lowtide.commands.compiling import compile_model
from lowtide.zoo.loading import load

_NETWORKS = {
    "vww_96": ("mlperf_vww_96_int8", "MLPerf Tiny vww_96"),
    "resnet8": ("mlperf_resnet8_int8", "MLPerf Tiny resnet8"),
    "kws": ("mlperf_kws_int8", "MLPerf Tiny kws"),
    "ad01": ("mlperf_ad01_int8", "MLPerf Tiny ad01"),
}
"""Name among the peers -> the shared model, and its name in the documents."""


def published_rows(_: RowOutcomes) -> list[Row]:
    """A row per network: input and output included on both sides, nothing computed twice by ours."""
    return [_row(peer, model, title) for peer, (model, title) in _NETWORKS.items()]


def _row(peer: str, model: str, title: str) -> Row:
    on, asked = f"{title}: activations, B", "no more than others"
    note(on)
    theirs = peer_value("mlperf_tiny_published", "hale_best_bytes", peer)
    whole = peer_value("tflm", peer, "act_bytes", "cmsis_m4")
    if theirs is None:
        return Row(on, asked, "needs the shared data (peers.json)", "not measured")
    arena = compile_model(load(path_of(model))).arena_bytes
    record: dict[str, object] = {
        "network": title,
        "arena_bytes": arena,
        "hale_bytes": theirs,
        "tflm_bytes": whole,
    }
    shown = f"{arena:,}; hale's best {theirs:,}; TFLM {whole:,}"
    return Row(on, asked, shown, verdict(arena <= theirs), values=record, record=record)

"""The rows of windows that slide, each beside the whole window, streamed, on the same core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from bench.shared.outside import NeedsError, shared_model
from bench.shared.programs import M4, end_of, problem_of
from bench.shared.tables import Row, verdict
from bench.shared.work import in_two_processes
from lowtide.commands import checking
from lowtide.commands.checking import Ran
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import LowtideError
from lowtide.ir import Model
from lowtide.ir.macs import graph_macs
from lowtide.tflite.read import parse
from lowtide.zoo.builder import NetBuilder
from lowtide.zoo.loading import load
from lowtide.zoo.quantise import Activation

_FLASH = 4_096
"""Bytes of flash that code and tables of a hop may take beyond the whole window's program."""

_SPEECH, _KWS, _WAKE = "tflm_micro_speech_int8", "mlperf_kws_int8", "zoo:wake-word-window"
_MEAN = "mean of 98 rows"
"""Two layers without padding, and the mean over all rows of what they make, 98 x 64."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A network whose window moves on by `hop` rows, with rows of `keep` tensors kept, or as many as go
    into `times` the RAM of its window. At most so many MACs; instructions, as a share of the window's or
    as a number; bytes of arena and state, as a number or times the window's. 0: measured. In a `ring`,
    rows of the input stay in the caller's memory."""

    network: str
    hop: int
    keep: int | None = None
    times: float = 0
    macs: int = 0
    share: float = 0
    instructions: int = 0
    ram: int = 0
    ram_times: float = 0
    ring: bool = False


_CASES = (
    _Case(_WAKE, 1, macs=46_040, share=0.08, ram_times=1.05),
    _Case(_SPEECH, 2, macs=92_800, share=1 / 3, ram=6_400),
    _Case(_KWS, 2, keep=5, macs=1_105_408, instructions=1_600_000),
    _Case(_KWS, 2, keep=4, instructions=1_600_000, ram=25_000),
    _Case(_KWS, 2, keep=3),
    _Case(_KWS, 2, keep=2),
    _Case(_KWS, 2, keep=1),
    _Case(_KWS, 2, times=1.25, ram_times=1.25),
    _Case(_KWS, 1, keep=5),
    _Case(_KWS, 1, keep=3),
    _Case(_WAKE, 1, macs=46_040, share=0.08, ram_times=1.05, ring=True),
    _Case(_KWS, 2, keep=4, instructions=1_600_000, ram=25_000, ring=True),
    _Case(_KWS, 2, keep=0, ring=True),
    _Case(_MEAN, 1),
)


def hop_rows() -> list[Row]:
    """What a hop takes, measured on a board, bit-exact for three windows' worth of hops and a reset."""
    rows = dict(row for _, row in in_two_processes(_row, _CASES))
    return [rows[case] for case in _CASES]


def _row(case: _Case) -> tuple[_Case, Row]:
    hops = f"{case.hop} row{'s' * (case.hop > 1)}"
    label = f"{case.network}, {hops}" + (f", {case.keep} kept" if case.keep is not None else "")
    label += ", in a ring" * case.ring
    label += f", within {case.times:g} times the RAM" if case.times else ""
    try:
        model, whole = _loaded(case.network), _whole(case.network)
        most = int(case.times * whole.compiled.ram_bytes) if case.times else None
        options = Options(hop=case.hop, keep=case.keep, max_ram=most, target="cortex-m4")
        if case.ring:
            options = replace(options, input_mode="const")
        ran = checking.run(compile_model(model, options), M4)
    except (NeedsError, LowtideError) as error:
        state, problem = end_of(error)
        return case, Row(label, "", problem, "not measured" if state == "absent" else "MISSED")
    record = _record(case, ran, whole)
    bounds: list[tuple[str, float, Callable[[float], str]]] = [
        ("macs_hop", case.macs, lambda n: f"{n:,} MACs"),
        ("instructions_hop", case.instructions, lambda n: f"{n:,} instructions"),
        ("instructions_hop", case.share * whole.measured.max_instructions, _of_window),
        ("ram_bytes", case.ram, lambda n: f"{n:,} B"),
        ("ram_bytes", case.ram_times * whole.compiled.ram_bytes, lambda n: f"{n:,.0f} B"),
        ("flash_more_bytes", _FLASH, lambda n: f"flash {n:+,} B"),
    ]
    asked = [(name, most, text) for name, most, text in bounds if most]
    good = not problem_of(ran) and all(float(str(record[name])) <= most for name, most, _ in asked)
    return case, Row(
        on=label,
        asked=", ".join(text(most) for _, most, text in asked),
        measured=problem_of(ran)
        or f"{record['macs_hop']:,} MACs, {record['instructions_hop']:,} instructions "
        f"(row {record['instructions_row']:,}), {record['ram_bytes']:,} B, flash "
        f"{record['flash_more_bytes']:+,} B",
        status=verdict(good),
        values=dict(record),
        record=None if problem_of(ran) else record,
    )


def _of_window(most: float) -> str:
    return f"{most:,.0f} instructions"


def _record(case: _Case, ran: Ran, whole: Ran) -> dict[str, object]:
    compiled, hop = ran.compiled, ran.compiled.graph.hop
    assert hop is not None
    return {
        "network": case.network,
        "hop_rows": hop.new,
        "phases": hop.phases,
        "ring_rows": hop.ring,
        "window_rows": hop.rows,
        "kept": hop.kept,
        "most": hop.most,
        "macs_window": graph_macs(whole.compiled.graph),
        "macs_hop": graph_macs(compiled.graph),
        "instructions_window": whole.measured.max_instructions,
        "instructions_hop": ran.measured.max_instructions,
        "instructions_row": ran.measured.row_instructions,
        "instructions_first": ran.measured.first_instructions,
        "ram_window_bytes": whole.compiled.ram_bytes,
        "ram_bytes": compiled.ram_bytes,
        "flash_more_bytes": ran.measured.flash.total_bytes - whole.measured.flash.total_bytes,
    }


@cache
def _whole(network: str) -> Ran:
    """The network whose whole window is computed, given row by row."""
    options = Options(input_mode="streamed", target="cortex-m4")
    return checking.run(compile_model(_loaded(network), options), M4)


def _loaded(network: str) -> Model:
    if network == _MEAN:
        return parse(_mean_of_rows(), path=network)
    return load(network if network.startswith("zoo:") else shared_model(network))


def _mean_of_rows() -> bytes:
    net = NetBuilder(_MEAN)
    x = net.conv(net.input((1, 102, 1, 16)), "conv_0", 64, (5, 1), 1, Activation.RELU6, same=False)
    x = net.conv(x, "conv_1", 64, 1, 1, Activation.RELU6, same=False)
    return net.finish(net.fully_connected(net.mean(x, "mean"), "dense", 4))

"""Rows about being small and quick on a Cortex-M4: RAM, instructions, code, the moving allocator.

Peers: TensorFlow Lite Micro with CMSIS-NN, measured the same way. Its arena alone stands here; the
interpreter, the operator resolver and the stack come on top.
"""

from __future__ import annotations

from bench.deploy.layer_by_layer import LayerJob, LayerOutcome, LayerOutcomes, as_values
from bench.shared.outside import peer
from bench.shared.programs import FLOAT_BOUNDARY, M4
from bench.shared.stored import millions
from bench.shared.tables import Detail, Record, Row, amount, cells, verdict, with_detail
from lowtide.modes import Allocator

_PEER = "TFLM + CMSIS-NN"
_SWIFTNET = "swiftnet_cell_uint8"
_PERSON = "tflm_person_detect_int8"

# Asked: shared model, its name among the peers, total RAM in bytes.
_RAM = (
    ("mlperf_vww_96_int8", "vww_96", 58_000),
    ("mlperf_kws_int8", "kws", 17_500),
    ("mlperf_resnet8_int8", "resnet8", 51_000),
    (_PERSON, "person_detect", 58_000),
    (_SWIFTNET, "swiftnet_int8_twin", 304_000),
)
# Asked: instructions of an inference, in millions.
_INSTRUCTIONS = (
    ("mlperf_vww_96_int8", "vww_96", 24.10),
    ("mlperf_resnet8_int8", "resnet8", 29.86),
    ("mlperf_kws_int8", "kws", 7.70),
    (_PERSON, "person_detect", 22.93),
    (FLOAT_BOUNDARY, "te_vww", 48.60),
)
# Asked: bytes of code, tables included and weights left out.
_CODE = (
    ("mlperf_vww_96_int8", "vww_96", 56_712),
    ("mlperf_kws_int8", "kws", 56_712),
    ("mlperf_resnet8_int8", "resnet8", 54_536),
    ("mlperf_ad01_int8", "ad01", 31_464),
    (_PERSON, "person_detect", 46_568),
    ("tflm_micro_speech_int8", "micro_speech", 47_176),
    (FLOAT_BOUNDARY, "te_vww", 64_648),
)
_COMPACTED = (_PERSON, _SWIFTNET)


def ram_jobs() -> list[LayerJob]:
    """The networks whose RAM was asked for, on the M4."""
    return [LayerJob(network, M4) for network, _, _ in _RAM]


def ram_rows(outcomes: LayerOutcomes) -> list[Row]:
    """Arena, data, bss and stack together."""
    rows = []
    lines = []
    for network, key, limit in _RAM:
        outcome = outcomes[LayerJob(network, M4)]
        title = f"{_PEER}, int8 twin" if network == _SWIFTNET else f"{_PEER}, arena"
        rival = peer("tflm", key, "arena_bytes", "cmsis_m4", show=lambda b: f"{b:,} B")
        rows.append(
            _row(f"{network}, RAM", limit, _total_ram(outcome), outcome, f"{title}: {rival}")
        )
        if outcome.state == "done":
            ram = outcome.document["ram"]
            parts = [ram[f"{part}_bytes"] for part in ("arena", "data", "bss", "stack", "total")]
            lines.append((network, *parts, rival))
    columns = ("network", "arena", "data", "bss", "stack", "total", f"{_PEER}'s arena alone")
    return with_detail(rows, Detail(f"RAM in bytes on {M4}", columns, cells(lines)))


def instruction_jobs() -> list[LayerJob]:
    """The networks whose instructions were asked for, and te_vww without its float boundary."""
    jobs = [LayerJob(network, M4) for network, _, _ in _INSTRUCTIONS]
    return [*jobs, LayerJob(FLOAT_BOUNDARY, M4, quantized_io=True)]


def instruction_rows(outcomes: LayerOutcomes) -> list[Row]:
    """Instructions, not cycles, of one inference."""
    rows = []
    lines = []
    keys = {network: key for network, key, _ in _INSTRUCTIONS}
    limits = {network: millions for network, _, millions in _INSTRUCTIONS}
    for job in instruction_jobs():
        outcome = outcomes[job]
        name = ("tflm", keys[job.network], "instructions_millions", "cmsis_m4")
        rival = peer(*name, show=lambda m: f"{m:g} M")
        count = int(outcome.document.get("instructions", 0))
        limit = round(limits[job.network] * 1e6)
        if not job.quantized_io:
            on, title = f"{job.network}, instructions", f"{_PEER}: {rival}"
            rows.append(_row(on, limit, count, outcome, title, unit="M"))
        if count:
            macs = int(outcome.document["macs"])
            of_peer = f"{count / limit:.2f}"
            lines.append((job.label, count, macs, f"{count / macs:.2f}", rival, of_peer))
    columns = ("network", "instructions", "MACs", "per MAC", _PEER, "of it")
    return with_detail(rows, Detail(f"Instructions on {M4}", columns, cells(lines)))


def code_jobs() -> list[LayerJob]:
    """The networks with a peer's code size."""
    return [LayerJob(network, M4) for network, _, _ in _CODE]


def code_rows(outcomes: LayerOutcomes) -> list[Row]:
    """Code, step program and tables; everything in flash but the weights."""
    rows = []
    lines = []
    for network, key, limit in _CODE:
        outcome = outcomes[LayerJob(network, M4)]
        flash = outcome.document.get("flash", {})
        code, tables = flash.get("code_bytes", 0), flash.get("constant_bytes", 0)
        name = ("tflm", key, "text_bytes_m4_without_weights", "cmsis_int8_registrations")
        rival = peer(*name, show=lambda b: f"{b:,} B")
        on = f"{network}, code without weights"
        row = _row(on, limit, code + tables, outcome, f"{_PEER}: {rival}", aim=limit // 3)
        rows.append(row)
        if outcome.state == "done":
            whole = code + tables
            weights, share = flash["weights_bytes"], f"{whole / limit:.2f}"
            lines.append((network, code, tables, whole, weights, rival, share))
    columns = ("network", "code", "constants", "both", "weights apart", _PEER, "of it")
    return with_detail(rows, Detail(f"Flash in bytes on {M4}", columns, cells(lines)))


def compacting_jobs() -> list[LayerJob]:
    """Two networks with and without moves."""
    allocators: tuple[Allocator, ...] = ("planned", "compacting")
    return [LayerJob(n, M4, allocator=a) for n in _COMPACTED for a in allocators]


def compacting_rows(outcomes: LayerOutcomes) -> list[Row]:
    """What moving buffers costs, and what it saves where nothing is fragmented: nothing."""
    rows = []
    for network in _COMPACTED:
        planned = outcomes[LayerJob(network, M4)]
        moving = outcomes[LayerJob(network, M4, allocator="compacting")]
        measured = planned.problem or moving.problem
        values: dict[str, object] = {"planned": as_values(planned), "compacting": as_values(moving)}
        if planned.state == moving.state == "done":
            before, after = (int(o.document["instructions"]) for o in (planned, moving))
            measured = (
                f"{100 * (after - before) / before:+.2f} % instructions ({before / 1e6:.2f} -> "
                f"{after / 1e6:.2f} M), {moving.moved_bytes:,} B moved; arena "
                f"{planned.arena_bytes:,} -> {amount(moving.arena_bytes)}"
            )
            values["instructions_ratio"] = after / before
        absent = "absent" in (planned.state, moving.state)
        rows.append(
            Row(
                on=f"{network}, compacting against planned",
                asked="both bit-exact, the figures",
                measured=measured,
                status="not measured" if absent else verdict(planned.exact and moving.exact),
                peer="paper 1: +0.68 % time",
                values=values,
            )
        )
    return rows


def _total_ram(outcome: LayerOutcome) -> int:
    return int(outcome.document["ram"]["total_bytes"]) if outcome.state == "done" else 0


def _row(
    on: str,
    limit: int,
    found: int,
    outcome: LayerOutcome,
    rival: str,
    unit: str = "B",
    aim: int = 0,
) -> Row:
    """A figure that must not pass `limit`, of an outcome that must be bit-exact as well."""

    def shown(value: int) -> str:
        return f"{value / 1e6:.2f} M" if unit == "M" else amount(value)

    measured = outcome.problem
    if outcome.state == "done":
        measured = shown(found) + (f"; {outcome.problem}" if outcome.problem else "")
    good = outcome.exact and found <= limit
    return Row(
        on=on,
        asked=f"<= {shown(limit)}" + (f" (aim: {shown(aim)})" if aim else ""),
        measured=measured,
        status="not measured" if outcome.state == "absent" else verdict(good),
        peer=rival,
        values={"measured": found, "limit": limit, **as_values(outcome)},
        record=_record(on, found, unit) if outcome.exact else None,
    )


def _record(on: str, found: int, unit: str) -> Record:
    network = on.partition(",")[0]
    if unit == "M":
        return {"network": network, "millions": millions(found)}
    return {"network": network, "bytes": found}

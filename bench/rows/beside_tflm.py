"""Rows about what a user gains: RAM, instructions and flash beside TensorFlow Lite Micro's on an M4.

TFLM runs with CMSIS-NN; its arena stands without its interpreter, its resolver and its stack. This is
the first table of the README.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.rows.asked_limits import as_values
from bench.rows.row_programs import RowJob, RowOutcomes
from bench.shared.outside import peer_value
from bench.shared.programs import FLOAT_BOUNDARY, Outcome, Program, status
from bench.shared.stored import millions
from bench.shared.tables import Record, Row, amount

# Shared model, its name among the peers, and in the documents.
_NETWORKS = (
    ("mlperf_vww_96_int8", "vww_96", "MLPerf Tiny vww_96"),
    ("tflm_person_detect_int8", "person_detect", "person_detect"),
    ("mlperf_resnet8_int8", "resnet8", "MLPerf Tiny resnet8"),
    ("mlperf_kws_int8", "kws", "MLPerf Tiny kws"),
    (FLOAT_BOUNDARY, "te_vww", "te_vww (MCUNet)"),
)


def tflm_jobs() -> list[RowJob]:
    """Every network, with its input resident and streamed."""
    return [RowJob(program) for network, _, _ in _NETWORKS for program in _programs(network)]


def _programs(network: str) -> tuple[Program, Program]:
    return Program(network), Program(network, "streamed")


def tflm_rows(outcomes: RowOutcomes) -> list[Row]:
    """RAM in all against TFLM's arena alone, instructions, and flash without weights."""
    rows = []
    for network, key, name in _NETWORKS:
        resident, streamed = (outcomes[RowJob(program)] for program in _programs(network))
        figures = {
            "arena": peer_value("tflm", key, "arena_bytes", "cmsis_m4"),
            "millions": peer_value("tflm", key, "instructions_millions", "cmsis_m4"),
            "flash": peer_value(
                "tflm", key, "text_bytes_m4_without_weights", "cmsis_int8_registrations"
            ),
        }
        theirs = None if None in figures.values() else figures
        found, record = resident.problem or streamed.problem, None
        if resident.exact and streamed.exact:
            ours = _ours(resident, streamed)
            found = (
                f"{amount(ours['ram_bytes'])}, streamed {ours['streamed_ram_bytes']:,}; "
                f"{ours['instructions_millions']:.2f} M; {amount(ours['flash_bytes'])}"
            )
            if theirs is not None:
                record = {"network": name, **_tflm(theirs), **ours}
        rows.append(
            Row(
                on=f"{network}: RAM, instructions, flash",
                asked="bit-exact, and less than TFLM's arena",
                measured=found,
                status=status(_good(record, (resident, streamed)), resident, streamed),
                peer="" if record is None else _told(record),
                values={"resident": as_values(resident), "streamed": as_values(streamed)},
                record=record,
            )
        )
    return rows


def _ours(resident: Outcome, streamed: Outcome) -> Record:
    return {
        "ram_bytes": resident.total_ram,
        "streamed_ram_bytes": streamed.total_ram,
        "instructions_millions": millions(resident.instructions),
        "flash_bytes": resident.flash("code", "constant"),
    }


def _tflm(figures: Record) -> Record:
    return {
        "tflm_arena_bytes": figures["arena"],
        "tflm_instructions_millions": round(figures["millions"], 2),
        "tflm_flash_bytes": figures["flash"],
    }


def _good(record: Record | None, outcomes: Sequence[Outcome]) -> bool:
    if not all(outcome.exact for outcome in outcomes):
        return False
    return record is None or record["ram_bytes"] < record["tflm_arena_bytes"]


def _told(record: Record) -> str:
    return (
        f"TFLM {amount(record['tflm_arena_bytes'])}; "
        f"{record['tflm_instructions_millions']:.2f} M; {amount(record['tflm_flash_bytes'])}"
    )

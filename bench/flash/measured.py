"""Programs for parts whose flash lies behind a cache: lines that they miss, counted on a board."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from bench.shared.outside import NeedsError, shared_model
from bench.shared.programs import end_of, problem_of
from bench.shared.tables import Row, verdict
from bench.shared.work import in_two_processes
from lowtide.commands import checking
from lowtide.commands.checking import Ran
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.commands.profiling import Profile
from lowtide.errors import LowtideError
from lowtide.ir import Model
from lowtide.machines.mcus import board_of, find_mcu
from lowtide.zoo.loading import load

Way = Literal["not weighed", "default", "within", "fastest", "layers"]
_WAYS: dict[Way, str] = {
    "not weighed": "as if flash were fast",
    "default": "default",
    "within": "fastest, at most 10 % more RAM in all",
    "fastest": "fastest",
    "layers": "layer by layer",
}
_KWS = "mlperf_kws_int8"
_NETWORKS = (_KWS, "tflm_person_detect_int8", "mlperf_vww_96_int8", "te_vww")
_MORE = 1.1
"""Of RAM in all, and of what is read layer by layer."""
_MOST_KWS = 120_000
"""Bytes that the keyword network is asked to read on an RP2040, within so much RAM."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A network on a part, planned in a way."""

    part: str
    network: str
    way: Way


_CASES = tuple(
    _Case(part, network, way)
    for part in ("RP2040", "RP2350")
    for network in _NETWORKS
    for way in _WAYS
    if way != "within" or network == _KWS
)


def flash_rows() -> list[Row]:
    """What programs read of flash, all bit-exact."""
    rows = dict(row for _, row in in_two_processes(_row, _CASES))
    return [rows[case] for case in _CASES]


def _row(case: _Case) -> tuple[_Case, Row]:
    label = f"{case.network}, {case.part}, {_WAYS[case.way]}"
    try:
        ran = _ran(case.part, case.network, case.way)
        record = _record(case, ran)
        most = _most(case)
    except (NeedsError, LowtideError) as error:
        state, problem = end_of(error)
        return case, Row(label, "", problem, "not measured" if state == "absent" else "MISSED")
    good = not problem_of(ran) and (most is None or int(str(record["refilled_bytes"])) <= most)
    told = (
        "" if record["predicted_bytes"] is None else f" ({record['predicted_bytes']:,} predicted)"
    )
    return case, Row(
        on=label,
        asked="measured" if most is None else f"{most:,} B read",
        measured=problem_of(ran)
        or f"{record['refilled_bytes']:,} B read{told}, {record['instructions']:,} instructions, "
        f"{record['ram_bytes']:,} B of RAM in all",
        status=verdict(good),
        values=dict(record),
        record=None if problem_of(ran) else record,
    )


def _most(case: _Case) -> int | None:
    """What the program may read, in bytes; None where nothing is asked."""
    if case.network == _KWS:
        return _MOST_KWS if (case.part, case.way) == ("RP2040", "within") else None
    if case.way != "default":
        return None
    return int(_MORE * _flash(_ran(case.part, case.network, "layers"))[0])


def _record(case: _Case, ran: Ran) -> dict[str, object]:
    refilled, waits = _flash(ran)
    predicted = None
    if case.way not in ("layers", "not weighed"):
        planned = planned_model(ran.compiled.model, ran.compiled.options)
        predicted = None if planned.refills is None else planned.refills.bytes
    return {
        "part": case.part,
        "network": case.network,
        "way": _WAYS[case.way],
        "refilled_bytes": refilled,
        "predicted_bytes": predicted,
        "waits_least": waits[0],
        "waits_most": waits[1],
        "instructions": ran.measured.max_instructions,
        "ram_bytes": ran.measured.ram.total_bytes,
    }


def _flash(ran: Ran) -> tuple[int, tuple[int, int]]:
    """Bytes that are read into the cache, and the cycles of waiting: least, most."""
    assert isinstance(ran.profile, Profile)
    assert ran.profile.flash is not None
    return ran.profile.flash.refilled_bytes, ran.profile.flash.waits


@cache
def _ran(part: str, network: str, way: Way) -> Ran:
    board = board_of(find_mcu(part))
    options = Options(target=board.target, fastest=way in ("fastest", "within"))
    if way == "layers":
        options = replace(options, schedule="operators")
    if way == "not weighed":
        options = replace(options, target=board.core.target)
    if way == "within":
        before = _ran(part, network, "not weighed")
        more = int((_MORE - 1) * before.measured.ram.total_bytes)
        options = replace(options, max_ram=before.compiled.ram_bytes + more)
    program = compile_model(_loaded(network), options)
    return checking.run(program, board, samples=1, profile=True)


def _loaded(network: str) -> Model:
    return load(network if network.startswith("zoo:") else shared_model(network))

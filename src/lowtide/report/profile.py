"""Profiles as text, JSON and CSV.

Cycles are always called what they are: by the core's manual, at zero wait states. A time is told only
for a clock that the user names, and with the same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from lowtide.commands.profiling import Profile, Share
from lowtide.errors import UsageError
from lowtide.machines.cycles import Manual
from lowtide.machines.executed import Span
from lowtide.machines.flash import KINDS, Cache, FlashReads
from lowtide.machines.profiled import Unprofiled
from lowtide.report.fields import csv_text, fields_of
from lowtide.report.text import plain, table

_COLUMNS: Final = (
    *("name", "type", "kernels", "instructions", "macs"),
    *(f"cycles_by_manual_zero_wait_states_{of}" for of in ("least", "usual", "most")),
)
PROFILE_TABLES: Final = dict.fromkeys(("operators.csv", "kernels.csv", "functions.csv"), _COLUMNS)
"""File name -> columns."""
_BAR: Final = 12
_UNITS: Final = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_MOST_HZ: Final = 10_000_000_000


def read_clock(text: str) -> int:
    """Hertz of "120MHz", "32.768 kHz" or "16000000". Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?([kMG]?)(?:Hz)?", text)
    hertz = round(float(match[1]) * _UNITS.get(match[2], 1)) if match else 0
    if not 0 < hertz <= _MOST_HZ:
        raise UsageError(
            f"{text!r} is not a clock frequency", "give one such as 120MHz or 32.768kHz"
        )
    return hertz


def profile_text(
    profile: Profile | Unprofiled, clock: int | None = None, once: str = "inference"
) -> str:
    """Where instructions go, by operator and by kernel, and the cycles by the manual; `clock` in Hz.
    What was profiled is called `once`."""
    if isinstance(profile, Unprofiled):
        return f"No profile: {profile.why}."
    manual = profile.manual
    by = f", and cycles by the {manual.core}'s manual, zero wait states" if manual else ""
    lines = [
        _shares_text(f"Instructions{by}, by operator", "operator.", profile, profile.operators),
        "",
        _shares_text(f"Instructions{by}, by kernel", "kernel.", profile, profile.kernels),
        "",
        f"{profile.instructions:,} instructions of one {once}, counted one by one.",
        *_cycles_text(profile, clock),
        *_flash_text(profile),
    ]
    return "\n".join(lines)


def _shares_text(title: str, first: str, profile: Profile, shares: Sequence[Share]) -> str:
    rows = []
    for share in shares:
        if not share.instructions:
            continue
        part = share.instructions / max(1, profile.instructions)
        name = f"{ids_text(share.operators)} {share.type}" if share.operators else share.name
        rows.append(
            (
                plain(name),
                f"{share.instructions:,}",
                f"{part:.1%}",
                "#" * round(_BAR * part),
                f"{share.macs:,}" if share.macs else "-",
                f"{share.instructions / share.macs:.2f}" if share.macs else "-",
                *([f"{share.cycles.usual:,}"] if share.cycles is not None else []),
            )
        )
    columns = [first, "instructions", "share", "bar.", "MACs", "per MAC"]
    if profile.manual is not None:
        columns.append("cycles by the manual")
    return table(title, columns, rows)


def ids_text(operators: Sequence[int]) -> str:
    """Numbers of operators that run as one: "3-5", or "1 4 7"."""
    consecutive = list(operators) == list(range(operators[0], operators[0] + len(operators)))
    if len(operators) > 1 and consecutive:
        return f"{operators[0]}-{operators[-1]}"
    return " ".join(map(str, operators))


def _cycles_text(profile: Profile, clock: int | None) -> list[str]:
    cycles, manual = profile.cycles, profile.manual
    if cycles is None or manual is None:
        return [
            "Cycles: not counted, because lowtide has no timing from a manual of this core."
            + (" So no run time is given." if clock is not None else "")
        ]
    lines = [
        f"{cycles.usual:,} cycles by the {manual.core}'s manual, zero wait states "
        f"(at least {cycles.least:,}, at most {cycles.most:,}).",
        f"From the {manual.title}. Assumptions (for the least; this figure; the most):",
        *(f"  - {assumption}" for assumption in manual.assumptions),
    ]
    if clock is not None:
        usual, least, most = (_milliseconds(c, clock) for c in _ordered(cycles))
        lines.append(
            f"{usual} ms ({least} to {most}) at {clock / 1e6:g} MHz, by the {manual.core}'s manual, "
            "at zero wait states."
        )
    return lines


def _flash_text(profile: Profile) -> list[str]:
    """What was read of flash, and what the cycles by the manual become with it."""
    counted = profile.flash
    if counted is None:
        return ["Flash: not described for this board, so its reads are not counted."]
    flash = counted.flash
    least, most = counted.waits
    caches = _cache_text(flash.cache)
    if flash.data_cache is not None:
        caches += f" for instructions and one of {_cache_text(flash.data_cache)} for data"
    kinds = zip(KINDS, counted.bytes, counted.misses, counted.ahead, strict=True)
    lines = [
        f"Flash, through a cache of {caches}, empty at the start:",
        *(
            f"  - {kind}: {read:,} bytes read, {missed:,} lines missed"
            + (f", {ahead:,} of them read ahead" if flash.prefetch and kind == "code" else "")
            for kind, read, missed, ahead in kinds
        ),
        f"{counted.refilled_bytes:,} bytes refilled, which takes {least:,} to {most:,} cycles more.",
    ]
    if profile.cycles is not None:
        least, most = counted.cycles(profile.cycles)
        lines.append(f"{least:,} to {most:,} cycles by the manual, with this flash.")
    return [*lines, f"By the {flash.source}; uncertain: {flash.uncertain}."]


def _cache_text(cache: Cache) -> str:
    return f"{cache.bytes:,} bytes ({cache.ways} ways, lines of {cache.line_bytes} bytes)"


def _flash_fields(counted: FlashReads | None, cycles: Span | None) -> dict[str, Any] | None:
    if counted is None:
        return None
    flash = counted.flash
    document: dict[str, Any] = {
        "cache": {
            **_cache_fields(flash.cache),
            **fields_of(flash, "hit_cycles", "source", "uncertain"),
        },
        "data_cache": None if flash.data_cache is None else _cache_fields(flash.data_cache),
        "prefetch": flash.prefetch,
        "miss_cycles": list(flash.miss_cycles),
        "bytes_read": dict(zip(KINDS, counted.bytes, strict=True)),
        "lines_missed": dict(zip(KINDS, counted.misses, strict=True)),
        "lines_read_ahead": dict(zip(KINDS, counted.ahead, strict=True)),
        "refilled_bytes": counted.refilled_bytes,
        "wait_cycles": dict(zip(("least", "most"), counted.waits, strict=True)),
    }
    if cycles is not None:
        with_flash = zip(("least", "most"), counted.cycles(cycles), strict=True)
        document["cycles_by_manual_with_flash"] = dict(with_flash)
    return document


def _cache_fields(cache: Cache) -> dict[str, Any]:
    return fields_of(cache, "bytes", "ways", "line_bytes")


def _ordered(cycles: Span) -> tuple[int, int, int]:
    return cycles.usual, cycles.least, cycles.most


def _milliseconds(cycles: int, clock: int) -> str:
    return f"{cycles / clock * 1000:.3f}"


def profile_fields(
    profile: Profile | Unprofiled | None, clock: int | None = None
) -> dict[str, Any]:
    """Keys of a document: "profile"; none if none was asked for."""
    if profile is None:
        return {}
    if isinstance(profile, Unprofiled):
        return {"profile": None, "profile_missing": profile.why}
    manual = profile.manual
    document: dict[str, Any] = {
        **fields_of(profile, "instructions", "macs"),
        "manual": None if manual is None else _manual_document(manual),
        **_cycles_fields(profile.cycles),
        "flash": _flash_fields(profile.flash, profile.cycles),
        "operators": [_operator_document(share) for share in profile.operators],
        "kernels": [_share_document(share) for share in profile.kernels],
        "functions": [
            {k: v for k, v in _share_document(share).items() if k != "macs"}
            for share in profile.functions
        ],
    }
    if clock is not None and profile.cycles is not None:
        document["clock_hz"] = clock
        document["milliseconds_by_manual_at_zero_wait_states"] = {
            key: cycles / clock * 1000
            for key, cycles in _cycles_fields(profile.cycles)["cycles_by_manual"].items()
        }
    return {"profile": document}


def _manual_document(manual: Manual) -> dict[str, Any]:
    return {**fields_of(manual, "core", "title", "assumptions"), "wait_states": 0}


def _operator_document(share: Share) -> dict[str, Any]:
    fields = {"operators": list(share.operators), "type": share.type or share.name}
    more = {k: v for k, v in _share_document(share).items() if k != "name"}
    return {**fields, "kernels": list(share.kernels), **more}


def _share_document(share: Share) -> dict[str, Any]:
    fields = fields_of(share, "name", "instructions", "macs")
    return {**fields, **_cycles_fields(share.cycles)}


def _cycles_fields(cycles: Span | None) -> dict[str, Any]:
    if cycles is None:
        return {}
    return {"cycles_by_manual": fields_of(cycles, "least", "usual", "most")}


def profile_csv(profile: Profile) -> dict[str, str]:
    """Tables by file name: operators.csv, kernels.csv, functions.csv."""
    named = {
        "operators.csv": profile.operators,
        "kernels.csv": profile.kernels,
        "functions.csv": profile.functions,
    }
    return {name: _csv(shares) for name, shares in named.items()}


def _csv(shares: Sequence[Share]) -> str:
    rows = []
    for share in shares:
        cycles = share.cycles
        costs = ("", "", "") if cycles is None else (cycles.least, cycles.usual, cycles.most)
        rows.append((share.name, share.type, share.kernels, share.instructions, share.macs, *costs))
    return csv_text(_COLUMNS, rows)

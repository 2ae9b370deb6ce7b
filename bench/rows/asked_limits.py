"""Rows about the programs: RAM, MACs, instructions and flash, each with its limit (KB = 1000 B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.rows.rivals import SWIFTNET, rival_arena, rival_chain, rival_instructions, rival_macs
from bench.rows.row_programs import COUNTED, TABLES, RowJob, RowOutcomes
from bench.shared.programs import FLOAT_BOUNDARY, M4, Outcome, Program, status
from bench.shared.tables import Detail, Record, Row, amount, cells, with_detail

_MOST_INSTRUCTIONS = 1.10
_FLASH_BYTES, _FLASH_SHARE = 4096, 0.02
_SHOWN_TABLES = (
    "rows",
    "ports",
    "nodes",
    "turns",
    "places",
    "codes",
    "tables",
    "kinds",
    "lowtide.o",
)
_RAM_PARTS = ("arena", "data", "bss", "stack", "total")


@dataclass(frozen=True, slots=True)
class Asked:
    """Limits in bytes; `bound` is the bound of live rows that was named with them, 0 if none was."""

    program: Program
    arena: int
    total: int = 0
    bound: int = 0


TABLE = (
    Asked(Program(SWIFTNET), 158_000, 160_500, 151_424),
    Asked(Program(SWIFTNET, "streamed"), 43_500, 46_000, 39_648),
    Asked(Program(FLOAT_BOUNDARY), 23_000, 25_000, 20_886),
    Asked(Program(FLOAT_BOUNDARY, "streamed"), 21_000, 23_000, 19_008),
    Asked(Program("mlperf_vww_96_int8"), 29_500, 31_500, 28_032),
    Asked(Program("mlperf_vww_96_int8", "streamed"), 11_000, 13_000, 9_984),
    Asked(Program("tflm_person_detect_int8"), 13_400, 15_400, 12_288),
    Asked(Program("tflm_person_detect_int8", "streamed"), 11_000, 13_000, 9_984),
    Asked(Program("mlperf_resnet8_int8"), 12_000, 14_000, 10_944),
    Asked(Program("mlperf_kws_int8"), 9_400, 11_400, 8_640),
)
CHAINS = (
    Asked(Program("zoo:mbv2-w0.35-144-chain", "streamed"), 20_500),
    Asked(Program("zoo:mbv2-w0.35-144-chain"), 67_000),
    Asked(Program("zoo:mn2-vww5-80-chain", "streamed"), 15_000),
    Asked(Program("zoo:mn2-vww5-80-chain"), 22_500),
    Asked(Program("zoo:mn2-320k-176-chain", "streamed"), 61_000),
    Asked(Program("zoo:mn2-320k-176-chain"), 103_000),
)
PROGRAMS = tuple(asked.program for asked in (*TABLE, *CHAINS))
"""Every model above, in every input mode above."""


def ram_jobs() -> list[RowJob]:
    """Every program of the table, on the M4."""
    return [RowJob(asked.program) for asked in TABLE]


def ram_rows(outcomes: RowOutcomes) -> list[Row]:
    """Arena and total RAM of bit-exact programs, then what they are made of."""
    rows: list[Row] = []
    for asked in TABLE:
        program, outcome = asked.program, outcomes[RowJob(asked.program)]
        rival, arena = rival_arena(program.network), outcome.figures.get("arena_bytes", 0)
        rows.append(limited(f"{program.label}: arena", asked.arena, arena, outcome, rival))
        total = outcome.total_ram
        rows.append(limited(f"{program.label}: RAM in all", asked.total, total, outcome, ""))
    return _with_parts(rows, "What the RAM is made of, in bytes", TABLE, outcomes)


def chain_jobs() -> list[RowJob]:
    """Paper 2's chains on the M4, and counting."""
    return [RowJob(asked.program, what) for asked in CHAINS for what in (M4, COUNTED)]


def chain_rows(outcomes: RowOutcomes) -> list[Row]:
    """Arena at no overhead, input and output included."""
    rows = []
    for asked in CHAINS:
        program = asked.program
        outcome, counting = outcomes[RowJob(program)], outcomes[RowJob(program, COUNTED)]
        arena = outcome.figures.get("arena_bytes", 0)
        own = outcome.figures.get("own_macs", 0)
        macs = counting.figures.get("counted_macs", outcome.figures.get("macs", 0))
        how = "counted" if "counted_macs" in counting.figures else "planned"
        exact = f"{amount(arena)} at {macs / max(1, own):.4g} x MACs ({how})"
        good = outcome.exact and arena <= asked.arena and macs == own
        values = {"measured": arena, "limit": asked.arena, "macs": macs, "own_macs": own}
        rows.append(
            Row(
                on=f"{program.label}: arena",
                asked=f"<= {amount(asked.arena)} at 1.0 x MACs",
                measured=exact if outcome.exact else outcome.problem,
                status=status(good, outcome),
                peer=rival_chain(program.network, own),
                values={**values, **as_values(outcome)},
            )
        )
    return _with_parts(rows, "What the chains' RAM is made of, in bytes", CHAINS, outcomes)


def _with_parts(
    rows: Sequence[Row], title: str, table: Sequence[Asked], outcomes: RowOutcomes
) -> list[Row]:
    lines: list[tuple[object, ...]] = []
    for asked in table:
        outcome = outcomes[RowJob(asked.program)]
        if outcome.state == "done":
            predicted = [outcome.figures[f"{part}_bytes"] for part in ("bound", "peak")]
            parts = [outcome.document["ram"][f"{part}_bytes"] for part in _RAM_PARTS]
            inputs = f"bit-exact, {outcome.document['samples']} inputs"
            said = outcome.problem or inputs
            lines.append((asked.program.label, asked.bound or "-", *predicted, *parts, said))
    columns = (
        *("", "row bound asked", "bound, any order", "peak, predicted"),
        *("arena", "data", "bss", "stack", "in all", "outputs"),
    )
    return with_detail(rows, Detail(f"{title}; {M4}", columns, cells(lines)))


def mac_jobs() -> list[RowJob]:
    """Every program, counting."""
    return [RowJob(program, COUNTED) for program in PROGRAMS]


def mac_rows(outcomes: RowOutcomes) -> list[Row]:
    """Executed MACs are the network's own; padding counts in both."""
    rows = []
    for program in PROGRAMS:
        outcome = outcomes[RowJob(program, COUNTED)]
        own = outcome.figures.get("own_macs", 0)
        counted = outcome.figures.get("counted_macs", 0)
        found = f"{counted:,}" + ("" if counted == own else f" ({counted - own:+,})")
        rows.append(
            Row(
                on=f"{program.label}: MACs executed",
                asked=f"{own:,}" if own else "the network's own",
                measured=found if outcome.exact else outcome.problem,
                status=status(outcome.exact and counted == own, outcome),
                peer=rival_macs(program.network),
                values={"own_macs": own, "counted_macs": counted},
            )
        )
    return rows


def instruction_jobs() -> list[RowJob]:
    """Every program on the M4, and each network layer by layer."""
    programs = [*PROGRAMS, *(program.by_operators for program in PROGRAMS)]
    return [RowJob(program) for program in programs]


def instruction_rows(outcomes: RowOutcomes) -> list[Row]:
    """Instructions of one inference against those layer by layer, where the input is resident."""
    rows = []
    for program in PROGRAMS:
        outcome, before = outcomes[RowJob(program)], outcomes[RowJob(program.by_operators)]
        count, base = outcome.instructions, before.instructions
        found, good = outcome.problem or before.problem, False
        if outcome.exact and before.exact:
            found = f"{count / 1e6:,.2f} M: {100 * (count / base - 1):+.2f} %"
            good = count <= _MOST_INSTRUCTIONS * base
        rows.append(
            Row(
                on=f"{program.label}: instructions",
                asked=f"layers' {base / 1e6:,.2f} M, at most +10 %"
                if base
                else "layers', at most +10 %",
                measured=found,
                status=status(good, outcome, before),
                peer=rival_instructions(program.network),
                values={"measured": count, "operators": base},
            )
        )
    return rows


def flash_jobs() -> list[RowJob]:
    """As for instructions, and a look into every program's tables."""
    return [RowJob(job.program, what) for job in instruction_jobs() for what in (M4, TABLES)]


def flash_rows(outcomes: RowOutcomes) -> list[Row]:
    """Code and tables of the linked program against those layer by layer; weights are left out."""
    rows: list[Row] = []
    lines: list[tuple[object, ...]] = []
    for program in PROGRAMS:
        outcome, before = outcomes[RowJob(program)], outcomes[RowJob(program.by_operators)]
        tables = outcomes[RowJob(program, TABLES)].figures
        layers = outcomes[RowJob(program.by_operators, TABLES)].figures
        found, good, extra, limit = outcome.problem or before.problem, False, 0, 0
        if outcome.state == before.state == "done":
            code, constants = (outcome.flash(p) - before.flash(p) for p in ("code", "constant"))
            weights = outcome.flash("weights")
            extra, limit = code + constants, max(_FLASH_BYTES, int(weights * _FLASH_SHARE))
            found, good = f"{extra:+,} B (code {code:+,}, constants {constants:+,})", extra <= limit
            sizes = [tables.get(table, 0) for table in _SHOWN_TABLES]
            of_layers = sum(layers.get(table, 0) for table in _SHOWN_TABLES)
            whole = outcome.flash("code", "constant")
            lines.append((program.label, *sizes, sum(sizes), of_layers, whole, weights))
        rows.append(
            Row(
                on=f"{program.label}: flash",
                asked=f"layers', at most {limit:+,} B" if limit else "layers' and little more",
                measured=found,
                status=status(good, outcome, before),
                values={"measured": extra, "limit": limit, "tables": dict(tables)},
            )
        )
    title = f"The step program's tables, and the code that walks them, in bytes; {M4}"
    columns = ("", *_SHOWN_TABLES, "in all", "of layers", "flash but weights", "weights")
    return with_detail(rows, Detail(title, columns, cells(lines)))


def limited(
    on: str, limit: int, found: int, outcome: Outcome, rival: str, record: Record | None = None
) -> Row:
    """A figure in bytes that must not pass `limit`, of an outcome that must be bit-exact as well.

    The `record` is dropped if the outcome is not.
    """
    return Row(
        on=on,
        asked=f"<= {amount(limit)}",
        measured=amount(found) if outcome.exact else outcome.problem,
        status=status(outcome.exact and found <= limit, outcome),
        peer=rival,
        values={"measured": found, "limit": limit, **as_values(outcome)},
        record=record if outcome.exact else None,
    )


def as_values(outcome: Outcome) -> dict[str, object]:
    return {"problem": outcome.problem, "plan": outcome.figures, "run": outcome.document}

"""Rows about being right: bit-exact on the host and on boards, refusals, compilers' warnings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.deploy.layer_by_layer import (
    HOST,
    WHOLE,
    CrossCompiler,
    LayerJob,
    LayerOutcome,
    LayerOutcomes,
    as_values,
    compiled,
    warnings_of,
)
from bench.shared.outside import NeedsError, shared_model
from bench.shared.programs import FLOAT_BOUNDARY
from bench.shared.tables import Detail, Row, amount, cells, verdict
from bench.shared.work import note
from lowtide import zoo
from lowtide.emit.runtime import kernel_files
from lowtide.errors import LowtideError, MissingToolError
from lowtide.machines.board import load_boards

_FLOAT_MODEL = "tflm_mnist_lstm"
QUANTISED = (
    "mlperf_ad01_int8",
    "mlperf_kws_int8",
    "mlperf_resnet8_int8",
    "mlperf_vww_96_int8",
    "swiftnet_cell_uint8",
    FLOAT_BOUNDARY,
    "tflm_micro_speech_int8",
    "tflm_person_detect_int8",
)
_ZOO = tuple(f"zoo:{name}" for name in zoo.names())
_SETS = (
    ("shared/models", "every quantised model", QUANTISED),
    ("the zoo", "every network", _ZOO),
)
_BOARDS = ("mps2-an386", "rv32-virt")
_KWS_BOARDS = ("mps2-an385", "mps2-an500", "mps3-an547")
_SMALL_BOARDS = ("microbit", "hifive1b")
_SMALL_RAM = 16_384
_WITHOUT_WEIGHTS = ("code_bytes", "constant_bytes")


def _jobs_of(networks: Sequence[str], target: str) -> list[LayerJob]:
    jobs = [LayerJob(network, target) for network in networks]
    if FLOAT_BOUNDARY in networks:
        jobs.append(LayerJob(FLOAT_BOUNDARY, target, quantized_io=True))
    return jobs


def host_jobs() -> list[LayerJob]:
    """Every network on the host."""
    return [job for _, _, networks in _SETS for job in _jobs_of(networks, HOST)]


def host_rows(outcomes: LayerOutcomes) -> list[Row]:
    """Every tensor of every network, under sanitizers."""
    rows = []
    for where, what, networks in _SETS:
        jobs = _jobs_of(networks, HOST)
        row = _set_row(
            f"{what} of {where}, host", "every tensor bit-exact, 8 inputs", jobs, outcomes
        )
        lines = [_host_line(job, outcomes[job]) for job in jobs]
        columns = ("network", "tensors", "inputs", "oracle", "result")
        rows.append(_with_detail(row, f"On the host, ASan and UBSan: {where}", columns, lines))
    return rows


def board_jobs() -> list[LayerJob]:
    """Every network on a Cortex-M4 and on RV32."""
    return [job for b in _BOARDS for _, _, networks in _SETS for job in _jobs_of(networks, b)]


def board_rows(outcomes: LayerOutcomes) -> list[Row]:
    """The outputs of every network on two emulated boards."""
    rows = []
    for board in _BOARDS:
        for where, what, networks in _SETS:
            jobs = _jobs_of(networks, board)
            row = _set_row(f"{what} of {where}, {board}", "outputs bit-exact", jobs, outcomes)
            lines = [_board_line(job, outcomes[job]) for job in jobs]
            columns = ("network", "RAM", "flash", "without weights", "instructions", "result")
            rows.append(_with_detail(row, f"On {board}: {where}", columns, lines))
    return rows


def core_jobs() -> list[LayerJob]:
    """Keyword spotting on the other cores, micro_speech on the smallest parts."""
    return [
        *(LayerJob("mlperf_kws_int8", board) for board in _KWS_BOARDS),
        *(LayerJob("tflm_micro_speech_int8", board) for board in _SMALL_BOARDS),
    ]


def core_rows(outcomes: LayerOutcomes) -> list[Row]:
    """One row per network and core; on the smallest parts, within their RAM."""
    rows = []
    for job in core_jobs():
        outcome = outcomes[job]
        small = job.target in _SMALL_BOARDS
        good = outcome.exact
        measured = outcome.problem
        if outcome.state == "done":
            total = outcome.document["ram"]["total_bytes"]
            good &= total <= _SMALL_RAM or not small
            count = outcome.document["instructions"]
            exact = "" if outcome.exact else f"; {outcome.problem}"
            measured = f"RAM {amount(total)}, {count / 1e6:.2f} M instructions{exact}"
        rows.append(
            Row(
                on=f"{job.label} on {job.target} ({load_boards()[job.target].core.name})",
                asked="outputs bit-exact" + (f", RAM <= {amount(_SMALL_RAM)}" if small else ""),
                measured=measured,
                status="not measured" if outcome.state == "absent" else verdict(good),
                values=as_values(outcome),
            )
        )
    return rows


def refusal_rows() -> list[Row]:
    """A float model is refused, with the way out."""
    path = shared_model(_FLOAT_MODEL)
    note(f"lowtide compile {path.name}")
    out = Path("build") / "never_written"
    command = [sys.executable, "-m", "lowtide", "compile", str(path), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    said = " ".join(done.stderr.split())
    good = (
        done.returncode == 3 and "remedy" in said and "quanti" in said.lower() and not out.exists()
    )
    return [
        Row(
            on=f"{_FLOAT_MODEL} (float)",
            asked="refused with the remedy, exit 3",
            measured=f"exit {done.returncode}: {said}",
            status=verdict(good),
            values={"exit_code": done.returncode, "stderr": said},
        )
    ]


def _targets() -> list[CrossCompiler]:
    boards = load_boards()
    cores = ["microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps3-an547"]
    cores += ["hifive1b", "esp32c3"]
    return [
        CrossCompiler("gcc, x86-64", HOST, ("-O2",)),
        *(
            CrossCompiler(
                f"{boards[name].core.toolchain}-gcc, {boards[name].core.name}",
                boards[name].core.toolchain,
                (*boards[name].flags, boards[name].optimise),
            )
            for name in cores
        ),
        CrossCompiler("xtensa-lx106-elf-gcc (compiled only)", "xtensa-lx106-elf", ("-O2",)),
    ]


def compiler_rows() -> list[Row]:
    """All generated C and all kernels, with every compiler, in one go per compiler."""
    note("generating the C of every network")
    files = {name: text.encode() for name, text in kernel_files().items()}
    left_out = []
    for network in (*_ZOO, *QUANTISED):
        try:
            files |= compiled(network, WHOLE).files
            if network == FLOAT_BOUNDARY:
                integers = replace(WHOLE, quantized_io=True, name="te_vww_int8")
                files |= compiled(network, integers).files
        except (NeedsError, LowtideError, ValueError) as error:
            left_out.append(f"{network}: {error}".partition("\n")[0])
    sources = sum(name.endswith(".c") for name in files)
    failed = [reason for reason in left_out if "needs the shared" not in reason]
    rows = []
    for target in _targets():
        note(f"{sources} files with {target.name}")
        values: dict[str, object] = {"sources": sources, "left_out": left_out}
        asked = "no warning, -Wall -Wextra -Wconversion -Wshadow -Wpedantic"
        try:
            said = warnings_of(files, target)
        except MissingToolError as error:
            rows.append(Row(target.name, asked, f"needs a tool: {error.cause}", "not measured"))
            continue
        except LowtideError as error:
            rows.append(Row(target.name, asked, str(error), "MISSED"))
            continue
        count = said.count("warning:")
        measured = f"{count} warnings in {sources} files"
        measured += f"; {len(failed)} networks not generated" if failed else ""
        values["warnings"] = said
        good = not said and not failed
        rows.append(Row(target.name, asked, measured, verdict(good), values=values))
    return rows


def _set_row(on: str, asked: str, jobs: Sequence[LayerJob], outcomes: LayerOutcomes) -> Row:
    found = [outcomes[job] for job in jobs if outcomes[job].state != "absent"]
    exact = sum(outcome.exact for outcome in found)
    absent = len(jobs) - len(found)
    measured = f"{exact} of {len(found)}"
    if absent:
        reason = next(outcomes[job].problem for job in jobs if outcomes[job].state == "absent")
        measured = f"{measured}; {absent}: {reason}" if found else reason
    return Row(
        on=on,
        asked=asked,
        measured=measured,
        status=verdict(exact == len(found)) if found else "not measured",
        values={"networks": {job.label: as_values(outcomes[job]) for job in jobs}},
    )


def _with_detail(
    row: Row, title: str, columns: tuple[str, ...], lines: Sequence[Sequence[object]]
) -> Row:
    detail = Detail(title, columns, cells(lines))
    return Row(row.on, row.asked, row.measured, row.status, row.peer, row.values, (detail,))


def _host_line(job: LayerJob, outcome: LayerOutcome) -> tuple[object, ...]:
    document = outcome.document
    if outcome.state != "done":
        return (job.label, "-", "-", "-", outcome.problem)
    figures = (document["tensors"], document["samples"], document["engine"])
    return (job.label, *figures, outcome.problem or "bit-exact")


def _board_line(job: LayerJob, outcome: LayerOutcome) -> tuple[object, ...]:
    if outcome.state != "done":
        return (job.label, "-", "-", "-", "-", outcome.problem)
    ram, flash = outcome.document["ram"], outcome.document["flash"]
    code = sum(flash[part] for part in _WITHOUT_WEIGHTS)
    figures = (ram["total_bytes"], flash["total_bytes"], code, outcome.document["instructions"])
    return (job.label, *figures, outcome.problem or "bit-exact")

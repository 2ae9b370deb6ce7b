"""The rows of networks with state: what is measured on boards, and all networks of others, verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.shared.outside import ROOT, NeedsError
from bench.shared.programs import M4, end_of, problem_of
from bench.shared.tables import Row, amount, verdict
from bench.shared.work import in_two_processes, note
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import LowtideError, ModelError
from lowtide.ir import Model
from lowtide.machines.board import load_boards
from lowtide.report.deployment import verified_text
from lowtide.zoo.loading import load

_FOLDERS = tuple(ROOT.parent / "shared" / name for name in ("models", "world"))


@dataclass(frozen=True, slots=True)
class _Case:
    """A network with state on a board: at most so many bytes of RAM (of arena and state alone, if
    `alone`) and so many instructions; and what its manifest reserves for its arena."""

    network: str
    board: str
    ram: int = 0
    instructions: int = 0
    reserved: int = 0
    alone: bool = False


# Reserved: `tensor_arena_size` in the manifests of microWakeWord's models.
_CASES = (
    _Case("mww_okay_nabu_v2", M4, ram=5_000, instructions=127_160, reserved=26_080),
    _Case("mww_vad_v2", "microbit", ram=2_600, reserved=16_772),
    _Case("mww_okay_nabu_v1", M4, ram=9_200, alone=True),
    _Case("tflm_mnist_lstm_int8", M4),
    _Case("zoo:streaming-wake-word", M4),
    _Case("zoo:lstm-gestures", M4),
)


def ram_rows() -> list[Row]:
    """RAM in all and instructions of one invocation, measured on a board."""
    rows = dict(row for _, row in in_two_processes(_ram_row, _CASES))
    return [rows[case] for case in _CASES]


def _ram_row(case: _Case) -> tuple[_Case, Row]:
    wanted = f"at most {amount(case.ram)}" if case.ram else "bit-exact"
    where = f"{case.network} on {case.board}: " + ("arena, state" if case.alone else "RAM in all")
    try:
        board = load_boards()[case.board]
        compiled = compile_model(_loaded(case.network), Options(target=board.core.target))
        ran = checking.run(compiled, board)
    except (NeedsError, LowtideError) as error:
        state, problem = end_of(error)
        return case, Row(where, wanted, problem, "not measured" if state == "absent" else "MISSED")
    ram, count = ran.measured.ram, max(ran.measured.instructions)
    figure = compiled.ram_bytes if case.alone else ram.total_bytes
    good = not problem_of(ran) and figure <= (case.ram or figure)
    good = good and count <= (case.instructions or count)
    record = {
        "network": case.network,
        "board": case.board,
        "arena_bytes": ram.arena_bytes,
        "state_bytes": ram.state_bytes,
        "ram_bytes": ram.total_bytes,
        "instructions": count,
        "reserved_bytes": case.reserved,
    }
    row = Row(
        on=where,
        asked=wanted + (f"; {case.instructions:,}" if case.instructions else ""),
        measured=problem_of(ran) or f"{amount(figure)}; {count:,} instructions",
        status=verdict(good),
        peer=f"manifest: {amount(case.reserved)}" if case.reserved else "",
        values=dict(record),
        record=None if problem_of(ran) else record,
    )
    return case, row


def exact_rows() -> list[Row]:
    """Every network of others that compiles, one row for all."""
    paths = [str(path) for folder in _FOLDERS for path in sorted(folder.rglob("*.tflite"))]
    if not paths:
        return [Row("networks of others", "bit-exact", "needs ../shared", "not measured")]
    found: dict[str, str] = {}
    for progress, (path, problem) in in_two_processes(_verified, paths):
        found[path] = problem
        note(f"{progress} networks: {Path(path).name}: {problem or 'bit-exact'}")
    refused = [path for path, problem in found.items() if problem.startswith("refused")]
    wrong = [path for path, problem in found.items() if problem and path not in refused]
    return [
        Row(
            on="verify, all of ../shared/models and world",
            asked="all that compile: bit-exact",
            measured=f"{len(found) - len(refused) - len(wrong)} bit-exact, {len(refused)} refused"
            + "".join(f"; {Path(path).name}: {found[path]}" for path in wrong),
            status=verdict(not wrong),
            values={Path(path).name: problem for path, problem in found.items()},
        )
    ]


def _verified(path: str) -> tuple[str, str]:
    try:
        compiled = compile_model(load(path), Options())
    except ModelError as error:
        return path, f"refused: {error.cause}"
    except LowtideError as error:
        return path, str(error)
    try:
        result = checking.verify(compiled)
    except LowtideError as error:
        return path, str(error)
    return path, "" if result.bit_exact else verified_text(compiled, result).partition("\n")[0]


def _loaded(network: str) -> Model:
    if network.startswith("zoo:"):
        return load(network)
    for folder in _FOLDERS:
        if (folder / f"{network}.tflite").is_file():
            return load(str(folder / f"{network}.tflite"))
    raise NeedsError(f"needs the shared networks ({network}.tflite)")

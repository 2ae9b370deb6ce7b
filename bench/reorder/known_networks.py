"""Rows about networks: the paper's example, its real network, TFLM's arena, the API's speed."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.reorder.graphs import peak_of
from bench.reorder.in_litert import compare_in_litert
from bench.shared.outside import peer, peer_value, shared_model
from bench.shared.programs import path_of
from bench.shared.tables import Detail, Row, amount, cells, verdict
from bench.shared.work import note, timed
from lowtide.commands import reordering
from lowtide.commands.analysis import Timeline
from lowtide.ir import Graph, Model
from lowtide.oracle.interpreters import first_difference, random_inputs, tflm_arena, tflm_outputs
from lowtide.place import planned
from lowtide.place.tensors import tflm_problem
from lowtide.zoo.loading import load

# Asked. Figure 2 and figure 3 in the paper's Appendix A: operator, tensors in RAM (0: the input,
# k: the output of operator k), bytes.
_Table = tuple[tuple[int, frozenset[int], int], ...]
_FILE_ORDER: _Table = (
    (1, frozenset({0, 1}), 4_704),
    (2, frozenset({1, 2}), 4_704),
    (3, frozenset({1, 2, 3}), 5_216),
    (4, frozenset({1, 3, 4}), 4_160),
    (5, frozenset({3, 4, 5}), 1_280),
    (6, frozenset({4, 5, 6}), 1_024),
    (7, frozenset({5, 6, 7}), 1_024),
)
_BEST_ORDER: _Table = (
    (1, frozenset({0, 1}), 4_704),
    (4, frozenset({1, 4}), 3_648),
    (6, frozenset({1, 4, 6}), 3_904),
    (2, frozenset({1, 2, 6}), 4_960),
    (3, frozenset({2, 3, 6}), 2_336),
    (5, frozenset({3, 5, 6}), 1_024),
    (7, frozenset({5, 6, 7}), 1_024),
)
_FIGURE1 = (5_216, 4_960)
_SWIFTNET = (351_232, 301_056)
_SWIFTNET_SECONDS = 2.0
_ANALYZE_MS = {"te_vww": 20.0, "swiftnet_cell_uint8": 40.0}
# Network -> its name in the documents, TFLM's head before and after, how it gets smaller, and its name
# among the peers.
_HEADS = {
    "mlperf_vww_96_int8": (
        "MLPerf Tiny visual wake words (96x96, int8)",
        (73_728, 55_296),
        "same order, planned offsets",
        "vww_96",
    ),
    "zoo:branchy-cell": (
        "zoo:branchy-cell (48x48, int8)",
        (64_512, 46_080),
        "operators reordered, planned offsets",
        "",
    ),
}

_RUNS = 3
_SAMPLES = 3
_HEAD_SAMPLES = 5
_CALLS = 20


def figure1() -> list[Row]:
    """The paper's example graph, with every row of its tables."""
    note("zoo:figure1")
    model = load("zoo:figure1")
    result = reordering.analyze(model)
    before = peak_of(model.graph, result.file.order)
    after = peak_of(model.graph, result.best.order)
    good = (before, after) == _FIGURE1 == (result.file.peak_bytes, result.best.peak_bytes)
    return [
        Row(
            on="zoo:figure1, peak",
            asked=_arrow(*_FIGURE1),
            measured=f"{_arrow(before, after)}{_proved(result.best_order.proved_optimal)}",
            status=verdict(good and result.best_order.proved_optimal),
            values={"file_order_peak_bytes": before, "best_order_peak_bytes": after},
        ),
        _appendix(model.graph, "default order", result.file, _FILE_ORDER),
        _appendix(model.graph, "best order", result.best, _BEST_ORDER),
    ]


def _appendix(graph: Graph, name: str, found: Timeline, paper: _Table) -> Row:
    number = {graph.inputs[0]: 0} | {op.outputs[0]: op.id + 1 for op in graph.ops}
    ours = [
        (step.operator + 1, frozenset(number[t] for t in step.working_set), step.bytes)
        for step in found.steps
    ]
    lines = []
    same = 0
    for theirs, mine in zip(paper, ours, strict=True):
        same += theirs == mine
        sets = (_braces(theirs[1]), _braces(mine[1]))
        line = (theirs[0], sets[0], theirs[2], mine[0], sets[1], mine[2], verdict(theirs == mine))
        lines.append(line)
    columns = ("paper: operator", "tensors", "bytes", "ours: operator", "tensors", "bytes", "")
    return Row(
        on=f"zoo:figure1, Appendix A, {name}",
        asked=f"all {len(paper)} rows",
        measured=f"{same} rows equal",
        status=verdict(same == len(paper) == len(ours)),
        values={"rows": len(paper), "equal": same},
        details=(Detail(f"Appendix A, {name}", columns, cells(lines)),),
    )


def swiftnet() -> list[Row]:
    """The paper's network: peaks, the whole command's time, and the written file's values."""
    path = shared_model("swiftnet_cell_uint8")
    source = load(path)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.tflite"
        note(f"lowtide reorder {path.name}, {_RUNS} times")
        times = [_reorder(path, out) for _ in range(_RUNS)]
        written = load(out)
    proved = reordering.analyze(source).best_order.proved_optimal
    peaks = (_file_peak(source), _file_peak(written))
    seconds = statistics.median(times)
    note(f"{path.name}: source and written file in LiteRT")
    same = compare_in_litert(source.source, written.source, samples=_SAMPLES, seed=7)
    rival = peer_value("tflite_tools", path.stem)
    record = {
        "network": "SwiftNet Cell (224x224, uint8)",
        "figure": "peak memory, computed",
        "before_bytes": peaks[0],
        "after_bytes": peaks[1],
        "how": "operators reordered" + ("; proved optimal" if proved else ""),
        "seconds": round(seconds, 1),
        "tflite_tools_bytes": rival["best"] if rival else None,
        "tflite_tools_seconds": rival["seconds"] if rival else None,
    }
    moved = sum(
        a.outputs != b.outputs for a, b in zip(source.graph.ops, written.graph.ops, strict=True)
    )
    return [
        Row(
            on=f"{path.stem}, peak",
            asked=f"{_arrow(*_SWIFTNET)}, proved optimal",
            measured=f"{_arrow(*peaks)}{_proved(proved)}",
            status=verdict(peaks == _SWIFTNET and proved),
            peer=peer(
                "tflite_tools",
                path.stem,
                show=lambda p: f"tflite-tools: {_arrow(p['default'], p['best'])}",
            ),
            values={
                "file_order_peak_bytes": peaks[0],
                "written_peak_bytes": peaks[1],
                "proved_optimal": proved,
            },
            record=record if same.equal == same.tensors else None,
        ),
        Row(
            on=f"{path.stem}, whole command",
            asked=f"<= {_SWIFTNET_SECONDS:g} s",
            measured=f"{seconds:.2f} s (median of {_RUNS})",
            status=verdict(seconds <= _SWIFTNET_SECONDS),
            peer=peer(
                "tflite_tools",
                path.stem,
                "seconds",
                show=lambda s: f"tflite-tools: {s} s",
            ),
            values={"seconds": seconds, "runs": times},
        ),
        Row(
            on=f"{path.stem}, written file",
            asked="bit-identical in LiteRT",
            measured=f"{same.equal} of {same.tensors} tensors equal on {_SAMPLES} random inputs "
            f"({same.varying} vary with the input; {moved} operators in another place)",
            status=verdict(same.equal == same.tensors and same.varying > 0 and moved > 0),
            values={
                "tensors": same.tensors,
                "equal": same.equal,
                "varying": same.varying,
                "operators_moved": moved,
            },
        ),
    ]


def offline_heads() -> list[Row]:
    """TFLM follows the offsets that `--offline-plan` stores."""
    return [_head(str(path_of(network)), *asked) for network, asked in _HEADS.items()]


def _head(model: str, name: str, asked: tuple[int, int], how: str, key: str) -> Row:
    note(f"lowtide reorder {name} --offline-plan")
    source = load(model)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.tflite"
        _reorder(model, out, "--offline-plan")
        written = load(out)
    after = written.source
    heads = (tflm_arena(source.source).head, tflm_arena(after).head)
    graph = source.graph
    shapes = [(i, graph.tensors[i].shape, np.dtype(np.int8)) for i in graph.inputs]
    inputs = random_inputs(shapes, _HEAD_SAMPLES, seed=7)
    left, right = tflm_outputs(source.source, inputs), tflm_outputs(after, inputs)
    differs = first_difference(left, right)
    # No order is better, and no offsets are for this one.
    placed = planned(tflm_problem(written.graph, range(len(written.graph.ops))))
    proved = placed.proved_optimal and placed.arena_bytes == heads[1]
    proved &= reordering.analyze(source).best_order.proved_optimal
    record = {
        "network": name,
        "figure": "arena head, measured",
        "before_bytes": heads[0],
        "after_bytes": heads[1],
        "how": how + ("; proved optimal" if proved else ""),
    }
    return Row(
        on=f"{name} --offline-plan",
        asked=f"TFLM's head {_arrow(*asked)}, same outputs",
        measured=f"{_arrow(*heads)}; outputs on {_HEAD_SAMPLES} inputs "
        + ("equal" if differs is None else f"DIFFER: {differs}"),
        status=verdict(heads == asked and differs is None),
        peer=peer("tflm", key, "act_bytes", "ref", show=_tflm_alone) if key else "",
        values={
            "head_before": heads[0],
            "head_after": heads[1],
            "outputs_equal": differs is None,
        },
        record=record if differs is None else None,
    )


def _tflm_alone(head: int) -> str:
    return f"TFLM alone: {amount(head)}"


def analyze_speed() -> list[Row]:
    """How long one call takes inside somebody's search."""
    return [_speed(name, limit) for name, limit in _ANALYZE_MS.items()]


def _speed(name: str, limit: float) -> Row:
    path = shared_model(name)
    note(f"analyze({path.name}), {_CALLS} calls")
    model = load(path)
    times = sorted(timed(lambda: reordering.analyze(model))[1] * 1e3 for _ in range(_CALLS))
    middle = statistics.median(times)
    return Row(
        on=f"analyze(), {path.stem} loaded",
        asked=f"<= {limit:g} ms",
        measured=f"{middle:.1f} ms (median of {_CALLS}; {times[0]:.1f} to {times[-1]:.1f})",
        status=verdict(middle <= limit),
        values={"median_ms": middle, "calls_ms": times},
        record={"network": name, "milliseconds": round(middle, 1)},
    )


def _reorder(source: Path | str, out: Path, *options: str) -> float:
    """Run the command as a user does, Python's start included; how many seconds it took."""
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "lowtide", "reorder", str(source), "-o", str(out)]
    command += ["--always-write", *options]
    done, seconds = timed(
        lambda: subprocess.run(
            command, cwd=out.parent, capture_output=True, text=True, check=False, timeout=300
        )
    )
    if done.returncode:
        raise RuntimeError(f"lowtide reorder failed: {done.stderr.strip()}")
    return seconds


def _file_peak(model: Model) -> int:
    return peak_of(model.graph, range(len(model.graph.ops)))


def _arrow(before: int, after: int) -> str:
    return f"{before:,} -> {amount(after)}"


def _proved(proved: bool) -> str:
    return ", proved optimal" if proved else ", NOT proved optimal"


def _braces(numbers: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(numbers))) + "}"

"""Is the arena that lowtide predicts for TFLM the one that TFLM allocates?

Why: the prediction is what users see as "before", so it is checked against TFLM itself on every
network at hand. The prediction counts tensors only. Where TFLM's head is larger, the scratch buffers
of a kernel must account for it to the byte: they are added to the tensors and placed again.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.shared.outside import NeedsError, shared_models
from bench.shared.tables import Detail, Row, amount, cells, verdict
from bench.shared.work import note
from lowtide import zoo
from lowtide.commands import reordering
from lowtide.ir import Graph, Model
from lowtide.oracle.interpreters import OracleError, tflm_arena
from lowtide.place import greedy
from lowtide.place.problem import Item, Problem
from lowtide.place.tensors import tensor_problem
from lowtide.zoo.loading import load

_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
_LSTM_BUFFERS, _CELL_STATE = (
    4,
    19,
)  # unidirectional_sequence_lstm.cc; the input that holds the state

# Operators whose reference kernels in TFLM may call RequestScratchBufferInArena.
_ASKS_SCRATCH = frozenset(
    {"ADD_N", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MIRROR_PAD", "SVDF"}
    | {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "TRANSPOSE_CONV", _LSTM}
    | {"TFLite_Detection_PostProcess"}
)


@dataclass(frozen=True, slots=True)
class _Head:
    """One network: our figure, TFLM's own (None where it does not load), and why they differ."""

    name: str
    ours: int
    tflm: int | None
    why: str
    good: bool


def arena_heads() -> list[Row]:
    """All shared models, then all networks of the zoo."""
    rows = []
    names = [f"zoo:{name}" for name in zoo.names()]
    try:
        rows.append(_row("every model in shared/models", [str(p) for p in shared_models()]))
    except NeedsError as error:
        asked = "equals TFLM's head"
        on = "tflm_greedy_arena_bytes, every model in shared/models"
        rows.append(Row(on, asked, str(error), "not measured"))
    return [*rows, _row("every network of the zoo", names)]


def _row(what: str, paths: list[str]) -> Row:
    note(f"TFLM's own arena for {len(paths)} networks")
    with ThreadPoolExecutor(max_workers=2) as pool:
        heads = list(pool.map(_head, paths))
    loaded = [head for head in heads if head.tflm is not None]
    equal = sum(head.tflm == head.ours for head in loaded)
    scratch = sum(head.good and head.tflm != head.ours for head in loaded)
    lines = [
        (
            head.name,
            head.ours,
            "-" if head.tflm is None else head.tflm,
            "-" if head.tflm is None else head.tflm - head.ours,
            head.why,
        )
        for head in heads
    ]
    return Row(
        on=f"tflm_greedy_arena_bytes, {what}",
        asked="equals TFLM's head, or the kernel's scratch is the difference",
        measured=f"{equal} of {len(loaded)} equal, {scratch} differ by scratch alone; "
        f"{len(heads) - len(loaded)} not loaded by TFLM",
        status=verdict(bool(loaded) and all(head.good for head in heads)),
        values={
            "networks": [
                {
                    "name": head.name,
                    "tflm_greedy_arena_bytes": head.ours,
                    "tflm_head": head.tflm,
                    "note": head.why,
                }
                for head in heads
            ]
        },
        record={
            "networks": what,
            "loaded": len(loaded),
            "equal": equal,
            "others": [
                {"name": h.name, "predicted_bytes": h.ours, "measured_bytes": h.tflm, "why": h.why}
                for h in loaded
                if h.tflm != h.ours
            ],
        },
        details=(
            Detail(
                f"tflm_greedy_arena_bytes, {what}",
                ("network", "ours", "TFLM's head", "difference", "why"),
                cells(lines),
            ),
        ),
    )


def _head(path: str) -> _Head:
    model = load(path)
    name = path if path.startswith("zoo:") else path.replace("\\", "/").rsplit("/", 1)[-1]
    ours = reordering.analyze(model).tflm_greedy_arena_bytes
    try:
        head = tflm_arena(model.source).head
    except OracleError as error:
        return _Head(name, ours, None, f"not loaded: {_reason(error.cause)}", good=True)
    if head == ours:
        return _Head(name, ours, head, "", good=True)
    why, good = _difference(model, head, ours)
    return _Head(name, ours, head, why, good)


def _reason(cause: str) -> str:
    """The engine's own words: the first of the lines it printed."""
    line = cause.partition(": ")[2].split(" / ", maxsplit=1)[0] or cause
    return line.partition(".cc ")[2] or line


def _difference(model: Model, head: int, ours: int) -> tuple[str, bool]:
    scratch = _scratch(model.graph)
    if scratch:
        problem = tensor_problem(model.graph, range(len(model.graph.ops)))
        both = Problem((*problem.items, *scratch), problem.align)
        if greedy(problem).arena_bytes == ours and greedy(both).arena_bytes == head:
            total = len(scratch) * scratch[0].size
            each = f"{len(scratch)} buffers of {amount(scratch[0].size)} = {amount(total)}"
            return f"scratch of {_LSTM}: {each}", True
    asking = sorted({op.label for op in model.graph.ops} & _ASKS_SCRATCH)
    return f"not accounted for; may ask for scratch: {', '.join(asking) or 'none'}", False


def _scratch(graph: Graph) -> list[Item]:
    """Scratch buffers whose sizes are known, each live while its operator runs."""
    return [
        Item(-1 - k, graph.tensors[op.inputs[_CELL_STATE]].bytes, op.id + 1, op.id + 2)
        for op in graph.ops
        if op.type == _LSTM
        for k in range(_LSTM_BUFFERS)
    ]

"""The figures of `analyze` agree with each other, with published ones, and with TFLM's own.

Why: these numbers are what the tool is for. Each is checked against something else than the code
that computes it: a sum over sets, a paper, or the arena that TensorFlow Lite Micro allocates.
"""

from __future__ import annotations

import math

import pytest

from lowtide.commands.analysis import Timeline, analyze, timeline
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.oracle.interpreters import OracleError, tflm_arena
from lowtide.passes import resolve_variables
from networks import NETWORKS, contents, loaded, present

networks = pytest.mark.parametrize("name", NETWORKS)

# uint8 convolutions; the prediction is what TFLM's planner would give for the tensors.
NOT_IN_TFLM = {"swiftnet_cell_uint8": 376_320}

# Scratch buffers that kernels ask for on top of the tensors, where they raise TFLM's arena. The LSTM
# kernel wants four of batch * units elements of the cell state's type: here 1 * 20 float32 each, at
# the network's peak. MEAN's, 4 bytes for each element of its output, fit beside smaller tensors.
SCRATCH = {"tflm_mnist_lstm": 4 * 80, "lstm-gestures": 4 * 32}  # 16 int16 each
SCRATCH["audio-front-end"] = 960  # what its transform works in


def agrees(graph: Graph, found: Timeline) -> None:
    """Assert that a timeline's parts agree with each other."""
    sizes = {t.id: t.bytes for t in graph.tensors}
    assert sorted(found.order) == list(range(len(graph.ops)))
    assert tuple(step.operator for step in found.steps) == found.order
    assert set(found.start_set) <= set(graph.inputs)
    assert found.start_bytes == sum(sizes[t] for t in found.start_set)
    for step in found.steps:
        op = graph.ops[step.operator]
        assert step.type == op.label
        assert step.name == (graph.tensors[op.outputs[0]].name if op.outputs else "")
        assert step.bytes == sum(sizes[t] for t in step.working_set)
        assert list(step.working_set) == sorted(set(step.working_set))
        arena = {t for t in (*op.inputs, *op.outputs) if t >= 0 and in_arena(graph.tensors[t])}
        assert arena <= set(step.working_set)
    assert found.peak_bytes == max(found.start_bytes, *(step.bytes for step in found.steps))
    assert found.peak_bytes == sum(sizes[t] for t in found.peak_set)
    if found.peak_step >= 0:
        assert found.steps[found.peak_step].bytes == found.peak_bytes
        assert all(step.bytes < found.peak_bytes for step in found.steps[: found.peak_step])
    assert set(graph.outputs) <= set(found.steps[-1].working_set)
    assert found.peak_bytes <= found.tflm_greedy_arena_bytes


def in_arena(tensor: Tensor) -> bool:
    return not (tensor.is_constant or tensor.is_variable or tensor.bytes == 0)


@networks
def test_figures_agree_with_each_other(name: str) -> None:
    model = loaded(name)
    graph, found = model.graph, analyze(model)
    agrees(graph, found.file)
    agrees(graph, found.best)
    assert found.path == name
    assert found.graph is graph
    assert found.file.order == tuple(range(len(graph.ops)))
    assert found.peak_bytes == found.file.peak_bytes
    assert found.tflm_greedy_arena_bytes == found.file.tflm_greedy_arena_bytes
    assert found.best.order == found.best_order.order
    assert found.best.peak_bytes == found.best_order.peak_bytes <= found.peak_bytes
    assert found.macs == sum(step.macs for step in found.file.steps)
    assert found.weights_bytes == sum(
        {t.buffer: len(t.data or b"") for t in graph.tensors}.values()
    )
    kept = [t.bytes for t in resolve_variables(graph).tensors if t.is_variable]
    assert found.variables_bytes == sum(kept) <= found.tflm_variables_bytes


@networks
def test_tensors_are_in_ram_from_their_first_to_their_last_step(name: str) -> None:
    graph, found = loaded(name).graph, analyze(loaded(name))
    assert [use.id for use in found.tensors] == list(range(len(graph.tensors)))
    for use, tensor in zip(found.tensors, graph.tensors, strict=True):
        assert (use.name, use.shape, use.bytes) == (tensor.name, tensor.shape, tensor.bytes)
        assert use.type == tensor.dtype.name
        steps = [k for k, step in enumerate(found.file.steps) if use.id in step.working_set]
        if use.first_step is None or use.last_step is None:
            assert use.role in {"constant", "variable", "unused"} or use.bytes == 0
            assert not steps
        else:
            assert steps == list(range(use.first_step, use.last_step + 1))
        maker = next((op.id for op in graph.ops if use.id in op.outputs), None)
        match use.role:
            case "input":
                assert use.id in graph.inputs
                assert use.first_step == 0
            case "output":
                assert use.id in graph.outputs
                assert (use.first_step, use.last_step) == (maker, len(graph.ops) - 1)
            case "activation" if use.bytes:
                readers = [op.id for op in graph.ops if use.id in op.inputs]
                assert (use.first_step, use.last_step) == (maker, max(readers, default=maker))
            case role:
                assert role in {"constant", "variable", "unused"} or not use.bytes  # a handle
                assert role != "constant" or tensor.data is not None


PEAKS = {
    "figure1": (5_216, 4_960),
    "mbv2-w0.35-144-chain": (194_400, 194_400),
    "mn2-vww5-80-chain": (96_000, 96_000),
    "mn2-320k-176-chain": (309_760, 309_760),
    "mobilenet-v1-0.25-96": (55_296, 55_296),
    "swiftnet_cell_uint8": (351_232, 301_056),
    "mlperf_vww_96_int8": (55_296, 55_296),
}
ARENAS = {
    "mobilenet-v1-0.25-96": 73_728,
    "mlperf_vww_96_int8": 73_728,
    "tflm_person_detect_int8": 55_296,
}


@pytest.mark.parametrize("name", present(*PEAKS))
def test_known_peaks_and_their_optimum(name: str) -> None:
    found = analyze(loaded(name))
    assert (found.peak_bytes, found.best.peak_bytes) == PEAKS[name]
    assert found.best_order.proved_optimal


@pytest.mark.parametrize("name", present(*ARENAS))
def test_known_arenas(name: str) -> None:
    assert analyze(loaded(name)).tflm_greedy_arena_bytes == ARENAS[name]


@networks
def test_arena_is_what_tflm_allocates(name: str) -> None:
    """Models that TFLM cannot load have a prediction as well."""
    predicted = analyze(loaded(name)).tflm_greedy_arena_bytes
    if name in NOT_IN_TFLM:
        with pytest.raises(OracleError, match="not supported on TFLite Micro"):
            tflm_arena(contents(name))
        assert predicted == NOT_IN_TFLM[name]
    else:
        assert tflm_arena(contents(name)).head - predicted == SCRATCH.get(name, 0)


def tensors(*sizes: int) -> tuple[Tensor, ...]:
    return tuple(Tensor(i, f"t{i}", (size,), DType.INT8) for i, size in enumerate(sizes))


def test_inputs_that_nothing_reads_may_be_the_peak() -> None:
    graph = Graph("odd", tensors(5, 100, 6), (Op(0, "ADD", (0,), (2,)),), (0, 1), (2,))
    found = analyze(graph)
    assert found.path == "odd"
    assert (found.peak_bytes, found.file.start_bytes, found.file.peak_step) == (105, 105, -1)
    assert found.file.peak_set == found.file.start_set == (0, 1)
    assert found.best_order.proved_optimal
    unread = found.tensors[1]
    assert unread.role == "input"


def test_roles_of_tensors() -> None:
    """An input that is an output goes as input; what no operator touches is unused."""
    made = (
        *tensors(4, 4, 4, 4),
        Tensor(4, "w", (2,), DType.INT8, data=b"ab"),
        Tensor(5, "state", (9,), DType.INT8, is_variable=True),
        Tensor(6, "empty", (0,), DType.INT8),
    )
    ops = (Op(0, "ADD", (0, 4, 5), (1,)), Op(1, "ADD", (1, 6), (2,)))
    found = analyze(Graph("", made, ops, (0,), (2, 0)))
    roles = [use.role for use in found.tensors]
    assert roles == ["input", "activation", "output", "unused", "constant", "variable", "unused"]
    spans = [(use.first_step, use.last_step) for use in found.tensors]
    assert spans == [(0, 1), (0, 1), (1, 1), *[(None, None)] * 4]
    assert (found.weights_bytes, found.variables_bytes) == (2, 9)


def test_the_peak_step_is_the_first_of_equal_ones() -> None:
    ops = tuple(Op(i, "ADD", (i,), (i + 1,)) for i in range(3))
    found = analyze(Graph("", tensors(2, 8, 2, 8), ops, (0,), (3,)))
    assert [step.bytes for step in found.file.steps] == [10, 10, 10]
    assert found.file.peak_step == 0


def test_operators_without_outputs_have_no_name() -> None:
    ops = (Op(0, "CUSTOM", (0,), (), custom="Log"), Op(1, "ADD", (0,), (1,)))
    found = timeline(Graph("", tensors(3, 4), ops, (0,), (1,)), (0, 1), (0, 0))
    assert [(step.type, step.name) for step in found.steps] == [("Log", ""), ("ADD", "t1")]
    assert math.isclose(found.peak_bytes, 7)


def test_little_effort_still_gives_all_figures() -> None:
    found = analyze(loaded("branchy-cell"), effort=0.0)
    agrees(loaded("branchy-cell").graph, found.best)
    assert found.best.peak_bytes >= found.best_order.lower_bound_bytes > 0

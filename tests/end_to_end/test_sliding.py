"""Windows that slide: outputs at every hop are those of the whole window, computed anew by the oracle.

Why networks of their own: see `sliding_nets`. What is kept is also counted, where the counts are known.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from byte_nets import in_bytes
from lowtide.advice.reporting import report_on
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.errors import InfeasibleError, ModelError, UsageError
from lowtide.ir.macs import graph_macs
from lowtide.machines.board import targets
from lowtide.passes.hop.cones import Moving
from lowtide.passes.hop.slide import _Sliding
from lowtide.prove.proof import ProofError
from lowtide.report.deployment import verified_text
from lowtide.report.page import report_document
from lowtide.report.planned import plan_document, plan_text
from lowtide.tflite.read import parse
from lowtide.zoo.writer import write
from networks import model_of
from odd_nets import requantised
from random_nets import Maker
from schema_models import Net
from signal_models import Signals
from signal_nets import spectrum_network
from sliding_nets import sliding_network

SEEDS = (*range(24), 9022, 9043, 9179)
SOAK = range(1000, 2000)
BATCH = 10


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        given = metafunc.config.getoption("--seeds")
        seeds = range(*map(int, given.split(":"))) if given else SOAK
        batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
        metafunc.parametrize("batch", batches, ids=str)


def options(seed: int) -> Options:
    """Some hop and choice of what is kept, with any other options that a window that slides may have."""
    rng = Random(seed)
    limit = rng.choice([{}, {}, {}, {"max_overhead": 3.0}, {"smallest": True}, {"fastest": True}])
    cores = targets()
    return Options(
        **limit,  # type: ignore[arg-type]  # of several types
        hop=rng.choice([1, 1, 1, 2, 2, 3, 4, 6]),
        keep=rng.choice([None, None, None, 0, 1, 2]),
        cost=rng.choice(["macs", "instructions"]),
        target=cores[rng.choice(sorted(cores))],
        align=rng.choice([4, 16, 16, 64]),
        simplify=rng.random() < 0.8,
        quantized_io=rng.random() < 0.2,
        input_type="uint8" if rng.random() < 0.15 else "file",
        slices=rng.random() < 0.4,
        name="net",
        effort=0.05,
        hop_axis=2 if time_of(seed) == 2 else None,
        input_mode="const" if rng.random() < 0.4 else "streamed",
    )


def time_of(seed: int) -> int:
    """The axis that is time: columns, of every fifth network."""
    return 2 if seed % 5 == 1 else 1


def outcome(seed: int) -> str:
    """What becomes of network `seed`; nothing may be wrong."""
    try:
        compiled = compile_model(
            parse(sliding_network(seed, time_of(seed)), path="net"), options(seed)
        )
    except (ModelError, UsageError) as error:
        assert "--hop" in str(error) or "--input-type" in str(error), f"network {seed}: {error}"
        return "refused"
    result = checking.verify(compiled, seed=seed)
    assert result.bit_exact, f"network {seed}: {verified_text(compiled, result)}"
    assert compiled.proof.data_flow
    assert compiled.graph.hop is not None
    return "right" if compiled.graph.hop.kept else "input alone"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_windows(seed: int) -> None:
    outcome(seed)


@pytest.mark.soak
def test_many_random_windows(batch: range) -> None:
    found = Counter(map(outcome, batch))
    assert found["right"] >= len(batch) // 5


@pytest.mark.parametrize(
    ("network", "hop", "macs", "kept"),
    [
        ("wake-word-window", 1, 46_040, 3),  # one row of each layer
        ("ds-cnn-kws", 2, 1_105_408, 5),  # and the rows at both edges
    ],
)
def test_work_of_a_hop(network: str, hop: int, macs: int, kept: int) -> None:
    compiled = compile_model(model_of(network), Options(hop=hop, keep=kept))
    assert graph_macs(compiled.graph) == macs
    assert checking.verify(compiled, samples=30).bit_exact


def test_less_is_kept_in_less_memory() -> None:
    model = model_of("ds-cnn-kws")
    ways = [compile_model(model, Options(hop=2, keep=keep, effort=0.1)) for keep in range(6)]
    macs = [graph_macs(way.graph) for way in ways]
    state = [way.state_bytes for way in ways]
    assert macs == sorted(macs, reverse=True) and len(set(macs)) == 6
    assert state == sorted(state) and len(set(state)) == 6
    assert macs[0] == graph_macs(model.graph)
    limited = compile_model(model, Options(hop=2, max_ram=ways[3].ram_bytes, effort=0.1))
    assert limited.ram_bytes <= ways[3].ram_bytes
    assert limited.instructions_predicted <= ways[3].instructions_predicted
    assert limited.graph.hop is not None and limited.graph.hop.kept == 3
    assert checking.verify(limited, samples=30).bit_exact
    smallest = compile_model(model, Options(hop=2, smallest=True, effort=0.1))
    assert smallest.ram_bytes <= ways[0].ram_bytes
    with pytest.raises(InfeasibleError, match="no plan of this network fits 2,048 bytes"):
        compile_model(model, Options(hop=2, max_ram=2048, effort=0.1))


def test_kept_rows_lie_apart_from_those_at_the_edges() -> None:
    """Rows of padding are made in every hop, and take no memory that outlives it."""
    compiled = compile_model(model_of("ds-cnn-kws"), Options(hop=2, keep=4, target="cortex-m4"))
    assert compiled.ram_bytes <= 25_000
    assert compiled.instructions_predicted <= 1_600_000


def test_weights_have_one_layout_by_default() -> None:
    """An operator is one for each run of its rows; in kernels of two families, two copies of weights."""
    model, asked = model_of("ds-cnn-kws"), Options(hop=2, keep=1, target="cortex-m4")
    default, smallest = (
        compile_model(model, asked),
        compile_model(model, replace(asked, smallest=True)),
    )
    families = [
        {node.header for node, _ in way.assembly.executed if "depthwise" in node.header}
        for way in (default, smallest)
    ]
    assert families == [{"lt_depthwise_3x3.h"}, {"lt_depthwise_3x3.h", "lt_depthwise_mult1.h"}]
    assert smallest.ram_bytes < default.ram_bytes


def test_the_front_has_plans_that_keep_more_and_less() -> None:
    planned = planned_model(model_of("ds-cnn-kws"), Options(hop=2, effort=0.1), front=True)
    hops = [point.ready.graph.hop for point in planned.points or ()]
    assert {hop.kept for hop in hops if hop is not None} >= {0, 2, 4}


def test_what_keeping_less_computes_more_is_its_overhead() -> None:
    planned = planned_model(model_of("ds-cnn-kws"), Options(hop=2, effort=0.1), front=True)
    points = planned.points or ()
    least = min(point.macs for point in points)
    assert all(point.overhead == point.macs / least for point in points)
    assert max(point.overhead for point in points) > 1.5


def test_limits_agree_with_the_front() -> None:
    """A larger limit is never slower, and no plan of the front is better than what a limit gives."""
    model = model_of("ds-cnn-kws")
    known, asked = Known(model), Options(hop=2, effort=0.1)
    points = planned_model(model, asked, front=True, known=known).points or ()
    last = 0
    for point in sorted(points, key=lambda p: -p.ram_bytes):
        limited = compile_model(model, replace(asked, max_ram=point.ram_bytes), known=known)
        best = min(p.cost for p in points if p.ram_bytes <= point.ram_bytes)
        assert limited.ram_bytes <= point.ram_bytes
        assert last <= limited.instructions_predicted <= best
        last = limited.instructions_predicted
    for cost in ("macs", "instructions"):
        sizes = [
            compile_model(model, replace(asked, max_overhead=f, cost=cost), known=known).ram_bytes
            for f in (1.0, 1.1, 1.6, 3.0)
        ]
        assert sizes == sorted(sizes, reverse=True)


def test_what_is_kept_is_shown() -> None:
    """In the text and the document of a plan, and in a report, whose plans may keep less."""
    model, asked = model_of("ds-cnn-kws"), Options(hop=2, effort=0.1)
    planned = planned_model(model, asked)
    assert "9    25    17                  8       5,440  block_0/pointwise/Conv2D" in plan_text(
        planned
    )
    reported = report_on(model, asked)
    (network,) = report_document(reported)["networks"]
    assert network["slid"] == plan_document(planned)["slid"]
    assert sum(of["state_bytes"] for of in network["slid"]) <= planned.compiled.state_bytes


def test_what_reads_rows_of_a_ring_as_one_has_a_copy() -> None:
    """A RESHAPE to other rows, beside layers whose rows are kept; and a map of one row, turned."""
    net = Maker("flat")
    x = net.input((1, 40, 6))
    rows = net.fully_connected(x, "rows", 4, keep_num_dims=True)
    whole = net.fully_connected(net.reshape(x, "flat", (1, 240)), "whole", 3)
    assert in_a_ring(net.finish(rows, whole)) == 40
    net = Maker("coarse")
    x = net.input((1, 20, 4, 2))
    kept = net.conv(x, "kept", 3, (3, 1), 1, same=False)
    other = net.conv(net.reshape(x, "other", (1, 10, 8, 2)), "wide", 3, (3, 3), 1)
    assert in_a_ring(net.finish(net.mean(kept, "mean"), other)) == 20
    net = Maker("itself")
    x = net.input((1, 20, 4, 2))
    assert in_a_ring(net.finish(net.conv(x, "kept", 3, (3, 1), 1, same=False), x)) == 20
    net = Maker("line")
    line = net.conv(net.input((1, 1, 40, 2)), "line", 3, (1, 3), 1, same=False)
    assert in_a_ring(net.finish(net.mean(line, "mean"))) == 4
    net = Maker("samples")
    x = net.input((1, 64))
    samples = net.finish(net.fully_connected(net.add(x, x, "twice"), "dense", 4))
    told = refused(samples, hop=2, input_mode="const")
    assert told.startswith(
        "--hop and --input const: lowtide's kernels read several rows of [1, 64] along"
    )


def test_rows_of_a_ring_that_are_read_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Sliding, "read", lambda self, _, tensor: self.whole(tensor))
    net = Maker("flat")
    x = net.input((1, 40, 6))
    rows = net.fully_connected(x, "rows", 4, keep_num_dims=True)
    data = net.finish(rows, net.fully_connected(net.reshape(x, "flat", (1, 240)), "whole", 3))
    with pytest.raises(ProofError, match="it reads rows 0 and 1 of a ring as one"):
        compile_model(parse(data, path="net"), Options(hop=2, input_mode="const"))


def in_a_ring(data: bytes) -> int:
    """How many rows of its window a network reads at a hop of 2; every output is right."""
    compiled = compile_model(parse(data, path="net"), Options(hop=2, input_mode="const"))
    assert checking.verify(compiled, samples=20).bit_exact
    assert compiled.proof.data_flow and compiled.graph.hop is not None
    return compiled.graph.hop.ring


def test_recorded_windows(tmp_path: Path) -> None:
    """Each must have the rows of the one before it."""
    compiled = compile_model(model_of("wake-word-window"), Options(hop=2))
    rows = np.random.default_rng(2).integers(-128, 128, (60, 1, 40), np.int8)
    windows = np.stack([rows[at : at + 30] for at in range(0, 24, 2)])
    file = tmp_path / "windows.npy"
    np.save(file, windows)
    result = checking.verify(compiled, windows=file)
    assert result.bit_exact and result.samples == 11
    windows[7, 5, 0, 3] ^= 1
    np.save(file, windows)
    with pytest.raises(UsageError) as caught:
        checking.verify(compiled, windows=file)
    assert "row 5 of window 7 of " in str(caught.value)
    assert "differs from row 7 of the window before" in str(caught.value)
    np.save(file, windows.astype(np.float32))
    with pytest.raises(UsageError, match="holds float32, but the network takes int8"):
        checking.verify(compiled, windows=file)
    plain = compile_model(model_of("wake-word-window"), Options())
    with pytest.raises(UsageError, match="recorded windows need a program with a sliding window"):
        checking.verify(plain, windows=file)
    with pytest.raises(UsageError, match="takes the rows of one recording, not arrays"):
        compiled.load()


def test_rows_that_are_kept_wrongly_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows tied to an edge are taken for rows that come again."""
    free = Moving.again

    def again(self: Moving, hop: int) -> range:
        found = free(self, hop)
        return range(max(0, found.start - 1), found.stop)

    monkeypatch.setattr(Moving, "again", again)
    compiled = compile_model(model_of("ds-cnn-kws"), Options(hop=2, effort=0.1))
    result = checking.verify(compiled, samples=30)
    assert not result.bit_exact


def refused(network: str | bytes, **asked: object) -> str:
    model = model_of(network) if isinstance(network, str) else parse(network, path="net")
    with pytest.raises((ModelError, UsageError)) as caught:
        compile_model(model, Options(**asked))  # type: ignore[arg-type]  # of several types
    return str(caught.value)


@pytest.mark.parametrize("kind", ["", "INT16"])
@pytest.mark.parametrize("head", ["mean", "sum", "average_pool"])
def test_what_leaves_a_sum_is_subtracted(head: str, kind: str) -> None:
    """Of 40 rows, two are added and two subtracted; with values at both ends of what they can be."""
    model = parse(summed(head, kind), path="net")
    for asked in (Options(hop=2), Options(hop=2, input_mode="const", slices=True), Options(hop=3)):
        compiled = compile_model(model, asked)
        kinds = [op.type for op in compiled.graph.ops]
        assert kinds.count("TOTAL") == 2 and kinds.count("OF_TOTAL") == 1
        assert checking.verify(compiled, samples=60).bit_exact
        assert compiled.proof.data_flow and not compiled.proof.left_out
    assert "TOTAL" not in [op.type for op in compile_model(model, Options(hop=2, keep=0)).graph.ops]


def test_sums_are_kept_where_that_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of so few rows that as many come and go, nor of rows tied to an edge."""
    model = parse(summed("mean", ""), path="net")
    fewer = compile_model(model, Options(hop=20))
    assert "TOTAL" not in [op.type for op in fewer.graph.ops]
    kws = compile_model(model_of("ds-cnn-kws"), Options(hop=2, keep=5, effort=0.1))
    assert "TOTAL" not in [op.type for op in kws.graph.ops]
    asked = Options(hop=1, target="cortex-m4")
    quick = compile_model(model, asked).instructions_predicted
    monkeypatch.setattr(sys.modules[_Sliding.__module__], "totals_of", lambda *_: None)
    assert 2 * quick < compile_model(model, asked).instructions_predicted


def summed(head: str, kind: str) -> bytes:
    """A layer of 40 rows of 2 columns, whose sum is all that is read."""
    net = Maker("summed")
    x = net.conv(net.input((1, 44, 2, 3)), "layer", 32, (5, 1), 1, same=False)
    x = net.average_pool(x, "all") if head == "average_pool" else net.mean(x, "all")
    if head == "average_pool":
        x = net.reshape(x, "flat", (1, 32))
    spec = net.described(x)
    if head == "sum":
        tensors, ops = list(spec.tensors), list(spec.ops)
        (made,), ops[-1] = ops[-1].outputs, replace(ops[-1], kind="SUM")
        scales = tensors[made].scales
        assert scales is not None
        tensors[made] = replace(tensors[made], scales=scales * np.float32(50))
        spec = replace(spec, tensors=tuple(tensors), ops=tuple(ops))
    return write(requantised(spec, kind, Random(1)) if kind else spec)


def test_what_ends_it() -> None:
    """The operator behind which nothing can be kept, and a hop with which something could be."""
    net = Maker("flat")
    flat = net.fully_connected(net.input((1, 64)), "dense", 3)
    assert refused(net.finish(flat), hop=1) == (
        "--hop 1: only the input can be kept: operator 0 (FULLY_CONNECTED) reads the whole "
        "window at once\n  remedy: leave out --hop"
    )
    net = Maker("stride")
    x = net.conv(net.input((1, 40, 1, 2)), "conv", 3, (5, 1), (5, 1), same=False)
    strided = net.finish(net.mean(x, "mean"))
    assert refused(strided, hop=1) == (
        "--hop 1: only the input can be kept: operator 0 (CONV_2D) makes one row for every 5 "
        "rows of the input\n  remedy: give --hop 5"
    )
    compiled = compile_model(parse(strided, path="net"), Options(hop=5))
    assert checking.verify(compiled).bit_exact
    net = Maker("edges")
    x = net.conv(net.input((1, 6, 1, 2)), "conv", 3, (9, 1), 1)
    assert refused(net.finish(net.mean(x, "mean")), hop=1) == (
        "--hop 1: only the input can be kept: all rows that operator 0 (CONV_2D) makes depend on "
        "the window's edges\n  remedy: leave out --hop, or give fewer rows"
    )


def test_bytes_of_the_file_are_not_said_to_be_others() -> None:
    net = Maker("bytes")
    x = net.conv(net.input((1, 20, 1, 2)), "conv", 3, (5, 1), 1, same=False)
    data = write(in_bytes(net.described(net.mean(x, "mean")), Random(1)))
    compiled = compile_model(parse(data, path="net"), Options(hop=1, name="net"))
    assert b"#define NET_INPUT_0_TYPE uint8_t" in compiled.files["net.h"]
    assert b"Input 0: " not in compiled.files["net.h"]


def test_dense_layers_of_each_row_are_kept() -> None:
    """Of 40 rows, two are new: only their products, and those of the layer that reads the whole map."""
    net = Maker("dense rows")
    rows = net.fully_connected(net.input((1, 40, 6)), "rows", 4, keep_num_dims=True)
    data = net.finish(net.fully_connected(net.reshape(rows, "flat", (1, 160)), "whole", 3))
    compiled = compile_model(parse(data, path="net"), Options(hop=2))
    assert compiled.graph.hop is not None and compiled.graph.hop.kept == 1
    assert graph_macs(compiled.graph) == 2 * 6 * 4 + 160 * 3
    assert checking.verify(compiled, samples=30).bit_exact


def test_phases() -> None:
    """Rows behind a stride of 2 come again in every second window."""
    model = model_of("ds-cnn-kws")
    compiled = compile_model(model, Options(hop=1, keep=5, effort=0.1))
    assert compiled.graph.hop is not None and compiled.graph.hop.phases == 2
    assert graph_macs(compiled.graph) == 1_105_408
    assert checking.verify(compiled, samples=60).bit_exact
    text = plan_text(planned_model(model, Options(hop=1, keep=5, effort=0.1)))
    assert "tensors are kept in 2 phases; --hop 2 needs only one" in " ".join(text.split())


@pytest.mark.parametrize("hop", [1, 3, 5])
def test_phases_that_move_by_several_rows(hop: int) -> None:
    """Behind a stride of 2, rows come again in every second window, `hop` rows later."""
    net = Net(np.int8)
    made, rows = [net.input((1, 26, 1, 3))], 26
    for stride in (2, 1, 1):
        options = schema.Pool2DOptionsT(
            padding=schema.Padding.VALID, strideW=1, strideH=stride, filterWidth=1, filterHeight=3
        )
        rows = (rows - 3) // stride + 1
        made.append(net.op("MAX_POOL_2D", made[-1:], (1, rows, 1, 3), options=options))
    weights = np.arange(2 * rows * 3).reshape(2, rows, 1, 3) % 7 - 3
    whole = schema.Conv2DOptionsT(padding=schema.Padding.VALID, strideW=1, strideH=1)
    inputs = [made[-1], net.const(weights, np.int8), net.const([1, 2])]
    net.op("CONV_2D", inputs, (1, 1, 1, 2), options=whole)
    compiled = compile_model(parse(net.build()), Options(hop=hop, keep=2, effort=0.1))
    assert compiled.graph.hop is not None
    assert (compiled.graph.hop.phases, compiled.graph.hop.kept) == (2, 2)
    assert checking.verify(compiled, samples=20).bit_exact


def test_operators_that_remember_nothing_do_not_stream() -> None:
    """Most signal operators look at their input alone, as do framers whose frames share nothing."""
    told = refused(spectrum_network(1), hop=1)
    assert "only the input can be kept: operator 0 (SignalWindow) reads the whole window" in told
    for size, streams in ((10, True), (8, False)):
        net = Signals()
        net.framer(net.input((1, 32)), size, 8, prefill=True)
        told = refused(net.build(), hop=1)
        assert ("operator 0 (SignalFramer) keeps state from one run to the next" in told) == streams


def test_refusals() -> None:
    assert refused("streaming-wake-word", hop=3).startswith(
        "--hop: operator 0 (CALL_ONCE) keeps state from one run to the next, so the network streams"
    )
    assert "the window has 49 rows, and this hop replaces all of them" in refused(
        "ds-cnn-kws", hop=49
    )
    assert "--keep applies only to sliding windows" in refused("ds-cnn-kws", keep=1)
    assert "--hop-axis applies only to sliding windows" in refused("ds-cnn-kws", hop_axis=1)
    assert refused("ds-cnn-kws", hop=2, hop_axis=3) == (
        "--hop-axis 3: the window slides along axis 1 of [1, 49, 10, 1], the first after the batch "
        "that is longer than 1, or along its columns, axis 2\n  remedy: leave it out, or export the "
        "network so that time is along one of these"
    )
    compile_model(model_of("wake-word-window"), Options(hop=1, hop_axis=1))
    excluded: dict[str, dict[str, object]] = {
        "--output streamed": {"output_mode": "streamed"},
        "--schedule operators": {"schedule": "operators"},
        "--preserve-input": {"preserve_input": True},
    }
    for flag, asked in excluded.items():
        assert f"--hop and {flag} cannot be combined" in refused("ds-cnn-kws", hop=2, **asked)


def test_a_program_without_a_hop_has_nothing_of_it() -> None:
    plain = compile_model(model_of("ds-cnn-kws"), Options(input_mode="streamed"))
    assert plain.graph.hop is None
    assert not any("lt_hop" in name for name in plain.files)
    assert b"lt_hop" not in plain.files["ds_cnn_kws.c"]

"""A rewritten model is the old one in a better order, and what claims to be checked was checked.

Why over every network: each has its own shape, and the same must hold for all. Names of real models
take part where a checkout has their files.
"""

from __future__ import annotations

import struct
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
import pytest

from lowtide.commands import reordering
from lowtide.commands.reordering import Check, Reordered, compare, place_tensors, reorder
from lowtide.errors import DiffersError, ModelError, UsageError
from lowtide.ir import Model
from lowtide.place.offline_plan import METADATA_NAME, decode, encode
from lowtide.place.tensors import tensor_problem, tflm_problem
from lowtide.place.validate import validate
from lowtide.report.describe import describe
from lowtide.tflite.read import parse
from lowtide.tflite.rewrite import set_metadata
from lowtide.zoo.loading import load
from networks import NETWORKS, contents, loaded, present
from schema_models import Net
from stateful import assign, handle, read


def plain(value: Any) -> Any:
    """An object of the schema's object API as nested tuples, which compare by value."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.tobytes())
    if isinstance(value, list):
        return tuple(map(plain, value))
    if hasattr(value, "__dict__"):
        return tuple((key, plain(inner)) for key, inner in sorted(vars(value).items()))
    return value


def unpack(source: bytes) -> Any:
    return schema.ModelT.InitFromPackedBuf(source)


def pack(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def with_weight_changed(model: Model) -> Model:
    """The model with one bit of its largest constant flipped."""
    weights = max((t.data or b"" for t in model.graph.tensors), key=len)
    at = model.source.index(weights)
    source = model.source[:at] + bytes([model.source[at] ^ 1]) + model.source[at + 1 :]
    return parse(source)


@cache
def unchecked(name: str) -> Reordered:
    return reorder(loaded(name), check=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_nothing_changes_but_the_order(name: str) -> None:
    model = loaded(name)
    result = unchecked(name)
    order = result.before.best_order.order
    assert result.check is None
    assert result.plan is None
    assert result.changed == (order != tuple(range(len(order))))
    if not result.changed:
        assert result.model.source == model.source
        assert result.after == result.before
        return
    assert len(result.model.source) == len(model.source)
    assert result.model.path == model.path
    before, after = unpack(model.source), unpack(result.model.source)
    old, new = before.subgraphs[0].operators, after.subgraphs[0].operators
    assert [plain(op) for op in new] == [plain(old[i]) for i in order]
    before.subgraphs[0].operators = after.subgraphs[0].operators = []
    assert plain(before) == plain(after)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_promised_peak_is_the_new_files(name: str) -> None:
    result = unchecked(name)
    after = result.after
    assert after.peak_bytes == after.file.peak_bytes == result.before.best_order.peak_bytes
    assert after.peak_bytes <= result.before.peak_bytes
    assert after.tflm_greedy_arena_bytes == result.before.best.tflm_greedy_arena_bytes
    assert after.macs == result.before.macs
    assert f"{after.peak_bytes:,} B" in describe(after)
    # A second time, there is nothing left to do.
    assert not reorder(result.model, check=False).changed


@pytest.mark.parametrize("name", NETWORKS)
def test_an_offline_plan_is_the_planned_placement(name: str) -> None:
    model = loaded(name)
    result = reorder(model, offline_plan=True, check=False)
    entries = [m for m in result.model.metadata if m.name == METADATA_NAME]
    assert len(entries) == (result.plan is not None) == result.better
    if result.plan is None:
        assert result.model is model
        return
    (entry,) = entries
    assert result.plan.allocator == "planned"
    assert struct.unpack_from("<3i", entry.data) == (
        1,
        len(model.subgraph_tensors),
        sum(model.subgraph_tensors),
    )
    planned = {i: offset for i, offset in enumerate(decode(entry.data)) if offset is not None}
    assert planned == result.plan.offsets()
    # The offsets fit the order in the new file, seen from that file alone.
    problem = tflm_problem(result.model.graph, range(len(result.model.graph.ops)))
    validate(problem, result.plan)
    assert {item.id for item in problem.items} == set(planned)
    kept = [m for m in result.model.metadata if m.name != METADATA_NAME]
    assert kept == [m for m in model.metadata if m.name != METADATA_NAME]


def test_an_offline_plan_counts_the_tensors_of_all_subgraphs() -> None:
    both = unpack(contents("figure1"))
    both.subgraphs.append(unpack(contents("figure1")).subgraphs[0])
    model = parse(pack(both))
    result = reorder(model, offline_plan=True, check=False)
    (entry,) = result.model.metadata
    assert struct.unpack_from("<3i", entry.data) == (1, 2, 40)
    offsets = decode(entry.data)
    assert len(offsets) == 40
    assert [i for i, offset in enumerate(offsets) if offset is not None] == [
        0,
        *range(3, 19, 3),
        19,
    ]


@dataclass(frozen=True)
class Expected:
    """Bytes before and after: peaks, and the arena heads that TFLM reports (None: cannot run it)."""

    peaks: tuple[int, int]
    heads: tuple[int, int] | None
    tensors: int
    plan: bool = True


CHECKED = {
    "figure1": Expected((5216, 4960), (5216, 4960), 8),
    "branchy-cell": Expected((64_512, 46_080), (64_512, 46_080), 41),
    # The model of the operator-reordering paper, which TFLM cannot run.
    "swiftnet_cell_uint8": Expected((351_232, 301_056), None, 86, plan=False),
    # Its order cannot be bettered, but an unmodified TFLM takes the plan.
    "mlperf_vww_96_int8": Expected((55_296, 55_296), (73_728, 55_296), 32),
}


@pytest.mark.parametrize("name", present(*CHECKED))
def test_a_rewrite_is_proved_the_same(name: str) -> None:
    expected = CHECKED[name]
    result = reorder(loaded(name), offline_plan=expected.plan)
    assert (result.before.peak_bytes, result.after.peak_bytes) == expected.peaks
    assert result.changed == (expected.peaks[0] != expected.peaks[1])
    assert result.before.best_order.proved_optimal
    if expected.heads is None:
        assert result.check == Check("litert", 2, expected.tensors, None, None)
    else:
        assert result.check == Check("tflm", 2, expected.tensors, *expected.heads)


def test_control_dependencies_forbid_another_order() -> None:
    """They name operators by position, so that an order would make them wrong."""
    name = "model_control_dependencies"
    model = parse(set_metadata(contents("figure1"), name, b"\x01\x00\x00\x00"))
    with pytest.raises(ModelError, match=name) as info:
        reorder(model, check=False)
    assert "without control dependencies" in info.value.remedy
    # An order that stays needs no refusal.
    best = parse(set_metadata(contents("ds-cnn-kws"), name, b"\x01\x00\x00\x00"))
    assert not reorder(best, check=False).changed


@pytest.mark.parametrize("kind", ["STRING", "RESOURCE", "INT4", "BFLOAT16"])
def test_an_input_that_no_test_can_make(kind: str) -> None:
    odd = unpack(contents("figure1"))
    odd.subgraphs[0].tensors[0].type = getattr(schema.TensorType, kind)
    model = parse(pack(odd))
    with pytest.raises(ModelError) as info:
        compare(model, model)
    assert info.value.cause.startswith(f"graph input 0 has type {kind}")
    assert "--no-check" in info.value.remedy
    assert reorder(model, check=False).check is None


_WORLD = Path(__file__).resolve().parents[3] / "shared" / "world"


@pytest.mark.parametrize(
    ("name", "head", "planned"),
    [("tflm_keyword_scrambled_8bit", 672, 800), ("tflm_audio_preprocessor_int8", 3040, 3120)],
)
def test_a_plan_that_tflm_needs_more_for_is_not_stored(name: str, head: int, planned: int) -> None:
    """Its kernels' scratch memory has no place in the gaps of a plan that is made without it."""
    path = _WORLD / f"{name}.tflite"
    if not path.exists():
        pytest.skip("needs the optional folder ../shared/world")
    model = load(path)
    result = reorder(model, offline_plan=True)
    assert (result.better, result.changed, result.plan, result.check) == (False, False, None, None)
    assert result.measured
    assert [way.head for way in result.ways] == [head, planned]
    assert result.model is model


def test_the_best_of_order_and_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the four ways in turn is the one that TFLM needs least for; of equal ones the last."""
    model = loaded("figure1")
    ways = [(False, False), (False, True), (True, False), (True, True)]
    monkeypatch.setattr(reordering, "ThreadPoolExecutor", lambda **_: nullcontext(_InTurn()))
    for best, (changed, planned) in enumerate(ways):
        heads = iter([10 if number == best else 20 for number in range(4)])
        monkeypatch.setattr(reordering, "_head", lambda _, heads=heads: next(heads))
        result = reorder(model, offline_plan=True, check=False)
        assert (result.changed, result.plan is not None) == (changed, planned)
        assert result.better == (best > 0)
        assert result.chosen is result.ways[best]
        assert result.before.peak_bytes == 5216
        assert result.after.peak_bytes == (4960 if changed else 5216)
    monkeypatch.setattr(reordering, "_head", lambda _: 20)
    result = reorder(model, offline_plan=True, check=False)
    assert (result.changed, result.plan is not None) == (True, True)  # the peak is less
    result = reorder(loaded("ds-cnn-kws"), offline_plan=True, check=False)
    assert not result.better


class _InTurn:
    map = map


def test_without_tflm_heads_are_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reordering, "_head", lambda _: None)
    result = reorder(loaded("branchy-cell"), offline_plan=True, check=False)
    assert not result.measured
    assert [way.head for way in result.ways] == [64_512, 64_512, 55_296, 46_080]
    assert result.chosen is result.ways[3]


def test_state_is_carried_while_models_are_compared() -> None:
    """One model keeps what it is given, the other what it kept: the first run cannot tell."""
    right, wrong = _keeping(new=True), _keeping(new=False)
    check = compare(right, right)
    assert (check.engine, check.samples, check.again) == ("tflm", 16, 4)
    with pytest.raises(DiffersError) as info:
        compare(right, wrong)
    assert info.value.cause.startswith("the rewritten model gives different results: sample 1,")


def _keeping(*, new: bool) -> Model:
    net = Net(np.int8)
    x = net.input((1, 4))
    variable = handle(net, "v")
    old = read(net, variable, (1, 4))
    assign(net, variable, x if new else old)
    net.op("ADD", [old, x], (1, 4), options=schema.AddOptionsT())
    return parse(net.build())


def test_compare_finds_a_planted_difference() -> None:
    model = loaded("figure1")
    with pytest.raises(DiffersError) as info:
        compare(model, with_weight_changed(model))
    assert info.value.cause.startswith(
        "the rewritten model gives different results: sample 0, tensor"
    )
    assert info.value.exit_code == 1


def test_compare_finds_a_plan_that_does_harm() -> None:
    """Values are the same in both models; only on a device do the tensors overwrite each other."""
    model = loaded("figure1")
    offsets = [None if t.is_constant else 0 for t in model.graph.tensors]
    broken = parse(set_metadata(model.source, METADATA_NAME, encode(offsets, 1)))
    with pytest.raises(DiffersError, match="gives different results"):
        compare(model, broken)


def test_compare_runs_as_many_samples_as_asked() -> None:
    model = loaded("figure1")
    assert compare(model, model, samples=2, seed=7) == Check("tflm", 2, 8, 5216, 5216)


def test_reorder_gives_out_no_model_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = loaded("figure1")
    wrong = with_weight_changed(model).source
    monkeypatch.setattr(reordering, "permute_operators", lambda *_: wrong)
    with pytest.raises(DiffersError):
        reorder(model)
    assert reorder(model, check=False).model.source == wrong


def test_place_tensors_follows_the_order() -> None:
    model = loaded("figure1")
    for order, peak in (((0, 1, 2, 3, 4, 5, 6), 5216), ((0, 3, 5, 1, 2, 4, 6), 4960)):
        places = place_tensors(model.graph, order)
        assert {places.greedy.arena_bytes, places.planned.arena_bytes} == {peak}
        assert places.compacting.arena_bytes == peak
        for place in (places.greedy, places.planned, places.compacting):
            validate(tensor_problem(model.graph, order), place)
    assert place_tensors(model.graph, order, align=64).planned.align == 64


def test_load_takes_paths_and_zoo_names(tmp_path: Any) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(contents("figure1"))
    models = [load(name) for name in (path, str(path), "zoo:figure1")]
    assert [model.path for model in models] == [str(path), str(path), "zoo:figure1"]
    assert len({replace(model, path="").source for model in models}) == 1
    assert load(contents("figure1")).source == models[0].source
    assert load(models[0]) is models[0]
    with pytest.raises(UsageError, match="list is neither a model nor the name of one"):
        load([])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UsageError, match="no network named 'none'"):
        load("zoo:none")
    with pytest.raises(ModelError, match="cannot read"):
        load(tmp_path / "none")


def test_writing_a_result(tmp_path: Any) -> None:
    result = reorder(loaded("figure1"), check=False)
    assert isinstance(result, Reordered)
    for path in (tmp_path / "a", str(tmp_path / "b")):
        result.write(path)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == result.model.source
    with pytest.raises(UsageError, match="does not exist"):
        result.write(tmp_path / "none" / "c")

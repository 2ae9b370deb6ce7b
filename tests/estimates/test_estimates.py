"""Estimates against what is compiled: nodes, arenas, flash, instructions; bounds and budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import lowtide
from byte_nets import byte_network
from lowtide.commands.compiling import compile_model
from lowtide.commands.estimating import MODES
from lowtide.commands.options import Options
from lowtide.commands.preparing import prepared
from lowtide.emit.footprint import flash_bytes
from lowtide.errors import ModelError, UsageError
from lowtide.estimates import network
from lowtide.estimates.builder import Shapes
from lowtide.ir import Graph
from lowtide.lower.nodes import Node
from lowtide.modes import InputMode
from lowtide.plans.cost import load_model
from lowtide.rows.prepare import Prepared
from lowtide.rows.stages import Step
from lowtide.rows.table import own_scratch
from lowtide.tflite.read import parse
from lowtide.zoo import build
from random_nets import random_network
from variable_nets import variable_network
from wider_nets import wider_network as wider

ZOO = ("figure1", "ds-cnn-kws", "attention-block", "lstm-gestures", "streaming-wake-word")


def batches(seed: int) -> bytes:
    """For three images at a time."""
    return random_network(seed, 3)


def inverted(blocks: int = 4) -> Graph:
    """A small network of inverted residuals, as a search would put it together."""
    net = Shapes("candidate")
    x = net.conv(net.input((48, 48, 3)), 16, kernel=3, stride=2)
    for _ in range(blocks):
        y = net.conv(net.depthwise(net.conv(x, 96)), 16, activation="none")
        x = net.add(x, y)
    parts = [net.max_pool(x), net.average_pool(x)]
    return net.graph(net.softmax(net.dense(net.mean(net.concat(parts)), 10)))


@pytest.mark.parametrize("name", ZOO)
def test_estimates_are_near_the_program(name: str) -> None:
    model, costs = lowtide.load(f"zoo:{name}"), load_model("cortex-m4")
    found = lowtide.estimate(model)
    for mode in MODES:
        needs = found.needs[mode]
        compiled = compile_model(model, Options(input_mode=mode, simplify=False))
        assert needs.ram_bytes is not None
        assert needs.flash_bytes is not None
        assert needs.instructions is not None
        assert needs.bound_bytes <= compiled.ram_bytes
        assert needs.ram_bytes == pytest.approx(compiled.ram_bytes, rel=0.03)
        flash = flash_bytes(compiled.assembly, compiled.files)
        assert needs.flash_bytes == pytest.approx(flash, rel=0.1)
        executed = costs.run(compiled.assembly)
        assert needs.instructions == pytest.approx(executed, rel=0.1)
    assert found.state_bytes == compiled.state_bytes
    assert found.tflm_bytes == compiled.tflm_bytes.ram


@pytest.mark.parametrize(
    ("name", "hop", "axis", "mode"),
    [
        ("wake-word-window", 1, None, "streamed"),
        ("wake-word-window", 4, None, "const"),
        ("ds-cnn-kws", 2, None, "streamed"),
        ("ds-cnn-kws", 2, 2, "const"),
    ],
)
def test_windows_that_slide_are_estimated_as_they_are_compiled(
    name: str, hop: int, axis: int | None, mode: InputMode
) -> None:
    model = lowtide.load(f"zoo:{name}")
    asked = None if mode == "streamed" else (mode,)
    (needs,) = lowtide.estimate(model, hop=hop, hop_axis=axis, inputs=asked).needs.values()
    options = Options(hop=hop, hop_axis=axis, input_mode=mode, simplify=False)
    compiled = compile_model(model, options)
    assert needs.ram_bytes == pytest.approx(compiled.ram_bytes, rel=0.03)
    assert needs.instructions == pytest.approx(compiled.instructions_predicted, rel=0.05)
    with pytest.raises(UsageError, match="streamed in"):
        lowtide.estimate(model, hop=hop, inputs=("resident", "streamed"))


def test_most_random_networks_are_near_too() -> None:
    """Of networks of some hundred bytes; what a program needs depends on how its kernels fit, too."""
    near = 0
    for seed in range(20):
        model = parse(random_network(seed))
        mode = MODES[seed % 3]
        needs = lowtide.estimate(model, inputs=(mode,)).needs[mode]
        compiled = compile_model(model, Options(input_mode=mode, simplify=False))
        assert needs.ram_bytes is not None
        assert needs.bound_bytes <= compiled.ram_bytes
        near += abs(needs.ram_bytes - compiled.ram_bytes) <= 0.03 * compiled.ram_bytes
    assert near >= 16


def test_a_network_of_shapes_is_estimated_as_it_is_compiled() -> None:
    graph = inverted()
    found = lowtide.estimate(graph, inputs=("const",))
    model = lowtide.Model(graph.name, graph, b"")
    compiled = compile_model(model, Options(input_mode="const", simplify=False))
    assert found.needs["const"].ram_bytes == pytest.approx(compiled.ram_bytes, rel=0.03)
    assert found.name == "candidate"


def test_what_was_asked_before_changes_nothing() -> None:
    graph = inverted()
    first = lowtide.estimate(graph)
    lowtide.estimate("zoo:resnet8")
    assert lowtide.estimate(graph) == first


def test_a_file_its_bytes_and_its_model_are_the_same(tmp_path: Path) -> None:
    model = lowtide.load("zoo:ds-cnn-kws")
    file = tmp_path / "kws.tflite"
    file.write_bytes(model.source)
    needs = lowtide.estimate(model).needs
    assert lowtide.estimate(model.source).needs == needs
    assert lowtide.estimate(file).needs == needs
    assert lowtide.estimate(str(file)).needs == needs


def test_a_budget_that_inputs_exceed_is_answered_without_looking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lowtide.commands.estimating.best_order", None)
    found = lowtide.estimate(inverted(), 6911, inputs=("resident",))
    assert found.fits is False
    assert found.needs["resident"] == lowtide.Needs(bound_bytes=6912)


def test_a_budget_below_the_bound_stops_before_stages_are_weighed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "weighed", None)
    found = lowtide.estimate(inverted(), 500, inputs=("const",))
    assert found.fits is False
    assert found.needs["const"].ram_bytes is None
    assert found.needs["const"].bound_bytes > 500


def test_a_budget_that_is_enough_fits() -> None:
    graph = inverted()
    needs = lowtide.estimate(graph).needs["const"]
    assert needs.ram_bytes is not None
    assert lowtide.estimate(graph, needs.ram_bytes).fits is True
    assert lowtide.estimate(graph, needs.ram_bytes - 1, inputs=("const",)).fits is False
    assert lowtide.estimate(graph).fits is None
    assert needs.total_ram_bytes == needs.ram_bytes + 1152


def test_what_changes_nothing_is_left_out_if_wanted() -> None:
    graph = inverted()  # weights are zeros: every channel is constant
    whole = lowtide.estimate(graph, inputs=("const",)).needs["const"]
    less = lowtide.estimate(graph, inputs=("const",), simplify=True).needs["const"]
    assert (less.flash_bytes or 0) < (whole.flash_bytes or 0)


def test_an_operator_without_kernel_is_refused_by_its_own_number() -> None:
    graph = inverted()
    ops = (*graph.ops[:-1], lowtide.Op(len(graph.ops) - 1, "FFT2D", *_ends(graph)))
    with pytest.raises(ModelError) as error:
        lowtide.estimate(Graph("odd", graph.tensors, ops, graph.inputs, graph.outputs))
    last = len(graph.ops) - 1
    assert error.value.cause == f"operator {last} (FFT2D): lowtide has no kernel for this operator"


def _ends(graph: Graph) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return graph.ops[-1].inputs, graph.ops[-1].outputs


def test_shapes_that_do_not_fit_together_are_refused() -> None:
    net = Shapes()
    x = net.input((8, 8, 4))
    with pytest.raises(UsageError) as error:
        net.add(x, net.conv(x, 8))
    assert str(error.value) == (
        "shapes (8, 8, 4) and (8, 8, 8) cannot be added\n"
        "  remedy: give both sides the same height, width and channels"
    )
    with pytest.raises(UsageError) as error:
        net.concat([x, net.max_pool(x)])
    assert str(error.value) == (
        "the tensors to join differ in more than their last dimension\n"
        "  remedy: give all of them the same height and width"
    )
    with pytest.raises(UsageError) as error:
        net.conv(x, 4, kernel=9, padding="valid")
    assert str(error.value) == (
        'a window of 9 does not fit a map of 8\n  remedy: use padding="same", or a smaller kernel'
    )
    with pytest.raises(UsageError) as error:
        net.conv(net.dense(x, 3), 4)
    assert str(error.value) == (
        "a tensor of shape (3,) is not a feature map\n  remedy: give one of height, width and channels"
    )


@pytest.mark.parametrize("floats", [True, False], ids=["float", "odd"])
def test_a_refusal_is_the_compiler_s(floats: bool) -> None:
    if floats:
        model = parse(build("ds-cnn-kws", floats=True))
    else:
        graph = inverted()
        odd = replace(graph.ops[-1], type="FFT2D")
        model = lowtide.Model("odd.tflite", replace(graph, ops=(*graph.ops[:-1], odd)), b"")
    with pytest.raises(ModelError) as expected:
        compile_model(model, Options(simplify=False))
    with pytest.raises(ModelError) as error:
        lowtide.estimate(model)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("made", [random_network, batches, byte_network, variable_network, wider])
def test_no_program_needs_less_than_the_bound(made: Callable[[int], bytes]) -> None:
    """Branches, views, batches, uint8, state, int16: in all input modes."""
    for seed in range(3):
        model = parse(made(seed))
        for mode, needs in lowtide.estimate(model).needs.items():
            compiled = compile_model(model, Options(input_mode=mode, simplify=False))
            assert needs.bound_bytes <= compiled.ram_bytes
            assert needs.ram_bytes is not None
            assert needs.bound_bytes <= needs.ram_bytes


def test_any_order_of_steps_needs_what_the_bound_says() -> None:
    """Of a network that is small enough to try all orders of its operators' steps."""
    net = Shapes()
    x = net.input((3, 2, 2))
    y = net.conv(x, 2, kernel=3)
    graph = net.graph(net.add(net.max_pool(y, 2, 1), net.conv(x, 2)))
    needs = lowtide.estimate(graph).needs
    for mode in MODES:
        options = Options(input_mode=mode, simplify=False)
        ready = prepared(lowtide.Model("", graph, b""), options)[2]
        assert needs[mode].bound_bytes <= _least_of_all_orders(ready)


def _least_of_all_orders(ready: Prepared) -> int:
    """The least peak of rows and of scratch memory in the smallest forms, over all orders of steps."""
    table = ready.table
    scratch = [own_scratch(n.leaner if isinstance(n, Node) else n) for n in ready.nodes]
    steps = [(node, step) for node in range(table.nodes) for step in range(table.steps(node))]
    touched = {s: {*table.reads[s[0]][s[1]], *table.writes[s[0]][s[1]]} for s in steps}
    best = {frozenset[Step](): 0}
    while frozenset(steps) not in best:
        after: dict[frozenset[Step], int] = {}
        for done, peak in best.items():
            for node, step in steps:
                before = (node, step - 1)
                if (node, step) in done or (step and before not in done):
                    continue
                if not set(table.needs(node, step)) <= done:
                    continue
                past = {row for s in done for row in touched[s]} | table.given
                ahead = {row for s in steps if s not in done for row in touched[s]} | table.kept
                live = (past & ahead) | touched[node, step]
                need = sum(table.size[row] for row in live) + scratch[node]
                state = done | {(node, step)}
                after[state] = min(after.get(state, 1 << 60), max(peak, need))
        best = after
    return best[frozenset(steps)]

"""Pairs of features: what a program holds, what cannot meet, and draws towards what has not met."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.commands.checking import verify
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.lower import lower_op
from lowtide.machines.board import find_target, targets
from lowtide.oracle.interpreters import OracleError
from lowtide.tflite.read import parse
from pairs.__main__ import pair_of, text_of
from pairs.aiming import Aim
from pairs.calls import BLOCKS, NARROW
from pairs.drawing import BOARDS, Draw, Outcome, draw_of, tried
from pairs.features import NAMES, OPERATOR, PROGRAM, Pair, held, program_features
from pairs.front import Front, TooLargeError, behind
from pairs.impossible import REFERENCES, RULES, Rule, impossible, possible
from pairs.meeting import Met, meet
from pairs.reached import named_by
from pairs.universe import lowering_texts, named_in, universe, values
from rare_nets import rare_network
from schema_models import Net

DRAWS = Path(__file__).parents[2] / "bench" / "pairs" / "draws.txt"
LINES = DRAWS.read_text("utf-8").splitlines()


def compiled(draw: Draw) -> Compiled:
    return compile_model(
        parse(draw.file, path="network.tflite"), Options(**{"effort": 0.1, **draw.options})
    )


def program(draw: Draw) -> dict[str, str]:
    return dict(program_features(compiled(draw)))


def test_every_pair_is_of_two_features_in_their_order() -> None:
    assert set(NAMES) == {*OPERATOR, *PROGRAM} == values().keys()
    for one, other in universe():
        assert NAMES.index(one[0]) < NAMES.index(other[0])
    sizes = [len(of) for of in values().values()]
    assert len(universe()) == (sum(sizes) ** 2 - sum(n * n for n in sizes)) // 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.reason[:40])
def test_what_a_rule_points_at_is_there(rule: Rule) -> None:
    text = (resources.files("lowtide") / rule.where).read_text("utf-8")
    assert rule.text in text
    assert rule.pairs, "it excludes nothing"
    for options in rule.refused:
        with pytest.raises(UsageError):
            Options(**options)


def test_all_pairs_are_possible_or_not() -> None:
    assert possible() | impossible().keys() == universe()
    assert possible().isdisjoint(impossible())
    for pair in (
        (("kernel", "lt_conv_vector helium"), ("core", "cortex-m55")),
        (("family", "softmax"), ("strips", "yes")),
        (("core", "cortex-m0"), ("hop", "yes")),
    ):
        assert pair in possible()
    for pair in (
        (("kernel", "lt_conv_vector helium"), ("core", "cortex-m4")),
        (("family", "softmax"), ("kernel", "lt_conv")),
        (("type", "float32"), ("kernel", "lt_conv_s16")),
    ):
        assert pair in impossible()


def test_kernels_of_some_cores_alone_are_chosen_so() -> None:
    blocks = lowering_texts()["block"]
    assert '_Kind("_4x2", FOUR_BY_TWO' in blocks
    assert '_Kind("_vector", VECTOR' in blocks
    for needs, of in NARROW.items():
        for stem in {*of} - {*BLOCKS}:
            texts = [t for t in lowering_texts().values() if f"target.{needs}" in t]
            assert any(stem in named_in(text) for text in texts), stem


def test_a_family_names_its_own_kernels_alone() -> None:
    assert named_by("softmax") == {"lt_softmax"}
    assert named_by("transpose_conv") > {"lt_transpose_conv", "lt_transpose_conv_s16"}
    assert {"lt_conv_w4", "lt_depthwise_3x3"} < named_by("conv")
    assert "lt_pool" not in named_by("conv")


def test_what_cannot_be_asked_for_is_impossible() -> None:
    """Every two options that are refused together, and no two others."""
    of: dict[str, dict[str, dict[str, Any]]] = {
        "hop": {"yes": {"hop": 1}},
        "output": {"streamed": {"output_mode": "streamed"}},
        "input": {"const": {"input_mode": "const"}, "streamed": {"input_mode": "streamed"}},
        "unit": {"operators": {"schedule": "operators"}},
        "slices": {"yes": {"slices": True}},
        "layout": {
            "nhwc input": {"input_layout": "nhwc"},
            "nhwc output": {"output_layout": "nhwc"},
        },
    }
    found = set()
    for one, other in universe():
        asked = [of.get(name, {}).get(value) for name, value in (one, other)]
        if asked[0] is not None and asked[1] is not None:
            try:
                Options(**asked[0], **asked[1])
            except UsageError:
                found.add((one, other))
    named = {pair for pair in impossible() if {f[0] for f in pair} <= of.keys()}
    usual = {("input", "resident")}  # of no option: a window that slides has streamed ones
    assert found == {pair for pair in named if usual.isdisjoint(pair)}


def arg(kind: str) -> bytes:
    net = Net(np.int16, 0.05)
    options = getattr(schema, f"{kind}OptionsT")(outputType=schema.TensorType.INT32)
    name = {"ArgMax": "ARG_MAX", "ArgMin": "ARG_MIN"}[kind]
    operands = [net.input((1, 2, 3, 4)), net.const(3)]
    net.op(name, operands, (1, 2, 3), options=options, dtype=np.int32)
    return net.build()


def resized() -> bytes:
    net, options = Net(np.int64), schema.ResizeNearestNeighborOptionsT()
    operands = [net.input((1, 2, 3, 4)), net.const([3, 5])]
    net.op("RESIZE_NEAREST_NEIGHBOR", operands, (1, 3, 5, 4), options=options)
    return net.build()


@pytest.mark.parametrize(
    "data", [arg("ArgMax"), arg("ArgMin"), resized()], ids=["greatest", "least", "resized"]
)
def test_no_interpreter_runs_what_there_is_nothing_to_compare_with(data: bytes) -> None:
    found = compile_model(parse(data, path="network.tflite"), Options(effort=0.1))
    with pytest.raises(OracleError) as error:
        verify(found, samples=1)
    assert "TensorFlow Lite Micro failed" in str(error.value)
    assert "LiteRT failed" in str(error.value)


@pytest.mark.parametrize("core", sorted(targets()))
def test_forms_of_dense_layers_need_the_same_scratch_memory(core: str) -> None:
    for depth, nibbles, large in product((3, 4, 70), (False, True), (0.01, 2.0)):
        net = Net(np.int8, 0.05)
        weights = net.const(np.ones((5, depth)), np.int8, quant=(large, 0))
        operands = [net.input((3, depth)), weights]
        net.op("FULLY_CONNECTED", operands, (3, 5), options=schema.FullyConnectedOptionsT())
        graph = parse(net.build(), path="network.tflite").graph
        tensors = [replace(t, of_nibbles=nibbles and t.is_constant) for t in graph.tensors]
        graph = replace(graph, tensors=tuple(tensors))
        (node,) = lower_op(graph, graph.ops[0], target=targets()[core]).nodes
        assert {node.scratch} == {form.scratch for form in (node, *node.forms)}


def test_features_are_those_of_the_program() -> None:
    plain = Draw("rare", 12, Front(5))
    assert program(plain) == {
        "core": "any",
        "input": "resident",
        "output": "resident",
        "unit": "rows",
        "strips": "no",
        "blocks": "no",
        "slices": "no",
        "hop": "no",
        "simplify": "finds nothing",
        "state": "no",
        "layout": "file",
        "alignment": "16",
    }
    operators = replace(plain, options={"schedule": "operators", "slices": True, "align": 64})
    told = program(operators)
    assert (told["unit"], told["blocks"]) == ("operators", "no")
    assert (told["slices"], told["alignment"]) == ("yes", "64")
    strips = {"input_mode": "const", "max_overhead": float("inf"), "target": "cortex-m3"}
    told = program(replace(plain, options=strips))
    assert (told["strips"], told["input"], told["core"]) == ("yes", "const", "cortex-m3")
    assert program(replace(plain, options={"smallest": True}))["blocks"] == "yes"
    told = program(replace(plain, options={"hop": 2}))
    assert (told["hop"], told["state"], told["input"]) == ("yes", "no", "streamed")
    turned = Front(5, turned_input=True, turned_output=True, state=True)
    told = program(Draw("rare", 12, turned, {"output_layout": "nhwc"}))
    assert (told["layout"], told["state"]) == ("nhwc output", "yes")


def test_kernels_are_those_that_the_core_runs() -> None:
    made = compiled(Draw("rare", 12, Front(5), {"target": "cortex-m55"}))
    pairs = held(made, find_target("cortex-m55"))
    assert pairs <= universe()
    assert pairs.isdisjoint(impossible())
    kernels = {value for pair in pairs for name, value in pair if name == "kernel"}
    assert any(kernel.endswith(" helium") for kernel in kernels)
    assert not any(kernel.endswith(" helium") for pair in held(made, None) for _, kernel in pair)


def test_a_network_behind_a_front_has_its_outputs_and_the_fronts_input() -> None:
    data = rare_network(12)
    own, whole = parse(data).graph, parse(behind(Front(1, turned_output=True), data)).graph
    assert len(whole.inputs) == 1
    assert len(whole.outputs) == len(own.outputs) + 1
    labels = [op.label for op in own.ops]
    assert [op.label for op in whole.ops][-len(labels) :] == labels


def test_a_front_makes_no_inputs_that_are_too_large() -> None:
    with pytest.raises(TooLargeError):
        Draw("mutant", 1, Front(1)).file  # noqa: B018  # for what it raises


@pytest.mark.parametrize(
    "draw",
    [
        Draw("odd", 7),
        Draw("rare", 7, Front(0, state=True), {"hop": 3, "slices": True}),
        Draw("odd", 7, options={"max_overhead": float("inf"), "simplify": False}, on="cortex-m3"),
    ],
    ids=["plain", "front", "options"],
)
def test_a_line_repeats_a_draw(draw: Draw) -> None:
    again = draw_of(draw.line)
    assert again.line == draw.line
    assert (again.generator, again.seed, again.front, again.options, again.on) == (
        *(draw.generator, draw.seed, draw.front, draw.options, draw.on),
    )


def test_a_draw_asks_for_what_is_missing() -> None:
    """Whatever two features of programs are missing: the options are no two that exclude each other."""
    aim, cores = Aim(Random(1)), targets()
    for pair in sorted(p for p in possible() if {f[0] for f in p} <= set(PROGRAM)):
        draw = aim.draw({pair})
        options = Options(**{**draw.options, "target": cores[draw.options["target"]]})
        asked = {
            "core": options.target.core,
            "input": options.input_mode,
            "output": options.output_mode,
            "unit": options.schedule,
            "slices": "yes" if options.slices else "no",
            "hop": "no" if options.hop is None else "yes",
            "alignment": str(options.align),
        }
        for name, value in pair:
            assert asked.get(name, value) == value, (pair, draw.line)


def test_draws_that_others_make_needless_are_not_kept() -> None:
    one, other, third = sorted(possible())[:3]
    met = Met(missing={one, other, third})

    def add(number: int, *pairs: Pair) -> Draw:
        draw = Draw("odd", number)
        met.add(Outcome(draw, "right", pairs=frozenset(pairs)))
        return draw

    add(1, one)
    last = add(2, one, other)
    add(3, other)
    assert met.missing == {third}
    assert met.needed() == [last]


def test_what_no_reference_runs_may_compile() -> None:
    """A pair that nothing is compared with breaks its rule if it is right, others if they are there."""
    nothing: Pair = (("family", "arg"), ("type", "int16"))
    other = next(each for each, rule in impossible().items() if rule.where != REFERENCES)
    for kind, broken in (("no oracle", {other}), ("right", {nothing, other})):
        met = Met()
        met.add(Outcome(Draw("odd", 1), kind, pairs=frozenset({nothing, other})))
        assert met.wrong_rules == broken


def test_a_pair_is_told_and_read() -> None:
    for pair in possible():
        assert pair_of(text_of(pair)) == pair


def test_what_has_met_before_is_not_missing() -> None:
    one, other = sorted(possible())[:2]
    assert meet([], Aim(Random(1)), 0, 1, {one, other}).missing == {one, other}
    assert meet([], Aim(Random(1)), 0, 1).missing == possible()
    assert isinstance(possible(), frozenset)  # it is cached


@pytest.mark.parametrize("line", LINES[:: max(1, len(LINES) // 4)][:4])
def test_stored_draws_are_right(line: str) -> None:
    outcome = tried(draw_of(line))
    assert (outcome.kind, outcome.said) == ("right", "")
    assert outcome.pairs.isdisjoint(impossible())


def test_every_core_has_a_board() -> None:
    assert {*BOARDS, "any"} == {*values()["core"]}

"""IF and WHILE, against the oracle: conditions that are constant, computed, and made at run time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from lowtide.commands.analysis import analyze
from lowtide.commands.checking import verify
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import ModelError
from lowtide.passes import branches
from lowtide.passes.branches import inline_branches
from lowtide.tflite.read import parse
from schema_models import Net

SHAPE = (1, 4, 3, 2)
WAYS = (Options(), Options(schedule="operators", simplify=False))


def run_if(net: Net, condition: int, given: list[int], output: bool = True) -> int:
    options = schema.IfOptionsT(thenSubgraphIndex=1, elseSubgraphIndex=2)
    return net.op("IF", [condition, *given], SHAPE, options=options, output=output)


def two_branches(net: Net) -> tuple[Net, Net]:
    """Of one input each: its maximum with some constant; and itself, or less of it."""
    yes, no = net.branch(), net.branch()
    low = yes.const(np.full((1, 1, 1, 2), 9), np.int8, quant=net.quant)
    yes.op("MAXIMUM", [yes.input(SHAPE), low], SHAPE, options=schema.MaximumMinimumOptionsT())
    no.op("RELU", [no.input(SHAPE)], SHAPE)
    return yes, no


def check(data: bytes, options: Options, kinds: set[str]) -> None:
    compiled = compile_model(parse(data, path="net"), options)
    assert {op.type for op in compiled.graph.ops} == kinds
    assert verify(compiled).bit_exact


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("value", [False, True])
def test_a_constant_condition(value: bool, options: Options) -> None:
    net = Net()
    condition = net.const([value], np.bool_)
    made = run_if(net, condition, [net.input(SHAPE)])
    net.op("RELU6", [made], SHAPE)
    kind = "MAXIMUM" if value else "RELU"
    check(net.build(*two_branches(net)), options, {kind, "RELU6"})


@pytest.mark.parametrize("options", WAYS)
def test_a_condition_that_is_made_at_run_time(options: Options) -> None:
    net = Net()
    x, limit = net.input(SHAPE), net.input((1,), np.int32)
    some = net.const([3], np.int32)
    condition = net.op("LESS", [limit, some], (1,), dtype=np.bool_, output=False)
    run_if(net, condition, [x])
    data = net.build(*two_branches(net))
    check(data, options, {"LESS", "MAXIMUM", "RELU", "SELECT_V2"})


@pytest.mark.parametrize("options", WAYS)
def test_a_branch_that_is_its_input(options: Options) -> None:
    net = Net()
    condition = net.const([False], np.bool_)
    made = run_if(net, condition, [net.input(SHAPE)], output=False)
    net.op("RELU6", [made], SHAPE)
    yes, no = net.branch(), net.branch()
    yes.op("RELU", [yes.input(SHAPE)], SHAPE)
    no.outputs = [no.input(SHAPE)]
    check(net.build(yes, no), options, {"RELU6"})


def loop(net: Net, rounds: int | None, start: int) -> tuple[Net, Net]:
    """A counter below `rounds` (None: below what is given), and a sum that grows with it."""
    test, body = net.branch(), net.branch()
    counter = test.input((1,), np.int32)
    test.input(SHAPE)
    most = test.input((1,), np.int32)
    if rounds is not None:
        most = test.const([rounds], np.int32)
    test.op("LESS", [counter, most], (1,), dtype=np.bool_)
    counter, total = body.input((1,), np.int32), body.input(SHAPE)
    given = body.input((1,), np.int32)
    one = body.const([1], np.int32)
    more = body.const(np.arange(2).reshape(1, 1, 1, 2) + 4, np.int8, quant=(0.1, 0))
    body.op("ADD", [counter, one], (1,), dtype=np.int32, options=schema.AddOptionsT())
    body.op("ADD", [total, more], SHAPE, options=schema.AddOptionsT())
    body.outputs.append(given)
    options = schema.WhileOptionsT(condSubgraphIndex=1, bodySubgraphIndex=2)
    begin, x = net.const([start], np.int32), net.input(SHAPE)
    first = len(net.tensors)
    limit = net.input((1,), np.int32)
    net.op("WHILE", [begin, x, limit], (1,), SHAPE, (1,), options=options, output=False)
    net.tensors[first + 1].type = net.tensors[first + 3].type = schema.TensorType.INT32
    net.tensors[first + 1].quantization = net.tensors[first + 3].quantization = None
    net.op("RELU", [first + 2], SHAPE)
    net.outputs.append(first + 2)
    return test, body


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("start", [0, 2, 5])
def test_a_loop_that_counts(start: int, options: Options) -> None:
    net = Net()
    data = net.build(*loop(net, 5, start))
    compiled = compile_model(parse(data, path="net"), options)
    assert [op.type for op in compiled.graph.ops].count("ADD") == 5 - start
    assert verify(compiled).bit_exact


def refusal(data: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        compile_model(parse(data, path="net"))
    return caught.value


def test_refusals() -> None:
    apart = (
        "compile the parts before and after it separately (--until, --from), and run it in your own "
        "code"
    )
    net = Net()
    error = refusal(net.build(*loop(net, None, 0)))
    assert error.cause == "operator 0 (WHILE): its number of iterations depends on the input"
    assert error.remedy == apart
    net = Net()
    error = refusal(net.build(*loop(net, 2000, 0)))
    assert error.cause == "operator 0 (WHILE): it runs more than 1000 times"

    def with_branch(condition: Any, change: Any) -> bytes:
        net = Net()
        x = net.input(SHAPE)
        chosen = net.const([True], np.bool_) if condition else net.input((1,), np.bool_)
        run_if(net, chosen, [x])
        yes, no = two_branches(net)
        change(yes)
        return net.build(yes, no)

    def stateful(yes: Net) -> None:
        state = yes.tensor(SHAPE, variable=True)
        yes.op("ASSIGN_VARIABLE", [state, yes.inputs[0]])

    error = refusal(with_branch(False, stateful))
    assert error.cause == (
        "operator 0 (IF): its condition is made at run time, and a branch has a ASSIGN_VARIABLE, "
        "which must not run if the other one does"
    )
    assert error.remedy == apart

    def reshaped(yes: Net) -> None:
        for tensor in yes.tensors:
            if list(tensor.shape) == list(SHAPE):
                tensor.shape = [SHAPE[0], SHAPE[2], SHAPE[1], SHAPE[3]]

    error = refusal(with_branch(True, reshaped))
    assert error.cause == "operator 0 (IF): tensor 0 has another shape, type or scale inside it"
    assert error.remedy == "export the model with fixed shapes, and quantise it as a whole"

    def another(yes: Net) -> None:
        yes.input((1,), np.int32)

    error = refusal(with_branch(True, another))
    assert error.cause == (
        "operator 0 (IF): its then_subgraph_index names no subgraph of 1 inputs and 1 outputs"
    )


def test_as_many_operators_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    graph = parse(net.build(*loop(net, 5, 0))).graph
    unrolled = inline_branches(graph)
    most = len(unrolled.ops)
    monkeypatch.setattr(branches, "_MOST_OPERATORS", most)
    assert inline_branches(graph) == unrolled
    monkeypatch.setattr(branches, "_MOST_OPERATORS", most - 1)
    with pytest.raises(ModelError) as caught:
        inline_branches(graph)
    assert caught.value.cause == f"its loops, unrolled, have more than {most - 1} operators"


def test_what_keeps_a_state_that_no_file_shows_cannot_be_unrolled() -> None:
    net = Net()
    graph = parse(net.build(*loop(net, 5, 0))).graph
    body = graph.subgraphs[2]
    custom = replace(body.ops[0], type="CUSTOM", custom="SignalStacker")
    body = replace(body, ops=(custom, *body.ops[1:]))
    with pytest.raises(ModelError) as caught:
        inline_branches(replace(graph, subgraphs={**graph.subgraphs, 2: body}))
    assert caught.value.cause == (
        "operator 0 (WHILE): it has a SignalStacker, and each iteration would need its own state"
    )


def test_other_commands_say_what_to_do() -> None:
    net = Net()
    run_if(net, net.const([True], np.bool_), [net.input(SHAPE)])
    with pytest.raises(ModelError) as caught:
        analyze(parse(net.build(*two_branches(net)), path="net"))
    assert caught.value.remedy.startswith("use `lowtide compile`, which inlines it")

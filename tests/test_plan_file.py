"""Plan files: what is read is what was written, in an order that can run, or a message.

Why by hand: users may edit plans, so anything can be in one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assembled import assemble_rows
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options, from_plan
from lowtide.commands.planned import Planned, planned_model
from lowtide.errors import UsageError
from lowtide.ir import DType, Graph, Op, Quant, Tensor
from lowtide.lower.nodes import NORMAL
from lowtide.order import best_order
from lowtide.passes import fold_pads
from lowtide.plans.file import (
    SCHEMA,
    graph_digest,
    model_digest,
    read_plan,
    stage_order,
    with_views,
)
from lowtide.report.data import to_json
from lowtide.report.planned import plan_document
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice, Limit
from lowtide.tflite.read import parse
from networks import loaded
from random_nets import random_network

MODEL = "figure1"
SEEDS = range(12)
WRITE = "write one with `lowtide plan MODEL -o FILE`"
ANEW = "write it again with `lowtide plan MODEL -o FILE`"
PLAN_ANEW = "write the plan again with `lowtide plan MODEL -o FILE`"


@cache
def planned(options: Options = Options()) -> Planned:  # noqa: B008  # frozen
    return planned_model(loaded(MODEL), options)


def document(**changes: Any) -> dict[str, Any]:
    """The plan of the network as a document, with other values; those that are ... are left out."""
    fields = {**plan_document(planned()), **changes}
    return {key: value for key, value in fields.items() if value is not ...}


def stage(operators: object, **fields: object) -> dict[str, object]:
    return {"operators": operators, **fields}


def read(path: Path, content: object) -> dict[str, Any]:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_plan(path, loaded(MODEL), from_plan)


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(input_mode="const", output_mode="streamed"),
        Options(input_mode="streamed", output_mode="streamed"),
        Options(preserve_input=True, quantized_io=True),
        Options(max_overhead=1.5),
        Options(max_ram=2400),
    ],
    ids=lambda options: f"{options.input_mode}-{options.max_overhead}-{options.max_ram}",
)
def test_what_is_written_is_read_again(options: Options, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    written = planned(options)
    path.write_text(to_json(plan_document(written)))
    fields = read_plan(path, loaded(MODEL), from_plan)
    plan = written.compiled.assembly.plan
    assert plan is not None
    assert fields == {
        "stages": tuple(stage.choice for stage in plan.stages),
        "input_mode": options.input_mode,
        "output_mode": options.output_mode,
        "preserve_input": options.preserve_input,
        "quantized_io": options.quantized_io,
        "input_layout": "file",
        "output_layout": "file",
        "input_type": "file",
        "simplify": True,
        "stages_of": graph_digest(written.compiled.graph),
    }
    again = compile_model(loaded(MODEL), Options(**fields))
    assert again.arena_bytes == written.compiled.arena_bytes
    made, before = again.files, written.compiled.files
    assert made.keys() == before.keys()  # two of them name the command, which has a plan now
    assert {name for name in made if made[name] != before[name]} == {f"{again.name}.h", "README.md"}


def test_a_plan_by_hand(tmp_path: Path) -> None:
    """What is not needed may be left out."""
    own = {
        "schema": SCHEMA,
        "input": "const",
        "output": "resident",
        "stages": [stage([0, 3, 5, 1, 2, 4, 6], strip_width=2), stage([], strip_width=None)],
    }
    assert read(tmp_path / "p", own) == {
        "stages": (Choice((0, 3, 5, 1, 2, 4, 6), 2), Choice(())),
        "input_mode": "const",
        "output_mode": "resident",
        "preserve_input": False,
        "quantized_io": False,
        "input_layout": "file",
        "output_layout": "file",
        "input_type": "file",
        "simplify": False,
        "stages_of": None,
    }


def refused(path: Path, content: object, cause: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(path, content)
    assert caught.value.cause == cause
    assert caught.value.remedy == remedy
    assert caught.value.exit_code == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"\xff\xfe{")
    for where in (path, tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError) as caught:
            read_plan(where, loaded(MODEL), from_plan)
        assert caught.value.cause.startswith(f"the plan {where} cannot be read: ")
        assert caught.value.remedy == WRITE
    for text in ("", "{", "[" * 100_000, '{"schema": 1e999999x}', "9" * 5000):
        path.write_text(text)
        with pytest.raises(UsageError) as caught:
            read_plan(path, loaded(MODEL), from_plan)
        assert caught.value.cause.startswith(f"the plan {path} cannot be read: ")
        assert caught.value.remedy == WRITE


@pytest.mark.parametrize("content", [[], 3, None, "text", {}, {"schema": "lowtide.plan/2"}])
def test_documents_of_another_kind(content: object, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    cause = f"{path} is not a plan of schema lowtide.plan/1"
    refused(path, json.dumps(content), cause, WRITE)


def test_plans_of_other_graphs(tmp_path: Path) -> None:
    """Operators have other numbers in a graph that was simplified in another way."""
    path = tmp_path / "p"
    document = json.loads(to_json(plan_document(planned(Options()))))
    path.write_text(json.dumps({**document, "graph_sha256": "0" * 64}))
    with pytest.raises(UsageError) as caught:
        compile_model(loaded(MODEL), Options(**read_plan(path, loaded(MODEL), from_plan)))
    assert caught.value.cause == (
        "the plan is for another graph of this model, which another version simplified, or for "
        "another part of it"
    )
    assert caught.value.remedy == "plan the model again with `lowtide plan MODEL -o FILE`"
    for key in ("graph_sha256", "simplified"):
        wrong = {**document, key: 5}
        with pytest.raises(UsageError, match="is damaged"):
            read(tmp_path / "q", wrong)


@pytest.mark.parametrize("digest", ["", "0" * 64, 5, None])
def test_plans_of_other_models(digest: object, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    cause = f"the plan {path} is for another model (zoo:mine)"
    remedy = "plan this one with `lowtide plan MODEL -o FILE`"
    refused(path, document(sha256=digest, model="zoo:mine"), cause, remedy)
    assert len(model_digest(loaded(MODEL))) == 64


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stages": ...}, "KeyError('stages')"),
        ({"stages": None}, "TypeError(\"'NoneType' object is not iterable\")"),
        ({"stages": 3}, "TypeError(\"'int' object is not iterable\")"),
        ({"stages": "0"}, "TypeError(\"string indices must be integers, not 'str'\")"),
        ({"stages": [{}]}, "KeyError('operators')"),
        ({"stages": [stage(3)]}, "TypeError(\"'int' object is not iterable\")"),
        ({"stages": [stage("12")]}, "ValueError(\"'1' is no operator's number\")"),
        ({"stages": [stage([-1])]}, 'ValueError("-1 is no operator\'s number")'),
        ({"stages": [stage([1.0])]}, 'ValueError("1.0 is no operator\'s number")'),
        ({"stages": [stage([True])]}, 'ValueError("True is no operator\'s number")'),
        ({"stages": [stage([[1]])]}, 'ValueError("[1] is no operator\'s number")'),
        ({"stages": [stage([0], strip_width=0)]}, "ValueError('0 is no width')"),
        ({"stages": [stage([0], strip_width=-2)]}, "ValueError('-2 is no width')"),
        ({"stages": [stage([0], strip_width=2.0)]}, "ValueError('2.0 is no width')"),
        ({"stages": [stage([0], strip_width=True)]}, "ValueError('True is no width')"),
        ({"stages": [stage([0], strip_width="3")]}, "ValueError(\"'3' is no width\")"),
        ({"input": ...}, "KeyError('input')"),
        ({"input": "flash"}, "ValueError(\"'flash' is not one of resident, const, streamed\")"),
        ({"input": None}, "ValueError('None is not one of resident, const, streamed')"),
        ({"output": ...}, "KeyError('output')"),
        ({"output": "const"}, "ValueError(\"'const' is not one of resident, streamed\")"),
        ({"output": ["resident"]}, "ValueError(\"['resident'] is not one of resident, streamed\")"),
    ],
)
def test_what_is_damaged(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    refused(path, document(**changes), f"the plan {path} is damaged: {said}", ANEW)


@cache
def graph_of(seed: int) -> Graph:
    return fold_pads(parse(random_network(seed)).graph)


@cache
def prepared(seed: int) -> Prepared:
    graph = graph_of(seed)
    return prepare(graph, best_order(graph).order)


def needs(graph: Graph, op: int) -> set[int]:
    """The operators whose results an operator reads."""
    made = {t: other.id for other in graph.ops for t in other.outputs}
    return {made[t] for t in graph.ops[op].inputs if t in made}


def some_order(graph: Graph, rng: Random) -> list[int]:
    """Any order that can run."""
    order: list[int] = []
    while len(order) < len(graph.ops):
        free = [op.id for op in graph.ops if op.id not in order]
        order.append(rng.choice([op for op in free if needs(graph, op) <= set(order)]))
    return order


def some_stages(operators: Sequence[int], rng: Random) -> list[Choice]:
    stages: list[list[int]] = [[]]
    for op in operators:
        if rng.random() < 0.4:
            stages.append([])
        stages[-1].append(op)
    return [Choice(tuple(s), rng.choice((None, 2)), limits=_some_limits(s, rng)) for s in stages]


def _some_limits(operators: Sequence[int], rng: Random) -> tuple[Limit, ...]:
    """Some that change while a stage runs, and some normal forms."""
    return tuple(
        Limit(op, rng.choice((NORMAL, 0, 64)), step)
        for op in sorted(operators)
        if rng.random() < 0.5
        for step in sorted(rng.sample(range(5), rng.choice((1, 1, 3))))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_what_is_listed_and_of_the_rest(seed: int) -> None:
    """Listed operators as listed; others as soon as they can, the first in the file first."""
    rng, graph = Random(seed), graph_of(seed)
    for _ in range(8):
        order = some_order(graph, rng)
        others = {op for op in order if rng.random() < 0.3}
        listed = [op for op in order if op not in others]
        found = list(stage_order(graph, some_stages(listed, rng)))
        assert sorted(found) == list(range(len(graph.ops)))
        assert [op for op in found if op in listed] == listed
        for at, op in enumerate(found):
            assert needs(graph, op) <= set(found[:at])
            if op in others:
                continue
            # Nothing that could have come before it comes after it.
            late = [o for o in found[at:] if o in others and needs(graph, o) <= set(found[:at])]
            assert not late
    assert list(stage_order(graph, [])) == sorted(stage_order(graph, []))


def order_refused(graph: Graph, stages: Sequence[Choice], cause: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        stage_order(graph, stages)
    assert (caught.value.cause, caught.value.remedy) == (cause, remedy)


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_that_cannot_run(seed: int) -> None:
    rng, graph = Random(seed), graph_of(seed)
    order = some_order(graph, rng)
    count = len(order)
    lacks = f"the plan names operator {count}, which the network lacks"
    order_refused(graph, [Choice((*order, count))], lacks, PLAN_ANEW)
    order_refused(graph, [Choice((order[0], count)), Choice((order[0],))], lacks, PLAN_ANEW)
    twice = rng.choice(order)
    cause = f"the plan names operator {twice} twice"
    order_refused(graph, [Choice(tuple(order)), Choice((twice,))], cause, PLAN_ANEW)
    order_refused(graph, [Choice((twice, twice))], cause, PLAN_ANEW)
    late = rng.choice([op for op in order if needs(graph, op)])
    wrong = [late, *(op for op in order if op != late)]
    cause = f"in the plan, operator {late} runs before one that it needs"
    order_refused(
        graph, [Choice(tuple(wrong))], cause, "list operators after those whose results they read"
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_stages_without_what_needs_no_code(seed: int) -> None:
    rng, of = Random(seed), prepared(seed)
    needed = {group.operator for group in of.groups}
    stages = some_stages(of.order, rng)
    kept = with_views(of, stages)
    assert [op for s in kept for op in s.operators] == [op for op in of.order if op in needed]
    assert all(stage.operators for stage in kept)
    rest = iter(stages)
    for stage in kept:  # the same stages, each with its width and form
        own = next(s for s in rest if set(s.operators) & needed)
        assert (own.strip_width, own.limits) == (stage.strip_width, stage.limits)
        assert stage.operators == tuple(op for op in own.operators if op in needed)
    only = [Choice(tuple(op for op in s.operators if op in needed)) for s in stages]
    assert [s.operators for s in with_views(of, only)] == [s.operators for s in kept]
    missing = rng.choice(sorted(needed))
    without = [Choice(tuple(op for op in s.operators if op != missing)) for s in stages]
    with pytest.raises(UsageError) as caught:
        with_views(of, without)
    assert caught.value.cause == f"operator {missing} is in no stage of the plan"
    assert caught.value.remedy == PLAN_ANEW


def test_some_operators_need_no_code() -> None:
    """So that the one before cannot come to say nothing."""
    assert any(len(prepared(seed).groups) < len(graph_of(seed).ops) for seed in SEEDS)


def _stateful() -> Graph:
    """New rows are joined with a state that they then replace."""
    quant = Quant((0.5,), (0,), 0)
    tensors = tuple(
        Tensor(i, f"t{i}", (1, rows, 64), DType.INT8, quant, is_variable=i == 1)
        for i, rows in enumerate((4, 4, 4, 4, 8))
    )
    ops = (
        Op(0, "ADD", (0, 0), (2,), {"fused_activation_function": 0}),
        Op(1, "READ_VARIABLE", (1,), (3,)),
        Op(2, "CONCATENATION", (2, 3), (4,), {"axis": 1, "fused_activation_function": 0}),
        Op(3, "ASSIGN_VARIABLE", (1, 2), ()),
    )
    return Graph("state", tensors, ops, (0,), (4,))


def test_a_state_in_its_order() -> None:
    graph = _stateful()
    assert stage_order(graph, [Choice((0,)), Choice((1,)), Choice((3,))]) == (0, 1, 2, 3)


def test_a_state_is_not_read_after_it_was_assigned() -> None:
    with pytest.raises(UsageError):
        stage_order(_stateful(), [Choice((0,)), Choice((3,)), Choice((1,)), Choice((2,))])


def test_a_state_is_read_before_it_is_assigned_in_one_stage() -> None:
    """Rows do not show that what is joined must be read before it is replaced."""
    graph = _stateful()
    stages = [Choice((0, 1, 2, 3))]
    of = prepare(graph, stage_order(graph, stages), input_mode="const")
    try:
        program = assemble_rows(of, with_views(of, stages))
    except UsageError:
        return
    assert program.plan is not None
    ran = [program.kernels[node].node.op for node, _ in program.plan.steps]
    assert max(at for at, op in enumerate(ran) if op == 1) < ran.index(3)

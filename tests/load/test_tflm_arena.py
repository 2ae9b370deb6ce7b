"""The predicted TFLM arena is the one that TFLM itself allocates, to the byte.

Why here: the prediction rests on lifetimes, sizes and planning at once, and on files as odd as TFLM
takes them: dead operators, unused inputs and tensors, outputs read again, ids in any order.
"""

from __future__ import annotations

from random import Random
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest
from tiny import model, opcode, operator, pack, subgraph, tensor

from lowtide.advice.reporting import report_on
from lowtide.commands.analysis import analyze
from lowtide.commands.compiling import compile_model
from lowtide.commands.estimating import estimate
from lowtide.commands.options import Options
from lowtide.commands.planned import planned_model
from lowtide.commands.reordering import with_offline_plan
from lowtide.ir import Graph
from lowtide.oracle.interpreters import tflm_arena
from lowtide.passes import resolve_variables
from lowtide.place.offline_plan import METADATA_NAME, encode
from lowtide.place.tensors import tflm_arena_bytes, tflm_head_bytes, tflm_variable_bytes
from lowtide.report.memory_views import views_of
from lowtide.tflite.read import parse
from lowtide.tflite.rewrite import permute_operators, set_metadata
from networks import contents, loaded
from stateful import ring
from variable_nets import variable_network

ADD, CONCATENATION, SPLIT, FULLY_CONNECTED = range(4)
CODES = ("ADD", "CONCATENATION", "SPLIT", "FULLY_CONNECTED")
AXIS = np.int32(1).tobytes()


class Draft:
    """A model in the making: int8 vectors, and operators that reference kernels take."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.constants: dict[int, bytes] = {}
        self.ops: list[tuple[int, list[int], list[int], Any]] = []

    def vector(self, size: int, data: bytes | None = None) -> int:
        self.sizes.append(size)
        if data is not None:
            self.constants[len(self.sizes) - 1] = data
        return len(self.sizes) - 1

    def apply(self, code: int, inputs: list[int], sizes: list[int], options: Any) -> list[int]:
        outputs = [self.vector(size) for size in sizes]
        self.ops.append((code, inputs, outputs, options))
        return outputs

    def grow(self, rng: Random, known: list[int]) -> list[int]:
        """One operator on tensors among `known`; its outputs."""
        a, b = rng.choice(known), rng.choice(known)
        x, y = self.sizes[a], self.sizes[b]
        match rng.randrange(4):
            case 0:
                same = b if x == y else a
                return self.apply(ADD, [a, same], [x], schema.AddOptionsT())
            case 1 if x + y < 2_000:
                axis = schema.ConcatenationOptionsT(axis=1)
                return self.apply(CONCATENATION, [a, b], [x + y], axis)
            case 2 if parts := [p for p in (2, 3) if x % p == 0]:
                count = rng.choice(parts)
                axis_input = self.vector(1, AXIS)
                split = schema.SplitOptionsT(numSplits=count)
                return self.apply(SPLIT, [axis_input, a], [x // count] * count, split)
            case _:
                out = rng.choice((1, 15, 16, 17, 48, 300))
                weights = self.vector(x * out, bytes(x * out))
                return self.apply(
                    FULLY_CONNECTED, [a, weights, -1], [out], schema.FullyConnectedOptionsT()
                )

    def table(self, index: int) -> tuple[list[int], str]:
        """Shape and type: a constant is the axis of a split or a layer's weights."""
        if index not in self.constants:
            return [1, self.sizes[index]], "INT8"
        if self.constants[index] == AXIS and self.sizes[index] == 1:
            return [], "INT32"
        (rows,) = (self.sizes[outs[0]] for _, ins, outs, _ in self.ops if index in ins)
        return [rows, self.sizes[index] // rows], "INT8"


def random_model(seed: int) -> bytes:
    rng = Random(seed)
    draft = Draft()
    inputs = [draft.vector(rng.choice((6, 16, 48, 100))) for _ in range(rng.choice((1, 2, 3)))]
    known = list(inputs)
    for _ in range(rng.randint(2, 10)):
        known += draft.grow(rng, known)
    unused = [draft.vector(rng.choice((5, 64))) for _ in range(rng.choice((0, 0, 1)))]
    read = {t for _, ins, _, _ in draft.ops for t in ins}
    made = [t for t in known if t not in inputs]
    kept = [t for t in made if rng.random() < (0.2 if t in read else 0.7)] or made[-1:]
    new = list(range(len(draft.sizes)))
    rng.shuffle(new)
    new.append(-1)  # new[-1] == -1: an omitted input stays one
    tensors: list[Any] = [None] * len(draft.sizes)
    buffers = []
    for index in range(len(draft.sizes)):
        shape, dtype = draft.table(index)
        if index in draft.constants:
            buffers.append(draft.constants[index])
        tensors[new[index]] = tensor(
            shape,
            dtype,
            buffer=len(buffers) if index in draft.constants else 0,
            quantization=schema.QuantizationParametersT(scale=[1.0], zeroPoint=[0]),
        )
    assert all(t not in read for t in unused)
    main = subgraph(
        tensors,
        [
            operator([new[t] for t in ins], [new[t] for t in outs], code, options)
            for code, ins, outs, options in draft.ops
        ],
        [new[t] for t in inputs],
        [new[t] for t in kept],
    )
    return pack(model(main, codes=[opcode(code) for code in CODES], buffers=buffers))


def random_order(graph: Graph, rng: Random) -> list[int]:
    """A valid order of the operators, each next one drawn from those that can run."""
    made = {-1, *graph.inputs} | {t.id for t in graph.tensors if t.is_constant}
    left, order = list(range(len(graph.ops))), list[int]()
    while left:
        op = rng.choice([i for i in left if made.issuperset(graph.ops[i].inputs)])
        left.remove(op)
        order.append(op)
        made.update(graph.ops[op].outputs)
    return order


@pytest.mark.parametrize("seed", range(30))
def test_random_models(seed: int) -> None:
    source = random_model(seed)
    found = analyze(parse(source))
    assert found.tflm_greedy_arena_bytes == tflm_arena(source).head
    assert found.peak_bytes <= found.tflm_greedy_arena_bytes


@pytest.mark.parametrize("seed", range(20))
def test_offsets_in_the_file(seed: int) -> None:
    """Of some tensors or all, whether they overlap or not: TFLM plans the others around them."""
    source = random_model(seed)
    tensors = parse(source).graph.tensors
    rng = Random(seed)
    share = rng.choice((0.2, 0.5, 1))
    unit = rng.choice((16, 16, 4))
    offsets = [rng.randrange(0, 640, unit) if rng.random() < share else None for _ in tensors]
    stored = parse(set_metadata(source, METADATA_NAME, encode(offsets, 1)))
    head = tflm_arena(stored.source).head
    assert tflm_head_bytes(stored) == head
    assert tflm_head_bytes(parse(source)) == tflm_arena(source).head
    if any(offset is not None for offset in offsets):
        assert analyze(stored).stored_plan_bytes == head


@pytest.mark.parametrize("name", ["branchy-cell", "ds-cnn-kws", "attention-block"])
def test_all_figures_know_of_offsets_in_the_file(name: str) -> None:
    model = with_offline_plan(loaded(name))
    head = tflm_arena(model.source).head
    assert head == analyze(model).stored_plan_bytes
    assert estimate(model).tflm_bytes == head
    options = Options(effort=0.1)
    assert compile_model(model, options).tflm_bytes.arena == head
    assert planned_model(model, options).tflm_bytes == head
    reported = report_on(model, options)
    assert reported.tflm.arena_bytes == head
    assert reported.ordered.arena_bytes <= head
    assert "offline plan" in views_of(reported)[0].caption


@pytest.mark.parametrize("name", ["figure1", "branchy-cell", "attention-block"])
@pytest.mark.parametrize("seed", range(4))
def test_other_orders_of_the_same_model(name: str, seed: int) -> None:
    graph = loaded(name).graph
    order = random_order(graph, Random(seed))
    source = permute_operators(contents(name), order)
    head = tflm_arena(source).head
    assert tflm_arena_bytes(graph, order) == head
    assert analyze(parse(source)).tflm_greedy_arena_bytes == head


@pytest.mark.parametrize("name", ["figure1", "branchy-cell"])
def test_the_best_order_written_to_a_file(name: str) -> None:
    found = analyze(loaded(name))
    source = permute_operators(contents(name), found.best_order.order)
    again = analyze(parse(source))
    assert again.peak_bytes == again.best.peak_bytes == found.best.peak_bytes
    assert again.file.tflm_greedy_arena_bytes == found.best.tflm_greedy_arena_bytes
    assert tflm_arena(source).head == found.best.tflm_greedy_arena_bytes


@pytest.mark.parametrize("seed", [0, 1, 3, 12])
def test_what_reads_variables_is_in_the_arena(seed: int) -> None:
    """Each READ_VARIABLE is a copy; a handle has a word, as TFLM gives it one."""
    source = variable_network(seed)
    assert analyze(parse(source)).tflm_greedy_arena_bytes == tflm_arena(source).head


@pytest.mark.parametrize("kept", [4, 7, 100])
def test_variables_are_beside_it(kept: int) -> None:
    """Seen in what the tail grows by, when a variable does: all else in it stays as it is."""
    one, more = (ring(rows) for rows in (1, kept))
    grown = tflm_arena(more.source).tail - tflm_arena(one.source).tail
    small, large = (tflm_variable_bytes(resolve_variables(m.graph)) for m in (one, more))
    assert large - small == grown == -(-4 * kept // 16) * 16 - 16

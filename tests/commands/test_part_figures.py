"""The figures of a part are those of the file that holds only the part.

Why: a part's tensors keep the numbers that they have in the whole network, so its graph also has tensors
that are in no such file.
"""

from __future__ import annotations

from random import Random

import pytest

import lowtide
from lowtide.advice.reporting import report_on
from lowtide.commands.analysis import analyze
from lowtide.commands.compiling import compile_model
from lowtide.commands.cutting import as_file, part_of
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.ir import Graph, Model
from lowtide.oracle.interpreters import tflm_arena
from lowtide.passes import resolve_variables
from lowtide.place.tensors import tflm_arena_bytes, tflm_variable_bytes
from lowtide.report.data import analysis_document
from lowtide.tflite.read import parse
from networks import loaded
from variable_nets import variable_network

NETWORKS = (
    *("figure1", "branchy-cell", "ds-cnn-kws", "mobilenet-v1-0.25-96", "attention-block"),
    *("lstm-gestures", "streaming-wake-word"),
)
_WITH_SCRATCH = ("lstm-gestures",)
"""Those in which TFLM's kernels ask for memory beside the tensors."""
_PARTS = 6
_TRIES = 40


def random_ends(graph: Graph, rng: Random) -> tuple[list[int], list[int]]:
    """Tensors to begin and end with: what is live at one moment, and what is made later."""
    made = [t for op in graph.ops for t in op.outputs if graph.tensors[t].bytes]
    until = rng.sample(made, rng.choice((1, 1, 2)))
    if rng.random() < 0.4:
        return [], until
    at = rng.randrange(len(graph.ops))
    before = {t for op in graph.ops[:at] for t in op.outputs} | set(graph.inputs)
    read = {t for op in graph.ops[at:] for t in op.inputs if t >= 0}
    return sorted(before & read), until if rng.random() < 0.5 else []


def random_parts(model: Model, seed: int) -> list[Model]:
    """Some parts of a network; ends between which no part can be are passed over."""
    rng = Random(seed)
    found: list[Model] = []
    for _ in range(_TRIES):
        begin, until = random_ends(model.graph, rng)
        try:
            part = part_of(model, begin, until)
        except UsageError:
            continue
        if part.whole is not None:
            found.append(part)
        if len(found) == _PARTS:
            break
    return found


def tflm_figures(graph: Graph) -> tuple[int, int]:
    """TFLM's arena head for tensors, and what it takes for variables, in bytes."""
    head = tflm_arena_bytes(graph, range(len(graph.ops)))
    return head, tflm_variable_bytes(resolve_variables(graph))


def expect_the_same(part: Model) -> Model:
    """The part's file, whose figures are those of the part."""
    file = as_file(part, check=False)
    assert tflm_figures(part.graph) == tflm_figures(file.graph)
    assert len(part.graph.own_tensors) == len(file.graph.tensors)
    assert part.graph.weights_bytes == file.graph.weights_bytes
    assert part.graph.variables_bytes == file.graph.variables_bytes
    return file


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NETWORKS)
def test_random_parts(name: str, seed: int) -> None:
    parts = random_parts(loaded(name), seed)
    assert parts
    files = [expect_the_same(part) for part in parts]
    if name not in _WITH_SCRATCH:
        assert tflm_figures(files[0].graph)[0] == tflm_arena(files[0].source).head


@pytest.mark.parametrize("seed", range(8))
def test_random_parts_with_state(seed: int) -> None:
    for part in random_parts(parse(variable_network(seed)), seed):
        expect_the_same(part)


@pytest.mark.parametrize("name", ["branchy-cell", "ds-cnn-kws"])
def test_all_that_compares_with_tflm(name: str) -> None:
    model = loaded(name)
    part = part_of(model, until=model.graph.ops[1].outputs)
    file = as_file(part)
    ram = sum(tflm_figures(file.graph))
    assert ram == tflm_arena(file.source).head
    assert lowtide.estimate(part).tflm_bytes == ram
    assert lowtide.estimate(part).weights_bytes == file.graph.weights_bytes
    assert compile_model(part, Options(effort=0.1)).tflm_bytes.ram == ram
    documents = [analysis_document(analyze(each)) for each in (part, file)]
    for document in documents:
        assert document["tflm_greedy_arena_bytes"] == ram
        assert document["model"]["tensors"] == len(document["tensors"])
    assert documents[0]["model"] == documents[1]["model"]


def test_tensors_that_a_part_leaves_out_are_not_in_its_text() -> None:
    """A part's tensors keep their numbers; those of the others are given to nobody."""
    model = loaded("branchy-cell")
    part = part_of(model, until=model.graph.ops[1].outputs)
    listed = {tensor.id for tensor in analyze(part).tensors}
    assert listed == {tensor.id for tensor in part.graph.own_tensors}
    assert listed < {tensor.id for tensor in model.graph.tensors}
    reported = report_on(part, Options(effort=0.1))
    assert reported.tflm.arena_bytes == tflm_figures(part.graph)[0]

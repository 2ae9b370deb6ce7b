"""Random networks with variables, against the reference kernels, their state carried from call to call.

Why every tensor at every invocation: a value that is kept too short, or overwritten while a reader still
waits, may reach an output only many calls later, or never with the inputs that were tried. `make soak`
does it for hundreds of networks; `pytest -m soak tests/end_to_end/test_variables.py --seeds 0:50` for
those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.ir import Graph
from lowtide.passes import resolve_variables
from lowtide.report.deployment import verified_text
from lowtide.tflite.read import parse
from variable_nets import variable_network

INVOCATIONS = 20
MODES = (
    Options(schedule="operators"),
    Options(input_mode="streamed", output_mode="streamed"),
    Options(input_mode="const"),
    Options(preserve_input=True),
    Options(input_mode="streamed", max_overhead=2.0),
)
SEEDS = range(10)
SOAK = range(1000, 1300)
BATCH = 10


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "batch" in metafunc.fixturenames:
        seeds = asked(metafunc.config)
        batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
        metafunc.parametrize("batch", batches, ids=str)


def asked(config: pytest.Config) -> range:
    """The random networks that a soak test is to try."""
    given = config.getoption("--seeds")
    return range(*map(int, given.split(":"))) if given else SOAK


def program(seed: int, options: Options) -> Compiled:
    name = f"keeping_{seed}"
    return compile_model(parse(variable_network(seed), path=name), replace(options, name=name))


def check(seed: int, options: Options) -> None:
    compiled = program(seed, options)
    result = checking.verify(compiled, samples=INVOCATIONS, seed=seed)
    assert result.bit_exact, f"network {seed}, {options}: {verified_text(compiled, result)}"
    assert result.state is not None
    assert result.state.invocations == INVOCATIONS


@pytest.mark.parametrize("seed", SEEDS)
def test_networks_with_variables(seed: int) -> None:
    check(seed, (Options(), *MODES)[seed % 6])


@pytest.mark.soak
def test_many_networks_with_variables(batch: range) -> None:
    for seed in batch:
        check(seed, Options())
        check(seed, MODES[seed % len(MODES)])


def kinds(graph: Graph) -> Iterator[tuple[str, bool]]:
    """What makes state hard, and whether one of the network's variables has it."""
    variables = [t for t in graph.tensors if t.is_variable]
    lengths = {t.shape[1] for t in variables if len(t.shape) == 4}
    yield "rings of several lengths", len(lengths) > 1
    for variable in variables:
        users = [op for op in graph.ops if variable.id in op.inputs]
        events = "".join(op.type[0] for op in users)  # R and A
        values = [op.outputs[0] for op in users if op.type == "READ_VARIABLE"]
        given = [op.inputs[1] for op in users if op.type == "ASSIGN_VARIABLE"]
        readers = [sum(value in op.inputs for op in graph.ops) for value in values]
        yield "first values", variable.initial is not None
        yield "read twice", events.count("R") > 1
        yield "assigned twice", events.count("A") > 1
        yield "never assigned", "A" not in events
        yield "read after it was assigned", "AR" in events
        yield "several readers of one value", max(readers, default=0) > 1
        yield "an output as it is", not set(values).isdisjoint(graph.outputs)
        yield "an input as it is", not set(given).isdisjoint(graph.inputs)
        yield (
            "another variable's value",
            any(
                value in other.outputs
                for value in given
                for other in graph.ops
                if other.type == "READ_VARIABLE"
            ),
        )


def test_networks_have_what_makes_state_hard() -> None:
    """Or the tests above would be of little worth."""
    found: Counter[str] = Counter()
    for seed in range(100):
        graph = resolve_variables(parse(variable_network(seed)).graph)
        for kind, has in kinds(graph):
            found[kind] += has
    assert len(found) == 10
    assert min(found.values()) >= 5, found

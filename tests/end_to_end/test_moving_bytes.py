"""Networks that mostly move bytes: views of parts of views, whatever is joined with whatever.

Why two ways of checking: a proof of a program (`lowtide.prove`) takes milliseconds, so that many
networks are tried in every mode; a few are built under sanitizers, with one call of the compiler, and
compared with the reference kernels. `make soak` does both for thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
from programs import run_main, samples_of
from streams import BOTH_USED, CALLER, c_data, c_run

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.tflite.read import parse
from moving_nets import joined_with_its_own, moving_network, reshaped_and_split

ROWS = Options()
STREAMED = Options(input_mode="streamed", output_mode="streamed")
MODES = {
    "rows": ROWS,
    "operators": Options(schedule="operators"),
    "streamed": STREAMED,
    "const": Options(input_mode="const"),
    "preserved": Options(preserve_input=True),
}
SEEDS = range(40)
WITH_STATE = 1031
BUILT: list[int | str] = ["vector", "own_2_2", 100, 101, WITH_STATE]
SOAK = range(1000, 3000)
BATCH = 25

_REPRO = Path(__file__).resolve().parents[3] / "shared" / "repro"
_FILES = [
    _REPRO / f"{name}.tflite"
    for name in ("reshape_then_split", "reshape_then_split_small", "concat_of_a_slice_hangs")
]

KNOWN: dict[str, Callable[[], bytes]] = {
    "vector": lambda: reshaped_and_split((1, 24), (1, 6, 1, 4), (2, 4)),
    "fewer_rows": lambda: reshaped_and_split((1, 4, 3, 2), (1, 6, 1, 4), (2, 4)),
    "as_many_rows": lambda: reshaped_and_split((1, 6, 2, 2), (1, 6, 1, 4), (1, 3, 2)),
    "other_rows": lambda: reshaped_and_split((1, 17, 3, 3), (1, 9, 1, 17), (5, 2, 2)),
    **{
        f"own_{steps}_{axis}": partial(joined_with_its_own, steps, axis)
        for steps in (1, 2, 3)
        for axis in (1, 2)
    },
    **{path.stem: path.read_bytes for path in _FILES if path.exists()},
}
"""Networks that were compiled wrongly, or without end, and others like them."""


@cache
def program(network: int | str, mode: str) -> Compiled:
    """A network that is known, or the random one of that number, in one of the MODES.

    Moves that undo each other stay: they are what is tested.
    """
    data = KNOWN[network]() if isinstance(network, str) else moving_network(network)
    name = f"net_{network}_{mode}"
    return compile_model(parse(data, path=name), replace(MODES[mode], name=name, simplify=False))


def check_on_labels(compiled: Compiled) -> None:
    """Each compilation ends with a proof: it is of all operators."""
    assert compiled.proof.data_flow
    assert compiled.proof.bounds


def check_built(folder: Path, networks: Sequence[int | str], modes: Sequence[str]) -> None:
    """All in one program, under sanitizers, each on its inputs in turn."""
    declarations, bodies, programs = CALLER, BOTH_USED, []
    for network in networks:
        compiled = [program(network, mode) for mode in modes]
        samples = samples_of(compiled[0].model, 3)
        declarations += c_data(f"net_{network}", samples)
        for each in compiled:
            declared, body = c_run(each, f"net_{network}", samples)
            declarations += declared
            bodies += body
        programs += compiled
    run_main(folder, programs, bodies, declarations)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", KNOWN)
def test_known_networks(network: str, mode: str) -> None:
    check_on_labels(program(network, mode))


@pytest.mark.parametrize("mode", MODES)
def test_random_networks(mode: str) -> None:
    for seed in SEEDS:
        check_on_labels(program(seed, mode))


def test_random_networks_have_joins_of_all_kinds() -> None:
    """Or the tests above would be of little worth."""
    programs = [program(seed, "rows").assembly for seed in SEEDS]
    joined = [
        (op.type, assembly.views.keys() & {*op.inputs, *op.outputs})
        for assembly in programs
        for op in assembly.graph.ops
        if op.outputs[0] in assembly.untraced
    ]
    assert len(joined) >= len(programs) // 3
    assert {kind for kind, _ in joined} == {"CONCATENATION", "SLICE", "SPLIT", "SPLIT_V"}
    assert sum(len(views) > 0 for _, views in joined) >= 3
    inputs = (assembly.graph.tensors[assembly.graph.inputs[0]] for assembly in programs)
    assert len({tensor.dtype for tensor in inputs}) == 4


def test_built_programs(tmp_path: Path) -> None:
    files = [path.stem for path in _FILES[:1] if path.stem in KNOWN]
    check_built(tmp_path, [*BUILT, *files], ("rows", "streamed"))


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK[::BATCH])
def test_many_networks(first: int, tmp_path: Path) -> None:
    seeds = range(first, first + BATCH)
    for seed in seeds:
        for mode in MODES:
            check_on_labels(program(seed, mode))
    check_built(tmp_path, seeds, tuple(MODES))
    program.cache_clear()

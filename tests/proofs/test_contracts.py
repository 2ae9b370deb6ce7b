"""The lowering keeps the contracts of the helpers: `contracts.toml`, said there once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from contracts import CONTRACTS, HELPERS, ranges_of

from byte_nets import byte_network
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.passing import answers_of, asked_of
from lowtide.ir import Model
from lowtide.lower.nodes import Array, Node, Params
from lowtide.lower.packed import is_broad, is_narrow
from lowtide.machines.board import find_target
from lowtide.passes.pipeline import run
from lowtide.tflite.read import parse
from networks import loaded
from odd_nets import odd_network

NETWORKS = (
    *("ds-cnn-kws", "resnet8", "mobilenet-v2-0.35-144", "streaming-wake-word", "lstm-gestures"),
    *("audio-front-end", "attention-block"),
)
CORES = ("any", "cortex-m0", "cortex-m4", "cortex-m55")


def _models() -> Iterator[Model]:
    yield from map(loaded, NETWORKS)
    for seed in range(12):
        yield parse(byte_network(seed), path=f"byte-{seed}")
        yield parse(odd_network(seed), path=f"odd-{seed}")


def _params(node: Node) -> Iterator[Params]:
    stack = [of.params for of in (node, *node.forms)]
    while stack:
        params = stack.pop()
        yield params
        stack += [value for _, value in params.fields if isinstance(value, Params)]


def _within(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]], argument: str) -> bool:
    helper, _, name = argument.partition(".")
    ranges = ranges_of(HELPERS[helper][name])
    return bool(np.logical_or.reduce([(values >= a) & (values <= b) for a, b in ranges]).all())


@pytest.mark.parametrize("core", CORES)
def test_params_are_in_range(core: str) -> None:
    target = find_target(core)
    met = set()
    for model in _models():
        options = Options(target=target)
        graph = run(model.graph, asked_of(options), answers_of(options)).graph
        for node in Known(model).lowerings(graph).nodes(target):
            for params in _params(node):
                for field, argument in CONTRACTS["params"].get(params.ctype, {}).items():
                    value = dict(params.fields)[field]
                    if value is None:
                        continue
                    values = value.values if isinstance(value, Array) else np.array([value])
                    met.add(params.ctype)
                    assert _within(values.astype(np.int64), argument), (node.kernel, field)
    assert len(met) >= 5, met


def _narrow(x: int, multiplier: int, shift: int, zero: int) -> bool:
    """The contract of lt_narrow, its conditions in C worked out with whole numbers."""
    given = {"x": x, "multiplier": multiplier, "shift": shift, "zero": zero}
    if not all(_within(np.array([given[n]]), f"lt_narrow.{n}") for n in given):
        return False
    product = x * multiplier
    nudged = product + ((1 << 30) if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)
    return bool(-(2**31) < high + (2 * zero + 1) * 2**shift < 2**31 - 1)


@pytest.mark.parametrize("seed", range(4))
def test_narrow_is_what_the_contract_says(seed: int) -> None:
    """is_narrow promises it for all sums between two ends, of which the ends are the worst."""
    draw = np.random.default_rng(seed)
    agreed = [0, 0]
    for _ in range(5000):
        low, high = sorted(
            int(v) for v in draw.integers(-(2**31), 2**31, 2) >> draw.integers(0, 20)
        )
        multiplier = int(draw.integers(2**30, 2**31))
        shift, zero = int(draw.integers(-2, 25)), int(draw.integers(-128, 128))
        said = bool(
            is_narrow(np.array([[low], [high]]), np.array([[multiplier, -1 - shift]]), zero)[0]
        )
        held = all(_narrow(x, multiplier, shift, zero) for x in (low, high))
        assert said <= held, (low, high, multiplier, shift, zero)
        agreed[said] += said == held
    assert agreed[1] > 500 and agreed[0] > 500


@pytest.mark.parametrize("seed", range(4))
def test_broad_is_what_the_contract_says(seed: int) -> None:
    """The same of is_broad, of factors of 1/2 and more: it says no less, either."""
    draw = np.random.default_rng(seed)
    agreed = [0, 0]
    for _ in range(3000):
        low, high = sorted(
            int(v) for v in draw.integers(-(2**31), 2**31, 2) >> draw.integers(0, 20)
        )
        multiplier, exponent = int(draw.integers(2**30, 2**31)), int(draw.integers(-2, 10))
        said = bool(is_broad(np.array([[low], [high]]), np.array([[multiplier, exponent]]))[0])
        given = {"multiplier": multiplier, "exponent": exponent}
        fine = exponent >= 0 and all(_within(np.array([given[n]]), f"lt_broad.{n}") for n in given)
        for x in (low, high):
            fine = fine and _within(np.array([x]), "lt_broad.x")
            fine = fine and -(2**30) <= x * 2 ** max(exponent, 0) < 2**30
        assert said == fine, (low, high, multiplier, exponent)
        agreed[said] += 1
    assert agreed[1] > 300 and agreed[0] > 300

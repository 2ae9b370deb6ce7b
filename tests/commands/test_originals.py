"""What simplification claims of a file is compared with the file; a claim that is wrong is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.originals import in_file
from lowtide.oracle.interpreters import Difference
from lowtide.passes.simplify.result import Always, Claim, Dropped, Same
from lowtide.report.deployment import verified_text
from lowtide.tflite.read import parse
from planted_nets import planted_network

SEED = 3


def program(simplify: bool = True) -> Compiled:
    data = planted_network(SEED)
    return compile_model(parse(data, path="planted.tflite"), Options(simplify=simplify))


def test_what_is_kept_and_what_is_left_out_is_the_files() -> None:
    result = checking.verify(program(), samples=4)
    assert result.bit_exact
    assert result.claims > 0
    assert f"The removed channels of {result.claims} tensor" in verified_text(
        result.compiled, result
    )
    plain = checking.verify(program(simplify=False), samples=4)
    assert plain.bit_exact
    assert plain.claims == 0
    assert plain.tensors > result.tensors


def one_more(values: tuple[int, ...]) -> Claim:
    return Always((*values[:-1], values[-1] - 1 if values[-1] > 0 else values[-1] + 1))


@pytest.mark.parametrize("claim", [one_more, lambda _: Same(0, (0,))], ids=["value", "copy"])
def test_a_wrong_claim_is_found(claim: Callable[[tuple[int, ...]], Claim]) -> None:
    good = program()
    [first, *others] = [d for d in good.simplified.dropped if isinstance(d.claim, Always)]
    assert isinstance(first.claim, Always)
    assert first.channels is not None
    wrong = Dropped(first.tensor, first.channels[-1:], claim(first.claim.values[-1:]))
    bad = replace(good, simplified=replace(good.simplified, dropped=(*others, wrong)))
    result = checking.verify(bad, samples=2)
    assert result.mismatch is not None
    assert result.mismatch.claimed
    assert result.mismatch.difference.tensor == first.tensor
    assert first.tensor in good.model.graph.ops[result.mismatch.operator].outputs
    said = verified_text(bad, result)
    assert "contradicts what simplification claims of operator" in said


def test_differences_are_told_in_the_files_terms() -> None:
    compiled = program()
    tensor, kept = next(
        (t, k)
        for t, k in enumerate(compiled.simplified.kept)
        if k.channels is not None and len(k.channels) > 1
    )
    assert kept.origin is not None
    assert kept.channels is not None
    count, whole = len(kept.channels), compiled.model.graph.tensors[kept.origin].shape[-1]
    found = in_file(compiled, Difference(1, tensor, count + 1, 5, 6))
    assert found == Difference(1, kept.origin, whole + kept.channels[1], 5, 6)
    assert in_file(compiled, Difference(1, tensor, -1, "a", "b")).index == -1

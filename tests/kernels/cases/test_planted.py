"""Faults that are planted are found: each kernel of planted.c has one, but for the first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bench.mutants.c_mutants import c_mutants
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.lower.nodes import Node, Params, Port

from .built import build, kernel_sources
from .memory import End
from .playing import Network, PlayedError, Player

_ROWS, _BYTES = 3, 33
_FAULTS = {
    "planted_none": "",
    "planted_wrong": "wrong",
    "planted_short": "wrong",
    "planted_reads_after": "0 bytes after the end of a buffer of 33 bytes",
    "planted_reads_before": "1 before of a buffer of 33 bytes",
    "planted_writes_after": "bytes around|0 bytes after the end of a buffer of 33 bytes",
    "planted_writes_before": "bytes around|1 before of a buffer of 33 bytes",
    "planted_changes_input": "it changes its input",
    "planted_scratch": "bytes around|0 bytes after the end of a buffer of 8 bytes",
    "planted_overflows": "signal 4 in step 0 of 3 at planted.c",
}


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    files = kernel_sources("planted.c")
    of = Player(build({name: files[name] for name in ("lowtide.h", "guard.c", "planted.c")}))
    of.built.calls.cases_watch(1)
    yield of
    of.built.calls.cases_watch(0)


def _network(kernel: str) -> Network:
    tensors = tuple(Tensor(i, f"t{i}", (_ROWS, _BYTES), DType.INT8) for i in range(2))
    graph = Graph("planted", tensors, (Op(0, "COPY", (0,), (1,)),), (0,), (1,))
    ports = [Port(i, _ROWS, _BYTES) for i in range(2)]
    params = Params("lt_slide", (("bytes", _BYTES),))
    node = Node(0, kernel, "lt_move.h", params, (ports[0],), (ports[1],), _ROWS, scratch=8)
    return Network(graph, (node,), {})


def _found(player: Player, kernel: str, end: End) -> str:
    """What is found, in words; "" if nothing is."""
    values = np.random.default_rng(1).integers(-128, 128, (2, _ROWS, _BYTES)).astype(np.int8)
    player.memory.end = end
    try:
        made = player.play(_network(kernel), {0: values}, 0xA5)[1]
    except PlayedError as error:
        return error.find.what
    return "" if made.tobytes() == values.tobytes() else "wrong"


@pytest.mark.parametrize("kernel", _FAULTS)
def test_what_is_planted_is_found(kernel: str, player: Player) -> None:
    found = {_found(player, kernel, "end"), _found(player, kernel, "start")} - {""}
    texts = [text for text in _FAULTS[kernel].split("|") if text]
    assert bool(found) == bool(texts)
    assert all(any(text in what for text in texts) for what in found)


_COPIES = """
#include "lowtide.h"

void planted_copies(const void *params, const lt_step *step)
{
    const uint8_t *in = step->in[0];
    uint8_t *out = step->out[0];
    for (uint32_t i = 0; i < *(const uint32_t *)params; i++) {
        out[i] = in[i];
    }
}
"""


def test_mutants_of_a_kernel_are_found() -> None:
    """All but the one that never ends."""
    files = kernel_sources()
    files = {name: files[name] for name in ("lowtide.h", "guard.c")}
    mutants = c_mutants("copies.c", _COPIES)
    assert [m.kind for m in mutants] == ["n+1", "n+1", "n+1", "<", "++", "dropped"]
    for one in mutants:
        if one.kind != "++":
            of = Player(build({**files, "copies.c": one.applied(_COPIES)}))
            of.built.calls.cases_watch(1)
            found = {_found(of, "planted_copies", end) for end in ("end", "start")}
            of.built.calls.cases_watch(0)
            assert found != {""}, one

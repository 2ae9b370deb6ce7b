"""OfflineMemoryAllocation metadata: the bytes, there and back, and what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowtide.ir.graph import Metadata
from lowtide.place.offline_plan import METADATA_NAME, decode, encode
from lowtide.place.tensors import stored_plan_bytes
from networks import model_of


def test_the_bytes() -> None:
    data = encode([0, None, 4096], subgraphs=2)
    assert METADATA_NAME == "OfflineMemoryAllocation"
    assert data == struct.pack("<6i", 1, 2, 3, 0, -1, 4096)
    assert encode([], subgraphs=1) == struct.pack("<3i", 1, 1, 0)


@given(st.lists(st.none() | st.integers(0, 2**31 - 1)), st.integers(1, 9))
def test_there_and_back(offsets: list[int | None], subgraphs: int) -> None:
    assert decode(encode(offsets, subgraphs)) == tuple(offsets)


def test_other_versions_are_read() -> None:
    assert decode(struct.pack("<4i", 0, 1, 1, 16)) == (16,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\1\0\0\0\1\0\0",
        struct.pack("<3i", 1, 1, 1),
        struct.pack("<3i", 1, 1, -1),
        struct.pack("<5i", 1, 1, 1, 0, 0),
        struct.pack("<4i", 1, 1, 1, 0) + b"\0",
        struct.pack("<4i", 1, 1, 1, -2),
    ],
)
def test_malformed_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=METADATA_NAME):
        decode(data)


@pytest.mark.parametrize("offset", [-1, 2**31])
def test_impossible_offsets_are_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="tensor 1"):
        encode([0, offset], subgraphs=1)


def test_a_model_has_subgraphs() -> None:
    with pytest.raises(ValueError, match="at least one subgraph"):
        encode([0], subgraphs=0)


def test_the_arena_that_a_file_asks_for() -> None:
    """Its end is that of the last tensor, in multiples of 16; other metadata is no plan, nor is one of
    another number of tensors."""
    model = model_of("figure1")
    offsets = [1 << 16 if t.id in model.graph.outputs else 32 for t in model.graph.tensors]
    other = Metadata("min_runtime_version", b"1.5.0")
    assert stored_plan_bytes(replace(model, metadata=(other,))) is None
    (output,) = (model.graph.tensors[t].bytes for t in model.graph.outputs)
    told = (1 << 16) + -(-output // 16) * 16
    plan = Metadata(METADATA_NAME, encode(offsets, subgraphs=1))
    assert stored_plan_bytes(replace(model, metadata=(other, plan))) == told
    for data in (b"odd", encode(offsets[1:], 1), encode([None] * len(offsets), 1)):
        broken = Metadata(METADATA_NAME, data)
        assert stored_plan_bytes(replace(model, metadata=(broken,))) is None

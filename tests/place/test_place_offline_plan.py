"""OfflineMemoryAllocation metadata: the bytes, there and back, and what is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowtide.place.offline_plan import METADATA_NAME, decode, encode


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

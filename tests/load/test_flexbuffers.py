"""Maps of numbers as FlexBuffers, against the library that TFLM's converter uses."""

from __future__ import annotations

import random

import pytest
from flatbuffers import flexbuffers

from lowtide.tflite.flexbuffers import pack_map, unpack_map

MAPS: list[dict[str, int]] = [
    {},
    {"shift": 12},
    {"start_index": 5, "end_index": 241},
    {"frame_size": 480, "frame_step": 160, "prefill": True},
    {"a": -1, "b": 1 << 40, "c": False, "d": -(1 << 63)},
    {f"name_{i:03}": i for i in range(90)},
]


@pytest.mark.parametrize("values", MAPS, ids=range(len(MAPS)))
def test_both_read_what_both_write(values: dict[str, int]) -> None:
    theirs = bytes(flexbuffers.Dumps(values))
    assert unpack_map(theirs) == values
    ours = pack_map(values)
    assert unpack_map(ours) == values
    assert flexbuffers.Loads(ours) == values
    assert list(unpack_map(ours) or {}) == sorted(values)


def test_what_is_no_map_of_numbers() -> None:
    for other in (5, [1, 2], "text", {"a": "b"}, {"a": 1.5}, {"a": [1]}):
        assert unpack_map(bytes(flexbuffers.Dumps(other))) is None
    assert unpack_map(b"") is None


def test_damaged_ones_are_none_or_a_map() -> None:
    """Any byte changed, and any end cut off: never an error of another kind."""
    rng = random.Random(1)
    whole = pack_map(MAPS[3])
    for size in range(len(whole)):
        unpack_map(whole[size:])
        unpack_map(whole[:size])
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        found = unpack_map(bytes(data))
        assert found is None or all(isinstance(value, int) for value in found.values())

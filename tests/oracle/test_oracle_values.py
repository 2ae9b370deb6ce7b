"""Random inputs cover what they promise, and differences between references are found exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from lowtide.oracle.interpreters import Difference, Reference, first_difference, random_inputs

INT8 = np.dtype(np.int8)


def reference(*samples: Mapping[int, Any]) -> Reference:
    return Reference("tflm", samples)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64", "uint32"])
def test_integer_inputs_cover_the_range(name: str) -> None:
    dtype, info = np.dtype(name), np.iinfo(name)
    samples = random_inputs([(7, (40, 50), dtype)], 6, seed=1)
    assert [list(sample) for sample in samples] == [[7]] * 6
    assert all(sample[7].dtype == dtype and sample[7].shape == (40, 50) for sample in samples)
    for index, value in ((1, info.min), (2, info.max), (3, 0)):
        assert (samples[index][7] == value).all()
    if info.bits == 8:
        for index in (0, 4, 5):
            assert len(np.unique(samples[index][7])) == 256
    assert not np.array_equal(samples[0][7], samples[4][7])


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_float_inputs_lie_between_minus_one_and_one(name: str) -> None:
    samples = random_inputs([(0, (300, 300), np.dtype(name))], 5, seed=1)
    assert all(sample[0].dtype == np.dtype(name) for sample in samples)
    for index in (0, 4):
        values = samples[index][0]
        assert -1 <= values.min() < -0.9
        assert 0.9 < values.max() < 1
    assert [float(samples[k][0].flat[0]) for k in (1, 2, 3)] == [-1, 1, 0]


def test_bool_scalar_and_seeded_inputs() -> None:
    spec: list[tuple[int, tuple[int, ...], np.dtype[Any]]] = [
        (0, (64,), np.dtype(bool)),
        (1, (), INT8),
    ]
    a, b, c = (random_inputs(spec, 5, seed) for seed in (1, 1, 2))
    assert first_difference(reference(*a), reference(*b)) is None
    assert first_difference(reference(*a), reference(*c)) is not None
    assert a[0][0].dtype == bool
    assert a[0][0].any()
    assert not a[0][0].all()
    assert a[0][1].shape == ()
    assert isinstance(a[0][1], np.ndarray)


def test_differences_are_counted_in_bytes() -> None:
    nan = np.array([[1.0, np.nan]], np.float32)
    zero, minus = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert first_difference(reference({0: nan}), reference({0: nan.copy()})) is None
    found = first_difference(reference({0: zero}), reference({0: minus}))
    assert found is not None
    assert (found.index, str(found.left), str(found.right)) == (1, "0.0", "-0.0")


def test_the_first_difference_goes_by_sample_then_order() -> None:
    one, two = np.ones((2, 2), np.int8), np.array([[1, 1], [2, 2]], np.int8)
    left = reference({9: one, 1: one}, {9: one, 1: one})
    assert first_difference(left, reference({1: two, 9: two}, {9: one, 1: one})) == Difference(
        0, 9, 2, 1, 2
    )
    assert first_difference(left, reference({9: one, 1: one}, {9: one, 1: two})) == Difference(
        1, 1, 2, 1, 2
    )


def test_whole_tensors_that_differ_have_no_index() -> None:
    a = np.zeros((2, 2), np.int8)
    left = reference({0: a})
    assert first_difference(left, reference({0: a.reshape(4)})) is None
    assert first_difference(reference({0: a[:0]}), reference({0: a[:0]})) is None
    for other, text in (
        ({0: a.astype(np.uint8)}, "uint8[2, 2]"),
        ({0: a[:1]}, "int8[1, 2]"),
        ({}, "absent"),
    ):
        found = first_difference(left, reference(other))
        assert found == Difference(0, 0, -1, "int8[2, 2]", text)
    assert first_difference(reference({}), left) == Difference(0, 0, -1, "absent", "int8[2, 2]")
    with pytest.raises(ValueError, match="shorter"):
        first_difference(reference({}, {}), reference({}))

"""Amounts of memory as users write them."""

from __future__ import annotations

import pytest

from lowtide.sizes import bytes_in


@pytest.mark.parametrize(
    "text", ["16384", "16K", "16k", "16KiB", "16 KiB", "16384B", "16384 B", "016K"]
)
def test_sixteen_kibibytes(text: str) -> None:
    assert bytes_in(text) == 16_384


def test_larger_units() -> None:
    assert bytes_in("2M") == bytes_in("2MiB") == bytes_in("2048K") == 2 << 20
    assert bytes_in("4GiB") == 4 << 30
    assert bytes_in("0") == 0


@pytest.mark.parametrize(
    "text",
    ["", "K", "16KB", "16kb", "1.5K", "1e3", "-16", "+16", "16 K B", "16T", "\u0663", "1" * 13],
)
def test_what_is_no_amount(text: str) -> None:
    """16KB among it, which is 16,000 bytes to some."""
    assert bytes_in(text) is None

"""What lt_dots_s8 does, which kernels call that contain products of matrices (lt_dots.h)."""

from __future__ import annotations


def fours_of(rows: int) -> int:
    """How many groups of four rows there are, the last of which may repeat some."""
    return -(-rows // 4)


def dots(fours: int, size: int, name: str = "dots") -> dict[str, float]:
    """So many times the products of four rows with a vector of `size` values: one by one, by fours and
    those left, by sixteens."""
    return {
        f"{name}_calls": fours,
        f"{name}_each": fours * size,
        f"{name}_turns": fours * (size // 8),
        f"{name}_fours": fours * (size % 8 // 4),
        f"{name}_rests": fours * (size % 4),
        f"{name}_left": fours * (size % 4 > 0),
        f"{name}_sixteens": fours * -(-size // 16),
    }

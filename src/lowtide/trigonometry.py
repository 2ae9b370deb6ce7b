"""Cosines and sines that are the same on every computer: the nearest float64.

Why: two C libraries may differ in the last bit, and where a table holds rounded products of cosines, one
entry near a half would make another program.
"""

from __future__ import annotations

from fractions import Fraction

_BITS = 160


def cosine(x: float) -> float:
    """The float64 nearest to the cosine of a float64 up to some turns from 0."""
    return _series(x, 1 << _BITS, 0)


def sine(x: float) -> float:
    """The float64 nearest to the sine."""
    return _series(x, int(Fraction(x) * (1 << _BITS)), 1)


def _series(x: float, first: int, power: int) -> float:
    """Taylor's, from its first term and that one's power, in fixed point."""
    angle = int(Fraction(x) * (1 << _BITS))
    square = angle * angle >> _BITS
    total = term = first
    while abs(term) > 1:
        power += 2
        term = -(term * square >> _BITS) // (power * (power - 1))
        total += term
    return float(Fraction(total, 1 << _BITS))

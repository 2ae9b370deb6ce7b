"""What offsets of rows are counted from: the arena, the constants, inputs kept elsewhere, the state.

Why here: where a tensor is fixed is known before anything is placed, and the program's tables say the
same in the same numbers (`bases` of lowtide.h).
"""

ARENA, CONSTANTS, FIRST_INPUT = 0, 1, 2
"""Bases of lt_rows: the arena, the constants that are operands, the inputs kept elsewhere. The state, if
there is any, comes after these. Rows in a ring (lt_ring.h) have a second base, for where it goes on."""

RING_BASES = 2
"""Bases of an input in a ring of the caller's: lt_ring.h."""

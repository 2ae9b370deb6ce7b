"""What kernels are counted to do, against what they do, as their C says."""

from __future__ import annotations

from itertools import product

import pytest

from lowtide.ir.window import Axis
from lowtide.lower.counts import Windows
from lowtide.lower.families.conv_vector import ConvVector
from lowtide.lower.flip import Flips
from lowtide.lower.update import done


@pytest.mark.parametrize(
    ("shape", "box", "leading"),
    [((1, 4, 3, 5), (1, 2, 2, 3), 2), ((2, 3, 2, 4), (1, 1, 2, 4), 2), ((6, 4), (3, 1), 1)],
)
def test_an_update_looks_at_as_many_indices_wherever_its_box_lies(
    shape: tuple[int, ...], box: tuple[int, ...], leading: int
) -> None:
    """lt_update_row, looked at step by step."""
    counted = done(shape, box, leading, 2)
    for start in product(*(range(n - m + 1) for n, m in zip(shape, box, strict=True))):
        leads = rows = runs = 0
        for row in product(*(range(n) for n in shape[:leading])):
            rows += 1
            inside = True
            for d in reversed(range(leading)):
                leads += 1
                inside = start[d] <= row[d] < start[d] + box[d]
                if not inside:
                    break
            runs += len([*product(*(range(n) for n in box[leading:-1]))]) if inside else 0
        assert counted["leads"] == pytest.approx(leads)
        assert counted["runs"] == runs
        assert counted["places"] == runs * (len(shape) - leading - 1)
        assert counted["memcpy_runs"] == rows + runs


@pytest.mark.parametrize("columns", [0, 1, 3, 8])
def test_flips_of_a_strip_are_those_of_its_rows(columns: int) -> None:
    """Rows of 8 columns of 7 bytes, of which a strip has some: what is left is of each row."""
    counted = Flips(8, rows=5, size=56).features(columns, 0)
    assert counted == {"sixteens": 5 * (columns * 7 // 16), "rests": 5 * (columns * 7 % 16)}


@pytest.mark.parametrize(("kernel_w", "calls", "rests"), [(1, 1, 3), (3, 9, 9)])
@pytest.mark.parametrize("out_c", [3, 4, 7])
def test_vectors_are_called_for_fours_and_for_what_is_left(
    kernel_w: int, calls: int, rests: int, out_c: int
) -> None:
    """Of 18 columns: lt_conv_vector.c makes pairs that lie side by side in one call, and the channels
    that are left of four pairs in one; of windows, each pair in one."""
    axis = Axis(kernel_w, 1, 1, kernel_w // 2)
    of = Windows(2, 2, 0, axis, 1, 18, 5, 18, out_c, 1, clamps=False)
    found = ConvVector(of).features(18, 0)
    assert found["pair_calls"] == 2 * calls * (out_c >= 4)
    assert found["pair_rest"] == 2 * rests * (out_c % 4 > 0)
    assert found["pair_rest_turns"] == found["pair_several"] == 2 * 9 * (out_c % 4 > 0)

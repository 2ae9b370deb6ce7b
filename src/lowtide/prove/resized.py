"""What operators read whose maps have other sizes before and after: transposed convolutions, and
bilinear resizing. See prove/reads.py."""

from __future__ import annotations

import numpy as np

from lowtide.ir.operands import Operands
from lowtide.prove.contracts import (
    Call,
    Judged,
    size_of,
    target,
)
from lowtide.prove.machine import Step
from lowtide.prove.memory import Labels, NotProvedError


def transpose_conv(call: Call) -> Judged:
    """Output row y is made of the input rows r of which r * stride - before + k is y for a row k of the
    kernel."""
    (of, value), (made, result) = call.input(2), call.output()
    window = call.op.window
    if window is None:
        raise NotProvedError("it has no window")
    batch, out_h, out_w, out_c = made.shape
    _, height, width, channels = of.shape
    stride, before, kernel = window.rows.stride, window.rows.before, window.rows.kernel
    for name, wanted in (
        *(("in_w", width), ("in_c", channels), ("out_w", out_w), ("out_c", out_c)),
        *(("kernel_h", kernel), ("kernel_w", window.columns.kernel), ("stride_h", stride)),
        *(("stride_w", window.columns.stride), ("pad_top", before)),
        *(("pad_left", window.columns.before), ("rows", -(-kernel // stride))),
    ):
        call.expect(name, call.number(name), wanted)
    many = call.number("rows")
    row, size = width * channels * size_of(of), out_w * out_c * size_of(made)

    def judge(step: Step) -> None:
        slot, given = target(step), step.inputs[0]
        image, y = divmod(slot.row, out_h)
        if slot.rows != batch * out_h or step.number % out_h != y:
            raise NotProvedError(f"in step {step.number} it makes row {slot.row}, of {slot.rows}")
        call.expect("rows", len(given), many)
        last = (y + before) // stride
        for i, of_it in enumerate(given):
            number = last - many + 1 + i
            if 0 <= number < height:
                step.expects(of_it, value, (image * height + number) * row, row)
            else:
                step.is_null(of_it)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def bilinear(call: Call) -> Judged:
    """RESIZE_BILINEAR: two rows, and of each pixel its neighbour to the right."""
    (of, value), (made, result) = call.input(0), call.output()
    batch, height, width, channels = of.shape
    _, out_h, out_w, _ = made.shape
    exact = "right" not in call.fields
    at = _bilinear_bytes if exact else _bilinear_floats
    upper, below, weight = at(call, height, out_h)
    left, right, _ = at(call, width, out_w)
    lower = call.bundle.length(call.fields.get("lower"))
    call.expect("number of rows", lower, batch * out_h)
    call.expect("width", call.number("width"), out_w)
    call.expect("channels", call.number("channels"), channels)
    call.expect_array("left", left)
    if exact:
        call.expect_array("lower", np.tile(weight, batch))
    else:
        call.expect_array("right", right)
    row, size = width * channels * size_of(of), out_w * channels * size_of(made)

    def judge(step: Step) -> None:
        slot = target(step)
        image, y = divmod(slot.row, out_h)
        if slot.rows != batch * out_h or step.number != slot.row:
            raise NotProvedError(f"in step {step.number} it makes row {slot.row}, of {slot.rows}")
        given = [slot for port in step.inputs for slot in port]
        step.expects(given[0], value, (image * height + int(upper[y])) * row, row)
        if not exact or weight[y]:
            step.expects(given[1], value, (image * height + int(below[y])) * row, row)
        step.makes(slot, result, slot.row * size, size)

    return Judged(judge)


def _bilinear_bytes(call: Call, size: int, made: int) -> tuple[Labels, Labels, Labels]:
    """(pixel, the next, its weight in 1/1024) of each output pixel:
    ComputeInterpolationValuesInteger."""
    option = Operands(call.graph, call.op).option
    corners = bool(option("align_corners")) and made > 1
    scale = (
        (1024 * (size - 1) + (made - 1) // 2) // (made - 1)
        if corners
        else (1024 * size + made // 2) // made
    )
    shift = scale // 2 - 512 if option("half_pixel_centers") else 0
    position = np.maximum(np.arange(made, dtype=np.int64) * scale + shift, 0)
    pixel = position // 1024
    following = np.minimum(pixel + 1, size - 1)
    return pixel, following, np.where(following > pixel, position % 1024, 0)


def _bilinear_floats(call: Call, size: int, made: int) -> tuple[Labels, Labels, Labels]:
    """The same of uint8, whose weights are floats, and not told here: ComputeInterpolationValues."""
    option = Operands(call.graph, call.op).option
    one = np.float32
    corners = bool(option("align_corners")) and made > 1
    scale = one(size - 1) / one(made - 1) if corners else one(size) / one(made)
    position = np.arange(made, dtype=np.float32) * scale
    if option("half_pixel_centers"):
        position = (np.arange(made, dtype=np.float32) + one(0.5)) * scale - one(0.5)
    wide = position.astype(np.float64)
    pixel = np.maximum(np.floor(wide), 0).astype(np.int64)
    following = np.minimum(np.ceil(wide), size - 1).astype(np.int64)
    return pixel, following, np.ones(made, np.int64)

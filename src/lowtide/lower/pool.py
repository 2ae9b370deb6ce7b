"""AVERAGE_POOL_2D and MAX_POOL_2D: params of kernels/include/lt_pool.h.

Why two ways: a large window that shares no rows with its neighbours (global pooling, above all) needs
only totals if it eats each input row as it is made; small windows read their rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from lowtide.ir import DType, Tensor
from lowtide.ir.window import Axis
from lowtide.lower import images
from lowtide.lower.columns import of_a_window
from lowtide.lower.common import Context, Lowering, activation_range, image_rows
from lowtide.lower.counts import Features, Windowed, Windows
from lowtide.lower.elementwise import row_count, same_type, scale_zero, suffix
from lowtide.lower.move import port
from lowtide.lower.nodes import Lowered, Params, Port, Value

_SMALL_WINDOW = 8
"""Elements of a channel's window, beyond those of its first row, that are still read at once."""

_UNDIVIDED = 0.7
"""What four sums take that are not divided, of what they do otherwise, about."""

_SAVED = 3
"""Bytes by which a total is smaller where it is itself a byte. As many rows as fit into what that saves
are eaten in one step, which costs more than what is done with the few bytes of narrow rows."""

_FEWEST_COLUMNS = 3
"""FEWEST_COLUMNS of lt_pool.c, for cores with the DSP extension."""

_MOST = 65535
_BYTES = (DType.INT8, DType.UINT8)


@dataclass(frozen=True, slots=True)
class Pool(Windowed):
    """What a pool does: a step makes a row, whether it reads its window at once or has eaten it. Windows
    of less than `sums` columns are added pixel by pixel where wider ones are by fours of channels."""

    sums: int = field(default=0, kw_only=True)

    def features(self, columns: int, padded: int) -> Features:
        """What is done to make `columns` columns."""
        of = self.of
        pixels, rows = of.steps * columns, of.rows * columns
        taps = rows * of.axis.kernel - of.rows * padded
        found: dict[str, float] = {"column": pixels, "rows": rows, "taps": taps}
        for name, lanes in (
            ("", of.in_c),
            ("_fours", -(-of.in_c // 4)),
            ("_sixteens", -(-of.in_c // 16)),
        ):
            found[f"made{name}"] = pixels * lanes
            found[f"joined{name}"] = taps * lanes
            found[f"begun{name}"] = rows * lanes
        if of.axis.kernel < self.sums:
            found["single_fours"] = found.pop("joined_fours")
            found["single_begun"] = found.pop("begun_fours")
        found["joined_rest"] = taps * (of.in_c % 4)
        # Beginning a loop over fours of channels, and one over those that are left.
        found["loops_fours"] = taps * (of.in_c >= 4)
        found["loops_rest"] = taps * (of.in_c % 4 > 0)
        found["begun_rest"] = rows * (of.in_c % 4)
        if of.taps == 1:
            found["made_fours"] *= _UNDIVIDED
        return found


def _pool(context: Context, *, kind: str) -> Lowered:
    source, out = context.input(0), context.output()
    _check(context, source, out)
    _, in_h, in_w, channels = source.shape
    _, out_h, out_w, _ = out.shape
    window = context.op.window
    if window is None:
        raise context.unsupported("a window's size or stride is below 1")
    rows, columns = window.rows, window.columns
    if (out_h, out_w) != (rows.made(in_h), columns.made(in_w)):
        raise context.unsupported(
            f"its output should be {rows.made(in_h)} x {columns.made(in_w)} elements"
        )
    if max(*source.shape, *out.shape, rows.kernel, columns.kernel, columns.stride) > _MOST:
        raise context.unsupported(f"a size exceeds {_MOST}")
    low, high = activation_range(context, out, context.option("fused_activation_function"))
    fields: tuple[tuple[str, Value], ...] = (
        ("in_w", in_w),
        ("out_w", out_w),
        ("channels", channels),
        ("kernel_h", rows.kernel),
        ("kernel_w", columns.kernel),
        ("stride_w", columns.stride),
        ("pad_left", columns.before),
        ("low", low),
        ("high", high),
    )
    params = Params("lt_pool", fields)
    if source.dtype is DType.UINT8:
        inner = tuple((f"pool.{name}", value) for name, value in fields)
        params = Params("lt_pool_u8", (*inner, *context.flips))
    name = f"lt_{kind}_pool_{suffix(source.dtype)}"
    steps, out_bytes = image_rows(out)
    axis = Axis(columns.kernel, columns.stride, 1, columns.before)
    seen = Windows(
        *(0, 0, 0, axis, rows.kernel, in_w, channels, out_w, channels, channels), clamps=False
    )
    apart = rows.stride >= rows.kernel or out_h == 1
    if apart and (rows.kernel - 1) * columns.kernel > _SMALL_WINDOW:
        at_once = 1
        first = [rows.reads(range(y, y + 1), in_h) for y in range(out_h)]
        windows = [
            range(image * in_h + window.start, image * in_h + window.stop)
            for image in range(out.shape[0])
            for window in first
        ]
        scratch = 4 + 4 * out_w * channels
        if kind == "max" and source.dtype in _BYTES:
            scratch = out_w * channels
            if len(windows) == 1 and windows[0].stop == in_h:  # after its rows there are no others
                at_once = min(1 + _SAVED * out_w // in_w, len(windows[0]))
        eaten = _eat(
            context, f"{name}_eat", _of_rows(params, at_once), windows, scratch, at_once=at_once
        )
        (node,) = eaten.nodes
        by_fours = kind == "average" and source.dtype in _BYTES and context.target.has_dsp
        work = Pool(
            replace(seen, steps=steps, rows=sum(map(len, windows))),
            sums=_FEWEST_COLUMNS if by_fours else 0,
        )
        return replace(eaten, nodes=(replace(node, work=work),))
    read = images.windows(source, rows, out_h)
    inside, padding = read.touched(steps)
    return context.node(
        kernel=f"{name}_row",
        header="lt_pool.h",
        params=params,
        inputs=(read,),
        outputs=(Port(out.id, steps, out_bytes),),
        steps=steps,
        work=Pool(replace(seen, steps=steps, rows=inside, padding=padding)),
    )


def _check(context: Context, source: Tensor, out: Tensor) -> None:
    """What the reference demands of the tensors."""
    same_type(context, source, out)
    if len(source.shape) != 4 or len(out.shape) != 4:
        raise context.unsupported("its tensors should have 4 dimensions")
    row_count(context, source)
    row_count(context, out)
    if source.shape[0] != out.shape[0]:
        raise context.unsupported("its input and output must have the same batch size")
    if source.shape[3] != out.shape[3]:
        raise context.unsupported("its input and output differ in channels")
    (in_scale, in_zero), (out_scale, out_zero) = (
        scale_zero(context, source),
        scale_zero(context, out),
    )
    if abs(in_scale - out_scale) > 1e-6 or in_zero != out_zero:
        raise context.unsupported("its input and output differ in scale or zero point")


def _of_rows(params: Params, rows: int) -> Params:
    """The params of a kernel that eats so many rows in a step."""
    fields = ((name, rows if name.endswith("kernel_h") else value) for name, value in params.fields)
    return replace(params, fields=tuple(fields))


def _eat(
    context: Context,
    kernel: str,
    params: Params,
    windows: list[range],
    scratch: int,
    *,
    at_once: int,
) -> Lowered:
    """A node whose steps eat the input rows in `windows`, so many `at_once` if these are one window; the
    last of each makes an output row."""
    source, out = context.input(0), context.output()
    rows, _ = image_rows(source)
    made = last_makes([-(-len(window) // at_once) for window in windows])
    read = port(source, rows, [row for window in windows for row in window[::at_once]])
    return context.node(
        kernel=kernel,
        header="lt_pool.h",
        params=params,
        inputs=(replace(read, count=at_once),),
        outputs=(port(out, image_rows(out)[0], made),),
        steps=len(made),
        scratch=scratch,
    )


def last_makes(groups: list[int]) -> list[int]:
    """Per step, the output row it makes; negative if none. Group i of steps makes row i at its end."""
    if len(groups) == 1:
        return list(range(1 - groups[0], 1))  # an arithmetic sequence needs no table
    return [row for i, steps in enumerate(groups) for row in (*(-1,) * (steps - 1), i)]


_TYPES = frozenset({DType.INT8, DType.UINT8, DType.INT16})
LOWERINGS = {
    "AVERAGE_POOL_2D": Lowering(partial(_pool, kind="average"), _TYPES, of_a_window),
    "MAX_POOL_2D": Lowering(partial(_pool, kind="max"), _TYPES, of_a_window),
}

"""What convolutions and pools read: windows of rows, of maps or of some columns of them; and blocks of
them.

Source: ComputePaddingHeightWidth and the loops of reference_ops, in words of `ir.window`: output (y, x)
is made of the inputs (y * stride - before + k * dilation, ...), and padding where there are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowtide.ir.window import Axis
from lowtide.prove import joined
from lowtide.prove.bundle_reader import Params
from lowtide.prove.contracts import Call, Judged, column, size_of, target
from lowtide.prove.machine import Slot, Step, Window
from lowtide.prove.memory import NotProvedError, Value

_DEPTHWISE = "DEPTHWISE_CONV_2D"
_CORES = {"columns": {"columns"}, "planes": {"planes"}, "depthwise": {"depthwise", "plain"}}
"""The params of a block's depthwise convolution -> how the functions end that run it."""


@dataclass(slots=True)
class Columns:
    """A window along a row as a kernel has it: of `read` columns it makes `made`, and takes columns
    outside of those it reads, from `-pad` on, for padding. `axis` is the operator's, of rows of `wide`
    and `wanted`. `starts` are the first columns that it is said to make in each round."""

    axis: Axis
    wide: int
    wanted: int
    read: int
    made: int
    pad: int
    starts: tuple[int, ...]

    def first(self, at: int) -> int:
        """The first column that is made of the columns that begin with `at`; what is taken for padding
        must be padding."""
        stride = self.axis.stride
        numerator = at - self.pad + self.axis.before
        first, rest = divmod(numerator, stride)
        if rest or not 0 <= first <= first + self.made <= self.wanted or at + self.read > self.wide:
            raise NotProvedError(
                f"of {self.read} columns from {at} on, of {self.wide}, with {self.pad} of padding "
                f"before them, there are not {self.made} columns"
            )
        for x in {0, self.made - 1, *self._edges()}:
            for k in range(self.axis.kernel):
                local = x * stride - self.pad + k * self.axis.dilation
                if not 0 <= local < self.read and 0 <= at + local < self.wide:
                    raise NotProvedError(f"column {at + local} is taken for padding")
        return first

    def of_padding(self, step: Step) -> int:
        """The same of a row all of whose windows are padding: of that, any columns are made alike, so
        that a claim is as good as what it leads to."""
        if self.made == self.wanted:
            return self.first(0)
        if step.round >= len(self.starts):
            raise NotProvedError("nothing says which columns it makes")
        first = self.starts[step.round]
        if not 0 <= first <= first + self.made <= self.wanted:
            raise NotProvedError(f"there are no {self.made} columns from {first} on")
        return first

    def _edges(self) -> set[int]:
        """Columns whose windows may reach beyond what is read."""
        stride, size = self.axis.stride, self.axis.size
        left = range(min(self.made, -(-self.pad // stride) + 1 if self.pad > 0 else 1))
        start = max(0, (self.read - size + self.pad) // stride)
        return {*left, *range(start, self.made)}


def window(call: Call) -> Judged:
    """A convolution or pool of one map, an output row a step; or, of tall pools, input rows a step."""
    (of, value), (made, result) = call.input(0), call.output()
    window = call.op.window
    if window is None or len(of.shape) != 4 or len(made.shape) != 4:
        raise NotProvedError("it has no window")
    rows, columns = window.rows, window.columns
    _, height, width, channels = of.shape
    batch, out_h, out_w, out_c = made.shape
    # A kernel that does not say its kernel's size is for 3 x 3 (lt_depthwise_3x3.h), one pixel apart.
    kernel_w, dilation = call.number("kernel_w", 3), call.number("dilation_w", 1)
    call.expect("kernel's width", kernel_w, columns.kernel)
    call.expect("stride", call.number("stride_w", 1), columns.stride)
    if columns.kernel > 1:
        call.expect("dilation", dilation, columns.dilation)
    fields = call.fields
    call.expect("channels", call.number("in_c" if "in_c" in fields else "channels"), channels)
    if "out_c" in fields:
        call.expect("output's channels", call.number("out_c"), out_c)
    over = Columns(
        columns,
        width,
        out_w,
        call.number("in_w"),
        call.number("out_w"),
        call.number("pad_left"),
        call.starts,
    )
    pixel, size = channels * size_of(of), size_of(made) * out_c
    eaten: list[int] = []

    def row(step: Step, number: int, slot: Slot) -> int:
        """Read row `number` of the input, or some columns of it: which is the first."""
        start = number * width * pixel
        at = column(step, slot, value, range(start, start + width * pixel), pixel)
        step.expects(slot, value, start + at * pixel, over.read * pixel)
        return at

    def judge(step: Step) -> None:
        slot, rows_in = target(step), step.inputs[0]
        if slot.rows != batch * out_h:
            raise NotProvedError(f"its output is {slot.rows} rows, and not {batch * out_h}")
        call.expect("kernel's height", len(rows_in), rows.kernel)
        image, y = divmod(slot.row, out_h)
        ats = set()
        for k, given in enumerate(rows_in):
            number = y * rows.stride - rows.before + k * rows.dilation
            if not 0 <= number < height:
                step.is_null(given)
            elif given is None:
                raise NotProvedError(f"row {number} of the input is taken for padding")
            else:
                ats.add(row(step, image * height + number, given))
        make(step, slot, ats)

    def eat(step: Step) -> None:
        if step.number == 0 and eaten:
            raise NotProvedError("it starts a new output before it has made the previous one")
        (slot,) = step.outputs[0]
        read = [given for given in step.inputs[0] if given is not None]
        if not read or step.inputs[0][: len(read)] != read:
            raise NotProvedError("a row is padding, and should not be")
        for given in read:
            at, number = _eaten(step, given, value, width * pixel, pixel)
            step.expects(given, value, number * width * pixel + at * pixel, over.read * pixel)
            eaten.append(number)
            ats.add(at)
        if slot is None:
            return
        image, y = divmod(slot.row, out_h)
        low = y * rows.stride - rows.before
        wanted = [image * height + n for n in range(low, low + rows.kernel) if 0 <= n < height]
        if sorted(eaten) != wanted or slot.rows != batch * out_h:
            raise NotProvedError(f"output row {slot.row} is made of rows {eaten}, and not {wanted}")
        make(step, slot, ats)
        eaten.clear()
        ats.clear()

    def make(step: Step, slot: Slot, ats: set[int]) -> None:
        if len(ats) > 1:
            raise NotProvedError(f"its rows begin with columns {sorted(ats)}")
        first = over.first(ats.pop()) if ats else over.of_padding(step)
        step.makes(slot, result, (slot.row * out_w + first) * size, over.made * size)

    ats: set[int] = set()
    if _eats(call):
        return Judged(eat, "after", lasts=True)
    return Judged(judge)


def _eats(call: Call) -> bool:
    """Whether a pool's kernel reads some rows a step of windows that have more."""
    window = call.op.window
    assert window is not None
    return (
        call.op.type.endswith("POOL_2D")
        and len(call.windows) == 1
        and call.windows[0] < window.rows.kernel
    )


def _eaten(step: Step, slot: Slot, value: Value, row: int, pixel: int) -> tuple[int, int]:
    """(first column, number) of the row of a map that a row in memory is part of."""
    label = step.label(slot)
    at = label - value if isinstance(value, int) else _found(value, label)
    if at < 0 or at % row % pixel:
        raise NotProvedError(f"a row begins with {step.machine.symbols.told(label)}")
    return at % row // pixel, at // row


def _found(value: np.ndarray[tuple[int, ...], np.dtype[np.int64]], label: int) -> int:
    found = np.flatnonzero(value == label)
    return int(found[0]) if len(found) else -1


def images(call: Call, inner: Judged) -> Judged:
    """lt_images.h: rows of other images than the step's own become padding."""
    first = call.numbers("first")
    names = ("rows", "steps", "count", "dilation")
    rows, steps, count, dilation = (call.number(name) for name in names)

    def own(step: Step) -> Window:
        assert first is not None
        at = int(first[step.number % steps])
        (given,) = step.inputs
        call.expect("window", len(given), count)
        return [slot if 0 <= at + i * dilation < rows else None for i, slot in enumerate(given)]

    def judge(step: Step) -> None:
        if first is None or len(first) != steps:
            raise NotProvedError("its windows of an image are not one for each of its steps")
        inner(replace(step, number=step.number % steps, inputs=[own(step)]))

    return Judged(judge, inner.shares, inner.lasts)


@dataclass(slots=True)
class _Kept:
    """A block's map between its convolutions: its label, and the bytes of its rows."""

    label: int
    wide: int
    pixel: int

    def position(self, row: int, column: int) -> int:
        """Of a row's byte, from a column on."""
        return (row * self.wide + column) * self.pixel


def block(call: Call) -> Judged:
    """lt_block.h: a depthwise convolution, and the pointwise ones before and after it, as one kernel."""
    joins = call.params.ctype == "lt_joined_block"
    if joins:
        call = joined.within(call)
    (core,) = (op for op in call.ops if op.type == _DEPTHWISE)
    sources, (made, result) = joined.sources(call, joins), call.output()
    window = core.window
    if window is None or made.shape[0] != 1:
        raise NotProvedError("a block has no window, or more than one image")
    rows, columns = window.rows, window.columns
    between = call.graph.tensors[core.inputs[0]]
    _, height, width, channels = between.shape
    _, out_h, out_w, out_c = made.shape
    fields = call.fields
    parts = {
        name: call.bundle.params(fields[name])
        for name in ("expand", "project", "depthwise", "columns", "planes")
        if fields.get(name) is not None
    }
    _check_parts(call, parts, channels, joins)
    kept, ahead = call.number("kept"), call.number("ahead")
    piece, in_place = call.number("piece"), call.number("in_place", 0)
    over = Columns(
        columns,
        width,
        out_w,
        call.number("in_w"),
        call.number("out_w"),
        call.number("pad_left"),
        call.starts,
    )
    call.expect("padding above", call.number("pad_top"), rows.before)
    call.expect("stride", call.number("stride_h"), rows.stride)
    call.expect("height", call.number("in_h"), height)
    expands = "expand" in parts or joins
    inner = _Kept(call.values.read_inside(core), width, channels)
    reach = min(over.read, (over.made - 1) * columns.stride + columns.kernel - over.pad)
    line = max(0, reach) * channels
    fresh = rows.kernel - kept

    def judge(step: Step) -> None:
        given, lines = step.inputs[0], step.outputs[1] if len(step.outputs) > 1 else ()
        (slot,) = step.outputs[0]
        call.expect("maps", len(step.inputs), len(sources))
        call.expect("kept rows", len(lines), kept)
        y = step.number - ahead
        if slot is None and y >= 0:
            raise NotProvedError("it is given no row to write to")
        if slot is not None and (slot.row, slot.rows) != (y, out_h):
            raise NotProvedError(
                f"it makes row {y}, and writes it as row {slot.row} of {slot.rows}"
            )
        top = y * rows.stride - rows.before
        ats = set()
        for window, (value, pixel) in zip(step.inputs, sources, strict=True):
            call.expect("rows", len(window), fresh)
            for number, row in enumerate(window, top + kept):
                if not 0 <= number < height:
                    step.is_null(row)
                elif row is None:
                    raise NotProvedError(f"row {number} of the input is taken for padding")
                else:
                    start = number * width * pixel
                    at = column(step, row, value, range(start, start + width * pixel), pixel)
                    many = reach if expands else over.read
                    step.expects(row, value, start + at * pixel, many * pixel)
                    ats.add(at)
        if len(ats) > 1:
            raise NotProvedError(f"its rows begin with columns {sorted(ats)}")
        for i in range(kept):  # rows of the window that are not made anew
            number = top + i
            if slot is not None and 0 <= number < height:
                keeper = lines[number % kept]
                if keeper is None:
                    raise NotProvedError("it is given no kept row")
                if not ats:
                    at = column(step, keeper, inner.label, _row_of(inner, number), channels)
                    ats.add(at)
                (at,) = ats
                step.expects(keeper, inner.label, inner.position(number, at), line)
        begins = next(iter(ats), None)
        if slot is not None:
            first = over.first(begins) if begins is not None else over.of_padding(step)
            size = out_c * size_of(made)
            step.makes(slot, result, (slot.row * out_w + first) * size, over.made * size)
        for i in range(max(0, fresh - kept), fresh if kept else 0):
            number = top + kept + i
            if given[i] is not None:
                assert begins is not None
                place = inner.position(number, begins)
                step.makes(lines[number % kept], inner.label, place, line)

    if in_place:
        _check_in_place(call, parts, channels, out_c)
    # Of one piece, all that is read was read when the first byte is written (lt_block.c).
    reads_first = expands or ("project" in parts and not in_place)
    return Judged(judge, "after" if over.made <= piece and reads_first else "never")


def _check_in_place(call: Call, parts: dict[str, Params], channels: int, out_c: int) -> None:
    """What the pointwise convolution reads fits where it writes, and it copies pixels before it writes
    them (lt_block_4x2.h)."""
    if "project" not in parts or channels > out_c:
        raise NotProvedError("a block works in place without room for it")
    project = call.with_params(parts["project"])
    if project.number("lean") or not project.number("direct"):
        raise NotProvedError("a block works in place without copying what it reads")


def _row_of(inner: _Kept, row: int) -> range:
    start = inner.position(row, 0)
    return range(start, start + inner.wide * inner.pixel)


def _check_parts(call: Call, parts: dict[str, Params], channels: int, joins: bool) -> None:
    """The convolutions of a block are those of its operators."""
    core = next(op for op in call.ops if op.type == _DEPTHWISE)
    at = call.ops.index(core)
    before, after = call.ops[joins:at], call.ops[at + 1 :]
    for name, members in (("expand", before), ("project", after)):
        if len(members) > 1 or bool(members) != (name in parts):
            raise NotProvedError(f"its params {name} are not those of its operators")
        for op in members:
            joined.check_pointwise(op)
            part = call.with_params(parts[name])
            for field_, tensor in (("in_c", op.inputs[0]), ("out_c", op.outputs[0])):
                shape = call.graph.tensors[tensor].shape
                part.expect(f"{name}'s {field_}", part.number(field_), shape[3])
    window = core.window
    assert window is not None
    name = next(name for name in ("columns", "planes", "depthwise") if name in parts)
    inner, run = call.with_params(parts[name]), call.fields.get("core")
    calls = {f"{call.params.ctype.removesuffix('_s8')}_{does}" for does in _CORES[name]}
    if call.params.ctype != "lt_block_s8" and run not in calls:  # which names no function for it
        raise NotProvedError(f"it calls {run} for its {name}")
    inner.expect("channels", inner.number("channels"), channels)
    for name, default, wanted in (
        ("kernel_w", 3, window.columns.kernel),
        ("kernel_h", 3, window.rows.kernel),
        ("stride_w", 1, window.columns.stride),
        ("dilation_w", 1, 1),
    ):
        inner.expect(name, inner.number(name, default), wanted)
    if window.columns.dilation != 1 or window.rows.dilation != 1:
        raise NotProvedError("a block's window has gaps")

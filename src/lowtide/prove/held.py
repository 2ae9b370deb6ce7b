"""What the params of a kernel of products hold: weights, where sums start, and how these are scaled.

Why anew: weights are packed for each family of kernels. Here they are unpacked, as the header of
each family in kernels/include describes it, from the numbers in the C; the lowering that packed them is
not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from lowtide.prove.bundle_reader import Bundle, Params
from lowtide.prove.held_params import Held, Integers, Read, Sizes, nothing_in
from lowtide.prove.held_s16 import conv_s16, depthwise_s16, lanes, two_by_two
from lowtide.prove.memory import NotProvedError
from lowtide.prove.scaling import Scaling, Way


def _bytes(words: Integers) -> Integers:
    """int32 words [..., n] as signed bytes [..., 4 n], the lowest first."""
    found = np.ascontiguousarray(words.astype("<i4")).view(np.int8)
    return found.astype(np.int64)


def _plain(read: Read, name: str = "multiplier") -> tuple[Integers, Scaling]:
    """Biases and scales of kernels that scale as the reference does."""
    count = read.of.channels
    factors = read.array(name, count), read.array("shift", count)
    return read.array("bias", count), read.scaling("scale", *factors, read.number("output_zero"))


def _conv(read: Read) -> Held:
    start, scaling = _plain(read)
    return Held(read.array("weights", len(start), read.of.products), start, scaling, read.all)


def _transpose_conv(read: Read) -> Held:
    held = _conv(read)
    return Held(held.weights, held.start, held.scaling, read.all, subtracts=True)


def _conv_w4(read: Read) -> Held:
    start, scaling = _plain(read)
    pairs = read.array("weights", len(start), -(-read.of.products // 2))
    weights = np.stack([pairs & 15, pairs >> 4], axis=2).reshape(len(start), -1) - 8
    return Held(weights[:, : read.of.products], start, scaling, read.all)


def _depthwise(read: Read) -> Held:
    start, scaling = _plain(read)
    weights = read.array("weights", read.of.products, len(start)).T
    return Held(weights, start, scaling, read.all, subtracts=True)


def _centre(read: Read) -> int:
    """The zero point of 2 * zero + 1."""
    found = read.number("centre")
    if found % 2 == 0:
        raise NotProvedError(f"its centre is {found}, which is even")
    return found // 2


def _scalar(read: Read) -> Held:
    count, products = read.of.channels, read.of.products
    if read.kernel.startswith("lt_conv"):
        read.expect("products", products)
    fours = -(-count // 4)
    weights = read.array("weights", fours, products, 4).transpose(0, 2, 1).reshape(-1, products)
    start, multiplier, shift = read.array("scales", 4 * fours, 3)[:count].T
    if read.kernel.endswith("_any"):
        scaling = read.scaling("broad", multiplier, -1 - shift, _centre(read))
    else:
        scaling = read.scaling("narrow", multiplier, shift, _centre(read))
    return Held(weights[:count], start, scaling, read.all)


def _halves(words: Integers) -> tuple[Integers, Integers]:
    """Weights of two channels of words of two halves, 256 * second + first: [..., n] as two [..., n, 2],
    of the low half and of the high one."""
    halves = np.stack([words & 0xFFFF, words >> 16 & 0xFFFF], axis=-1)
    halves = np.where(halves >= 1 << 15, halves - (1 << 16), halves)
    first = (halves + 128) % 256 - 128
    return first, (halves - first) >> 8


def _whole(doubled: Integers) -> Integers:
    """Half of what is stored doubled."""
    if (doubled % 2).any():
        raise NotProvedError("a doubled bias is odd")
    return doubled >> 1


def _packed(read: Read) -> Held:
    count, products = read.of.channels, read.of.products
    pairs, quads = -(-count // 2), -(-products // 4)
    read.expect("quads", quads)
    two = _halves(read.array("weights", pairs, quads, 2))  # of products 0 and 2, then 1 and 3
    weights = np.stack([w.transpose(0, 1, 3, 2).reshape(pairs, -1) for w in two], axis=1)
    weights = weights.reshape(2 * pairs, -1)
    scales = read.array("scales", pairs, 5)
    bias, multiplier = scales[:, 0:4:2].reshape(-1), scales[:, 1:4:2].reshape(-1)
    shift = np.stack([scales[:, 4] & 0xFF, scales[:, 4] >> 8], axis=1).reshape(-1)
    scaling = read.scaling("narrow", multiplier[:count], shift[:count], _centre(read))
    odd = np.arange(1, count, 2)
    nothing_in(weights[:, products:])
    kept = weights[:count, :products]
    return Held(kept, _whole(bias[:count]), scaling, read.all, bits=31, halves=odd)


def _four_by_two(read: Read) -> Held:
    of, count = read.of, read.of.channels
    run = of.kernel_w * of.depth
    words, fours = -(-run // 4), -(-count // 4)
    quads = of.kernel_h * words
    read.expect("quads", quads)
    read.expect("words", words)
    beyond = read.number("last") * of.depth + 4 * words - read.number("in_w") * of.depth
    if read.number("last") >= 0 and beyond > 0:
        raise NotProvedError("its last window reads beyond the row")
    if read.number("last") >= 0 and read.number("dilation_w") > 1 and of.kernel_w > 1:
        raise NotProvedError(
            "it reads the columns of a dilated window as if they were side by side"
        )
    if read.number("direct") and of.depth % 4:
        raise NotProvedError("it takes pixels where they are that are no whole words")
    broad = read.kernel == "lt_conv_4x2_s8_any"
    scales = 16 if broad else 8
    records = read.array("records", fours, 4 + 4 * quads + scales)
    both = records[:, :4].reshape(fours, 2, 2)  # of channels 0 and 2; with 1 and with 3
    second = (both[:, 1] - both[:, 0]) & 0xFFFFFFFF
    if (second & 0xFF).any():
        raise NotProvedError("a sum's start is not in the upper half of its word")
    second = (second >> 8) - (second >> 31 << 24)
    start = np.stack([both[:, 0], second], axis=2).reshape(-1)[:count]
    packed = records[:, 4:-scales].reshape(fours, quads, 2, 2).transpose(0, 3, 1, 2)
    two = _halves(packed)  # [four][pair][quad][which of two][low or high]
    weights = np.stack([w.transpose(0, 1, 2, 4, 3) for w in two], axis=2)
    rows = weights.reshape(4 * fours, of.kernel_h, 4 * words)
    nothing_in(
        rows[count:]
    )  # the last channel, if it is alone, is summed up with the next one's words
    rows = rows[:count]
    nothing_in(rows[:, :, run:])
    each = records[:, -scales:].reshape(4 * fours, -1)[:count].copy()
    if broad:
        each[1::2, 1] += 8 - 2 * (each[1::2, 1] & 0xFF)  # of odd channels, whose sums are 256 times
    scaling = _broad_words(read, each) if broad else _narrow_words(read, each)
    odd = np.arange(1, count, 2)
    kept = rows[:, :, :run].reshape(count, -1)
    return Held(kept, start, scaling, read.all, halves=odd, starts_there=True)


def _narrow_words(read: Read, words: Integers) -> Scaling:
    """Of each channel two words: multiplier, centre and shift."""
    multiplier, above = words.T
    shift, centre = above & 0xFF, above >> 8
    if (shift > 15).any():
        raise NotProvedError("a shift is above 15")
    return read.scaling("narrow", multiplier, shift, _zero_of(centre, shift))


def _broad_words(read: Read, words: Integers) -> Scaling:
    """Of each channel four words: multiplier, both shifts, centre, and whether it rounds twice."""
    multiplier, both, centre, away = words.T
    right, left = both >> 8, both & 0xFF
    once = right == 0
    if (left < 1).any() or ((left > 1) & ~once).any() or (away != np.where(once, 0, -1)).any():
        raise NotProvedError("its shifts are those of no factor")
    half = np.maximum(right - 1, 0)
    zero = _zero_of(np.where(once, 2 * centre + 1, centre), half)
    return read.scaling("broad", multiplier, np.where(once, left - 1, -right), zero)


def _zero_of(centre: Integers, shift: Integers) -> int:
    """The one zero point of all centres, (2 * zero + 1) << shift."""
    zeros = (centre >> shift) // 2
    if ((2 * zeros + 1) << shift != centre).any() or len({*zeros}) > 1:
        raise NotProvedError("a centre is not that of its shift")
    return int(zeros[0])


def _vector(read: Read) -> Held:
    count, products = read.of.channels, read.of.products
    read.expect("products", products)
    fours, chunks = -(-count // 4), (products - 1) // 16
    last = 8 if products - 16 * chunks <= 8 else 16
    records = read.array("records", fours, 12 + 16 * chunks + last)
    taken = _bytes(records[:, 4:-8])
    first = taken[:, : 64 * chunks].reshape(fours, chunks, 4, 16).transpose(0, 2, 1, 3)
    rest = taken[:, 64 * chunks :].reshape(fours, 4, last)
    weights = np.concatenate([first.reshape(fours, 4, -1), rest], axis=2).reshape(4 * fours, -1)
    nothing_in(weights[:, products:])
    return _by_lanes(read, records, weights[:count, :products], read.all)


def _by_lanes(read: Read, records: Integers, weights: Integers, channels: Integers) -> Held:
    """Of records that begin, or end, with biases, then multipliers, and exponents."""
    bias = records[:, :4] if read.kernel.startswith("lt_conv") else records[:, -12:-8]
    scales = bias, records[:, -8:-4], records[:, -4:]
    start, multiplier, exponent = (part.reshape(-1)[: len(channels)] for part in scales)
    zero = read.number("output_zero")
    if read.kernel.endswith("_any"):
        scaling = read.scaling("broad", multiplier, exponent, zero)
    else:
        scaling = read.scaling("narrow", multiplier, -1 - exponent, zero)
    return Held(weights, start, scaling, channels)


def _depthwise_vector(read: Read) -> Held:
    taps, channels = read.of.products, _overlapping(read.of.channels)
    if (read.of.channels % 4 != 0) != read.kernel.endswith("_rest"):
        raise NotProvedError(f"it runs {read.kernel} with {read.of.channels} channels")
    records = read.array("records", len(channels) // 4, 12 + taps)
    weights = _bytes(records[:, :-12]).reshape(-1, taps, 4).transpose(0, 2, 1).reshape(-1, taps)
    return _by_lanes(read, records, weights, channels)


def _overlapping(count: int) -> Integers:
    """Channels in fours, the last of which may have some of the one before it."""
    firsts = np.minimum(np.arange(0, count, 4), max(0, count - 4))
    return (firsts[:, None] + np.arange(4)).reshape(-1)


def _planes(read: Read) -> Held:
    of, channels = read.of, _overlapping(read.of.channels)
    records = read.array("records", len(channels) // 4, 12 + of.products)
    taken = _bytes(records[:, :-12]).reshape(len(channels), of.kernel_w, of.kernel_h)
    weights = taken.transpose(0, 2, 1).reshape(len(channels), -1)
    return _by_lanes(read, records, weights, channels)


def _columns(read: Read) -> Held:
    of, channels = read.of, _overlapping(read.of.channels)
    fours, pairs = len(channels) // 4, -(-of.kernel_h // 2)
    one = of.kernel_w == 1
    words = of.kernel_h if one else 2 * of.kernel_w * pairs
    broad = read.kernel == "lt_depthwise_columns_s8_any"
    records = read.array("records", fours, (20 if broad else 9) + words)
    taken = _bytes(records[:, 4 : 4 + words])
    weights: Integers
    if one:
        weights = taken.reshape(fours, of.kernel_h, 4).transpose(0, 2, 1).reshape(4 * fours, -1)
    else:  # [column][pair of rows][odd channel][row][upper two channels]
        parts = taken.reshape(fours, of.kernel_w, pairs, 2, 2, 2).transpose(0, 5, 3, 2, 4, 1)
        rows = parts.reshape(4 * fours, 2 * pairs, of.kernel_w)
        nothing_in(rows[:, of.kernel_h :])
        weights = rows[:, : of.kernel_h].reshape(4 * fours, -1)
    if broad:
        scaling = _broad_words(read, records[:, -16:].reshape(-1, 4))
    else:
        multiplier, shift = records[:, -5:-1].reshape(-1), _bytes(records[:, -1:]).reshape(-1)
        scaling = read.scaling("narrow", multiplier, shift, _centre(read))
    return Held(weights, records[:, :4].reshape(-1), scaling, channels, subtracts=True)


def _three(read: Read) -> Held:
    of, channels = read.of, _overlapping(max(4, read.of.channels))
    broad = read.kernel == "lt_depthwise_3x3_s8_any"
    size = 7 if broad else 5
    records = read.array("records", len(channels) // 4, 4, size)[:, [0, 2, 1, 3]].reshape(-1, size)
    there = channels < of.channels
    records, channels = records[there], channels[there]
    away, records = records[:, 0], records[:, 1 if broad else 0 :]
    first, second = _bytes(records[:, :1]), _bytes(records[:, 1:2])
    last, shifts = records[:, 2] >> 16, records[:, 2] & 0xFFFF
    left = shifts >> 8 if broad else np.ones_like(shifts)
    if (left < 1).any() or (left > 8).any():
        raise NotProvedError("a sum is shifted left by other than 1 to 8 bits")
    if ((last % (1 << left)) | (records[:, 3] % (1 << left))).any():
        raise NotProvedError("a shifted weight or bias has bits that none has")
    order = [first[:, 0], first[:, 1], second[:, 0], first[:, 2], first[:, 3], second[:, 2]]
    taps = np.stack([*order, second[:, 1], second[:, 3], last >> left], axis=1).reshape(-1, 3, 3)
    nothing_in(taps[:, of.kernel_h :])
    nothing_in(taps[:, :, of.kernel_w :])
    weights = taps[:, : of.kernel_h, : of.kernel_w].reshape(len(channels), -1)
    scaling = read.scaling("narrow", records[:, 4], shifts, _centre(read))
    if broad:
        words = np.stack([records[:, 4], left + 256 * (shifts & 0xFF), records[:, 5], away], axis=1)
        scaling = _broad_words(read, words)
    start = records[:, 3] >> left
    return Held(weights, start, scaling, channels, subtracts=True, bits=32 - left)


def _mult1(read: Read) -> Held:
    count = read.of.channels
    weights = read.array("weights", read.of.products, count).T
    bias, zero = read.array("bias", count), _centre(read)
    factors = read.array("multiplier", count), read.array("shift", count)
    if read.kernel == "lt_depthwise_mult1_s8_any":
        return Held(weights, bias, read.scaling("scale", *factors, zero), read.all, subtracts=True)
    scaling = read.scaling("narrow", *factors, zero)
    return Held(weights, _whole(bias), scaling, read.all, subtracts=True, bits=31)


def _dense_u8(read: Read) -> Held:
    count, none = read.of.channels, np.zeros(read.of.channels, np.int64)
    read.expect("depth", read.of.products)
    parts = (read.params.fields.get(name) for name in ("scale", "scale_1", "scale_2"))
    real = sum(float(np.float32(part)) for part in parts if isinstance(part, int | float))
    low, high = read.number("low"), read.number("high")
    scaling = Scaling("double", none, none, read.number("output_zero"), low, high, real)
    weights = read.array("weights", count, read.of.products) - read.number("weights_zero")
    return Held(weights, read.array("bias", count), scaling, read.all, subtracts=True)


def _anew(read: Read) -> Held:
    """Of lt_w9, the channels that are made anew."""
    of, channels = read.of, read.bundle.array(read.params.fields.get("channels"))
    count = read.number("count")
    weights = read.array("weights", count, of.products).copy()
    if not read.number("filters"):
        rows = weights.reshape(count, of.kernel_h, -1)
        whole = rows.shape[2] // 4 * 4
        fours = rows[:, :, :whole].reshape(count, of.kernel_h, -1, 4)[..., [0, 2, 1, 3]]
        rows[:, :, :whole] = fours.reshape(count, of.kernel_h, whole)
        weights[:] = rows.reshape(count, -1)
    multiplier, shift = read.array("multiplier", count), read.array("shift", count)
    narrow, zero = read.number("narrow"), read.number("output_zero")
    way: Way = "narrow" if narrow else "scale"
    scaling = read.scaling(way, multiplier, -1 - shift if narrow else shift, zero)
    return Held(weights, read.array("bias", count), scaling, channels[:count])


_READERS: Mapping[str, Callable[[Read], Held]] = MappingProxyType(
    {
        "lt_conv_s8": _conv,
        "lt_conv_w4_s8": _conv_w4,
        "lt_conv_scalar_s8": _scalar,
        "lt_conv_packed_s8": _packed,
        "lt_conv_4x2_s8": _four_by_two,
        "lt_conv_vector_s8": _vector,
        "lt_depthwise_s8": _depthwise,
        "lt_depthwise_scalar_s8": _scalar,
        "lt_depthwise_mult1_s8": _mult1,
        "lt_depthwise_3x3_s8": _three,
        "lt_depthwise_columns_s8": _columns,
        "lt_depthwise_vector_s8": _depthwise_vector,
        "lt_depthwise_planes_s8": _planes,
        "lt_transpose_conv_s8": _transpose_conv,
        "lt_conv_s16": conv_s16,
        "lt_conv_2x2_s16": two_by_two,
        "lt_conv_lanes_s16": lanes,
        "lt_depthwise_s16": depthwise_s16,
        "lt_fully_connected_u8": _dense_u8,
        "lt_w9_s8": _anew,
    }
)


_OTHER_FORMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "lt_conv_4x2_s8": ("lt_conv_4x2_s8_three", "lt_conv_4x2_s8_one", "lt_conv_4x2_s8_any"),
        "lt_conv_scalar_s8": ("lt_conv_scalar_s8_any",),
        "lt_conv_vector_s8": ("lt_conv_vector_s8_any",),
        "lt_depthwise_3x3_s8": ("lt_depthwise_3x3_s8_any",),
        "lt_depthwise_columns_s8": ("lt_depthwise_columns_s8_any",),
        "lt_depthwise_vector_s8": (
            "lt_depthwise_vector_s8_rest",
            "lt_depthwise_vector_s8_any",
        ),
        "lt_depthwise_planes_s8": ("lt_depthwise_planes_s8_any",),
        "lt_depthwise_mult1_s8": ("lt_depthwise_mult1_s8_plain", "lt_depthwise_mult1_s8_any"),
    }
)
"""By type of params, kernels that take them beside the one that is named like it."""


def held(bundle: Bundle, params: Params, kernel: str, sizes: Sizes) -> Held | None:
    """What the params of a kernel hold; None of params that are not known here.

    Raises NotProvedError if the kernel does not take such params, or they are of another shape.
    """
    reader = _READERS.get(params.ctype)
    if reader is None:
        return None
    if kernel not in (f"{params.ctype}_row", *_OTHER_FORMS.get(params.ctype, ())):
        raise NotProvedError(f"it runs {kernel}, whose params are not {params.ctype}")
    read = Read(bundle, params, kernel, sizes)
    _check_shape(read)
    return reader(read)


def _check_shape(read: Read) -> None:
    """What params say of the operator's shape, if they do; the rest of it is of the data flow."""
    of, fields = read.of, read.params.fields
    inputs = of.groups * of.depth
    for name, wanted in (
        ("kernel_h", of.kernel_h),
        ("kernel_w", of.kernel_w),
        ("out_c", of.channels),
        ("channels", inputs),
        ("in_c", inputs),
    ):
        if isinstance(fields.get(name), int):
            read.expect(name, wanted)
    if (
        read.params.ctype.startswith("lt_depthwise")
        and fields.get("filters", 1) != of.channels // inputs
    ):
        raise NotProvedError(f"its filters are not {of.channels // inputs}")
    direct = fields.get("direct")
    pointwise = of.kernel_h == of.kernel_w == 1
    if direct and (not pointwise or read.number("pad_left") != 0 or fields.get("flip")):
        raise NotProvedError("it takes a window for a pixel")
    if read.kernel.endswith("_three"):
        if not direct or read.number("lean"):
            raise NotProvedError(f"{read.kernel} takes pixels where they are, and is not lean")
        if read.number("out_w") < 2:
            raise NotProvedError(f"{read.kernel} makes no single pixel")
    if read.kernel == "lt_conv_4x2_s8_one" and read.number("out_w") != 1:
        raise NotProvedError(f"{read.kernel} makes one pixel")

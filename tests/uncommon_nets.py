"""Random networks of what the other generators never draw, a kind after the other by seed.

Why: lines of the runtime that only networks run, and kernels' cases do not, stay unreached where no
generator has their kind of network. `bench/run coverage` says which lines those are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np

from lowtide.zoo import audio
from lowtide.zoo.builder import Act
from lowtide.zoo.quantise import Activation
from lowtide.zoo.writer import write
from odd_nets import requantised
from random_nets import RELU6, Maker
from schema_models import plain_net
from signal_models import Signals


def uncommon_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    return _KINDS[seed % len(_KINDS)](Random(seed))


def _transforms(rng: Random) -> bytes:
    """Spectra and what they are of, of int16 and int32: lengths with factors of 3 and 5."""
    net = Signals()
    for dtype in ("INT16", "INT32"):
        for length in rng.sample((4, 6, 10, 20, 24, 30, 40, 50, 64, 80), 4):
            net.rfft(net.input((2, rng.randint(1, length)), dtype), length, dtype)
            net.irfft(net.input((2, length + 2), dtype), length, dtype)
    return net.build()


def _waiting(rng: Random) -> bytes:
    """Frames that wait for their first samples, and delays longer than what comes, in several rows; and
    stacks that are not whole at first."""
    net = Signals()
    for _ in range(3):
        hop, frames = rng.choice((3, 4, 8)), rng.randint(1, 4)
        x = net.input((rng.randint(1, 3), hop * frames))
        net.framer(x, hop * rng.randint(1, 4) + rng.choice((0, 0, 1)), hop, prefill=False)
        net.delay(x, rng.randint(1, 4 * hop * frames))
    for left, right, hop in ((3, 1, 2), (2, 0, 1), (rng.randint(0, 3), rng.randint(0, 3), 1)):
        net.stacker(net.input((rng.randint(1, 5),)), left, right, hop)
    return net.build()


def _loud(rng: Random) -> bytes:
    """A window that saturates; energies of a part of the spectrum; bands of next to nothing, and
    logarithms that leave their type."""
    net, size = Signals(), 32
    x = net.input((size,))
    weights = net.const([rng.choice((8192, 32767, -32768, 4096)) for _ in range(size)])
    (x,) = net.signal("Window", [x, weights], ((size,), "INT16"), shift=12)
    scaled, bits = net.signal("FftAutoScale", [x], ((size,), "INT16"), ((), "INT32"))
    count = size // 2
    first, end = rng.randint(0, 2), count - rng.randint(1, 3)
    options = {"start_index": first, "end_index": end}
    (x,) = net.signal("Energy", [scaled], ((count,), "UINT32"), **options)
    widths = [1, 0, 1, 2, 1, 3]
    channels, total = len(widths) - 1, sum(widths) + 1
    tables = [net.const([rng.choice((0, 1, 4096)) for _ in range(total)]) for _ in range(2)]
    starts = [rng.randint(first, end - width) for width in widths]  # others are not written
    tables += [net.const(starts), net.const(np.cumsum(widths) - widths), net.const(widths)]
    (x,) = net.signal("FilterBank", [x, *tables], ((channels,), "UINT64"), num_channels=channels)
    (x,) = net.signal("FilterBankSquareRoot", [x, bits], ((channels,), "UINT32"))
    smooth = rng.choice((20, 410))
    options = {"smoothing": smooth, "alternate_smoothing": smooth, "clamping": rng.random() < 0.5}
    x = net.subtraction(x, smoothing_bits=rng.choice((0, 4, 10)), **options)
    inputs = [x, x + 1, net.const(audio.gains())]
    net.signal("PCAN", inputs, ((channels,), "UINT32"), snr_shift=6)
    options = {"input_correction_bits": 3, "output_scale": rng.choice((64, 4096, 32767))}
    net.signal("FilterBankLog", [x], ((channels,), "INT16"), **options)
    return net.build()


def _logarithms(rng: Random) -> bytes:
    """Logarithms of softmax, of fine scales and coarse ones."""
    net = plain_net()
    for scale in (1e-5, 0.05, 0.3, 1.0, 3.0, rng.uniform(0.01, 10)):
        shape = (rng.randint(1, 4), rng.randint(1, 60))
        source = net.input(shape, "int8", scale, rng.randint(-128, 127))
        net.add("LOG_SOFTMAX", (source,), net.tensor(shape, "int8", 1 / 16, 127))
    return net.build()


def _joining(rng: Random) -> bytes:
    """Concatenations of wide maps, each read by a convolution of one tap, or by a depthwise one in front
    of that."""
    net = Maker(f"joining-{rng.random()}")
    x = net.input((1, rng.randint(6, 12), rng.choice((9, 17, 40)), rng.randint(2, 8)))
    x = net.conv(x, "first", rng.randint(3, 9), 3, 1, RELU6)
    parts: list[Act] = [net.conv(x, "second", rng.randint(3, 9), 1, 1, RELU6)]
    for number in range(rng.randint(2, 4)):
        whole = net.concat([*parts, x], f"whole_{number}")
        if rng.random() < 0.5:
            kernel, stride = rng.choice(((3, 3), (2, 2), (5, 3))), 1
            whole = net.depthwise(whole, f"middle_{number}", kernel, stride, RELU6)
        parts.append(net.conv(whole, f"last_{number}", rng.randint(1, 8), 1, 1, RELU6))
    return net.finish(parts[-1])


def _averaged(rng: Random) -> bytes:
    """A window that slides, whose rows are averaged: what is below 0 becomes 0."""
    net = Maker(f"averaged-{rng.random()}")
    x = net.input((1, rng.randint(8, 20), rng.randint(1, 5), rng.randint(1, 3)))
    x = net.conv(
        x, "first", rng.randint(2, 9), (rng.randint(1, 3), 1), 1, Activation.NONE, same=False
    )
    x = net.average_pool(x, "average")
    op = net._ops.pop()
    net._ops.append(replace(op, options={**op.options, "fused_activation_function": 1}))
    spec = net.described(x)
    return write(requantised(spec, "INT16", rng) if rng.random() < 0.5 else spec)


def _wide(rng: Random) -> bytes:
    """A window of wide rows that slides: convolutions that are worth to be made in strips."""
    net = Maker(f"wide-{rng.random()}")
    x = net.input((1, rng.randint(12, 16), rng.randint(50, 90), 2))
    for number, (channels, kernel) in enumerate(((12, 3), (12, 3), (3, 3))):
        x = net.conv(x, f"conv_{number}", channels, kernel, 1, RELU6, same=False)
    return net.finish(net.mean(x, "mean"))


_KINDS: tuple[Callable[[Random], bytes], ...] = (
    *(_transforms, _waiting, _loud, _logarithms),
    *(_joining, _joining, _averaged, _wide),
)

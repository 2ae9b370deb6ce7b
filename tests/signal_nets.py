"""Random networks of signal operators behind one another: frames, transforms and back, and features.

Why: each is tested alone; here what one remembers reaches the next, rows of frames meet operators that
see all at once, and any of them may be the network's output. Every number is drawn from the seed.
"""

from __future__ import annotations

from random import Random

import numpy as np

from lowtide.zoo import audio
from signal_models import Signals


def signal_network(seed: int) -> bytes:
    """The .tflite file of the network of that number."""
    rng, net = Random(seed), Signals()
    hop, parts = rng.choice((4, 8, 10, 16)), rng.randint(1, 3)
    size, frames = hop * parts + rng.choice((0, 0, 3)) * (parts > 1), rng.randint(1, 3)
    size = min(size, hop * parts)
    x = net.input((1, hop * frames))
    if rng.random() < 0.4:
        x = net.delay(x, rng.randint(1, 20))
    x = net.framer(x, size, hop, prefill=True)
    if rng.random() < 0.7:
        weights = net.const([rng.randint(0, 4096) for _ in range(size)])
        (x,) = net.signal("Window", [x, weights], (net.tensors[x].shape, "INT16"), shift=12)
    length = next(n for n in (16, 32, 48) if n >= size)
    x = net.rfft(x, length)
    if rng.random() < 0.5:
        back = net.irfft(x, length)
        net.overlap_add(back, rng.randint(1, length))
    if frames == 1:
        _features(net, rng, x, length)
    return net.build()


def spectrum_network(seed: int) -> bytes:
    """The same of those operators that remember nothing: the spectrum of a single frame, in bands."""
    rng, net = Random(seed), Signals()
    size = rng.choice((12, 16, 30, 48))
    x = net.input((1, size))
    if rng.random() < 0.7:
        weights = net.const([rng.randint(0, 4096) for _ in range(size)])
        (x,) = net.signal("Window", [x, weights], (net.tensors[x].shape, "INT16"), shift=12)
    length = next(n for n in (16, 32, 48) if n >= size)
    x = net.rfft(x, length)
    if rng.random() < 0.5:
        net.irfft(x, length)
    _features(net, rng, x, length, remember=False)
    return net.build()


def _features(
    net: Signals, rng: Random, spectrum: int, length: int, *, remember: bool = True
) -> None:
    flat = net.tensor((length + 2,), "INT16")
    shape = net.const([length + 2], "INT32")
    net.view(spectrum, shape, flat)
    scaled, bits = net.signal("FftAutoScale", [flat], ((length + 2,), "INT16"), ((), "INT32"))
    count, channels = length // 2 + 1, rng.randint(1, 6)
    begin = rng.randint(0, 2)
    options = {"start_index": begin, "end_index": count}
    (x,) = net.signal("Energy", [scaled], ((count,), "UINT32"), **options)
    widths = [rng.randint(0, 4) for _ in range(channels + 1)]
    starts = [rng.randint(begin, count - width) for width in widths]
    total = sum(widths) + 1
    tables = [net.const([rng.randint(0, 4096) for _ in range(total)]) for _ in range(2)]
    places = np.cumsum(widths) - widths
    tables += [net.const(starts), net.const(places), net.const(widths)]
    made = ((channels,), "UINT64")
    (x,) = net.signal("FilterBank", [x, *tables], made, num_channels=channels)
    (x,) = net.signal("FilterBankSquareRoot", [x, bits], ((channels,), "UINT32"))
    clean = net.subtraction(x, clamping=rng.random() < 0.5) if remember else x
    if remember and rng.random() < 0.6:
        inputs = [clean, clean + 1, net.const(audio.gains())]
        (clean,) = net.signal("PCAN", inputs, ((channels,), "UINT32"), snr_shift=6)
    options = {"input_correction_bits": rng.randint(0, 3), "output_scale": 64}
    (x,) = net.signal("FilterBankLog", [clean], ((channels,), "INT16"), **options)
    if remember and rng.random() < 0.6:
        net.stacker(x, rng.randint(0, 2), 0, 1)

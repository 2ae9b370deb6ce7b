"""Networks of one signal operator, of one that stands behind them, or of a window that moves on in each
call, to see what their kernels cost."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from lowtide.zoo import audio
from lowtide.zoo.spec import NetSpec, Option
from lowtide.zoo.stateful import StatefulBuilder
from lowtide.zoo.writer import write

KINDS = (
    *("rfft16", "rfft32", "irfft16", "irfft32", "window", "scale", "energy", "bank", "root"),
    *("subtraction", "pcan", "log", "framer", "delay", "overlap", "stacker"),
    *("cast", "add32", "mul32", "div32", "minimum32", "maximum32", "slide"),
)

_TYPES = {"16": ("INT16", 7), "32": ("INT32", 2)}


class _One(audio.SignalNet):
    """A network whose outputs are all that it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[int] = []

    def input(self, shape: tuple[int, ...], dtype: str = "INT16") -> int:
        self.inputs.append(self.tensor(f"input_{len(self.inputs)}", shape, dtype))
        return self.inputs[-1]

    def made(
        self,
        name: str,
        inputs: Sequence[int],
        *made: tuple[tuple[int, ...], str],
        **options: Option,
    ) -> list[int]:
        at = len(self.tensors)
        outputs = [self.tensor(f"made_{at + i}", *what) for i, what in enumerate(made)]
        self.signal(name, inputs, outputs, **options)
        return outputs

    def finish(self) -> bytes:
        outputs = tuple(t for op in self.ops for t in op.outputs)
        tensors, ops = tuple(self.tensors), tuple(self.ops)
        return write(NetSpec("signal", tensors, ops, tuple(self.inputs), outputs))


def signal_network(kind: str, rng: Random) -> bytes:
    """The .tflite file of a network of that kind, of drawn size."""
    if kind == "slide":
        channels = rng.choice((5, 8, 10, 15, 30, 33, 40, 64))
        return _slide(rng.choice((1, 2, 3)), rng.choice((2, 5, 22, 40)), channels)
    net, size = _One(), rng.choice((40, 160, 240, 480))
    if kind == "cast" or (kind.endswith("32") and "rfft" not in kind):
        _integers(net, kind, rng, size)
    elif "rfft" in kind:
        _transform(net, kind, rng)
    elif kind in ("framer", "delay", "overlap", "stacker"):
        _framing(net, kind, rng, size)
    elif kind == "window":
        weights = net.const("weights", audio.window()[:size])
        net.made("Window", [net.input((1, size)), weights], ((1, size), "INT16"), shift=12)
    elif kind == "scale":
        net.made("FftAutoScale", [net.input((size,))], ((size,), "INT16"), ((), "INT32"))
    elif kind == "energy":
        options = {"start_index": size // 50, "end_index": size - size // 20}
        net.made("Energy", [net.input((2 * size,))], ((size,), "UINT32"), **options)
    else:
        _features(net, kind, rng.choice((8, 20, 32, 40)))
    return net.finish()


def _slide(fresh: int, kept: int, channels: int) -> bytes:
    """A variable keeps so many rows, behind which come some new ones; one row of all is the output."""
    net = StatefulBuilder(f"slide {fresh} {kept} {channels}")
    window = net.keep(net.input((1, fresh, 1, channels)), "state", kept)
    row = net.slice_(window, "row", (0, kept // 2, 0, 0), (1, kept // 2 + 1, 1, channels))
    return net.finish(row)


def _transform(net: _One, kind: str, rng: Random) -> None:
    length = rng.choice((64, 96, 128, 160, 256, 320, 480, 512))
    (dtype, number), inverse = _TYPES[kind[-2:]], kind.startswith("i")
    source = net.input((1, length + 2 if inverse else length), dtype)
    made = ((1, length if inverse else length + 2), dtype)
    net.made("Irfft" if inverse else "Rfft", [source], made, T=number, fft_length=length)


def _framing(net: _One, kind: str, rng: Random, size: int) -> None:
    parts = rng.choice((2, 4))
    hop = size // parts
    flag: tuple[tuple[int, ...], str] = ((), "BOOL")
    if kind == "framer":
        options: dict[str, Option] = {"frame_size": size, "frame_step": hop, "prefill": True}
        net.made("Framer", [net.input((1, hop))], ((1, 1, size), "INT16"), flag, **options)
    elif kind == "delay":
        net.made("Delay", [net.input((1, hop))], ((1, hop), "INT16"), delay_length=size)
    elif kind == "overlap":
        source = net.input((1, 1, size))
        net.made("OverlapAdd", [source], ((1, hop), "INT16"), T=7, frame_step=hop)
    else:
        options = {"num_channels": hop, "stacker_left_context": 1}
        options |= {"stacker_right_context": parts, "stacker_step": 1}
        made = (((parts + 2) * hop,), "INT16")
        net.made("Stacker", [net.input((hop,))], made, flag, **options)


def _integers(net: _One, kind: str, rng: Random, size: int) -> None:
    if kind == "cast":
        types = rng.choice((("INT16", "INT32"), ("UINT32", "INT32"), ("INT32", "INT8")))
        net.op("CAST", [net.input((size,), types[0])], net.tensor("made", (size,), types[1]))
        return
    factor = net.tensor("factor", (), "INT32", rng.choice((3, 256, 666)))
    name = kind.removesuffix("32").upper()
    options: dict[str, Option] = {} if name.endswith("MUM") else {"fused_activation_function": 0}
    made = net.tensor("made", (size,), "INT32")
    net.op(name, [net.input((size,), "INT32"), factor], made, options)


def _features(net: _One, kind: str, channels: int) -> None:
    made = ((channels,), "UINT32")
    if kind == "bank":
        falling, rising, starts, widths = audio.bands()
        count = channels + 1
        tables = [
            net.const("weights", falling),
            net.const("unweights", rising),
            net.const("starts", starts[:count]),
            net.const("places", (np.cumsum(widths) - widths)[:count]),
            net.const("widths", widths[:count]),
        ]
        inputs = [net.input((257,), "UINT32"), *tables]
        net.made("FilterBank", inputs, ((channels,), "UINT64"), num_channels=channels)
    elif kind == "root":
        _, scale = net.made("FftAutoScale", [net.input((8,))], ((8,), "INT16"), ((), "INT32"))
        net.made("FilterBankSquareRoot", [net.input((channels,), "UINT64"), scale], made)
    elif kind == "subtraction":
        options = {**audio.following(), "num_channels": channels}
        source = [net.input((channels,), "UINT32")]
        net.made("FilterBankSpectralSubtraction", source, made, made, **options)
    elif kind == "pcan":
        both = [net.input((channels,), "UINT32") for _ in range(2)]
        net.made("PCAN", [*both, net.const("gains", audio.gains())], made, snr_shift=6)
    else:
        options = {"input_correction_bits": 3, "output_scale": 64}
        source = [net.input((channels,), "UINT32")]
        net.made("FilterBankLog", source, ((channels,), "INT16"), **options)

"""Models of TFLM's signal operators: many in one, with any shapes and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowtide.zoo.spec import OpSpec
from spec_models import Specs

Shape = Sequence[int]
_TYPE = {"INT16": 7, "INT32": 2}


class Signals(Specs):
    """A model of signal operators; all that they make are its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.outputs: list[int] = []

    def input(self, shape: Shape, dtype: str = "INT16") -> int:
        self.inputs.append(self.tensor(shape, dtype))
        return self.inputs[-1]

    def const(self, values: Any, dtype: str = "INT16") -> int:
        return self.tensor(np.shape(values), dtype, data=np.asarray(values, dtype.lower()))

    def signal(
        self, kind: str, inputs: Sequence[int], *made: tuple[Shape, str], **options: int
    ) -> tuple[int, ...]:
        """A signal operator, without "Signal" in its name; the tensors it makes are returned."""
        outputs = tuple(self.tensor(*what) for what in made)
        name = f"Signal{kind}"
        self.ops.append(OpSpec("CUSTOM", 1, tuple(inputs), outputs, "", options, (), name))
        self.outputs += outputs
        return outputs

    def rfft(self, source: int, length: int, dtype: str = "INT16") -> int:
        shape = (*self.tensors[source].shape[:-1], length + 2)
        options = {"T": _TYPE[dtype], "fft_length": length}
        return self.signal("Rfft", [source], (shape, dtype), **options)[0]

    def irfft(self, source: int, length: int, dtype: str = "INT16") -> int:
        shape = (*self.tensors[source].shape[:-1], length)
        options = {"T": _TYPE[dtype], "fft_length": length}
        return self.signal("Irfft", [source], (shape, dtype), **options)[0]

    def framer(self, source: int, size: int, hop: int, *, prefill: bool) -> int:
        shape = self.tensors[source].shape
        frames = (*shape[:-1], shape[-1] // hop, size)
        options = {"frame_size": size, "frame_step": hop, "prefill": prefill}
        return self.signal("Framer", [source], (frames, "INT16"), ((), "BOOL"), **options)[0]

    def delay(self, source: int, delay: int) -> int:
        shape = self.tensors[source].shape
        return self.signal("Delay", [source], (shape, "INT16"), delay_length=delay)[0]

    def overlap_add(self, source: int, hop: int) -> int:
        *outer, frames, _ = self.tensors[source].shape
        made = ((*outer, frames * hop), "INT16")
        return self.signal("OverlapAdd", [source], made, T=7, frame_step=hop)[0]

    def stacker(self, source: int, left: int, right: int, hop: int) -> int:
        (channels,) = self.tensors[source].shape
        options = {
            "num_channels": channels,
            "stacker_left_context": left,
            "stacker_right_context": right,
            "stacker_step": hop,
        }
        made = (((left + right + 1) * channels,), "INT16"), ((), "BOOL")
        return self.signal("Stacker", [source], *made, **options)[0]

    def subtraction(self, source: int, **options: int) -> int:
        shape = self.tensors[source].shape
        known = {
            "alternate_one_minus_smoothing": 15401,
            "alternate_smoothing": 983,
            "clamping": False,
            "min_signal_remaining": 819,
            "num_channels": shape[0],
            "one_minus_smoothing": 15974,
            "smoothing": 410,
            "smoothing_bits": 10,
            "spectral_subtraction_bits": 14,
        }
        made = (shape, "UINT32")
        name = "FilterBankSpectralSubtraction"
        return self.signal(name, [source], made, made, **{**known, **options})[0]

    def view(self, source: int, shape: int, made: int) -> None:
        """RESHAPE, which is no output."""
        self.ops.append(OpSpec("RESHAPE", 1, (source, shape), (made,), "ReshapeOptions"))

    def build(self) -> bytes:
        return self.file("signal", self.outputs)

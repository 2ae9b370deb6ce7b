"""The window of a convolution or pooling, the same for all operators that have one.

Why: files say it in many ways (SAME, VALID, a PAD before it, sizes in the options or in the weights'
shape). It is worked out once, by `ir.windows`, and every later stage reads this.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """Along one axis: output x reads the inputs x * stride - before + k * dilation, 0 <= k < kernel.

    What lies outside of the input is padding: `before` its first element, and `after` its last.
    """

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def size(self) -> int:
        """Elements from the window's first to its last, those between its taps included."""
        return (self.kernel - 1) * self.dilation + 1

    def made(self, length: int) -> int:
        """How many outputs there are of `length` inputs: ComputeOutSize, padding.h."""
        return (length + self.before + self.after - self.size + self.stride) // self.stride

    def touched(self, outputs: range) -> range:
        """From the first to the last input that the windows of `outputs` reach, padding included."""
        first = outputs.start * self.stride - self.before
        return range(first, (outputs.stop - 1) * self.stride - self.before + self.size)

    def reads(self, outputs: range, length: int) -> range:
        """Those of them that are there, of an input of `length` elements."""
        touched = self.touched(outputs)
        return range(max(0, touched.start), min(length, touched.stop))

    def padding(self, outputs: range, length: int) -> tuple[int, int]:
        """How many of them lie before the input, and how many after it."""
        touched, read = self.touched(outputs), self.reads(outputs, length)
        return read.start - touched.start, touched.stop - read.stop


@dataclass(frozen=True, slots=True)
class Window:
    """Both axes of a feature map's window."""

    rows: Axis
    columns: Axis

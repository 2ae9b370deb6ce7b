"""Networks that the tests of packages export, and their packages."""

from __future__ import annotations

from lowtide.commands.compiling import Compiled, exported
from lowtide.commands.options import Options
from networks import compiled

NETWORKS = {
    "branchy": ("branchy-cell", Options(name="branchy")),
    "kws": ("ds-cnn-kws", Options(name="kws", input_mode="streamed", output_mode="streamed")),
    "left": ("ds-cnn-kws", Options(name="left", input_mode="streamed")),
    "still": ("figure1", Options(name="still", input_mode="const")),
    "wake": ("streaming-wake-word", Options(name="wake")),
}
"""Resident, streamed in and out, streamed in, kept elsewhere, with state."""
WHOLE = ("branchy", "wake")
"""Those that firmware for TFLM can call: whole inputs and outputs in the arena."""


def package(name: str, kind: str) -> Compiled:
    return exported(compiled(*NETWORKS[name]), kind)

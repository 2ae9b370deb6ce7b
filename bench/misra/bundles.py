"""What cppcheck finds in bundles: of three networks, and of two that have what those lack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.misra.checker import Finding, findings
from lowtide.commands.options import Options
from lowtide.emit.misra import DEVIATIONS, checked_as
from lowtide.machines.board import find_target

NETWORKS: Final = {
    "ds-cnn-kws": Options(),
    "lstm-gestures": Options(input_mode="const"),
    "streaming-wake-word": Options(input_mode="streamed", output_mode="streamed", slices=True),
}
"""From the zoo, and how each is compiled: together they have all ways of giving inputs."""
FURTHER: Final = {
    "audio-front-end": Options(),
    "ds-cnn-kws --hop 2 --slices": Options(hop=2, slices=True),
}
"""Constants that are operands; and a window that slides, in slices."""
CORES: Final = ("cortex-m4", "cortex-m55", "rv32imc")
BUNDLES: Final = (
    ("ds-cnn-kws", "cortex-m4"),
    ("ds-cnn-kws", "cortex-m55"),
    ("lstm-gestures", "cortex-m55"),
    ("lstm-gestures", "rv32imc"),
    ("streaming-wake-word", "cortex-m4"),
    ("streaming-wake-word", "rv32imc"),
    ("audio-front-end", "any"),
    ("ds-cnn-kws --hop 2 --slices", "cortex-m4"),
)
"""Each network for some cores, since cppcheck is slow: each core, and C for any, at least once."""


def network_of(bundle: str) -> str:
    """The network's name in the zoo; options may follow it in the name of a bundle."""
    return bundle.split()[0]


def options_of(bundle: str, core: str) -> Options:
    """How the bundle for `core` is compiled."""
    return replace((NETWORKS | FURTHER)[bundle], target=find_target(core))


def in_bundle(
    folder: Path, core: str, *, listed: bool, kept: Path | None = None
) -> frozenset[Finding]:
    """What cppcheck finds in the bundle in `folder`; if `listed`, what its own list leaves."""
    sources = [path.name for path in folder.glob("*.c")]
    listing = DEVIATIONS if listed else None
    return findings(folder, sources, checked_as(find_target(core)), kept=kept, listed=listing)


def rules(found: Iterable[Finding]) -> int:
    """How many of the findings are of rules of MISRA's."""
    return sum(finding.id.startswith("misra-") for finding in found)

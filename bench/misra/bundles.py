"""What cppcheck finds in bundles: three networks, each for three cores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
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
CORES: Final = ("cortex-m4", "cortex-m55", "rv32imc")
BUNDLES: Final = tuple(product(NETWORKS, CORES))


def options_of(network: str, core: str) -> Options:
    """How the bundle of `network` for `core` is compiled."""
    return replace(NETWORKS[network], target=find_target(core))


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

"""Options of compilation, drawn together: core, modes, limits, types, alignment, effort.

Why together: each option alone is tested over all networks. What goes wrong lies where two of them meet.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from lowtide.commands.options import Options
from lowtide.machines.board import targets
from lowtide.target import FlashCache

EFFORT = 0.1
"""Of the usual effort, what most networks are planned with: many networks find more than good plans."""


def drawn_options(rng: Random) -> Options:
    """Any options that do not depend on the network."""
    options = _by_operators(rng) if rng.random() < 0.15 else _by_rows(rng)
    cores = targets()
    options = replace(
        options,
        preserve_input=options.input_mode == "resident" and rng.random() < 0.3,
        quantized_io=rng.random() < 0.2,
        simplify=rng.random() < 0.8,
        input_type="uint8" if rng.random() < 0.15 else "file",
        effort=rng.choice((EFFORT, EFFORT, 1.0)),
        target=cores[rng.choice(sorted(cores))],
        align=rng.choice((4, 4, 8, 16, 16, 64)),
    )
    if rng.random() < 0.2 and options.target.core != "any":
        flash = FlashCache("RP2040", rng.choice((64, 512, 4096)), 2, 8, rng.choice((5, 54)))
        options = replace(options, target=replace(options.target, flash=flash))
    return options


def _by_operators(rng: Random) -> Options:
    return Options(
        schedule="operators",
        allocator=rng.choice(("planned", "greedy", "compacting")),
        input_mode=rng.choice(("resident", "const")),
    )


def _by_rows(rng: Random) -> Options:
    return Options(
        input_mode=rng.choice(("resident", "const", "streamed")),
        output_mode=rng.choice(("resident", "resident", "streamed")),
        max_overhead=rng.choice((None, None, 1.0, 1.1, 1.3, 2.0, float("inf"))),
        cost=rng.choice(("macs", "macs", "instructions")),
        slices=rng.random() < 0.15,
    )

"""Paper 2's figures beside ours: its Table 1 as its code has it, and its released programs, run.

Why apart: a limit has three names there, and not every limit has a program of its own. Table 1 counts
neither the network's input nor its output, and forgets tiles at the border of small maps; the programs
were measured as ours are, but their fused results are not those of the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bench.msf_cnn.paper_chains import ZOO
from bench.msf_cnn.planned_programs import Ask, Net
from bench.shared.outside import shared

_TABLES = "paper_tables.json"
NEEDS_DATA = f"needs the shared data ({_TABLES})"
KILOBYTE = 1000

# Limits that lead to the same program as another one have its name.
_ARCHIVES = {
    "MBV2-w0.35": (
        "MBV2-w0.35-r144",
        {1.0: "320_K", 1.1: "F_1.1", 1.3: "F_1.3", 1.5: "F_1.4", math.inf: "F_Inf"},
        {16: "16_K", 32: "32_K", 64: "64_K", 128: "128_K", 256: "256_K"},
    ),
    "MN2-vww5": (
        "MCUNetv2-vww-5fps-r80",
        {1.0: "320_K", 1.1: "F_1.1", 1.3: "F_1.3", 1.5: "F_1.4", math.inf: "F_Inf"},
        {16: "16_K", 32: "32_K", 64: "64_K", 128: "128_K", 256: "128_K"},
    ),
    "MN2-320K": (
        "MCUNet-320KB-ImageNet-r176",
        {1.0: "320_K", 1.1: "F_1.1", 1.3: "F_1.3", 1.5: "F_1.5", math.inf: "F_Inf"},
        {64: "64_K", 128: "128_K_F_1.5", 256: "256_K"},
    ),
}
_NAMES = {f"zoo:{zoo}": name for name, zoo in ZOO.items()}


@dataclass(frozen=True, slots=True)
class Archive:
    """A released program: bytes of RAM that the mode counts, MACs, instructions (M4, -O2)."""

    ram: int
    macs: int
    instructions: int


def name_of(net: Net) -> str:
    """The paper's name of a chain."""
    return _NAMES[net.network]


def archive(ask: Ask) -> Archive | None:
    """The released program for the same limit; its input counts where ours is resident.

    None where there is none, or the shared data are absent.
    """
    tables = shared(_TABLES)
    prefix, by_factor, by_kilobytes = _ARCHIVES[name_of(ask.net)]
    if ask.kind == "cost":
        name = by_factor.get(ask.limit)
    else:
        name = by_kilobytes.get(int(ask.limit) // KILOBYTE)
    if tables is None or name is None:
        return None
    figures: dict[str, int] = tables["released_archives_measured"][f"{prefix}_{name}"]
    parts = ["workspace_bytes", "output_bytes", "stack_bytes_m4_O2"]
    parts += ["input_bytes"] if ask.net.input_mode == "resident" else []
    ram = sum(figures[part] for part in parts)
    return Archive(ram, figures["executed_macs"], figures["instructions_m4-O2"])


def published(ask: Ask) -> str:
    """Table 1 for the same limit as the released code has it: bytes, F, and F counted exactly."""
    tables = shared(_TABLES)
    if tables is None:
        return NEEDS_DATA
    cell = _cell(tables, ask)
    if cell is None:
        return "paper 2: no solution"
    exact = cell.get("F_exact_same_padding", cell["F"])
    return f"paper 2: {cell['bytes']:,} B at {cell['F']:.2f} ({exact:.2f})"


def published_bytes(ask: Ask) -> int | None:
    """The bytes of `published`; None where there is no solution, or the shared data are absent."""
    tables = shared(_TABLES)
    cell = None if tables is None else _cell(tables, ask)
    return None if cell is None else int(cell["bytes"])


def _cell(tables: Any, ask: Ask) -> dict[str, Any] | None:
    if ask.kind == "ram":
        constraint = f"P2 {int(ask.limit) // KILOBYTE}kB"
    else:
        constraint = "vanilla" if ask.limit == 1.0 else f"P1 {ask.limit:g}"
    cell: dict[str, Any] | None = tables["analysis_code_exact"][name_of(ask.net)][constraint]
    return cell


def seconds(network: str) -> str:
    """How long the released code takes for all its points of P1 and P2."""
    tables = shared(_TABLES)
    if tables is None:
        return NEEDS_DATA
    name = _NAMES[network]
    times = tables["analysis_wall_seconds_this_machine"]
    first, second = (times[f"{name} {problem}"] for problem in ("P1", "P2"))
    return f"paper 2: {first:.1f} + {second:.1f} s"

"""What rivals need for the same networks, as short texts for the bench of row plans.

TensorFlow Lite Micro with CMSIS-NN on a Cortex-M4: its arena stands without its interpreter and stack.
Paper 2 (msf-CNN): its own programs of least RAM, run; input, output and stack included. All figures are
read from the shared data, and texts say so where those are absent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.shared.outside import peer, shared

SWIFTNET = "swiftnet_cell_uint8"

_TFLM = {
    SWIFTNET: "swiftnet_int8_twin",
    "te_vww": "te_vww",
    "mlperf_vww_96_int8": "vww_96",
    "tflm_person_detect_int8": "person_detect",
    "mlperf_resnet8_int8": "resnet8",
    "mlperf_kws_int8": "kws",
}
# The chain's archive of least RAM, and its name in the paper's tables.
_ARCHIVES = {
    "zoo:mbv2-w0.35-144-chain": ("MBV2-w0.35-r144_F_Inf", "MBV2-w0.35"),
    "zoo:mn2-vww5-80-chain": ("MCUNetv2-vww-5fps-r80_F_Inf", "MN2-vww5"),
    "zoo:mn2-320k-176-chain": ("MCUNet-320KB-ImageNet-r176_F_Inf", "MN2-320K"),
}
_TABLES = "paper_tables.json"


def rival_arena(network: str) -> str:
    """TFLM's arena."""
    if network not in _TFLM:
        return ""
    found = peer("tflm", _TFLM[network], "arena_bytes", "cmsis_m4", show=lambda b: f"TFLM {b:,} B")
    return found + (", int8 twin" if network == SWIFTNET else "")


def rival_instructions(network: str) -> str:
    """Instructions of TFLM, or of paper 2's program."""
    if network in _ARCHIVES:
        return _archive(network, lambda a: f"paper 2 {a['instructions_m4-O2'] / 1e6:,.2f} M")
    name = ("tflm", _TFLM[network], "instructions_millions", "cmsis_m4")
    return peer(*name, show=lambda m: f"TFLM {m:,.2f} M")


def rival_macs(network: str) -> str:
    """MACs that paper 2's program executes; the other rivals compute nothing twice."""
    return _archive(network, lambda a: f"paper 2 {a['executed_macs']:,}")


def rival_chain(network: str, own_macs: int) -> str:
    """RAM of paper 2's program, and the MACs it executes over the network's own."""

    def show(figures: Any) -> str:
        parts = ("workspace_bytes", "input_bytes", "output_bytes", "stack_bytes_m4_O2")
        ram = sum(figures[part] for part in parts)
        return f"paper 2 {ram:,} B at {figures['executed_macs'] / max(1, own_macs):.2f} x"

    return _archive(network, show)


def rival_seconds(network: str) -> str:
    """Seconds of paper 1's tool for an order, of paper 2's for its problem P1 at all its limits."""
    if network in _ARCHIVES:
        tables = shared(_TABLES)
        if tables is None:
            return f"needs the shared data ({_TABLES})"
        seconds = tables["analysis_wall_seconds_this_machine"][f"{_ARCHIVES[network][1]} P1"]
        return f"paper 2's P1: {seconds:.1f} s"
    if network != SWIFTNET:
        return ""
    name = ("tflite_tools", network, "seconds")
    return peer(*name, show=lambda s: f"paper 1's order: {s:g} s")


def _archive(network: str, show: Callable[[Any], str]) -> str:
    if network not in _ARCHIVES:
        return ""
    tables = shared(_TABLES)
    if tables is None:
        return f"needs the shared data ({_TABLES})"
    return show(tables["released_archives_measured"][_ARCHIVES[network][0]])

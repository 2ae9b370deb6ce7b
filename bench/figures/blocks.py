"""The blocks of the documents: tables and examples, made of stored figures alone.

A block's name is that of its markers. Each ends with a sentence that says what was measured with what.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.figures.cycles import on_rtl
from bench.figures.examples import EXAMPLES
from bench.figures.testing import counted, covered, deviating, met, planted
from bench.shared.stored import load_figures, measured, sourced
from bench.shared.tables import Record

_PARTS = {
    "microbit": "BBC micro:bit (Cortex-M0)",
    "hifive1b": "HiFive1 (RV32IMAC)",
    "cortex-m4-64k": "a Cortex-M4 with 64 KiB",
}
_CHAINS = ("MBV2-w0.35", "MN2-vww5", "MN2-320K")


def _bytes(count: int) -> str:
    return f"{count:,} B"


def _beside_tflm_short() -> str:
    """Five columns: what a newcomer wants to know."""
    group, saved = measured("rows", "tflm"), measured("simplify", "programs")
    columns = (
        *("network", "RAM, TFLM:", "RAM, lowtide:", "instructions, lowtide (TFLM):"),
        "channels removed:",
    )
    lines = [
        (
            r["network"],
            _bytes(r["tflm_arena_bytes"]),
            f"**{_bytes(r['ram_bytes'])}**",
            f"{r['instructions_millions']:.2f} M ({r['tflm_instructions_millions']:.2f} M)",
            _removed(saved.record(network=r["network"])),
        )
        for r in group.records
    ]
    return sourced(columns, lines, group, saved)


def _removed(record: Record) -> str:
    before, after = record["channels_before"], record["channels_after"]
    return f"{before - after:,} of {before:,}" if before > after else "none"


def _from_to(record: Record, name: str) -> str:
    """A figure before and after, in bold if it is less; once where it is the same."""
    before, after = record.get(f"{name}_before"), record.get(f"{name}_after")
    if before is None or after is None:
        return "-"
    if before == after:
        return f"{before:,}"
    return f"{before:,} -> **{after:,}**" if after < before else f"{before:,} -> {after:,}"


def _simplified_programs() -> str:
    """Programs with and without what no input can change."""
    group = measured("simplify", "programs")
    columns = ("network", "channels:", "MACs:", "flash, B:", "instructions:", "arena and state, B:")
    names = ("channels", "macs", "flash_bytes", "instructions", "ram_bytes")
    lines = [(r["network"], *(_from_to(r, name) for name in names)) for r in group.records]
    return sourced(columns, lines, group)


def _whole_way() -> str:
    """What all that a file can hold saves in TFLM."""
    group = measured("simplify", "whole-way")
    columns = ("network", "file, B:", "TFLM's arena head, B:", "its arena in all, B:", "")
    lines = [
        (
            r["network"],
            *(_from_to(r, name) for name in ("file", "head", "total")),
            "same"
            if r["total_after"] == r["total_before"]
            else f"{r['total_after'] / r['total_before'] - 1:+.1%}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _simplified_files() -> str:
    """Files that changed, and what TFLM makes of them."""
    group = measured("simplify", "files")
    columns = ("network", "file, B:", "TFLM's arena head, B:", "its arena in all, B:")
    names = ("file", "head", "total")
    lines = [(r["network"], *(_from_to(r, name) for name in names)) for r in group.records]
    return sourced(columns, lines, group)


def _beside_tflm() -> str:
    """RAM, instructions and flash, ours and theirs."""
    group = measured("rows", "tflm")
    columns = (
        *("network", "RAM, B: TFLM:", "lowtide:", "streamed:", "instructions, M: TFLM:"),
        *("lowtide:", "flash without weights, B: TFLM:", "lowtide:"),
    )
    lines = [
        (
            r["network"],
            f"{r['tflm_arena_bytes']:,}",
            f"**{r['ram_bytes']:,}**",
            f"**{r['streamed_ram_bytes']:,}**",
            f"{r['tflm_instructions_millions']:.2f}",
            f"{r['instructions_millions']:.2f}",
            f"{r['tflm_flash_bytes']:,}",
            f"{r['flash_bytes']:,}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _published() -> str:
    """Activation memory as others published it."""
    group = measured("rows", "published")
    columns = ("network", "TFLM with CMSIS-NN, B:", "hale, B:", "lowtide, B:")
    lines = [
        (
            r["network"],
            f"{r['tflm_bytes']:,}",
            f"{r['hale_bytes']:,}",
            f"**{r['arena_bytes']:,}**"
            if r["arena_bytes"] < r["hale_bytes"]
            else f"{r['arena_bytes']:,}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _small_parts() -> str:
    """Networks on parts with little RAM."""
    groups = (measured("rows", "kws"), measured("rows", "swiftnet"), measured("msf_cnn", "board"))
    columns = ("network", "input", "part", "its RAM:", "RAM in all:", "MACs:")
    lines = [
        (
            f"`{r['network']}`",
            r["input"],
            _PARTS[r["part"]],
            _bytes(r["limit_bytes"]),
            f"**{_bytes(r['ram_bytes'])}**",
            f"{r['overhead']:.2f} x",
        )
        for group in groups
        for r in group.records
    ]
    return sourced(columns, lines, *groups)


def _state() -> str:
    """Networks with state."""
    group = measured("state", "ram")
    columns = (
        *("network", "core", "arena, B:", "state, B:", "RAM in all, B:"),
        *("its manifest reserves, B:", "instructions:"),
    )
    lines = [
        (
            f"`{r['network']}`",
            {"microbit": "Cortex-M0"}.get(r["board"], "Cortex-M4"),
            f"{r['arena_bytes']:,}",
            f"{r['state_bytes']:,}",
            f"**{r['ram_bytes']:,}**",
            f"{r['reserved_bytes']:,}" if r["reserved_bytes"] else "",
            f"{r['instructions']:,}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _hops() -> str:
    """Windows that slide."""
    group = measured("hop", "hops")
    columns = (
        *("network", "rows, new of all:", "tensors kept:", "MACs, window -> hop:"),
        *("instructions, window -> hop at most:", "row at most:", "first window:"),
        *("arena and state, B, window -> hop:", "more flash, B:"),
    )
    lines = [
        (
            f"`{r['network']}`",
            f"{r['hop_rows']} of {r['window_rows']}",
            f"{r['kept']} of {r['most']}"
            + f", in {r['phases']} phases" * (r["phases"] > 1)
            + f", window in a ring of {r['ring_rows']}" * (r["ring_rows"] > 0),
            f"{r['macs_window']:,} -> {r['macs_hop']:,}",
            f"{r['instructions_window']:,} -> **{r['instructions_hop']:,}**",
            f"{r['instructions_row']:,}",
            f"{r['instructions_first']:,}",
            f"{r['ram_window_bytes']:,} -> {r['ram_bytes']:,}",
            f"{r['flash_more_bytes']:,}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _flash() -> str:
    """Parts with slow flash."""
    group = measured("flash", "parts")
    columns = (
        *("network", "part", "plan", "read from flash, B:", "predicted, B:"),
        *("cycles of waiting:", "instructions:", "RAM in all, B:"),
    )
    lines = [
        (
            f"`{r['network']}`",
            r["part"],
            r["way"],
            f"**{r['refilled_bytes']:,}**",
            "" if r["predicted_bytes"] is None else f"{r['predicted_bytes']:,}",
            f"{r['waits_least']:,} to {r['waits_most']:,}",
            f"{r['instructions']:,}",
            f"{r['ram_bytes']:,}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _msf_cnn() -> str:
    """Least bytes at F times the MACs, for each chain and limit."""
    group = measured("msf_cnn", "own")
    limits = list(dict.fromkeys(r["most_overhead"] for r in group.records))
    columns = ("chain", "", *(f"F <= {f:.1f}:" if f else "any F:" for f in limits))
    lines = []
    for chain in _CHAINS:
        records = [group.record(chain=chain, most_overhead=limit) for limit in limits]
        lines.append((chain, "msf-CNN", *(f"{r['msf_cnn_bytes']:,}" for r in records)))
        lines.append(("", "lowtide", *(f"**{r['arena_bytes']:,}**" for r in records)))
    return sourced(columns, lines, group)


def _reordered() -> str:
    """What reordering saves for TFLM."""
    groups = (measured("reorder", "swiftnet"), measured("reorder", "heads"))
    columns = ("network", "figure", "before:", "after:", "")
    lines = [
        (
            r["network"],
            r["figure"],
            _bytes(r["before_bytes"]),
            f"**{_bytes(r['after_bytes'])}**",
            r["how"],
        )
        for group in groups
        for r in group.records
    ]
    return sourced(columns, lines, *groups)


def _order_search() -> str:
    """Beside tflite-tools."""
    names = ("swiftnet", "branches", "chain")
    groups = [measured("reorder", name) for name in names]
    net, branches, chain = (group.records[0] for group in groups)
    lines = [
        (
            "SwiftNet Cell, peak memory found",
            _bytes(net["tflite_tools_bytes"]),
            f"{_bytes(net['after_bytes'])}, proved optimal",
        ),
        (
            "SwiftNet Cell, whole command",
            f"{net['tflite_tools_seconds']:.1f} s",
            f"{net['seconds']:.1f} s (`reorder`, check on two inputs included)",
        ),
        (
            f"{branches['branches']} parallel branches of 3 operators",
            f"{branches['tflite_tools_seconds']} s",
            f"{branches['seconds']:.2f} s (search alone, worst of {branches['patterns']} size patterns)",
        ),
        (
            "chain of operators",
            f"500: {chain['tflite_tools_500']}",
            f"{chain['operators']:,}: {chain['seconds']:.2f} s (search alone)",
        ),
    ]
    return sourced(("", "tflite-tools:", "lowtide:"), lines, *groups)


_CORES = {"m55": "Cortex-M55", "m4": "Cortex-M4", "m3": "Cortex-M3", "m0": "Cortex-M0"}
_CORES["rv32"] = "RV32IMAC"


def _by_core() -> str:
    """Instructions and cycles on each core, beside what others need."""
    groups = [measured("speed", core) for core in _CORES]
    columns = (
        *("network", "core", "instructions, M:", "TFLM with CMSIS-NN:"),
        *("cycles by the manual, M:", "ST, as published:"),
    )
    lines = [
        (
            f"`{r['network']}`",
            _CORES[r["core"]],
            f"**{r['instructions'] / 1e6:.2f}**",
            _millions(r["tflm_millions"]),
            _millions(r["cycles_by_manual"] and r["cycles_by_manual"]["usual"] / 1e6),
            _millions(r["st_million_cycles"]),
        )
        for group in groups
        for r in group.records
    ]
    return sourced(columns, lines, *groups)


def _millions(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _wired() -> str:
    """Large networks that are not solved to the end."""
    group = measured("reorder", "wired")
    columns = ("operators", "seconds:", "file's order:", "best order found:", "bound:", "gap:")
    lines = [
        (
            f"{r['operators']}, wired at random (seed {r['seed']})",
            f"{r['seconds']:.1f}",
            _bytes(r["file_order_bytes"]),
            _bytes(r["best_order_bytes"]),
            _bytes(r["bound_bytes"]),
            f"{r['best_order_bytes'] / r['bound_bytes'] - 1:.0%}",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _speed() -> str:
    """Milliseconds of analyze()."""
    group = measured("reorder", "speed")
    lines = [(f"`{r['network']}`", f"{r['milliseconds']:g} ms") for r in group.records]
    return sourced(("network, loaded", "`analyze`:"), lines, group)


def _browser() -> str:
    """Seconds of a report in the browser and without one."""
    group = measured("browser", "report")
    columns = ("network", "to load, once:", "the report:", "the same in CPython:")
    lines = [
        (
            f"`{r['network']}`",
            f"{r['loading_seconds']} s",
            f"{r['report_seconds']} s",
            f"{r['cpython_seconds']} s",
        )
        for r in group.records
    ]
    return sourced(columns, lines, group)


def _arenas() -> str:
    """Predicted heads of TFLM's arena against TFLM's own."""
    group = measured("reorder", "arenas")
    columns = ("networks", "predicted to the byte", "others: predicted, measured, why")
    lines = []
    for r in group.records:
        others = [
            f"`{o['name']}`: {_bytes(o['predicted_bytes'])}, {_bytes(o['measured_bytes'])}, {o['why']}"
            for o in r["others"]
        ]
        lines.append((r["networks"], f"{r['equal']} of {r['loaded']}", "; ".join(others) or "none"))
    return sourced(columns, lines, group)


def _layer_by_layer() -> str:
    """Programs of --schedule operators."""
    groups = [measured("deploy", name) for name in ("ram", "instructions", "code")]
    figures = [{r["network"]: r for r in group.records} for group in groups]
    networks = dict.fromkeys(name for of_group in figures for name in of_group)
    lines = [(f"`{name}`", *(_amount(of.get(name, {})) for of in figures)) for name in networks]
    columns = ("network", "RAM in all, B:", "instructions, M:", "flash without weights, B:")
    return sourced(columns, lines, *groups)


def _amount(record: Record) -> str:
    if "millions" in record:
        return f"{record['millions']:.2f}"
    return f"{record['bytes']:,}" if "bytes" in record else ""


def _predicted() -> str:
    """Instructions as predicted and as measured."""
    groups = [measured("instructions", core) for core in ("cortex-m4", "rv32imac")]
    columns = ("plan", "core", "predicted:", "measured:", "error:", "error of MACs alone:")
    lines = [
        (
            str(r["plan"]).replace("zoo:", ""),
            r["core"],
            f"{r['predicted']:,}",
            f"{r['measured']:,}",
            f"{r['error']:+.1%}",
            f"{r['macs_only_error']:+.1%}",
        )
        for group in groups
        for r in group.records
    ]
    return sourced(columns, lines, *groups)


def _prediction_errors() -> str:
    """How far off predictions are of operators that were not fitted, by core."""
    groups = load_figures("cliffs")
    columns = ("core", "operators checked:", "error of 95 %, at most:", "largest error:")
    lines = [
        (
            f"`{core}`",
            f"{r['checked']:,}",
            f"{r['error_of_95_percent']:.1%}",
            f"{r['worst_error']:.0%}",
        )
        for core, group in groups.items()
        for r in group.records
    ]
    return sourced(columns, lines, *groups.values())


BLOCKS: dict[str, Callable[[], str]] = {
    "beside-tflm-short": _beside_tflm_short,
    "beside-tflm": _beside_tflm,
    "simplified-programs": _simplified_programs,
    "simplified-files": _simplified_files,
    "whole-way": _whole_way,
    "small-parts": _small_parts,
    "by-core": _by_core,
    "published": _published,
    "state": _state,
    "hops": _hops,
    "flash": _flash,
    "msf-cnn": _msf_cnn,
    "reordered": _reordered,
    "order-search": _order_search,
    "wired": _wired,
    "speed": _speed,
    "browser": _browser,
    "arenas": _arenas,
    "layer-by-layer": _layer_by_layer,
    "predicted": _predicted,
    "prediction-errors": _prediction_errors,
    "real-cycles": on_rtl,
    "tests": counted,
    "misra": deviating,
    "coverage": covered,
    "mutants": planted,
    "pairs": met,
    **EXAMPLES,
}
"""Block -> its text, which raises ValueError where its figures were never stored."""

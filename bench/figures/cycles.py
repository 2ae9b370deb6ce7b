"""The block of docs/measuring.md that says how near cycles by a manual are to those of a core's RTL."""

from __future__ import annotations

from bench.shared.stored import load_figures, sourced

_CORES = {"cached": "with caches", "min": "the smallest"}


def on_rtl() -> str:
    """Cycles in the RTL and by the manual, and lines missed. Raises ValueError if none were stored."""
    groups = list(load_figures("cycles").values())
    if not groups:
        raise ValueError("docs/figures/cycles.json has no groups")
    columns = (
        *("network", "core", "wait states:", "cycles in the RTL:", "by the manual:", "off by:"),
        *("lines missed:", "modelled:", "between two inputs:"),
    )
    lines = [
        (
            f"`{str(r['network']).removeprefix('zoo:')}`",
            _CORES[str(r["core"])],
            f"{r['waits']}",
            f"{r['cycles']:,}",
            f"{r['by_manual']:,}",
            f"{r['error']:+.2%}",
            f"{r['misses']:,}",
            f"{r['modelled_misses']:,}",
            "" if r["between_inputs"] is None else f"{r['between_inputs']:.2%}",
        )
        for group in groups
        for r in group.records
    ]
    return sourced(columns, lines, *groups)

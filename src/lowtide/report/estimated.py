"""Estimates as text: what a network needs with its input in each mode. Sizes are in bytes."""

from __future__ import annotations

from lowtide.commands.estimating import Estimate, Needs
from lowtide.report.text import amount, counted, plain, table


def estimate_text(found: Estimate) -> str:
    """A row per input mode, then what does not depend on it. "-" is unknown: the budget is too small."""
    parts = [
        f"{plain(found.name)}: {counted(found.operators, 'operator')}, estimated for "
        + ("any core" if found.target.core == "any" else f"a {found.target.core}"),
        table(
            "",
            ("input.", "RAM, bytes", "at least", "flash, bytes", "instructions"),
            [(mode, *_figures(needs)) for mode, needs in found.needs.items()],
        ),
        table("", ("figure.", "bytes"), _rows(found)),
    ]
    if found.budget is not None:
        verdict = "fits" if found.fits else "does not fit"
        parts.append(f"It {verdict} a budget of {amount(found.budget)}.")
    return "\n\n".join(parts)


def _figures(needs: Needs) -> tuple[str, str, str, str]:
    return (
        _shown(needs.ram_bytes),
        _shown(needs.bound_bytes),
        _shown(needs.flash_bytes),
        _shown(needs.instructions),
    )


def _rows(found: Estimate) -> list[tuple[str, str]]:
    return [
        ("best order of whole operators, peak", _shown(found.order_peak_bytes)),
        ("TensorFlow Lite Micro, tensors and state", _shown(found.tflm_bytes)),
        ("weights", _shown(found.weights_bytes)),
        ("state, part of RAM", _shown(found.state_bytes)),
    ]


def _shown(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"

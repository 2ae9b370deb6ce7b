"""What simplification saved: one line for people, one object in documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowtide.report.fields import fields_of
from lowtide.report.terminal import counted

if TYPE_CHECKING:  # lists are shown with this package, and without numpy
    from lowtide.commands.savings import Change, Savings

_WORTH = 0.01
"""Of the multiplications: a smaller share, which would show as 0 %, is left out."""


def saved_lines(savings: Savings) -> list[str]:
    """What a program does not do, in a line; none if nothing was left out."""
    if not savings.anything:
        return []
    parts = []
    if savings.channels.saved:
        parts.append(f"{savings.channels.saved:,} of {counted(savings.channels.before, 'channel')}")
    if savings.operators.saved > 0:
        parts.append(
            f"{savings.operators.saved} of {counted(savings.operators.before, 'operator')}"
        )
    figures = [
        _change("MACs", savings.macs),
        _change("bytes of weights", savings.weights),
    ]
    if savings.instructions is not None and savings.instructions.before:
        share = savings.instructions.saved / savings.instructions.before
        figures.append(f"{-share:+.1%} instructions, predicted operator by operator")
    what = " and ".join(parts) or "operators that change nothing"
    return [", ".join([f"simplified: {what} removed", *(f for f in figures if f)])]


def _change(what: str, change: Change) -> str:
    if not change.saved:
        return ""
    return f"{change.before:,} -> {change.after:,} {what}"


def advice_lines(savings: Savings) -> list[str]:
    """What `analyze` says of a network that has something to leave out; nothing if it has not."""
    if not savings.anything:
        return []
    constant, channels = savings.constant, savings.channels
    others = channels.saved - constant
    told = []
    if constant:
        told.append(f"{constant:,} of {channels.before:,} channels never change")
    if others > 0:
        verb = "is" if others == 1 else "are"
        told.append(f"{others:,} {'more' if constant else 'channels'} {verb} not needed")
    if savings.operators.saved > 0:
        told.append(
            f"{savings.operators.saved} of {counted(savings.operators.before, 'operator')} "
            "can be removed"
        )
    removed = []
    if savings.weights.saved > 0:
        removed.append(f"{savings.weights.saved:,} B of weights")
    share = savings.macs.saved / savings.macs.before if savings.macs.before else 0.0
    if share >= _WORTH:
        removed.append(f"{share:.0%} of the multiplications".replace("%", " %"))
    line = " and ".join(told) or "some operators change nothing"
    if removed:
        line += f": {' and '.join(removed)} can be removed"
    return [
        line + ".",
        "`lowtide compile` removes them; `lowtide simplify` writes a .tflite file without them.",
    ]


def savings_document(savings: Savings) -> dict[str, Any]:
    """Figures before and after, and every layer with weights, by its operator in the file."""

    def pair(change: Change) -> dict[str, int]:
        return fields_of(change, "before", "after")

    return {
        "operators": pair(savings.operators),
        "channels": {**pair(savings.channels), "constant": savings.constant},
        "macs": pair(savings.macs),
        "weights_bytes": pair(savings.weights),
        **(
            {}
            if savings.instructions is None
            else {"instructions_predicted": pair(savings.instructions)}
        ),
        "done": dict(savings.done),
        "layers": [
            {
                **fields_of(layer, "operator", "type", "name", "channels", "constant"),
                "computed": layer.left,
                "macs": {"before": layer.macs, "after": layer.macs_left},
            }
            for layer in savings.layers
        ],
    }

"""What to try next, as sentences and commands to copy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, Final

from lowtide.commands.advising import Advice, Kind
from lowtide.commands.compiling import Compiled, Options
from lowtide.report.text import amount, plain

_WHY: Final[dict[Kind, str]] = {
    "quantized-io": "The model converts its input or output from or to float; given and taken as the "
    "integers that it computes with, these tensors are a quarter as large, or gone.",
    "streamed": "The caller gives the input row by row, as a camera or a microphone does, so that it is "
    "never in memory as a whole.",
    "strips": "Stages that run in strips of columns keep less of each tensor, and compute some of it "
    "twice.",
    "core": "Kernels and the order of weights are chosen for that core alone.",
}


def advice_documents(compiled: Compiled, advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """An object for each advice; sizes in bytes."""
    return [
        {
            "kind": entry.kind,
            "flags": list(entry.flags),
            "ram_saved": entry.ram_saved,
            "instructions_saved": entry.instructions_saved,
            "gain": gain(entry),
            "why": _WHY[entry.kind],
            "command": command(compiled, entry),
        }
        for entry in advice
    ]


def advice_lines(compiled: Compiled, advice: Sequence[Advice]) -> list[str]:
    """The same for a terminal; nothing if there is nothing to say."""
    if not advice:
        return []
    lines = ["what to try next:"]
    for entry in advice:
        lines += [f"  {gain(entry)}", f"    {command(compiled, entry)}"]
    return lines


def gain(entry: Advice) -> str:
    """What it brings, in a line."""
    flags = " ".join(entry.flags)
    parts = []
    if entry.ram_saved > 0:
        parts.append(f"saves {amount(entry.ram_saved)} of RAM")
    elif entry.ram_saved < 0:
        parts.append(f"takes {amount(-entry.ram_saved)} of RAM more")
    saved, after = entry.instructions_saved, entry.instructions
    if saved is not None and after is not None:
        share = saved / (saved + after)
        if abs(share) >= 0.005:
            words = "fewer" if share > 0 else "more"
            parts.append(f"{abs(share):.1%} {words} instructions, predicted")
    return f"{flags}: {', '.join(parts)}"


def command(compiled: Compiled, entry: Advice) -> str:
    """What to type, the options that were given included."""
    words = ["lowtide", "compile", plain(compiled.model.path), *_given(compiled.options)]
    return shlex.join([*words, *entry.flags, "-o", compiled.name])


def _given(options: Options) -> list[str]:
    """The options that differ from the default, as flags."""
    usual = Options()
    words = []
    for flag, value, default in (
        ("--input", options.input_mode, usual.input_mode),
        ("--output", options.output_mode, usual.output_mode),
        ("--input-layout", options.input_layout, usual.input_layout),
        ("--output-layout", options.output_layout, usual.output_layout),
        ("--input-type", options.input_type, usual.input_type),
        ("--core", options.target.core, usual.target.core),
        ("--cost", options.cost, usual.cost),
        ("--max-overhead", options.max_overhead, None),
        ("--max-ram", options.max_ram, None),
        ("--align", options.align, usual.align),
        ("--effort", options.effort, usual.effort),
    ):
        if value != default:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    for flag, value in (
        ("--preserve-input", options.preserve_input),
        ("--quantized-io", options.quantized_io),
        ("--no-simplify", not options.simplify),
        ("--slices", options.slices),
    ):
        words += [flag] * value
    return words

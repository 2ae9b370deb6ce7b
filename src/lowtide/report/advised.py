"""What to try next, as sentences and commands to copy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

from lowtide.advice.hints import MORE_WORK, WORTH, Hint, Kind
from lowtide.advice.ways import Way
from lowtide.commands.compiling import Compiled
from lowtide.commands.options import flags_of
from lowtide.machines.board import size_text
from lowtide.machines.mcus import Mcu
from lowtide.report.fields import fields_of
from lowtide.report.predicted import work_words
from lowtide.report.text import amount

_WHY: Final[dict[Kind, str]] = {
    "quantized-io": "The model converts its input from float, or its output to float. If you pass the "
    "integers that it computes with, these tensors shrink to a quarter, or disappear.",
    "streamed": "You give the input row by row, as a camera or a microphone does, so that it's never in "
    "memory as a whole.",
    "strips": "Stages that run in strips of columns keep less of each tensor, but compute some twice.",
    "core": "lowtide chooses kernels and the weights' layout for that core only.",
    "simplify": "Channels that no input can change are not computed; the outputs are the same.",
}
"""Of what a report advises; it says it below each."""


def advice_documents(compiled: Compiled, advice: Sequence[Hint]) -> list[dict[str, Any]]:
    """An object for each hint of a report, with the reason; sizes in bytes."""
    told = hint_documents(advice, lambda hint: command(compiled, hint))
    both = zip(advice, told, strict=True)
    return [{**document, "why": _WHY[hint.kind]} for hint, document in both]


def hint_lines(hints: Sequence[Hint], command: Callable[[Hint], str]) -> list[str]:
    """What to try next, a line each; `command` says what to type."""
    return [f"tip: {hint_gain(hint)}: {command(hint)}" for hint in hints]


def hint_documents(hints: Sequence[Hint], command: Callable[[Hint], str]) -> list[dict[str, Any]]:
    """An object for each hint; sizes in bytes, as estimated, if not said otherwise."""
    return [
        {
            **fields_of(hint, "kind", "flags", "ram_saved", "estimated"),
            "weights_saved": hint.flash_saved,
            "instructions_saved_share": round(hint.faster, 3),
            "gain": hint_gain(hint),
            "command": command(hint),
        }
        for hint in hints
    ]


_HOW: Final[dict[Kind, str]] = {
    "quantized-io": "with integer inputs and outputs",
    "streamed": "with the input given row by row",
    "strips": f"at up to {MORE_WORK:g} times the work",
    "core": "if built for {core} only",
    "rows": "with rows of operators interleaved",
    "simplify": "with constant channels removed",
    "compile": "in C",
    "reorder": "with operators in their best order",
}


_LEAST_RAM = 0.01
"""Of the RAM; what takes less more than that is not told."""


def hint_gain(hint: Hint) -> str:
    """What it brings, and by what, as "about 65,100 B (85 %) less RAM, the input given row by row"."""
    if hint.kind == "compile":
        needed = rounded(hint.ram_before - hint.ram_saved)
        return f"in C, about {amount(needed)} of RAM instead of TFLM's {amount(hint.ram_before)}"
    parts = []
    if hint.less_ram >= WORTH:
        saved = f"about {amount(rounded(hint.ram_saved))}" if hint.estimated else ""
        parts.append(f"{saved or amount(hint.ram_saved)} ({_percent(hint.less_ram)}) less RAM")
    if hint.less_flash >= WORTH:
        saved = f"{amount(hint.flash_saved)} ({_percent(hint.less_flash)})"
        parts.append(f"{saved} less flash for weights")
    work = work_words(slow=hint.slow)
    if hint.faster >= WORTH:
        unit = "multiplications" if hint.kind == "simplify" else f"{work} (predicted)"
        parts.append(f"{_percent(hint.faster)} fewer {unit}")
    if hint.faster <= -WORTH:
        parts.append(f"{_percent(-hint.faster)} more {work} (predicted)")
    if hint.less_ram <= -_LEAST_RAM:
        parts.append(f"about {amount(rounded(-hint.ram_saved))} more RAM")
    how = _HOW[hint.kind].format(core=hint.flags[-1] if hint.flags else "")
    return f"{', '.join(parts)} {how}"


def rounded(count: int) -> int:
    """An estimate, to three digits: more would feign exactness."""
    unit = int(10 ** max(0, len(str(abs(count))) - 3))
    return round(count / unit) * unit


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def fit_remedy(
    ways: Sequence[Way], part: Mcu | None, otherwise: str, instead: str | None = None
) -> str:
    """What to add to the command so that it fits, or which part to take, in place of the option
    `instead` if there is one; else `otherwise`."""
    found = []
    for way in ways:
        about = f"about {amount(rounded(way.ram_bytes))}"
        needs = about if way.estimated else amount(way.ram_bytes)
        work = f" at {way.overhead:.2f} times the work" if way.overhead > 1.005 else ""
        found.append(f"{' '.join(way.flags)} ({needs} of arena and state{work})")
    text = f"add {', or '.join(found)}" if found else ""
    if part is not None:
        take = f"use --mcu {part.name}, which has {size_text(part.ram_bytes)} of RAM and "
        take += (
            f"{'external flash' if part.external else size_text(part.flash_bytes) + ' of flash'}"
        )
        take += f", in place of {instead}" if instead else ""
        text = f"{text}; or {take}" if text else take
    return text or otherwise


def command(compiled: Compiled, entry: Hint) -> str:
    """What to type, the options that were given included."""
    words = ["lowtide", "compile", compiled.origin.file, *flags_of(compiled.options)]
    return shlex.join([*words, *entry.flags, "-o", compiled.name])

"""What a report says first, in words: which part runs the network, and how that compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Final

from lowtide.advice.fitting import Fit, Way
from lowtide.advice.reporting import APART, Reported
from lowtide.machines.board import size_text
from lowtide.report.advised import rounded
from lowtide.report.text import amount

_WAYS: Final[tuple[Way, ...]] = ("as is", "streamed", "more work")
_GIVEN: Final = ("streamed", "quantized-io")
"""Advice that changes what the caller gives and takes, and costs next to nothing."""


LEAST_MORE = 1.005
"""Where plans compute less than so many times the MACs, it is their kernels that take more work."""


def verdict_sentence(reported: Reported) -> str:
    """What the reader wants to know first: which part has room for it, which smaller ones with more
    work, and how that compares with TensorFlow Lite Micro."""
    compiled, figures = reported.compiled, reported.figures
    best = reported.mcu or smallest(reported.fits, "as is")
    if best is None:
        text = (
            f"Needs {amount(figures.ram_bytes)} of RAM and {amount(figures.flash_bytes)} of flash"
        )
        if reported.fits:
            text += ", more than any part in the table has"
    else:
        text = best.sentence[:1].upper() + best.sentence[1:]
    also = [*_also(reported, best)]
    if also:
        text += f"; {'also' if best and best.way != 'not' else 'it fits'} {', and '.join(also)}"
    tflm = tflm_bytes(reported)
    text += f". TensorFlow Lite Micro's tensors alone take {amount(tflm)}"
    if tflm > compiled.ram_bytes:
        text += f", {tflm / max(1, compiled.ram_bytes):.1f} times as much as lowtide"
        more = [*_options(reported, tflm)]
        text += f"; {' and '.join(more)}" if more else ""
    return f"{text}."


def _options(reported: Reported, tflm: int) -> Iterator[str]:
    """How much less it would be with each option that changes what the caller gives."""
    for entry in reported.advice:
        left = reported.compiled.ram_bytes - entry.ram_saved
        if entry.kind in _GIVEN and entry.ram_saved > 0:
            times = f"{tflm / max(1, left):.1f} times"
            shown = f"about {amount(rounded(left))}" if entry.estimated else amount(left)
            yield f"{times} with {' '.join(entry.flags)} ({shown})"


def _also(reported: Reported, best: Fit | None) -> Iterator[str]:
    """Parts with less RAM than `best` in which it runs another way, the easier way first."""
    most = inf if best is None or best.way == "not" else best.mcu.ram_bytes
    for way in _WAYS[best is not None and best.way != "not" :]:
        found = smallest(reported.fits, way)
        if found is None or found.mcu.ram_bytes >= most:
            continue
        most = found.mcu.ram_bytes
        how = [_times(found.overhead)] if way == "more work" else []
        if found.streamed and reported.compiled.options.input_mode != "streamed":
            how.append("with its input given row by row")
        yield " ".join([f"a {size_text(most)} part ({found.mcu.name})", " and ".join(how)]).strip()


def _times(overhead: float) -> str:
    """As "at 1.2 times the work"."""
    if overhead < LEAST_MORE:
        return "with lean kernels"
    return f"at {overhead:.{1 if overhead >= 1.1 else 2}f} times the work"


def smallest(fits: Iterable[Fit], way: Way) -> Fit | None:
    """The part with the least RAM that runs it in that way: the first in the table, flash of its own
    if it can be."""
    found = [fit for fit in fits if fit.way == way and fit.mcu.confirmed]
    return min(found, key=lambda fit: (fit.mcu.ram_bytes, fit.mcu.external), default=None)


def fronts_note(reported: Reported) -> str:
    """What the marks of RAM against work are, and what others there may be."""
    if reported.planned.points is None:
        return "The plan was given, so no others were looked for."
    slides = reported.compiled.graph.hop is not None
    both = (reported.planned, reported.streamed)
    alone = all(len(each.points or ()) < 2 for each in both if each is not None)
    if reported.front:
        if alone:
            return "Computing anything twice doesn't reduce the RAM of this network."
        if slides:
            return "Each mark is a plan. Going lower means keeping rows of fewer tensors."
        return "Going lower means recomputing some rows and columns. Each mark is a plan."
    looked = "" if reported.compiled.options.bounded else " that computes nothing twice"
    if slides:
        looked = " that keeps rows of as many tensors"
    marks = (
        f"No plan{looked} was found that saves {APART:.0%} of the RAM.".replace("%", " %")
        if alone
        else f"Each mark is a plan{looked}. Except for the program's own plan, rows were placed "
        "quickly: a plan can need a little less RAM."
    )
    more = "keep rows of fewer tensors" if slides else "recompute some columns"
    return f"{marks} With --front, a report shows all plans, including those that {more}."


def tflm_bytes(reported: Reported) -> int:
    """Its arena for tensors and variables: with IF and WHILE as part of the network, as in the views."""
    return reported.tflm.arena_bytes + reported.compiled.tflm_bytes.variables

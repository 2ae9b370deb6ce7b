"""Commands of the same network and options search for its plans once in a process.

Why: pages of the documents and tests of options compile a few networks again and again, and what these
tests look at is what commands print and write. That the search finds the same each time is tested
elsewhere (tests/test_clock.py, tests/end_to_end/test_generated.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.commands.preparing import Searched
from lowtide.ir import Model
from lowtide.plans.placer import Tell

Search = Callable[..., Searched]

_MOST = 40


_kept: list[tuple[Options, tuple[bool, bool], Model, Searched]] = []
_listener: list[Tell] = []


def kept(search: Search) -> Search:
    """As `search`, which is `preparing.searched`; but what was found is not searched again: limits
    of RAM and cost choose from the same plans."""

    def searched(
        model: Model,
        options: Options,
        *,
        strips: bool = False,
        overlap: bool = False,
        tell: Tell = lambda _: None,
        known: Known | None = None,
    ) -> Searched:
        _listener[:] = [tell]
        overlap = overlap or options.bounded
        wide = strips or overlap or options.limited, overlap
        free = replace(options, max_ram=None, max_overhead=None, fastest=False, smallest=False)
        key = replace(free, name=None, cost="macs")
        for at, (asked, all_of, of, found) in enumerate(_kept):
            if (asked, all_of) == (key, wide) and of.graph == model.graph:
                _kept.append(_kept.pop(at))
                return found
        new = search(
            model,
            options,
            strips=strips,
            overlap=overlap,
            tell=lambda text: _listener[0](text),
            known=known,
        )
        _kept.append((key, wide, model, new))
        del _kept[:-_MOST]
        return new

    return searched

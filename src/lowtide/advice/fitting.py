"""Which of the parts will do: networks by microcontrollers, behind `lowtide fit`.

For each pair the first of these that holds: the program fits as it is; with its input streamed; with the
kernels that every core has (`--core any`), which may take less flash, its input streamed or not; with
work done twice; or it does not fit, and by how much. All but work done twice comes from estimates
(commands/estimating.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from lowtide.commands.estimating import INSTANCE, Estimate, Needs, estimate
from lowtide.commands.options import Options
from lowtide.commands.preparing import prepared
from lowtide.emit.footprint import STACK
from lowtide.errors import InfeasibleError
from lowtide.ir import Model
from lowtide.machines.mcus import Mcu, load_mcus
from lowtide.modes import InputMode
from lowtide.plans import planner
from lowtide.target import ANY, Target

Way = Literal["as is", "streamed", "other kernels", "more work", "not"]
WAYS: Final[tuple[Way, ...]] = ("as is", "streamed", "other kernels", "more work", "not")

_MODES: Final[tuple[InputMode, ...]] = ("resident", "streamed")


@dataclass(frozen=True, slots=True)
class Needed:
    """A way of running a network, and the RAM and flash in bytes that all of its program takes then."""

    way: Way
    ram_bytes: int
    flash_bytes: int
    overhead: float = 1.0
    streamed: bool = False

    def on(self, network: str, mcu: Mcu) -> Fit:
        """It on a part, whether it fits there or not."""
        return Fit(
            *(network, mcu, self.way, self.ram_bytes, self.flash_bytes),
            overhead=self.overhead,
            streamed=self.streamed,
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a network fits a part, and which `way`; RAM and flash in bytes, all of the program's.

    `streamed` says whether its input is, in any of the ways. `overhead` is its MACs over the network's
    own, above 1 where work is done twice. Where it does not fit, these are the bytes of the way that
    lacks least.
    """

    network: str
    mcu: Mcu
    way: Way
    ram_bytes: int
    flash_bytes: int
    overhead: float = 1.0
    streamed: bool = False

    @property
    def spare_ram_bytes(self) -> int:
        """RAM of the part that is left; below 0: missing."""
        return self.mcu.ram_bytes - self.ram_bytes

    @property
    def spare_flash_bytes(self) -> int:
        """Flash of the part that is left; below 0: missing."""
        return self.mcu.flash_bytes - self.flash_bytes

    @property
    def sentence(self) -> str:
        """As "fits STM32L432KC with 34 KiB of RAM to spare"."""
        name = self.mcu.name
        how = ["with its input streamed"] if self.streamed else []
        if self.way == "not":
            how += [self._more_work] if self.overhead > 1 else []
            even = f", even {' and '.join(how)}" if how else ""
            short = [
                f"{_size(-spare)} of {kind}"
                for kind, spare in (
                    ("RAM", self.spare_ram_bytes),
                    ("flash", self.spare_flash_bytes),
                )
                if spare < 0
            ]
            return f"does not fit {name}{even}: {' and '.join(short)} missing"
        if self.way == "other kernels":
            how.append("with portable kernels")
        if self.way == "more work":
            how.append(self._more_work if self.overhead > 1 else "with lean kernels")
        ways = "".join(f", {each}" for each in how) + ("," if how else "")
        return f"fits {name}{ways} with {_size(self.spare_ram_bytes)} of RAM to spare"

    @property
    def _more_work(self) -> str:
        return f"at +{math.ceil((self.overhead - 1) * 100)} % work"


def first_fit(network: str, ways: Iterable[Needed], mcu: Mcu) -> Fit:
    """The first of `ways` that fits a part, or that none does, with the one that lacks least."""
    tried = [needed.on(network, mcu) for needed in ways]
    fitting = (fit for fit in tried if min(fit.spare_ram_bytes, fit.spare_flash_bytes) >= 0)
    found = next(fitting, None)
    return found or replace(min(tried, key=_missing), way="not")


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count >= 10 << 10 else f"{count:,} bytes"


def fits(
    model: Model,
    mcus: Iterable[Mcu] | None = None,
    *,
    simplify: bool = True,
    max_overhead: float = 2.0,
) -> tuple[Fit, ...]:
    """Whether `model` fits each of `mcus` (None: all that are known), in their order.

    What is computed twice may cost at most `max_overhead` times the network's MACs (1: nothing is).
    Raises ModelError for a network that cannot be compiled.
    """
    found = _Found(model, simplify, max_overhead)
    return tuple(found.fit(mcu) for mcu in (load_mcus().values() if mcus is None else mcus))


class _Found:
    """What is known of a network, by core: parts of one core share it."""

    def __init__(self, model: Model, simplify: bool, max_overhead: float) -> None:
        self._model, self._simplify, self._max_overhead = model, simplify, max_overhead
        self._estimates: dict[Target, Estimate] = {}
        self._plans: dict[Target, planner.Plans] = {}

    def fit(self, mcu: Mcu) -> Fit:
        """The first way that holds."""
        ways: Sequence[tuple[Way, InputMode, Target]] = (
            ("as is", "resident", mcu.target),
            ("streamed", "streamed", mcu.target),
            ("other kernels", "resident", ANY),
            ("other kernels", "streamed", ANY),
        )
        needed = []
        for way, mode, target in ways:
            needs = self._needs(target).needs[mode]
            needed.append(Needed(way, _ram(needs), _flash(needs), streamed=mode == "streamed"))
        found = first_fit(self._model.path, needed, mcu)
        if found.way != "not" or found.spare_flash_bytes < 0 or self._max_overhead <= 1:
            return found
        own = needed[1].flash_bytes <= mcu.flash_bytes
        return self._twice(mcu, mcu.target if own else ANY) or found

    def _needs(self, target: Target) -> Estimate:
        if target not in self._estimates:
            self._estimates[target] = estimate(
                self._model, inputs=_MODES, target=target, simplify=self._simplify
            )
        return self._estimates[target]

    def _twice(self, mcu: Mcu, target: Target) -> Fit | None:
        """The cheapest plan that fits, its input streamed, rows computed twice; None without one."""
        if target not in self._plans:
            options = Options(input_mode="streamed", target=target, simplify=self._simplify)
            _, _, ready = prepared(self._model, options)
            self._plans[target] = planner.plans_of(ready, strips=True)
        most = mcu.ram_bytes - INSTANCE - STACK
        if most <= 0:
            return None
        try:
            point = planner.within_ram(self._plans[target], most, self._max_overhead)
        except InfeasibleError:
            return None
        found = self._needs(target)
        return Fit(
            network=self._model.path,
            mcu=mcu,
            way="more work",
            ram_bytes=point.arena_bytes + found.state_bytes + INSTANCE + STACK,
            flash_bytes=_flash(found.needs["streamed"]),
            overhead=point.overhead,
            streamed=True,
        )


def _missing(fit: Fit) -> tuple[bool, int, int]:
    """What a way lacks, worst first: no plan makes up for flash, some do for RAM."""
    ram, flash = max(0, -fit.spare_ram_bytes), max(0, -fit.spare_flash_bytes)
    return flash > 0, ram, flash


def _ram(needs: Needs) -> int:
    return needs.total_ram_bytes or 0


def _flash(needs: Needs) -> int:
    return needs.flash_bytes or 0

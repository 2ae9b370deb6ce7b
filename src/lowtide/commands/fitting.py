"""Which of the parts will do: networks by microcontrollers, behind `lowtide fit`.

For each pair the first of these that holds: the program fits as it is; with its input streamed; with the
kernels that every core has, which may take less; with work done twice; or it does not fit, and by how
much. All but work done twice comes from estimates (commands/estimating.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lowtide.commands.compiling import Options, prepared
from lowtide.commands.estimating import INSTANCE, Estimate, Needs, estimate
from lowtide.emit.footprint import STACK
from lowtide.errors import InfeasibleError
from lowtide.ir import Model
from lowtide.machines.mcus import Mcu, load_mcus
from lowtide.plans import planner
from lowtide.rows.prepare import InputMode
from lowtide.target import PORTABLE, Target

Way = Literal["as is", "streamed", "other kernels", "more work", "not"]
WAYS: Final[tuple[Way, ...]] = ("as is", "streamed", "other kernels", "more work", "not")

_MODES: Final[tuple[InputMode, ...]] = ("resident", "streamed")


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a network fits a part, and which `way`; RAM and flash in bytes, all of the program's.

    `overhead` is its MACs over the network's own, above 1 where work is done twice. Where it does not
    fit, `ram_bytes` is what it would take with its input streamed, or as it is if that is less.
    """

    network: str
    mcu: Mcu
    way: Way
    ram_bytes: int
    flash_bytes: int
    overhead: float = 1.0

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
        if self.way == "not":
            short = [
                f"{_size(-spare)} of {kind}"
                for kind, spare in (
                    ("RAM", self.spare_ram_bytes),
                    ("flash", self.spare_flash_bytes),
                )
                if spare < 0
            ]
            return f"does not fit {name}: {' and '.join(short)} too little"
        twice = f"at +{math.ceil((self.overhead - 1) * 100)} % work"
        if self.overhead <= 1:
            twice = "in lean form"
        how = {
            "as is": "",
            "streamed": ", its input streamed,",
            "other kernels": ", with portable kernels,",
            "more work": f", its input streamed, {twice},",
        }[self.way]
        return f"fits {name}{how} with {_size(self.spare_ram_bytes)} of RAM to spare"


def _size(count: int) -> str:
    return f"{count / 1024:.0f} KiB" if count >= 10 << 10 else f"{count:,} bytes"


def fits(
    model: Model,
    mcus: Iterable[Mcu] | None = None,
    *,
    simplify: bool = True,
    more_work: float = 2.0,
) -> tuple[Fit, ...]:
    """Whether `model` fits each of `mcus` (None: all that are known), in their order.

    What is computed twice may cost at most `more_work` times the network's MACs (1: nothing is). Raises
    ModelError for a network that cannot be compiled.
    """
    found = _Found(model, simplify, more_work)
    return tuple(found.fit(mcu) for mcu in (load_mcus().values() if mcus is None else mcus))


class _Found:
    """What is known of a network, by core: parts of one core share it."""

    def __init__(self, model: Model, simplify: bool, more_work: float) -> None:
        self._model, self._simplify, self._more_work = model, simplify, more_work
        self._estimates: dict[Target, Estimate] = {}
        self._plans: dict[Target, planner.Plans] = {}

    def fit(self, mcu: Mcu) -> Fit:
        """The first way that holds."""
        ways: Sequence[tuple[Way, InputMode, Target]] = (
            ("as is", "resident", mcu.target),
            ("streamed", "streamed", mcu.target),
            ("other kernels", "streamed", _portable(mcu.target)),
        )
        tried = []
        for way, mode, target in ways:
            needs = self._needs(target).needs[mode]
            tried.append(needs)
            if _ram(needs) <= mcu.ram_bytes and _flash(needs) <= mcu.flash_bytes:
                return Fit(self._model.path, mcu, way, _ram(needs), _flash(needs))
        least = min(tried, key=lambda needs: (_flash(needs) > mcu.flash_bytes, _ram(needs)))
        if _flash(least) <= mcu.flash_bytes and self._more_work > 1:
            point = self._twice(mcu)
            if point is not None:
                ram, overhead = point
                return Fit(self._model.path, mcu, "more work", ram, _flash(tried[1]), overhead)
        return Fit(self._model.path, mcu, "not", _ram(least), _flash(least))

    def _needs(self, target: Target) -> Estimate:
        if target not in self._estimates:
            self._estimates[target] = estimate(
                self._model, inputs=_MODES, target=target, simplify=self._simplify
            )
        return self._estimates[target]

    def _twice(self, mcu: Mcu) -> tuple[int, float] | None:
        """RAM and overhead of the cheapest plan that fits, rows computed twice; None without one."""
        target = mcu.target
        if target not in self._plans:
            options = Options(input_mode="streamed", target=target, simplify=self._simplify)
            _, _, ready = prepared(self._model, options)
            self._plans[target] = planner.plans_of(ready, strips=True)
        most = mcu.ram_bytes - INSTANCE - STACK
        if most <= 0:
            return None
        try:
            point = planner.within_ram(self._plans[target], most, self._more_work)
        except InfeasibleError:
            return None
        ram = point.arena_bytes + self._needs(target).state_bytes + INSTANCE + STACK
        return ram, point.overhead


def _portable(target: Target) -> Target:
    return Target(target.core, (PORTABLE,), target.priced_as)


def _ram(needs: Needs) -> int:
    return needs.total_ram_bytes or 0


def _flash(needs: Needs) -> int:
    return needs.flash_bytes or 0

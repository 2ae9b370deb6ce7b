"""Programs for a microcontroller that is named: within its RAM, where a plan can be.

Why not `max_ram` at once: that is the plan of least cost which fits, and takes all the RAM that it may.
Here the plan is the one that would be made anyway, unless it takes more than there is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from lowtide.advice.fitting import Fit, Way
from lowtide.commands.compiling import Compiled
from lowtide.commands.options import Options
from lowtide.commands.verdict import predicted
from lowtide.errors import InfeasibleError
from lowtide.machines.mcus import Mcu

_Made = TypeVar("_Made")


def within_part(
    mcu: Mcu,
    options: Options,
    make: Callable[[Options], _Made],
    program_of: Callable[[_Made], Compiled],
) -> _Made:
    """What `make` makes of `options`; where its program takes more RAM than `mcu` has, and no plan is
    asked for, of the same with that limit. Raises InfeasibleError if no plan keeps to it, and, without
    looking for one, if there is too little flash as well.

    RAM is predicted: arena, state and instance are known, stack is assumed.
    """
    made = make(options)
    program = program_of(made)
    figures = predicted(program)
    missing = figures.ram_bytes - mcu.ram_bytes
    asked = (options.stages, options.max_ram, options.max_overhead) != (None, None, None)
    if missing <= 0 or asked or options.schedule == "operators":
        return made
    most = program.ram_bytes - missing
    if most <= 0:
        raise InfeasibleError(
            f"{mcu.name} has {mcu.ram_bytes:,} B of RAM, too little even for stack and instance",
            "run `lowtide fit` to see which microcontrollers the network fits",
        )
    if figures.flash_bytes > mcu.flash_bytes:  # no plan makes up for that
        raise InfeasibleError(
            f"{mcu.name} is too small: {missing:,} B of RAM and "
            f"{figures.flash_bytes - mcu.flash_bytes:,} B of flash are missing (predicted)",
            "run `lowtide fit` to see which microcontrollers the network fits",
        )
    try:
        return make(replace(options, max_ram=most))
    except InfeasibleError as error:
        raise InfeasibleError(f"{mcu.name} is too small: {error.cause}", error.remedy) from None


def fit_of(mcu: Mcu, program: Compiled) -> Fit:
    """Whether `program` fits `mcu`, as predicted."""
    figures = predicted(program)
    fits = figures.ram_bytes <= mcu.ram_bytes and figures.flash_bytes <= mcu.flash_bytes
    way: Way = "as is" if fits else "not"
    streamed = program.options.input_mode == "streamed"
    return Fit(
        program.model.path, mcu, way, figures.ram_bytes, figures.flash_bytes, streamed=streamed
    )

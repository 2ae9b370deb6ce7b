"""The options of all commands that compile, and the program they ask for.

Why one list: what `plan` shows, `compile` writes and `run` measures is the same program only if all of
them take the same options and read them in the same way. The list is `lowtide.commands.options`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lowtide.cli.advice import or_what_fits
from lowtide.cli.given import Decorator, given, kept
from lowtide.cli.helping import complete_boards, complete_cores, complete_mcus
from lowtide.cli.options import Bytes, Factor, load, part_options, progress
from lowtide.commands.option import CHECKS, PART, WHAT, Option
from lowtide.commands.options import OPTIONS, Options, from_plan
from lowtide.errors import UsageError

if TYPE_CHECKING:
    from lowtide.commands.compiling import Compiled
    from lowtide.commands.known import Known
    from lowtide.commands.options import Options
    from lowtide.ir import Model
    from lowtide.machines.mcus import Mcu
    from lowtide.machines.parts import Board

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _made(option: Option) -> Decorator[Any]:
    """The option of the command line for one of `Options`."""
    told: dict[str, Any] = {"group": option.group, "help": option.help, "metavar": option.metavar}
    told |= {"default": option.default, "show_default": option.default is not None}
    match option.kind:
        case "choice":
            told["type"] = click.Choice(option.choices)
        case "switch":
            told |= {"is_flag": True, "show_default": False}
        case "bytes":
            told["type"] = Bytes()
        case "factor":
            least, most = (None if abs(end) == float("inf") else end for end in option.within)
            told["type"] = Factor(least, most)
        case "count":
            told["type"] = click.IntRange(int(option.within[0]))
        case "core":
            told |= {"default": None, "shell_complete": complete_cores}
    return kept(option.flag, option.name, **told)


_OPTIONS = {option.name: _made(option) for option in OPTIONS if option.flag}

effort_option = _OPTIONS["effort"]
simplify_option = _OPTIONS["simplify"]
_plan_option = kept(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    group=WHAT,
    help="Use the stages and modes that `lowtide plan -o FILE` wrote.",
)


def compile_options(command: _Command) -> _Command:
    """The options of everything that compiles, gathered in `lowtide.commands.options.Options`."""
    for option in reversed([part_options, _plan_option, *_OPTIONS.values()]):
        command = option(command)
    return command


def inputs_options(default: int) -> Decorator[Any]:
    samples = kept(
        "--samples",
        type=click.IntRange(1, 1000),
        show_default=f"{default}, with state 16 or more",
        group=CHECKS,
        help="Number of inputs. They are random, all minimum, all maximum and all zero. For a "
        "network with state, they are a sequence, and most change slowly.",
    )
    seed = kept(
        "--seed",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        group=CHECKS,
        help="The seed of the random inputs.",
    )
    windows = kept(
        "--data",
        "windows",
        type=click.Path(path_type=Path),
        metavar="SAMPLES",
        group=CHECKS,
        help="With --hop: consecutive recorded windows, as a .npz or .npy file.",
    )
    return lambda command: samples(seed(windows(command)))


def inputs_given() -> dict[str, Any]:
    """What `inputs_options` and `cache_option` say, for what verifies or runs."""
    return {name: given(name) for name in ("samples", "seed", "cached", "windows")}


def tell_of_cache() -> None:
    """Say why nothing is kept, if others than the user can write to the cache."""
    from lowtide.cache import distrust

    if (why := distrust()) is not None:
        with contextlib.suppress(OSError):
            print(f"lowtide: {why}", file=sys.stderr)


cache_option = kept(
    "--cache/--no-cache",
    "cached",
    default=True,
    group=CHECKS,
    help="Reuse unchanged results of earlier runs (default), or make everything again.",
)
"""Followed by `compile_once`."""


def mcu_option(help_text: str) -> Decorator[Any]:
    """--mcu, of which `help_text` says what becomes of it."""
    return kept(
        "--mcu",
        metavar="NAME",
        shell_complete=complete_mcus,
        group=PART,
        help=f"{help_text} (see `lowtide boards --mcus`).",
    )


for_mcu_option = mcu_option(
    "The target microcontroller: use its core's kernels and a plan that fits its RAM"
)
core_mcu_option = mcu_option("The target microcontroller: use its core's kernels")


board_file_option = kept(
    "--board-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    group=PART,
    help="A TOML file with your own boards.",
)


def board_options(help_text: str) -> Decorator[Any]:
    """--board, of which `help_text` says what becomes of it, --mcu and --board-file: `found_board`."""
    board = kept(
        "--board", metavar="NAME", help=help_text, shell_complete=complete_boards, group=PART
    )
    mcu = mcu_option("Use a microcontroller instead of a board; its core is emulated")
    return lambda command: board(mcu(board_file_option(command)))


def found_mcu() -> Mcu | None:
    """The microcontroller whose core, and none other, is compiled for; None if none is named."""
    from lowtide.machines.mcus import find_mcu

    if given("mcu") is None:
        return None
    if given("target") is not None:
        raise UsageError("--core and --mcu both choose the core", "give only one of them")
    return find_mcu(given("mcu"))


def found_board() -> Board | None:
    """The board, or the microcontroller as one; None if neither is named."""
    from lowtide.machines.board import find_board
    from lowtide.machines.mcus import board_of, find_mcu

    board, mcu = given("board"), given("mcu")
    if board is not None and mcu is not None:
        raise UsageError("--board and --mcu both choose what to run on", "give only one of them")
    if mcu is not None:
        return board_of(find_mcu(mcu))
    return None if board is None else find_board(board, given("board_file"))


def load_with(model: str, on: Mcu | Board | None = None) -> tuple[Model, Options]:
    """The model, and the options from the command line or the plan file it names.

    The core is that of --core, or else of what the program is to run `on`, or else any.
    """
    from lowtide.plans.file import read_plan

    said = {name: given(name) for name in _OPTIONS}
    if said["target"] is None:
        said["target"] = Options().target if on is None else on.target
    chosen = Options(**said) if given("plan_file") is None else None
    loaded = load(model)
    if chosen is not None:
        return loaded, chosen
    context = click.get_current_context()
    for option in OPTIONS:
        source = context.get_parameter_source(option.name)
        if option.plan is not None and source is click.core.ParameterSource.COMMANDLINE:
            flag = option.words(said[option.name])[0]
            raise UsageError(
                f"{flag} and --plan cannot be combined: the plan already sets it",
                f"leave out {flag}",
            )
    return loaded, Options(**{**said, **read_plan(given("plan_file"), loaded, from_plan)})


def compile_with(model: str, mcu: Mcu | None) -> tuple[Compiled, Known]:
    """The program, and what is known of its model then; with an `mcu`, within its RAM."""
    from lowtide.commands.known import Known

    loaded, chosen = load_with(model, mcu)
    known = Known(loaded)
    if mcu is None:
        return compile_loaded(loaded, chosen, known), known
    from lowtide.advice.for_part import within_part

    def make(chosen: Options) -> Compiled:
        return compile_loaded(loaded, chosen, known)

    return within_part(mcu, chosen, make, lambda program: program), known


def compile_loaded(loaded: Model, chosen: Options, known: Known | None = None) -> Compiled:
    """The program of a model that is loaded; if it does not fit, the error says what does."""
    from lowtide.commands.compiling import compile_model

    with or_what_fits(loaded, chosen), progress("compiling"):
        return compile_model(loaded, chosen, known=known)


def compile_once(model: str, on: Mcu | Board | None) -> Compiled:
    """The program, which an earlier run may have made; that is not looked for with --no-cache."""
    from lowtide.commands.kept import compiled_once

    if given("cached"):
        tell_of_cache()
    loaded, chosen = load_with(model, on)
    with or_what_fits(loaded, chosen), progress("compiling"):
        return compiled_once(loaded, chosen, cached=given("cached"))

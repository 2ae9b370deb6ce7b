"""The options of all commands that compile, and the program they ask for.

Why one list: what `plan` shows, `compile` writes and `run` measures is the same program only if all of
them take the same options and read them in the same way.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lowtide.cli.advice import or_what_fits
from lowtide.cli.helping import complete_cores, complete_mcus
from lowtide.cli.options import (
    Bytes,
    Factor,
    effort_option,
    file_option,
    load,
    part_options,
    progress,
    show,
)
from lowtide.errors import UsageError

if TYPE_CHECKING:
    from lowtide.commands.compiling import Compiled
    from lowtide.commands.options import Options
    from lowtide.ir import Model
    from lowtide.machines.mcus import Mcu
    from lowtide.machines.parts import Board

_Command = TypeVar("_Command", bound=Callable[..., Any])


_SAID_BY_PLAN = {
    "schedule": "--schedule",
    "allocator": "--allocator",
    "input_mode": "--input",
    "output_mode": "--output",
    "preserve_input": "--preserve-input",
    "quantized_io": "--quantized-io",
    "input_layout": "--input-layout",
    "output_layout": "--output-layout",
    "input_type": "--input-type",
    "simplify": "--no-simplify",
    "max_overhead": "--max-overhead",
    "max_ram": "--max-ram",
}
"""Parameters that a plan file fixes, and their options."""

_MAX_RAM = click.option(
    "--max-ram",
    type=Bytes(),
    metavar="BYTES",
    help="Limit arena and state together (16384, 16K or 16KiB): the plan of least cost that "
    "fits. It may run in strips, parts of a map's columns one after the other, where some is computed "
    "twice.",
)


def _layout(which: str, whose: str) -> Callable[[_Command], _Command]:
    return click.option(
        f"--{which}-layout",
        type=click.Choice(["file", "nhwc"]),
        default="file",
        show_default=True,
        help=f"nhwc: {which}s with their channels last, without the TRANSPOSE {whose}.",
    )


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    part_options,
    click.option(
        "--schedule",
        type=click.Choice(["operators", "rows"]),
        default="rows",
        show_default=True,
        help="rows: those of several operators interleaved, which saves RAM; operators: one after the "
        "other.",
    ),
    click.option(
        "--allocator",
        type=click.Choice(["planned", "greedy", "compacting"]),
        default="planned",
        show_default=True,
        help="How whole tensors are placed, with --schedule operators: as well as can be (planned), by "
        "size as TensorFlow Lite Micro does (greedy), or moved together after each (compacting).",
    ),
    click.option(
        "--input",
        "input_mode",
        type=click.Choice(["resident", "const", "streamed"]),
        default="resident",
        show_default=True,
        help="Where inputs are: in the arena (resident), in memory of the caller's that stays readable, "
        "such as flash (const), or given row by row (streamed).",
    ),
    click.option(
        "--output",
        "output_mode",
        type=click.Choice(["resident", "streamed"]),
        default="resident",
        show_default=True,
        help="Where outputs are: in the arena (resident), or handed over row by row (streamed).",
    ),
    click.option(
        "--preserve-input",
        is_flag=True,
        help="Do not overwrite inputs in the arena while running.",
    ),
    click.option(
        "--quantized-io",
        is_flag=True,
        help="Drop a QUANTIZE or DEQUANTIZE at the model's boundary: integers in and out.",
    ),
    _layout("input", "that PyTorch's exporters put first"),
    _layout("output", "that PyTorch's exporters put last"),
    click.option(
        "--input-type",
        type=click.Choice(["file", "uint8"]),
        default="file",
        show_default=True,
        help="uint8: pixels as a camera gives them, for inputs of int8.",
    ),
    click.option(
        "--simplify/--no-simplify",
        default=True,
        help="Leave out what no input can change (default), or compute all that the file says.",
    ),
    click.option(
        "--align",
        type=Bytes(),
        default=16,
        show_default=True,
        help="Alignment of tensors, in bytes.",
    ),
    click.option(
        "--max-overhead",
        type=Factor(min=1.0),
        metavar="F",
        help="Least RAM at no more than F times the network's cost, in strips (inf: at any cost).",
    ),
    _MAX_RAM,
    click.option(
        "--cost",
        type=click.Choice(["macs", "instructions"]),
        default="macs",
        show_default=True,
        help="What plans cost, and --max-overhead limits: MACs, or instructions as predicted.",
    ),
    click.option(
        "--core",
        metavar="NAME",
        shell_complete=complete_cores,
        help="The core to compile for: its kernels, scratch memory and prices (default: any core; "
        "with run, that of the board).",
    ),
    file_option(
        "--plan",
        "plan_file",
        metavar="FILE",
        help_text="Stages and modes as `lowtide plan -o FILE` wrote them.",
    ),
    click.option(
        "--slices",
        is_flag=True,
        help="Add NAME_invoke_some, which runs about as many instructions as it is told.",
    ),
    click.option("--name", metavar="ID", help="Prefix of all C names (default: from the file)."),
    effort_option,
)


def compile_options(command: _Command) -> _Command:
    """The options of everything that compiles, gathered in `lowtide.commands.compiling.Options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def checked_options(command: _Command) -> _Command:
    """The same where --max-ram is what is checked, and not what is planned for."""
    for option in reversed([option for option in _OPTIONS if option is not _MAX_RAM]):
        command = option(command)
    return command


def inputs_options(default: int) -> Callable[[_Command], _Command]:
    samples = click.option(
        "--samples",
        type=click.IntRange(1, 1000),
        show_default=f"{default}, with state 16 or more",
        help="Number of inputs: random ones, and all-least, all-greatest, zero; to a network with "
        "state they are a sequence, in which most change slowly.",
    )
    seed = click.option(
        "--seed",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="Another number gives other inputs.",
    )
    return lambda command: samples(seed(command))


def tell_of_cache() -> None:
    """Say why nothing is kept, if others than the user can write to the cache."""
    from lowtide.cache import distrust

    if (why := distrust()) is not None:
        with contextlib.suppress(OSError):
            print(f"lowtide: {why}", file=sys.stderr)


def _asked_for_cache(_: click.Context, __: click.Parameter, cached: bool) -> bool:
    if cached:
        tell_of_cache()
    return cached


cache_option = click.option(
    "--cache/--no-cache",
    "cached",
    default=True,
    callback=_asked_for_cache,
    help="Take from an earlier run what did not change since, or make everything anew.",
)


mcu_option = click.option(
    "--mcu",
    metavar="NAME",
    shell_complete=complete_mcus,
    help="A microcontroller in place of a board (see `lowtide boards --mcus`), emulated by its core.",
)


for_mcu_option = click.option(
    "--mcu",
    metavar="NAME",
    shell_complete=complete_mcus,
    help="The microcontroller to make it for: its core's kernels, and a plan that fits its RAM (see "
    "`lowtide boards --mcus`).",
)


core_mcu_option = click.option(
    "--mcu",
    metavar="NAME",
    shell_complete=complete_mcus,
    help="Compile for the core of this microcontroller (see `lowtide boards --mcus`).",
)


def found_mcu(name: str | None, options: dict[str, Any]) -> Mcu | None:
    """The microcontroller, whose core is put into `options`; None if none is named."""
    from lowtide.machines.mcus import find_mcu

    if name is None:
        return None
    if options.get("core") is not None:
        raise UsageError("--core and --mcu both say which core", "give one of them")
    mcu = find_mcu(name)
    options["target"] = mcu.target
    return mcu


def found_board(board: str | None, mcu: str | None, board_file: Path | None) -> Board | None:
    """The board, or the microcontroller as one; None if neither is named."""
    from lowtide.machines.board import find_board
    from lowtide.machines.mcus import board_of, find_mcu

    if board is not None and mcu is not None:
        raise UsageError("--board and --mcu both say what to run on", "give one of them")
    if mcu is not None:
        return board_of(find_mcu(mcu))
    return None if board is None else find_board(board, board_file)


def load_with(model: str, options: dict[str, Any]) -> tuple[Model, Options]:
    """The model, and `compiling.Options` from the command line or the plan file it names."""
    from lowtide.commands.options import Options, from_plan
    from lowtide.machines.board import find_target
    from lowtide.plans.file import read_plan
    from lowtide.target import ANY

    core = options.pop("core", None)
    options = {
        **options,
        "target": options.get("target", ANY) if core is None else find_target(core),
    }
    loaded = load(model)
    plan_file = options.pop("plan_file", None)
    if plan_file is None:
        return loaded, Options(**options)
    context = click.get_current_context()
    for parameter, option in _SAID_BY_PLAN.items():
        source = context.get_parameter_source(parameter)
        if source is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(
                f"{option} and --plan cannot be combined: the plan says it", f"leave out {option}"
            )
    return loaded, Options(**{**options, **read_plan(plan_file, loaded, from_plan)})


def compile_with(model: str, options: dict[str, Any], mcu: Mcu | None = None) -> Compiled:
    """The program; with an `mcu`, within its RAM."""
    from lowtide.commands.compiling import compile_model
    from lowtide.commands.for_part import within_part

    loaded, chosen = load_with(model, options)

    def make(chosen: Options) -> Compiled:
        with or_what_fits(loaded, chosen), progress("compiling"):
            return compile_model(loaded, chosen)

    return make(chosen) if mcu is None else within_part(mcu, chosen, make, lambda program: program)


def show_fit(mcu: Mcu | None, program: Compiled) -> None:
    """A line that says whether `program` fits `mcu`, if one is named."""
    if mcu is not None:
        from lowtide.commands.for_part import fit_of

        show(f"predicted: {fit_of(mcu, program).sentence}")


def fit_field(mcu: Mcu | None, program: Compiled) -> dict[str, Any]:
    """The same for a JSON document."""
    if mcu is None:
        return {}
    from lowtide.commands.for_part import fit_of

    fit = fit_of(mcu, program)
    return {
        "mcu": {
            "name": mcu.name,
            "fits": fit.way != "not",
            "predicted_ram_bytes": fit.ram_bytes,
            "predicted_flash_bytes": fit.flash_bytes,
        }
    }


def compile_once(model: str, cached: bool, options: dict[str, Any]) -> Compiled:
    """The program, which an earlier run may have made; that is not looked for if not `cached`."""
    from lowtide.commands.kept import compiled_once

    loaded, chosen = load_with(model, options)
    with or_what_fits(loaded, chosen), progress("compiling"):
        return compiled_once(loaded, chosen, cached=cached)

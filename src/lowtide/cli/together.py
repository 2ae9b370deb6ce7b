"""`lowtide compile --shared-arena`: several networks in one folder, which take turns in one arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from lowtide.cli.compile_options import compile_loaded, load_with
from lowtide.cli.given import given, grouped
from lowtide.cli.helping import ModelName
from lowtide.cli.options import answer
from lowtide.cli.writing import replacing
from lowtide.commands.option import PART
from lowtide.errors import UsageError

if TYPE_CHECKING:
    from lowtide.machines.mcus import Mcu

_NAME: Final = "networks"
"""What networks are called together, unless --name says it."""

others_argument = click.argument("others", metavar="[MODEL]...", nargs=-1, type=ModelName())
shared_option = grouped(
    PART,
    "--shared-arena",
    is_flag=True,
    help="Compile several networks, which take turns in one arena. NAME.h has the arena and all of "
    f"them; --name names it (default: {_NAME}). Other options apply to each network.",
)


def compile_together(models: Sequence[str], output: Path, *, shared_arena: bool) -> None:
    """Compile each of `models`, and write one bundle of them all to `output`."""
    from lowtide.commands.together import shared
    from lowtide.emit.names import check_name, program_name
    from lowtide.emit.together import check_names
    from lowtide.machines.mcus import find_mcu
    from lowtide.report import together as report

    mcu = None if given("mcu") is None else find_mcu(given("mcu"))
    _check(models, mcu, shared_arena=shared_arena)
    name = check_name(given("name") or _NAME)
    check_names(name, [program_name(None, model) for model in models])
    asked = [load_with(model) for model in models]  # a slip is told before long work
    programs = [compile_loaded(loaded, replace(chosen, name=None)) for loaded, chosen in asked]
    made = shared(name, programs, asked[0][1])
    removed = made.write_as(output, replacing())
    answer(
        lambda: report.together_document(made, str(output), removed),
        lambda: report.together_text(made, str(output), removed),
    )


def _check(models: Sequence[str], mcu: Mcu | None, *, shared_arena: bool) -> None:
    """Raises UsageError for options that are of one network."""
    if not shared_arena:
        raise UsageError(
            f"without --shared-arena, compile takes one network, not {len(models)}",
            "add --shared-arena to compile them together",
        )
    if len(models) < 2:
        raise UsageError(
            "--shared-arena needs two or more networks",
            "name another network, or leave out --shared-arena",
        )
    if mcu is not None:
        raise UsageError(
            "--mcu plans one network for the whole RAM of a microcontroller",
            f"give its core instead: --core {mcu.core}",
        )
    if given("preserve_input"):
        raise UsageError(
            "--preserve-input keeps inputs in the arena, which the other networks overwrite",
            "leave out --preserve-input, and write the inputs before each run",
        )
    package = click.get_current_context().params["package"]
    for flag, value in (
        ("--export", package),
        ("--plan", given("plan_file")),
        ("--from", given("begin")),
        ("--until", given("until")),
    ):
        if value:
            raise UsageError(
                f"{flag} and --shared-arena cannot be combined",
                f"leave out {flag}, or compile each network by itself into one folder",
            )

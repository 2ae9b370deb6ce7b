"""The commands for many networks, or many parts: fit, sweep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide.cli.compile_options import tell_of_cache
from lowtide.cli.helping import HelpfulCommand, ModelName, complete_boards, complete_mcus
from lowtide.cli.options import (
    MODEL_HELP,
    Factor,
    json_option,
    max_file,
    max_file_option,
    progress,
    show,
)
from lowtide.cli.writing import force_option, output_option, replacing
from lowtide.errors import LowtideError, UsageError
from lowtide.kinds import PAGE, document, table

if TYPE_CHECKING:
    from lowtide.commands.engines import EngineName
    from lowtide.commands.fitting import Fit
    from lowtide.files import Replacing


def _early_fit(path: Path, replacing: Replacing) -> None:
    from lowtide.report.fitting import COLUMNS

    of = {".csv": table(COLUMNS), ".html": PAGE, ".json": document("lowtide.fit")}
    if path.suffix in of:  # else the format is refused
        replacing.check(path, [of[path.suffix]])


def _early_sweep(path: Path, replacing: Replacing) -> None:
    replacing.check_inputs(path, ours=True)  # what is in it is looked at by the sweep


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=ModelName())
@click.option(
    "--boards",
    "names",
    metavar="NAME,...",
    help="Only these microcontrollers, or all that begin so (default: all that are known).",
)
@click.option(
    "--more-work",
    type=Factor(min=1.0, max=100),
    default=2.0,
    show_default=True,
    metavar="F",
    help="Where RAM is short, compute rows twice, up to F times the network's MACs (1: never).",
)
@click.option(
    "--simplify/--no-simplify",
    default=True,
    help="Leave out what no input can change (default), or compute all that the file says.",
)
@output_option(
    *("-o", "file"),
    metavar="FILE",
    help_text="Write the table to FILE: .csv, .html or .json.",
    early=_early_fit,
)
@force_option
@max_file_option
@json_option
def fit(
    models: tuple[str, ...],
    names: str | None,
    more_work: float,
    simplify: bool,
    file: Path | None,
    as_json: bool,
) -> None:
    """Say which microcontrollers will do: networks by parts, and what is left or missing."""
    from lowtide.commands.fitting import fits
    from lowtide.commands.reordering import load
    from lowtide.files import check_writable, write_atomically
    from lowtide.machines.mcus import find_mcus, load_mcus
    from lowtide.report import data, fitting
    from lowtide.report.terminal import fitted, plain

    failed: list[tuple[str, LowtideError]] = []
    writers: dict[str, Callable[[list[Fit]], str]] = {
        ".csv": fitting.fit_csv,
        ".html": fitting.fit_html,
        ".json": lambda found: data.to_json(fitting.fit_document(found, failed)) + "\n",
    }
    if file is not None:
        if file.suffix not in writers:
            raise UsageError(
                f"the format of {file} is unknown", f"use one of: {', '.join(writers)}"
            )
        check_writable(file)
    mcus = list(load_mcus().values())
    if names is not None:
        mcus = [mcu for name in names.split(",") for mcu in find_mcus(name.strip())]
    with progress("estimating") as tell:
        found: list[Fit] = []
        for model in models:
            tell(model)
            try:
                loaded = load(model, max_file=max_file())
                found += fits(loaded, mcus, simplify=simplify, more_work=more_work)
            except LowtideError as error:
                failed.append((model, error))
    if not found and failed:
        raise failed[0][1]
    if file is not None:
        text = writers[file.suffix](found).encode("utf-8", "backslashreplace")
        write_atomically(file, text, replacing())
    if as_json:
        print(data.to_json(fitting.fit_document(found, failed)))
    else:
        show(fitting.fit_text(found))
    for model, why in failed:
        named = "" if why.cause.startswith(model) else f"{plain(model)}: "
        print(fitted(f"lowtide: {named}{why}"), file=sys.stderr)
    if failed:
        sys.exit(failed[0][1].exit_code)


@click.command(cls=HelpfulCommand)
@click.argument("inputs", metavar="INPUTS...", nargs=-1, required=True, type=ModelName())
@click.option(
    "--jobs",
    type=click.IntRange(1, 4096),
    default=1,
    show_default=True,
    metavar="N",
    help="How many networks to work on at a time.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray", "dask"]),
    default="local",
    show_default=True,
    help="Processes of this computer, or a cluster's.",
)
@click.option("--plan", "planned", is_flag=True, help="Plan each program, not only estimate it.")
@click.option(
    "--run",
    "board",
    metavar="BOARD",
    shell_complete=complete_boards,
    help="Run each program on this emulated board.",
)
@click.option(
    "--mcu",
    metavar="NAME",
    shell_complete=complete_mcus,
    help="Run each program on this microcontroller (see `lowtide boards --mcus`), emulated by its core.",
)
@click.option("--simplify", is_flag=True, help="Leave out what no input can change.")
@output_option(
    *("-o", "file"),
    metavar="FILE",
    help_text="The table: .parquet, .csv or .jsonl. What it has already is not made again.",
    early=_early_sweep,
    required=True,
)
@force_option
@json_option
def sweep(
    inputs: tuple[str, ...],
    jobs: int,
    engine: EngineName,
    planned: bool,
    board: str | None,
    mcu: str | None,
    simplify: bool,
    file: Path,
    as_json: bool,
) -> None:
    """Estimate thousands of networks: files, folders, patterns, or @FILE, a list of them."""
    import time
    from dataclasses import asdict

    from lowtide.commands.sweeping import Question
    from lowtide.commands.sweeping import sweep as sweep_all

    if board is not None and mcu is not None:
        raise UsageError("--run and --mcu both say what to run on", "give one of them")
    if planned and (board is not None or mcu is not None):
        option = "--run" if mcu is None else "--mcu"
        raise UsageError(f"{option} plans each program already", "leave out --plan")
    question = Question("plan" if planned else "estimate", simplify=simplify)
    if board is not None:
        from lowtide.machines.board import find_board

        question = Question("run", board=find_board(board).name, simplify=simplify)
    elif mcu is not None:
        from lowtide.machines.mcus import find_mcu

        question = Question("run", mcu=find_mcu(mcu).name, simplify=simplify)
    if question.asked == "run":
        tell_of_cache()
    begin = time.monotonic()
    with progress("sweeping") as tell:

        def told(done: int, total: int, errors: int) -> None:
            left = (time.monotonic() - begin) / done * (total - done)
            wrong = f", {errors:,} with an error" if errors else ""
            tell(f"{done:,} of {total:,} networks{wrong}, about {left:.0f} s left")

        found = sweep_all(
            inputs,
            file,
            jobs=jobs,
            engine=engine,
            question=question,
            replacing=replacing(),
            tell=told,
        )
    known = f", {found.known:,} of them known before" if found.known else ""
    if as_json:
        from lowtide.report import data

        print(data.to_json({"schema": "lowtide.sweep/1", "file": str(file), **asdict(found)}))
    else:
        show(f"{file}: {found.rows:,} rows, {found.errors:,} with an error{known}")
    if not found.complete:
        raise KeyboardInterrupt

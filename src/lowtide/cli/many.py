"""The commands for many networks, or many parts: fit, sweep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide.cli.compile_options import mcu_option, simplify_option, tell_of_cache
from lowtide.cli.given import given
from lowtide.cli.helping import HelpfulCommand, ModelName, complete_boards
from lowtide.cli.options import (
    MODEL_HELP,
    Factor,
    answer,
    json_option,
    max_file_option,
    progress,
)
from lowtide.cli.writing import by_suffix, output_option, replacing
from lowtide.errors import LowtideError, UsageError
from lowtide.kinds import PAGE, Kind, document, table

if TYPE_CHECKING:
    from lowtide.advice.fitting import Fit
    from lowtide.files import Replacing
    from lowtide.sweep.engines import Engine
    from lowtide.sweep.sweeping import Question


def _tables_of_fit() -> dict[str, Kind]:
    from lowtide.report.fitting import COLUMNS

    return {".csv": table(COLUMNS), ".html": PAGE, ".json": document("lowtide.fit")}


def _early_sweep(path: Path, replacing: Replacing) -> None:
    replacing.check_inputs(path, ours=True)  # what is in it is looked at by the sweep


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=ModelName())
@click.option(
    "--mcu",
    "names",
    metavar="NAME,...",
    help="Only these microcontrollers, or all whose names begin like this (see `lowtide "
    "boards --mcus`; default: all).",
)
@click.option(
    "--max-overhead",
    type=Factor(min=1.0, max=100),
    default=2.0,
    show_default=True,
    metavar="F",
    help="If RAM is short, recompute rows, at up to F times the network's cost (1: never).",
)
@simplify_option
@output_option(
    "-o", by_suffix(_tables_of_fit), "FILE", "Write the table to FILE: .csv, .html or .json."
)
@max_file_option
@json_option
def fit(
    models: tuple[str, ...], names: str | None, max_overhead: float, output: Path | None
) -> None:
    """List the microcontrollers that each network fits.

    For each network and microcontroller, it shows the RAM and flash to spare or missing.
    """
    from lowtide.advice.fitting import fits
    from lowtide.files import write_atomically
    from lowtide.machines.mcus import find_mcus, load_mcus
    from lowtide.report import data, fitting
    from lowtide.report.terminal import fitted, plain
    from lowtide.zoo.loading import load

    mcus = list(load_mcus().values())
    if names is not None:
        asked = (mcu for name in names.split(",") for mcu in find_mcus(name.strip()))
        mcus = list(dict.fromkeys(asked))
    failed: list[tuple[str, LowtideError]] = []
    found: list[Fit] = []
    with progress("estimating") as tell:
        for model in dict.fromkeys(models):
            tell(model)
            try:
                loaded = load(model, max_file=given("max_file"))
                found += fits(loaded, mcus, simplify=given("simplify"), max_overhead=max_overhead)
            except LowtideError as error:
                failed.append((model, error))
    if not found and failed:
        raise failed[0][1]
    if output is not None:
        writers: dict[str, Callable[[], str]] = {
            ".csv": lambda: fitting.fit_csv(found),
            ".html": lambda: fitting.fit_html(found),
            ".json": lambda: data.to_json(fitting.fit_document(found, failed)) + "\n",
        }
        text = writers[output.suffix]().encode("utf-8", "backslashreplace")
        write_atomically(output, text, replacing())
    answer(lambda: fitting.fit_document(found, failed), lambda: fitting.fit_text(found))
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
    help="Number of networks to process at the same time.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray", "dask"]),
    default="local",
    show_default=True,
    help="Where to run: processes of this computer, or a cluster.",
)
@click.option("--planned", is_flag=True, help="Plan each program instead of only estimating it.")
@click.option(
    "--board",
    metavar="NAME",
    shell_complete=complete_boards,
    help="Run each program on this emulated board (see `lowtide boards`).",
)
@mcu_option("Run each program on this microcontroller; its core is emulated")
@click.option("--simplify", is_flag=True, help="Remove constant channels (exact).")
@click.option(
    "--hop",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Treat inputs as windows that move on by N rows each run. If a network can keep "
    "nothing, its row states why.",
)
@output_option(
    "-o",
    _early_sweep,
    "FILE",
    "The table to write: .parquet, .csv or .jsonl. lowtide keeps rows that it already has.",
    required=True,
)
@json_option
def sweep(
    inputs: tuple[str, ...],
    jobs: int,
    engine: Engine,
    planned: bool,
    board: str | None,
    simplify: bool,
    hop: int | None,
    output: Path,
) -> None:
    """Estimate thousands of networks.

    INPUTS are files, folders, patterns, or @FILE, a list of them.
    """
    import time
    from dataclasses import asdict, replace

    from lowtide.sweep.sweeping import sweep as sweep_all

    question = replace(_question(planned, board, given("mcu"), simplify), hop=hop)
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
            output,
            jobs=jobs,
            engine=engine,
            question=question,
            replacing=replacing(),
            tell=told,
        )
    known = f", {found.known:,} of them from an earlier sweep" if found.known else ""
    rows = f"{found.rows:,} row{'s' * (found.rows != 1)}"
    answer(
        lambda: {"schema": "lowtide.sweep/1", "file": str(output), **asdict(found)},
        lambda: f"{output}: {rows}, {found.errors:,} with an error{known}",
    )
    if not found.complete:
        raise KeyboardInterrupt


def _question(planned: bool, board: str | None, mcu: str | None, simplify: bool) -> Question:
    """What is asked of each network. Raises UsageError for options that exclude each other."""
    from lowtide.machines.board import find_board
    from lowtide.machines.mcus import find_mcu
    from lowtide.sweep.sweeping import Question

    if board is not None and mcu is not None:
        raise UsageError("--board and --mcu both choose what to run on", "give only one of them")
    if planned and (board is not None or mcu is not None):
        option = "--board" if mcu is None else "--mcu"
        raise UsageError(f"{option} plans each program already", "leave out --planned")
    if board is not None:
        return Question("run", board=find_board(board).name, simplify=simplify)
    if mcu is not None:
        return Question("run", mcu=find_mcu(mcu).name, simplify=simplify)
    return Question("plan" if planned else "estimate", simplify=simplify)

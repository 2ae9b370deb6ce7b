"""The commands that check and measure C: verify, run, check."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide import kinds
from lowtide.cli.advice import (
    or_what_fits_on,
    remedy_of_check,
)
from lowtide.cli.compile_options import (
    board_options,
    cache_option,
    compile_once,
    compile_options,
    compile_with,
    core_mcu_option,
    found_board,
    found_mcu,
    inputs_given,
    inputs_options,
)
from lowtide.cli.deploy import compile_command
from lowtide.cli.given import given, grouped
from lowtide.cli.options import (
    Bytes,
    Instructions,
    Share,
    answer,
    load,
    model_command,
    progress,
    show,
)
from lowtide.cli.writing import a_file, output_option, replacing, tables
from lowtide.commands.option import CHECKS
from lowtide.errors import DiffersError, LowtideError, UsageError

if TYPE_CHECKING:
    from lowtide.commands.compiling import Compiled


def _tables() -> Mapping[str, Iterable[str]]:
    from lowtide.report.profile import PROFILE_TABLES

    return PROFILE_TABLES


def check_no_options(bundle: Path) -> None:
    """Raise UsageError for an option of the command line that the bundle in that folder answers."""
    from lowtide.commands.options import OPTIONS

    context = click.get_current_context()
    for option in OPTIONS:
        if context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE:
            flag = option.flag.partition("/")[0]
            raise UsageError(f"the bundle in {bundle} already sets {flag}", f"leave out {flag}")


def made_as(model: str, bundle: Path) -> tuple[Compiled, str | None, list[str]]:
    """What the command makes of `model` today that made the bundle in that folder, which package, and
    the command's words, with that folder."""
    check_no_options(bundle)
    with or_another_model(model, bundle):
        return _made_as(model, bundle)


@contextmanager
def or_another_model(model: str, bundle: Path) -> Iterator[None]:
    """Where something fails because the bundle in that folder is of another model than `model`, the
    error says that."""
    from lowtide.commands.bundles import check_model

    try:
        yield
    except LowtideError:
        check_model(bundle, load(model))
        raise


def _made_as(model: str, bundle: Path) -> tuple[Compiled, str | None, list[str]]:
    from lowtide.commands.bundles import PLAN, command_of, readme_of

    plan = given("plan_file")
    words = [model, *command_of(bundle, readme_of(bundle, model))[1:]]
    if PLAN in words:
        if plan is None:
            raise UsageError(
                f"the bundle in {bundle} was made with a plan", "add that plan: --plan FILE"
            )
        words[words.index(PLAN)] = str(plan)
    words[words.index("-o") + 1] = str(bundle)
    with compile_command.make_context("compile", [*words]) as made:
        compiled = compile_with(model, found_mcu())[0]
        return compiled, made.params["package"], words


@model_command()
@inputs_options(8)
@core_mcu_option
@compile_options
@cache_option
def verify(model: str) -> None:
    """Check the generated C, byte for byte, with sanitizers.

    It compares every tensor with the reference kernels, on this computer.
    """
    from lowtide.commands import checking
    from lowtide.report import deployment

    compiled = compile_once(model, found_mcu())
    with progress("building, running and comparing with the reference kernels"):
        result = checking.verify(compiled, **inputs_given())
    answer(
        lambda: deployment.verified_document(compiled, result),
        lambda: deployment.verified_text(compiled, result),
    )
    if not result.bit_exact:
        cause, remedy = deployment.fault_of(result)
        raise DiffersError(f"{model}: {cause}", remedy)


@model_command()
@board_options("The board to run on (see `lowtide boards`).")
@grouped(
    CHECKS,
    "--profile",
    is_flag=True,
    help="Also show the instructions of each operator and kernel and, if the core's manual "
    "gives them, cycles at zero wait states.",
)
@grouped(
    CHECKS,
    "--clock",
    metavar="HZ",
    help="With --profile: also show the time of these cycles at a clock such as 120MHz.",
)
@output_option("--csv", tables(_tables), "DIR", "Write the profile as CSV files to DIR.")
@inputs_options(2)
@compile_options
@cache_option
def run(model: str, profile: bool, clock: str | None, csv: Path | None) -> None:
    """Run the C on an emulated board: RAM, flash, instructions."""
    from lowtide.commands import checking
    from lowtide.commands.profiling import Profile
    from lowtide.files import write_below
    from lowtide.report import deployment
    from lowtide.report.profile import profile_csv, read_clock

    for option, value in (("--clock", clock), ("--csv", csv)):
        if value is not None and not profile:
            raise UsageError(f"{option} needs a profile", "add --profile")
    hertz = None if clock is None else read_clock(clock)
    board = found_board()
    if board is None:
        raise click.UsageError("Missing option '--board' or '--mcu'.")
    compiled = compile_once(model, board)
    what = f"building for {board.name} and running it under QEMU"
    with or_what_fits_on(board, compiled), progress(what):
        result = checking.run(compiled, board, profile=profile, **inputs_given())
    if csv is not None and isinstance(result.profile, Profile):  # why there is none is said below
        made = profile_csv(result.profile).items()
        write_below(csv, {name: text.encode() for name, text in made}, replacing())
    answer(
        lambda: deployment.ran_document(result, hertz), lambda: deployment.ran_text(result, hertz)
    )
    if not result.bit_exact:
        raise DiffersError(
            f"{model}: the outputs on {board.name} differ from those of the reference kernels",
            "find the first operator that differs with `lowtide verify`",
        )


@model_command()
@grouped(
    CHECKS,
    "--max-total-ram",
    type=Bytes(),
    metavar="BYTES",
    help="Fail if total RAM, with stack and instance, is above this, for example 20K.",
)
@grouped(
    CHECKS,
    "--max-flash",
    type=Bytes(),
    metavar="BYTES",
    help="Fail if total flash is above this, for example 256K.",
)
@grouped(
    CHECKS,
    "--max-instructions",
    type=Instructions(),
    metavar="N",
    help="Fail if one inference takes more instructions than this, for example 10M.",
)
@board_options(
    "Measure on this board (see `lowtide boards`); its RAM and flash are limits too. "
    "Without a board, or without its tools, figures are predicted and labelled so."
)
@grouped(
    CHECKS,
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare with an earlier check that -o wrote.",
)
@grouped(
    CHECKS,
    "--tolerance",
    type=Share(),
    metavar="SHARE",
    help="How far above the baseline a figure can be, for example 2% (default: 0%).",
)
@grouped(
    CHECKS,
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also fail if the bundle or package in DIR isn't what the command in its README makes of MODEL "
    "today. lowtide takes the options from that command.",
)
@output_option(
    "-o",
    a_file(kinds.document("lowtide.check")),
    "FILE",
    "Write the JSON document, to use as a baseline.",
)
@output_option("--junit", a_file(kinds.JUNIT), "FILE", "Write the verdict as JUnit XML.")
@compile_options
@cache_option
def check(
    model: str,
    max_total_ram: int | None,
    max_flash: int | None,
    max_instructions: int | None,
    baseline: Path | None,
    tolerance: Fraction | None,
    bundle: Path | None,
    output: Path | None,
    junit: Path | None,
) -> None:
    """Check that the network fits; exit code 1 if not.

    Use it in continuous integration.
    """
    from lowtide.commands import verdict as verdicts
    from lowtide.commands.bundles import readme_of, stored_in
    from lowtide.commands.compiling import exported
    from lowtide.files import write_together
    from lowtide.report import data
    from lowtide.report import verdict as report

    if tolerance is not None and baseline is None:
        raise UsageError("--tolerance needs a baseline", "add --baseline FILE")
    board = found_board()
    limits = verdicts.Limits(max_total_ram, max_flash, max_instructions)
    stored = None if baseline is None else (baseline, tolerance or Fraction(0))
    words: list[str] = []
    try:
        if bundle is None:
            compiled = compile_once(model, board)
        else:
            compiled, package, words = made_as(model, bundle)
        with progress("measuring" if board else "predicting"):
            result = verdicts.check(compiled, board, limits, stored, cached=given("cached"))
        if bundle is not None:
            made = compiled if package is None else exported(compiled, package)
            readme = readme_of(bundle, model)
            result = replace(result, stored=stored_in(bundle, made.files, made.origin, readme))
    except LowtideError as error:
        if junit is not None and not isinstance(error, UsageError):
            write_together({junit: report.refused_junit(model, error)}, replacing())
        raise
    document = data.to_json(report.verdict_document(result))
    written = {}
    if output is not None:
        written[output] = f"{document}\n".encode()
    if junit is not None:
        written[junit] = report.verdict_junit(result)
    write_together(written, replacing())
    print(document) if given("as_json") else show(report.verdict_text(result))
    if not result.passed:
        again = shlex.join(["lowtide", "compile", *words])
        remedy = remedy_of_check(result, again)
        raise verdicts.ExceedsError(f"{model}: {report.failures(result)}", remedy)

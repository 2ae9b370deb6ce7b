"""The commands that make, prove and measure C: plan, compile, report, verify, run, check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowtide import kinds
from lowtide.cli.advice import (
    advice_option,
    hints_field,
    or_what_fits,
    or_what_fits_on,
    remedy_of_check,
    show_hints,
)
from lowtide.cli.compile_options import (
    cache_option,
    checked_options,
    compile_once,
    compile_options,
    compile_with,
    core_mcu_option,
    fit_field,
    for_mcu_option,
    found_board,
    found_mcu,
    inputs_options,
    load_with,
    mcu_option,
    show_fit,
)
from lowtide.cli.helping import HelpfulCommand, ModelName, complete_boards
from lowtide.cli.options import (
    MODEL_HELP,
    Bytes,
    Instructions,
    Share,
    file_option,
    json_option,
    model_argument,
    progress,
    show,
)
from lowtide.cli.writing import a_bundle, a_file, force_option, output_option, replacing, tables
from lowtide.errors import DiffersError, UsageError

if TYPE_CHECKING:
    from fractions import Fraction

    from lowtide.commands.checking import Ran
    from lowtide.commands.compiling import Options, Planned

PACKAGES = ("arduino", "zephyr", "esp-idf", "platformio", "cmake", "cmsis-pack")
"""What `lowtide compile --export` knows; `emit/exports` makes them."""


def _tables() -> Mapping[str, Iterable[str]]:
    from lowtide.report.profile import PROFILE_TABLES

    return PROFILE_TABLES


@click.command("compile", cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@output_option(
    *("-o", "folder"),
    metavar="DIR",
    help_text="Folder for the C files.",
    early=a_bundle,
    required=True,
)
@force_option
@click.option(
    "--export",
    "package",
    type=click.Choice(PACKAGES),
    help="As a package for this build system, with an example, in place of a folder of C.",
)
@for_mcu_option
@compile_options
@advice_option
@json_option
def compile_command(
    model: str,
    folder: Path,
    package: str | None,
    mcu: str | None,
    advised: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write C99 that runs the network in the least RAM."""
    from lowtide.commands.compiling import exported
    from lowtide.commands.hints import hints
    from lowtide.files import check_folder
    from lowtide.report import data, deployment

    check_folder(folder)
    part = found_mcu(mcu, options)
    compiled = compile_with(model, options, part)
    if package is not None:
        compiled = exported(compiled, package)
    removed = compiled.write_as(folder, replacing())
    found = hints(compiled) if advised else None
    if as_json:
        document = deployment.compiled_document(compiled, str(folder), removed)
        print(data.to_json({**document, **fit_field(part, compiled), **hints_field(model, found)}))
    else:
        show(deployment.compiled_text(compiled, str(folder), removed))
        show_fit(part, compiled)
        show_hints(model, found)


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@output_option(
    *("-o", "file"),
    metavar="FILE",
    help_text="Write the plan to FILE, for --plan.",
    early=a_file(kinds.document("lowtide.plan")),
)
@click.option("--front", is_flag=True, help="Show all plans worth having: arena against cost.")
@output_option(
    "--plot",
    metavar="FILE",
    help_text="Draw memory over time, or with --front the front (.png or .svg).",
    early=a_file(kinds.PICTURE),
)
@force_option
@for_mcu_option
@compile_options
@advice_option
@json_option
def plan(
    model: str,
    file: Path | None,
    front: bool,
    plot: Path | None,
    mcu: str | None,
    advised: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Show how rows are scheduled: the stages, the arena they need, and what bounds it."""
    from lowtide.commands.compiling import planned_model
    from lowtide.commands.for_part import within_part
    from lowtide.commands.hints import hints
    from lowtide.files import check_writable, write_atomically
    from lowtide.report import data, picture
    from lowtide.report import planned as planning

    if options["schedule"] == "operators":
        raise UsageError(
            "operators that run one after the other have no stages to plan",
            "`lowtide analyze` shows what they need",
        )
    if plot is not None:
        picture.format_of(plot.name)
    for path in (file, plot):
        if path is not None:
            check_writable(path)
    part = found_mcu(mcu, options)
    loaded, chosen = load_with(model, options)

    def make(chosen: Options) -> Planned:
        with or_what_fits(loaded, chosen), progress("planning") as tell:
            return planned_model(loaded, chosen, front=front, tell=tell)

    if part is None:
        planned = make(chosen)
    else:
        planned = within_part(part, chosen, make, lambda planned: planned.compiled)
    compiled, points = planned.compiled, planned.points
    document = planning.plan_document(planned)
    if file is not None:
        write_atomically(file, (data.to_json(document) + "\n").encode(), replacing())
    if plot is not None:
        from lowtide.report.front_picture import front_picture
        from lowtide.report.plan_picture import plan_picture

        drawn = plan_picture(compiled) if points is None else front_picture(compiled, points)
        picture.write_picture(drawn, plot, replacing())
    found = hints(compiled, points or ()) if advised else None
    if as_json:
        print(data.to_json({**document, **fit_field(part, compiled), **hints_field(model, found)}))
        return
    if points is not None:
        show(planning.front_text(compiled, points, complete=planned.complete) + "\n")
    show(planning.plan_text(planned))
    show_fit(part, compiled)
    show_hints(model, found)


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@output_option(
    *("-o", "file"),
    metavar="FILE",
    help_text="The page to write: FILE.html.",
    early=a_file(kinds.PAGE),
    required=True,
)
@force_option
@click.option("--compare", metavar="MODEL", type=ModelName(), help="Put another network beside it.")
@click.option(
    "--board",
    metavar="NAME",
    help="Measure it there: see `lowtide boards`.",
    shell_complete=complete_boards,
)
@mcu_option
@file_option("--board-file", metavar="FILE", help_text="A TOML file with boards of your own.")
@compile_options
@cache_option
@json_option
def report(
    model: str,
    file: Path,
    compare: str | None,
    board: str | None,
    mcu: str | None,
    board_file: Path | None,
    cached: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a page to show around: memory over time, RAM against work, and what to try next."""
    from lowtide.commands.reporting import report_on
    from lowtide.files import check_writable, write_atomically
    from lowtide.machines.mcus import find_mcu
    from lowtide.report import data, page

    if file.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"the report is a page of HTML, not {file.name!r}", "end it in .html")
    check_writable(file)
    microcontroller = None if mcu is None else find_mcu(mcu)
    emulated = microcontroller is None or microcontroller.is_emulated
    part = found_board(board, mcu, board_file) if emulated else None
    runs_on = part.core if microcontroller is None and part is not None else microcontroller
    if runs_on is not None and options.get("core") is None:
        options["target"] = runs_on.target
    reported = []
    names = [model, *([] if compare is None else [compare])]
    given = [load_with(name, dict(options)) for name in names]  # a slip is told before long work
    for name, (loaded, chosen) in zip(names, given, strict=True):
        with progress(f"reporting on {name}") as tell:
            made = report_on(loaded, chosen, part, mcu=microcontroller, tell=tell, cached=cached)
            reported.append(made)
    write_atomically(file, page.report_page(*reported).encode(), replacing())
    if as_json:
        print(data.to_json(page.report_document(*reported)))
    else:
        for name, each in zip(names, reported, strict=True):
            show(f"{name}: " * (len(names) > 1) + page.verdict_sentence(each))
        show(f"Wrote {file}.")


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@inputs_options(8)
@core_mcu_option
@compile_options
@cache_option
@json_option
def verify(
    model: str,
    samples: int | None,
    seed: int,
    mcu: str | None,
    as_json: bool,
    cached: bool,
    **options: Any,
) -> None:
    """Prove the generated C right: every tensor, byte for byte, on this computer with sanitizers."""
    from lowtide.commands import checking
    from lowtide.report import data, deployment

    found_mcu(mcu, options)
    compiled = compile_once(model, cached, options)
    with progress("building, running and comparing with the reference kernels"):
        result = checking.verify(compiled, samples=samples, seed=seed, cached=cached)
    if as_json:
        print(data.to_json(deployment.verified_document(compiled, result)))
    else:
        show(deployment.verified_text(compiled, result))
    if not result.bit_exact:
        cause, remedy = deployment.fault_of(result)
        raise DiffersError(f"{model}: {cause}", remedy)


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@click.option(
    "--board",
    metavar="NAME",
    help="See `lowtide boards`.",
    shell_complete=complete_boards,
)
@mcu_option
@file_option("--board-file", metavar="FILE", help_text="A TOML file with boards of your own.")
@click.option(
    "--profile",
    is_flag=True,
    help="Also show what each operator and kernel executes, and, where the core's manual tells them, "
    "cycles at zero wait states.",
)
@click.option(
    "--clock",
    metavar="HZ",
    help="With --profile, the time of these cycles at a clock such as 120MHz.",
)
@output_option(
    "--csv",
    metavar="DIR",
    help_text="Write the profile as CSV files into DIR.",
    early=tables(_tables),
)
@force_option
@inputs_options(2)
@compile_options
@cache_option
@json_option
def run(
    model: str,
    board: str | None,
    mcu: str | None,
    board_file: Path | None,
    profile: bool,
    clock: str | None,
    csv: Path | None,
    samples: int | None,
    seed: int,
    as_json: bool,
    cached: bool,
    **options: Any,
) -> None:
    """Run the generated C on an emulated board; measure RAM, flash and instructions."""
    from lowtide.commands import checking
    from lowtide.files import check_folder
    from lowtide.report import data, deployment
    from lowtide.report.profile import read_clock

    for option, given in (("--clock", clock), ("--csv", csv)):
        if given is not None and not profile:
            raise UsageError(f"{option} shows a profile, and none is made", "add --profile")
    if csv is not None:
        check_folder(csv, "name a folder for the tables")
    hertz = None if clock is None else read_clock(clock)
    found = found_board(board, mcu, board_file)
    if found is None:
        raise click.UsageError("Missing option '--board' or '--mcu'.")
    board = found.name
    compiled = compile_once(model, cached, {**options, "target": found.core.target})
    what = f"building for {board} and running it under QEMU"
    with or_what_fits_on(found, compiled), progress(what):
        result = checking.run(
            compiled, found, samples=samples, seed=seed, cached=cached, profile=profile
        )
    if csv is not None:
        _write_profile(csv, result)
    if as_json:
        print(data.to_json(deployment.ran_document(result, hertz)))
    else:
        show(deployment.ran_text(result, hertz))
    if not result.bit_exact:
        raise DiffersError(
            f"{model}: the outputs on {board} differ from the reference kernels'",
            "`lowtide verify` shows the first operator that does",
        )


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@click.option("--max-ram", type=Bytes(), metavar="BYTES", help="Most RAM in all, as 20K.")
@click.option("--max-flash", type=Bytes(), metavar="BYTES", help="Most flash in all, as 256K.")
@click.option(
    "--max-instructions", type=Instructions(), metavar="N", help="Most of one inference, as 10M."
)
@click.option(
    "--board",
    metavar="NAME",
    help="Measure on this board (see `lowtide boards`), whose RAM and flash are limits as well; "
    "without it, or without its tools, figures are predicted, and called so.",
)
@mcu_option
@file_option("--board-file", metavar="FILE", help_text="A TOML file with boards of your own.")
@file_option(
    "--baseline",
    metavar="FILE",
    help_text="Compare with an earlier check, which -o wrote.",
)
@click.option(
    "--tolerance",
    type=Share(),
    default="0%",
    show_default=True,
    metavar="SHARE",
    help="How much above the baseline is still right, as 2%.",
)
@output_option(
    *("-o", "file"),
    metavar="FILE",
    help_text="Write the JSON document, a baseline.",
    early=a_file(kinds.document("lowtide.check")),
)
@output_option(
    "--junit",
    metavar="FILE",
    help_text="Write the verdict as JUnit's XML.",
    early=a_file(kinds.JUNIT),
)
@force_option
@checked_options
@cache_option
@json_option
def check(
    model: str,
    max_ram: int | None,
    max_flash: int | None,
    max_instructions: int | None,
    board: str | None,
    mcu: str | None,
    board_file: Path | None,
    baseline: Path | None,
    tolerance: Fraction,
    file: Path | None,
    junit: Path | None,
    as_json: bool,
    cached: bool,
    **options: Any,
) -> None:
    """Say whether the network still fits, for continuous integration: exit code 1 if it does not."""
    from lowtide.commands import verdict as verdicts
    from lowtide.files import check_writable, write_together
    from lowtide.report import data
    from lowtide.report import verdict as report

    for path in (file, junit):
        if path is not None:
            check_writable(path)
    found = found_board(board, mcu, board_file)
    if found is not None:
        options["target"] = found.core.target
    compiled = compile_once(model, cached, options)
    limits = verdicts.Limits(max_ram, max_flash, max_instructions)
    stored = None if baseline is None else (baseline, tolerance)
    with progress("measuring" if found else "predicting"):
        result = verdicts.check(compiled, found, limits, stored, cached=cached)
    document = data.to_json(report.verdict_document(result))
    written = {}
    if file is not None:
        written[file] = f"{document}\n".encode()
    if junit is not None:
        written[junit] = report.verdict_junit(result)
    write_together(written, replacing())
    print(document) if as_json else show(report.verdict_text(result))
    if not result.passed:
        otherwise = (
            "`lowtide plan --front` shows what less RAM costs; a baseline that is no longer wanted "
            "is made anew with -o"
        )
        remedy = remedy_of_check(result, otherwise)
        raise verdicts.ExceedsError(f"{model}: {report.failures(result)}", remedy)


def _write_profile(folder: Path, result: Ran) -> None:
    """The profile's tables, if there is one; why there is none is said with the other results."""
    from lowtide.commands.profiling import Profile
    from lowtide.files import write_below
    from lowtide.report.profile import profile_csv

    if isinstance(result.profile, Profile):
        made = profile_csv(result.profile).items()
        write_below(folder, {name: text.encode() for name, text in made}, replacing())

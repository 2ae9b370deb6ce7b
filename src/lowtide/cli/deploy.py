"""The commands that plan and make C: plan, compile, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide import kinds
from lowtide.cli.advice import (
    advice_option,
    answer_advised,
    cores_to_advise,
    or_what_fits,
)
from lowtide.cli.compile_options import (
    board_options,
    cache_option,
    compile_options,
    compile_with,
    for_mcu_option,
    found_board,
    found_mcu,
    load_with,
)
from lowtide.cli.given import given, grouped
from lowtide.cli.helping import ModelName
from lowtide.cli.options import (
    answer,
    model_command,
    progress,
)
from lowtide.cli.together import compile_together, others_argument, shared_option
from lowtide.cli.writing import a_bundle, a_file, a_picture, output_option, replacing
from lowtide.commands.option import PART
from lowtide.errors import UsageError

if TYPE_CHECKING:
    from lowtide.advice.fitting import Fit
    from lowtide.commands.compiling import Compiled
    from lowtide.commands.options import Options
    from lowtide.commands.planned import Planned
    from lowtide.files import Replacing
    from lowtide.machines.mcus import Mcu

PACKAGES = ("arduino", "zephyr", "esp-idf", "platformio", "cmake", "cmsis-pack", "tflm")
"""What `lowtide compile --export` knows; `emit/exports` makes them."""


def _a_page(path: Path, replacing: Replacing) -> None:
    a_file(kinds.PAGE)(path, replacing)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"the report is an HTML page, but {path.name!r} does not end in .html",
            "end its name in .html",
        )


def _place(folder: Path) -> Path:
    """Where the bundle or package goes that shall be written into `folder`: ESP-IDF knows a component by
    the name of its folder."""
    from lowtide.emit.names import program_name

    params = click.get_current_context().params
    if params["package"] != "esp-idf":
        return folder
    name = program_name(given("name"), params["model"])
    return folder if folder.resolve().name == name else folder / name


def _a_package(path: Path, replacing: Replacing) -> None:
    a_bundle(_place(path), replacing)


def _one_package(_: click.Context, __: click.Parameter, named: tuple[str, ...]) -> str | None:
    """The build system that was named, if one was. Raises UsageError for two."""
    different = list(dict.fromkeys(named))
    if len(different) > 1:
        raise UsageError(
            f"--export names {' and '.join(different)}, but a package is for one build system",
            "name one of them; for the other, run the command again with another folder",
        )
    return different[0] if different else None


def _wrote(before: str, *outputs: Path | None) -> str:
    """The sentence on what was written, after `before`; "" if nothing was."""
    paths = " and ".join(str(path) for path in outputs if path is not None)
    return f"{before}Wrote {paths}." if paths else ""


def _fit(mcu: Mcu, compiled: Compiled) -> Fit:
    from lowtide.advice.for_part import fit_of  # and what measures, which takes long to import

    return fit_of(mcu, compiled)


@model_command("compile")
@others_argument
@output_option("-o", _a_package, "DIR", "Folder for the C files.", required=True)
@shared_option
@grouped(
    PART,
    "--export",
    "package",
    type=click.Choice(PACKAGES),
    multiple=True,
    callback=_one_package,
    help="Write a package for this build system, with an example, instead of a folder of C.",
)
@for_mcu_option
@compile_options
@advice_option
def compile_command(
    model: str, others: tuple[str, ...], output: Path, package: str | None, shared_arena: bool
) -> None:
    """Compile the network to C99 that runs in little RAM.

    With --shared-arena: several networks, which take turns in one arena.
    """
    from lowtide.advice.hints import hints
    from lowtide.commands.compiling import exported
    from lowtide.emit.exports.tflm import check_modes
    from lowtide.report import deployment

    if shared_arena or others:
        compile_together([model, *others], output, shared_arena=shared_arena)
        return
    if package == "tflm":  # before long work
        check_modes(given("input_mode"), given("output_mode"), given("hop") is not None)
    mcu = found_mcu()
    compiled, known = compile_with(model, mcu)
    if package is not None:
        compiled = exported(compiled, package)
    output = _place(output)
    removed = compiled.write_as(output, replacing())
    answer_advised(
        model,
        lambda: hints(compiled, known=known, cores=cores_to_advise()),
        lambda: deployment.compiled_document(compiled, str(output), removed),
        lambda: deployment.compiled_text(compiled, str(output), removed),
        None if mcu is None else _fit(mcu, compiled),
    )


@model_command()
@output_option(
    "-o",
    a_file(kinds.document("lowtide.plan")),
    "FILE",
    "Write the plan to FILE, as input for --plan.",
)
@click.option(
    "--front",
    is_flag=True,
    help="List all plans that no other plan beats in RAM, instructions and MACs.",
)
@output_option(
    "--plot",
    a_picture,
    "FILE",
    "Draw memory over time, or the front with --front (.png or .svg).",
)
@for_mcu_option
@compile_options
@advice_option
def plan(model: str, output: Path | None, front: bool, plot: Path | None) -> None:
    """Show the stages, the arena that they need, and a lower bound."""
    from lowtide.advice.hints import hints
    from lowtide.commands.known import Known
    from lowtide.commands.planned import planned_model
    from lowtide.files import write_atomically
    from lowtide.report import data, picture
    from lowtide.report import planned as planning

    if given("schedule") == "operators":
        raise UsageError(
            "operators that run one after the other have no stages to plan",
            "see what they need with `lowtide analyze`",
        )
    mcu = found_mcu()
    loaded, chosen = load_with(model, mcu)
    known = Known(loaded)

    def make(chosen: Options) -> Planned:
        with or_what_fits(loaded, chosen), progress("planning") as tell:
            return planned_model(loaded, chosen, front=front, tell=tell, known=known)

    if mcu is None:
        planned = make(chosen)
    else:
        from lowtide.advice.for_part import within_part

        planned = within_part(mcu, chosen, make, lambda planned: planned.compiled)
    compiled, points = planned.compiled, planned.points
    document = planning.plan_document(planned)
    if output is not None:
        write_atomically(output, (data.to_json(document) + "\n").encode(), replacing())
    if plot is not None:
        from lowtide.report.front_picture import front_picture
        from lowtide.report.plan_picture import plan_picture

        drawn = plan_picture(compiled) if points is None else front_picture(planned)
        picture.write_picture(drawn, plot, replacing())

    def text() -> str:
        wrote = _wrote("\n", output, plot)
        if points is None:
            return planning.plan_text(planned) + wrote
        shown = planning.front_text(compiled, points, complete=planned.complete)
        return f"{shown}\n\n{planning.plan_text(planned)}{wrote}"

    answer_advised(
        model,
        lambda: hints(planned, points or (), known, cores=cores_to_advise()),
        lambda: document,
        text,
        None if mcu is None else _fit(mcu, compiled),
    )


@model_command()
@output_option("-o", _a_page, "FILE", "The page to write: FILE.html.")
@output_option(
    "--picture",
    a_picture,
    "FILE",
    "Draw memory before and after, 1200 x 630 pixels, with -o or alone (.svg or .png).",
)
@click.option("--compare", metavar="MODEL", type=ModelName(), help="Compare with another network.")
@click.option(
    "--front",
    is_flag=True,
    help="Show all plans, including those that recompute columns. This takes as long as `lowtide plan "
    "--front`.",
)
@click.option(
    "--prove", is_flag=True, help="Add what is proved for all inputs (see `lowtide prove`)."
)
@board_options("Measure on this board (see `lowtide boards`).")
@compile_options
@cache_option
def report(
    model: str,
    output: Path | None,
    picture: Path | None,
    compare: str | None,
    *,
    front: bool,
    prove: bool,
) -> None:
    """Write a shareable HTML report.

    It shows memory over time, RAM against computation, and tips. It is one file and loads nothing.
    """
    from lowtide.advice.reporting import report_on
    from lowtide.files import write_atomically
    from lowtide.machines.mcus import find_mcu
    from lowtide.report import page, page_words
    from lowtide.report.before_after import before_after
    from lowtide.report.picture import write_picture

    if output is None and picture is None:
        raise click.UsageError("Missing option '-o' or '--picture'.")
    mcu = None if given("mcu") is None else find_mcu(given("mcu"))
    board = found_board() if mcu is None or mcu.is_emulated else None
    names = [model, *([] if compare is None else [compare])]
    asked = [load_with(name, board or mcu) for name in names]  # a slip is told before long work
    reported = []
    for name, (loaded, chosen) in zip(names, asked, strict=True):
        with or_what_fits(loaded, chosen), progress(f"reporting on {name}") as tell:
            reported.append(
                report_on(
                    *(loaded, chosen, board),
                    mcu=mcu,
                    front=front,
                    prove=prove,
                    tell=tell,
                    cached=given("cached"),
                )
            )
    if output is not None:
        write_atomically(output, page.report_page(*reported).encode(), replacing())
    if picture is not None:
        write_picture(before_after(reported[0]), picture, replacing())

    def text() -> str:
        said = [page_words.verdict_sentence(each) for each in reported]
        if len(names) > 1:
            said = [f"{name}: {each}" for name, each in zip(names, said, strict=True)]
        return "\n".join(said) + _wrote("\n", output, picture)

    answer(lambda: page.report_document(*reported), text)

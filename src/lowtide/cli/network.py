"""The commands that show a network's memory and rewrite its file: analyze, reorder, simplify, zoo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lowtide.cli.advice import advice_option, hints_field, show_hints
from lowtide.cli.helping import HelpfulCommand
from lowtide.cli.options import (
    MODEL_HELP,
    effort_option,
    json_option,
    load,
    model_argument,
    out_option,
    part_options,
    progress,
    show,
)
from lowtide.cli.writing import a_file, force_option, output_option, replacing, tables
from lowtide.errors import UsageError
from lowtide.files import (
    check_folder,
    check_writable,
    write_atomically,
    write_below,
)
from lowtide.kinds import PICTURE, TFLITE

if TYPE_CHECKING:
    from lowtide.commands.hints import Hint
    from lowtide.commands.simplifying import SimplifiedFile


def _tables() -> Mapping[str, Iterable[str]]:
    from lowtide.report.data import ANALYSIS_TABLES

    return ANALYSIS_TABLES


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@part_options
@json_option
@output_option(
    "--csv",
    metavar="DIR",
    help_text="Write the tables as CSV files into DIR.",
    early=tables(_tables),
)
@output_option(
    "--plot",
    metavar="FILE",
    help_text="Draw the working set over time: FILE.png or .svg.",
    early=a_file(PICTURE),
)
@force_option
@effort_option
def analyze(model: str, as_json: bool, csv: Path | None, plot: Path | None, effort: float) -> None:
    """Show where a network's RAM goes, and what a better operator order would save."""
    from lowtide.commands import reordering
    from lowtide.report import data, picture
    from lowtide.report.analysis_picture import analysis_picture
    from lowtide.report.text import analysis_text

    if plot is not None:
        picture.format_of(plot.name)
        check_writable(plot)
    if csv is not None:
        check_folder(csv, "name a folder for the tables")
    loaded = load(model)
    with progress("searching for the best order"):
        result = reordering.analyze(loaded, effort=effort)
        placements = reordering.place_tensors(loaded.graph, result.best.order)
    if csv is not None:
        made = {name: text.encode() for name, text in data.analysis_csv(result).items()}
        write_below(csv, made, replacing())
    if plot is not None:
        picture.write_picture(analysis_picture(result), plot, replacing())
    if as_json:
        print(data.to_json(data.analysis_document(result, placements)))
    else:
        show(analysis_text(result, placements))


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@part_options
@out_option("The .tflite file to write.", required=True)
@click.option(
    "--offline-plan", is_flag=True, help="Also store tensor offsets, as metadata that TFLM honours."
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Compare every tensor with the reference kernels' (default), or do not.",
)
@click.option(
    "--always-write",
    is_flag=True,
    help="Write the file as it is if nothing is better (for makefiles); else there is no OUT then.",
)
@advice_option
@json_option
@effort_option
def reorder(
    model: str,
    output: Path,
    offline_plan: bool,
    check: bool,
    always_write: bool,
    advised: bool,
    as_json: bool,
    effort: float,
) -> None:
    """Write the model with its operators in the order of least peak memory, all else untouched.

    Of order and plan the best is written, as TensorFlow Lite Micro measures it where it is installed and
    runs the model, else as predicted. If nothing is better than the file as it is, nothing is written.
    """
    from lowtide.commands import hints, reordering
    from lowtide.report import data, text

    check_writable(output)
    loaded = load(model)
    with progress("searching for the best order and checking the result"):
        result = reordering.reorder(loaded, offline_plan=offline_plan, check=check, effort=effort)
    written = result.better or always_write
    if written:
        result.write(output, force=replacing().force)
    found = hints.file_hints(loaded, simplified=result.before.savings) if advised else None
    if as_json:
        document = data.reordered_document(result, str(output) if written else None)
        print(data.to_json({**document, **hints_field(model, found)}))
    else:
        show(text.reordered_text(result))
        show(f"Wrote {output}." if written else "No file was written.")
        show_hints(model, found)


@click.command(cls=HelpfulCommand, epilog=MODEL_HELP)
@model_argument
@part_options
@output_option(
    *("-o", "--output"),
    metavar="OUT",
    help_text="The .tflite file to write.",
    early=a_file(TFLITE),
    required=True,
)
@force_option
@click.option("--reorder", is_flag=True, help="Also put the operators in their best order.")
@click.option(
    "--offline-plan", is_flag=True, help="Also store tensor offsets, as metadata that TFLM honours."
)
@click.option(
    "--check/--no-check",
    default=True,
    help="Compare all outputs with the reference kernels' (default), or do not.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    help="Number of inputs to compare them on; with state a sequence of 32 or more.",
)
@click.option(
    "--always-write", is_flag=True, help="Write the file even where nothing can be left out."
)
@advice_option
@json_option
@effort_option
def simplify(
    model: str,
    output: Path,
    reorder: bool,
    offline_plan: bool,
    check: bool,
    samples: int,
    always_write: bool,
    advised: bool,
    as_json: bool,
    effort: float,
) -> None:
    """Write the model without what no input can change: its outputs stay the same, byte for byte."""
    from lowtide.commands import simplifying
    from lowtide.report import data, simplified

    check_writable(output)
    loaded = load(model)
    with progress("simplifying and checking the result"):
        result = simplifying.simplify_model(
            loaded,
            reordered=reorder,
            offline_plan=offline_plan,
            check=check,
            samples=samples,
            always=always_write,
            effort=effort,
        )
    written = result.changed or always_write
    if written:
        result.write(output, force=replacing().force)
    found = _after_simplify(result, reorder, effort) if advised else None
    if as_json:
        where = str(output) if written else None
        document = simplified.simplified_document(result, where)
        print(data.to_json({**document, **hints_field(model, found)}))
    else:
        show(simplified.simplified_text(result))
        show(f"Wrote {output}." if written else "Nothing was written.")
        show_hints(model, found)


def _after_simplify(result: SimplifiedFile, reordered: bool, effort: float) -> tuple[Hint, ...]:
    """What another order would save of the new file, and what a compiled program would need."""
    from lowtide.commands.hints import file_hints
    from lowtide.order import best_order

    order = None if reordered else best_order(result.model.graph, effort=effort)
    return file_hints(result.model, ordered=order)


@click.command(cls=HelpfulCommand)
@click.argument("name", required=False)
@out_option("Write the network NAME to this .tflite file.")
@click.option("--float", "floats", is_flag=True, help="With floats: for `lowtide quantize`.")
@json_option
def zoo(name: str | None, output: Path | None, floats: bool, as_json: bool) -> None:
    """List the built-in networks, or write one as a .tflite file."""
    from lowtide import zoo as networks
    from lowtide.report import data

    if (name is None) != (output is None):
        raise UsageError(
            "writing a network takes both its name and a file",
            "use `lowtide zoo NAME -o OUT.tflite`, or `lowtide zoo` alone to list them",
        )
    if name is not None and output is not None:
        check_writable(output)
        made = networks.build(name.removeprefix("zoo:"), floats=floats)
        write_atomically(output, made, replacing())
        show(f"Wrote {output}.")
        return
    rows = [{"name": n, "description": networks.describe(n)} for n in networks.names()]
    if as_json:
        print(data.to_json({"schema": "lowtide.zoo/1", "networks": rows}))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        show(f"zoo:{row['name']:<{width}}  {row['description']}")

"""The commands that show a network's memory and rewrite its file: analyze, reorder, simplify, zoo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowtide.cli.advice import advice_option, answer_advised
from lowtide.cli.compile_options import effort_option
from lowtide.cli.given import Decorator, given, grouped
from lowtide.cli.helping import HelpfulCommand
from lowtide.cli.options import (
    answer,
    json_option,
    load,
    model_command,
    part_options,
    progress,
    show,
)
from lowtide.cli.writing import a_file, a_picture, output_option, replacing, tables
from lowtide.commands.option import CHECKS
from lowtide.errors import UsageError
from lowtide.files import write_atomically, write_below
from lowtide.kinds import TFLITE

if TYPE_CHECKING:
    from lowtide.advice.hints import Hint


def _tables() -> Mapping[str, Iterable[str]]:
    from lowtide.report.data import ANALYSIS_TABLES

    return ANALYSIS_TABLES


_OFFLINE_PLAN = click.option(
    "--offline-plan", is_flag=True, help="Also store tensor offsets, as metadata that TFLM uses."
)


def _written(required: bool) -> Decorator[Any]:
    return output_option(
        "-o", a_file(TFLITE), "OUT", "The .tflite file to write.", required=required
    )


@model_command()
@part_options
@output_option("--csv", tables(_tables), "DIR", "Write the tables as CSV files to DIR.")
@output_option("--plot", a_picture, "FILE", "Draw the working set over time: FILE.png or .svg.")
@effort_option
def analyze(model: str, csv: Path | None, plot: Path | None) -> None:
    """Show what fills the RAM, and what a better order saves."""
    from lowtide.commands import reordering
    from lowtide.report import data, picture
    from lowtide.report.analysis_picture import analysis_picture
    from lowtide.report.text import analysis_text

    loaded = load(model)
    with progress("searching for the best order"):
        result = reordering.analyze(loaded, effort=given("effort"))
        placements = reordering.place_tensors(loaded.graph, result.best.order)
    if csv is not None:
        made = {name: text.encode() for name, text in data.analysis_csv(result).items()}
        write_below(csv, made, replacing())
    if plot is not None:
        picture.write_picture(analysis_picture(result), plot, replacing())
    answer(
        lambda: data.analysis_document(result, placements),
        lambda: analysis_text(result, placements),
    )


@model_command()
@part_options
@_written(required=True)
@_OFFLINE_PLAN
@grouped(
    CHECKS,
    "--check/--no-check",
    default=True,
    help="Compare every tensor with the reference kernels (default), or don't.",
)
@click.option(
    "--always-write",
    is_flag=True,
    help="Write the file even if nothing is better (for makefiles). By default, lowtide then writes "
    "no file.",
)
@advice_option
@effort_option
def reorder(model: str, output: Path, offline_plan: bool, check: bool, always_write: bool) -> None:
    """Rewrite the file with its operators in the best order.

    The rest of the file stays the same. lowtide writes the best combination of order and offsets. It
    measures them with TensorFlow Lite Micro if that is installed and runs the model; otherwise, it
    predicts them. If nothing is better than the file, lowtide writes none.
    """
    from lowtide.advice import hints
    from lowtide.commands import reordering
    from lowtide.report import data, text

    loaded = load(model)
    with progress("searching for the best order and checking the result"):
        result = reordering.reorder(
            loaded, offline_plan=offline_plan, check=check, effort=given("effort")
        )
    written = result.better or always_write
    if written:
        result.write(output, force=replacing().force)
    said = f"Wrote {output}." if written else "No file was written."
    answer_advised(
        model,
        lambda: hints.file_hints(result.model, simplified=result.before.savings),
        lambda: data.reordered_document(result, str(output) if written else None),
        lambda: f"{text.reordered_text(result)}\n{said}",
    )


@model_command()
@part_options
@_written(required=True)
@click.option("--reorder", is_flag=True, help="Also put the operators in their best order.")
@_OFFLINE_PLAN
@grouped(
    CHECKS,
    "--check/--no-check",
    default=True,
    help="Compare all outputs with the reference kernels (default), or don't.",
)
@grouped(
    CHECKS,
    "--samples",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    help="Number of inputs to compare on; with state, a sequence of 32 or more.",
)
@click.option("--always-write", is_flag=True, help="Write the file even if it is no better.")
@advice_option
@effort_option
def simplify(
    model: str,
    output: Path,
    reorder: bool,
    offline_plan: bool,
    check: bool,
    samples: int,
    always_write: bool,
) -> None:
    """Rewrite the file with constant channels removed (exact).

    Its outputs stay the same, byte for byte. If nothing can be removed, lowtide writes the file only if
    --reorder or --offline-plan make it better.
    """
    from lowtide.advice.hints import file_hints
    from lowtide.commands import simplifying
    from lowtide.order import best_order
    from lowtide.report import simplified

    loaded = load(model)
    with progress("simplifying and checking the result"):
        result = simplifying.simplify_model(
            loaded,
            reordered=reorder,
            offline_plan=offline_plan,
            check=check,
            samples=samples,
            always=always_write,
            effort=given("effort"),
        )
    written = result.better or always_write
    if written:
        result.write(output, force=replacing().force)
    said = f"Wrote {output}." if written else "Nothing was written."

    def found() -> tuple[Hint, ...]:
        order = None if reorder else best_order(result.model.graph, effort=given("effort"))
        return file_hints(result.model, ordered=order)

    answer_advised(
        model,
        found,
        lambda: simplified.simplified_document(result, str(output) if written else None),
        lambda: f"{simplified.simplified_text(result)}\n{said}",
    )


@click.command(cls=HelpfulCommand)
@click.argument("name", required=False)
@_written(required=False)
@click.option(
    "--float",
    "floats",
    is_flag=True,
    help="Write the float version of the network, as input for `lowtide quantize`.",
)
@json_option
def zoo(name: str | None, output: Path | None, floats: bool) -> None:
    """List the built-in networks, or write one as a .tflite file."""
    from lowtide import zoo as networks

    if (name is None) != (output is None):
        raise UsageError(
            "writing a network needs both its name and a file",
            "use `lowtide zoo NAME -o OUT.tflite`, or `lowtide zoo` alone to list them",
        )
    if name is not None and output is not None:
        made = networks.build(name.removeprefix("zoo:"), floats=floats)
        write_atomically(output, made, replacing())
        show(f"Wrote {output}.")
        return
    known = {name: networks.describe(name) for name in networks.names()}
    width = max(map(len, known))
    answer(
        lambda: {
            "schema": "lowtide.zoo/1",
            "networks": [{"name": n, "description": what} for n, what in known.items()],
        },
        lambda: "\n".join(f"zoo:{name:<{width}}  {what}" for name, what in known.items()),
    )

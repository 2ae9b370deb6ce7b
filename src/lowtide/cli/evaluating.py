"""The command that measures how good a program is: evaluate."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide.cli.compile_options import (
    cache_option,
    compile_once,
    compile_options,
    core_mcu_option,
    found_mcu,
)
from lowtide.cli.given import given
from lowtide.cli.helping import ModelName
from lowtide.cli.options import (
    answer,
    file_option,
    image_range_option,
    model_command,
    progress,
)


@model_command()
@file_option(
    "--data",
    "SAMPLES",
    "The data set: a .npz file with an array for each input, a .npy file, or a folder "
    "of .npy files, images or .wav files. lowtide quantises floats, and uses "
    "integers unchanged.",
    required=True,
)
@file_option(
    "--labels",
    "FILE",
    "Classes of the samples, counted from 0, as a .npy file, for top-1 accuracy.",
)
@click.option(
    "--against",
    metavar="MODEL",
    type=ModelName(),
    help="Compare with another network, such as the float one, in its reference interpreter.",
)
@click.option(
    "--reset-every",
    type=click.IntRange(1),
    metavar="N",
    help="Reset a network with state every N samples (default: all samples are one sequence).",
)
@image_range_option
@core_mcu_option
@compile_options
@cache_option
def evaluate(
    model: str,
    data: Path,
    labels: Path | None,
    against: str | None,
    reset_every: int | None,
    image_range: tuple[float, float],
) -> None:
    """Measure accuracy on a data set, with the generated C."""
    from lowtide.commands import evaluating
    from lowtide.commands.compiling import refuse_window
    from lowtide.report import evaluated
    from lowtide.zoo.loading import load

    refuse_window(given("hop"))  # before anything is read
    other = None if against is None else load(against)
    classes = None if labels is None else evaluating.labels_from(labels)
    compiled = compile_once(model, found_mcu())
    refuse_window(compiled.graph.hop)  # of a plan that was given
    samples = evaluating.data_for(compiled, data, image_range)
    with progress("evaluating") as tell:
        result = evaluating.evaluate(
            compiled,
            samples,
            labels=classes,
            against=other,
            reset_every=reset_every,
            cached=given("cached"),
            tell=tell,
        )
    answer(lambda: evaluated.evaluated_document(result), lambda: evaluated.evaluated_text(result))

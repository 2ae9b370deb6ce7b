"""The command that makes integers of float networks: quantize."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from lowtide.cli.options import (
    answer,
    file_option,
    image_range_option,
    load,
    model_command,
    part_options,
    progress,
)
from lowtide.cli.writing import a_file, output_option, replacing
from lowtide.errors import UsageError
from lowtide.kinds import TFLITE

_END = click.Choice(["float32", "int8", "uint8", "int16"])


@model_command()
@part_options
@output_option("-o", a_file(TFLITE), "OUT", "The .tflite file to write.", required=True)
@file_option(
    "--data",
    "SAMPLES",
    "Samples of the real input: a .npz file with an array for each input, a .npy file, "
    "or a folder of .npy files, images or .wav files.",
)
@click.option(
    "--random", "noise", is_flag=True, help="Use random samples instead: for trials only."
)
@click.option("--int16", is_flag=True, help="Use 16-bit activations instead of 8-bit ones.")
@click.option("--input-type", type=_END, help="Type of the inputs (default: the activations').")
@click.option("--output-type", type=_END, help="Type of the outputs (default: the activations').")
@click.option(
    "--samples",
    type=click.IntRange(1, 100_000),
    default=256,
    show_default=True,
    help="How many samples to take at most, evenly spread; with --random, how many to make "
    "(at most 64). One in four is held back, to compare on.",
)
@image_range_option
def quantize(
    model: str,
    output: Path,
    data: Path | None,
    noise: bool,
    int16: bool,
    input_type: Any,
    output_type: Any,
    samples: int,
    image_range: tuple[float, float],
) -> None:
    """Quantize a float or hybrid model.

    It also shows how much the outputs change, and how much memory the network needs.
    """
    from lowtide.commands import cutting, quantizing
    from lowtide.report import quantized

    if data is None and not noise:
        raise UsageError(
            "there are no samples to calibrate with", "give --data SAMPLES, or --random for a trial"
        )
    if data is not None and noise:
        raise UsageError("--data and --random cannot be combined", "leave out one of them")
    loaded = cutting.as_file(load(model))
    if data is None:
        print(f"lowtide: WARNING: {quantized.RANDOM_WARNING}", file=sys.stderr)
    given = quantizing.samples_for(loaded, data, most=samples, image_range=image_range)
    with progress("quantising, comparing and planning"):
        result = quantizing.quantize_model(
            loaded,
            given,
            bits=16 if int16 else 8,
            input_type=input_type,
            output_type=output_type,
        )
    result.write(output, force=replacing().force)
    answer(
        lambda: quantized.quantized_document(result, str(output)),
        lambda: quantized.quantized_text(result, str(output)),
    )

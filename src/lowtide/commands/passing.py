"""The passes of a network (passes/pipeline.py) as options ask for them, and what they ask of kernels."""

from __future__ import annotations

from functools import partial

from lowtide.commands.ends import check_streamed
from lowtide.commands.options import Options
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.lower import has_kernel
from lowtide.lower.prices import Price, instructions
from lowtide.passes.pipeline import Answers, Asked, run
from lowtide.passes.simplify.result import Simplified
from lowtide.plans.cost import known_model


def passed(model: Model, options: Options) -> Simplified:
    """The graph after all passes, and what simplification did to it.

    Raises ModelError for a graph that no program can have, UsageError for ends that it cannot have.
    """
    check_streamed(model.graph, options)
    whole = model.file_graph
    if options.hop is not None and model.graph.inputs != whole.inputs:
        raise UsageError(
            "--hop: the input of a part is not a sliding window, because the operators "
            "before it see the window's edges",
            "leave out --from",
        )
    return run(model.graph, asked_of(options), answers_of(options))


def asked_of(options: Options) -> Asked:
    """What options ask of the passes."""
    return Asked(
        options.simplify,
        options.rounding,
        options.quantized_io,
        options.input_layout,
        options.output_layout,
        options.input_type,
        options.hop,
        options.keep,
        options.hop_axis,
        options.ring,
    )


def answers_of(options: Options) -> Answers:
    """What the kernels of the target answer."""
    prices, target = known_model(options.target.priced_as), options.target
    price = None if prices is None else partial(instructions, Price(prices.of, target))
    return Answers(price, partial(has_kernel, target=target))
